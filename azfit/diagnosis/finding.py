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
    """"wrong" asks for something to be done; "note" is worth knowing; "early" says that there is
    too little to judge by."""
    about: str
    side: str | None
    figure: float
    sentence: str
    options: tuple[str, ...] = ()
    """The options that address it."""

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "options": list(self.options)}


Look = Callable[[Figures], Iterator[Finding]]

# Figures are means over the last ten iterations. Before there are ten, they describe a network that
# has only begun to learn, and whatever is far from its goal then is so for that reason.
SETTLED = 10


@dataclass(frozen=True)
class Rule:
    """Looks at one part of the figures, once there is enough to judge by. Thresholds stand next to
    the rule, each with its reason."""

    subject: str
    look: Look
    iterations: int
    """Iterations of a run; a checkpoint is judged as it is."""
    games: int
    candidates: int
    """Candidates that the gate has decided on."""

    def missing(self, figures: Figures) -> str | None:
        """What there is too little of, in words; None if there is enough."""
        games = 0 if figures.outcomes is None else figures.outcomes.games
        if figures.iterations is not None and figures.iterations < self.iterations:
            return f"{self.iterations} iterations"
        if figures.acceptance is not None and figures.acceptance.decisions < self.candidates:
            return f"{self.candidates} candidates"
        return f"{self.games} games" if games < self.games else None


def rule(
    subject: str, *, iterations: int = 0, games: int = 0, candidates: int = 0
) -> Callable[[Look], Rule]:
    """Makes a function a rule that needs this much."""
    return lambda look: Rule(subject, look, iterations, games, candidates)
