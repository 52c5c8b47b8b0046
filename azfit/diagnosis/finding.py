"""A finding: one sentence on what a figure of a diagnosis means; and the rules that yield it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from azfit.diagnosis.figures import Figures


@dataclass(frozen=True)
class Finding:
    """One sentence."""

    level: str
    """"wrong" asks for something to be done; "note" is worth knowing."""
    about: str
    side: str | None
    figure: float
    sentence: str
    options: tuple[str, ...] = ()
    """The options that address it."""

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "options": list(self.options)}


Rule = Callable[[Figures], Iterator[Finding]]
"""Looks at one part of the figures. Its thresholds stand beside it, each with its reason."""
