"""A finding: one sentence on what a figure of a diagnosis means."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

Told = dict[str, Any]


@dataclass(frozen=True)
class Finding:
    """One sentence."""

    level: str  # "wrong" or "note"
    about: str
    side: str | None
    figure: float
    sentence: str
    options: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "options": list(self.options)}


Rule = Callable[[Told], Iterator[Finding]]
