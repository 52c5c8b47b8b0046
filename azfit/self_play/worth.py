"""What the result of a run is worth, as types and in words; ``azfit.grading.run_worth`` finds it
out."""

from __future__ import annotations

from dataclasses import dataclass

from solver.wording import counted

Share = tuple[float, float]


@dataclass(frozen=True)
class Verdict:
    """How often a player's move was wrong, in positions whose right moves are known."""

    sims: int
    """Simulations per move; 0: the network alone."""
    positions: int
    wrong: float
    """Share of these positions."""
    interval: Share | None = None
    """With 95 % confidence, for all such positions; None if these are all."""

    def __str__(self) -> str:
        line = f"{100 * self.wrong:.1f} % of {counted(self.positions, 'position')}"
        if self.interval is not None:
            low, high = self.interval
            line += f" (95 %: {100 * low:.1f} to {100 * high:.1f} %)"
        return f"{line} {strength(self.sims)}"


@dataclass(frozen=True)
class StartMatch:
    """Games against the network that the run began with."""

    sims: int
    wins: int
    draws: int
    losses: int

    def __str__(self) -> str:
        return (
            f"against the network it began with, {strength(self.sims)}: {self.wins} won, "
            f"{self.draws} drawn, {self.losses} lost"
        )


@dataclass(frozen=True)
class Worth:
    """The best network of a run, judged."""

    judge: str | None = None
    mistake: str | None = None
    """What a wrong move does, in words."""
    verdicts: tuple[Verdict, ...] = ()
    match: StartMatch | None = None
    seconds: float = 0.0
    """Spent on judging."""

    def lines(self) -> list[str]:
        lines = []
        if self.verdicts:
            lines.append(f"worth: by {self.judge}, its move {self.mistake} in")
            lines += [f"  {verdict}" for verdict in self.verdicts]
        if self.match is not None:
            lines.append(f"worth: {self.match}")
        return lines


def strength(sims: int) -> str:
    return f"with {counted(sims, 'simulation')} per move" if sims else "without search"
