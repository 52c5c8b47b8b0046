"""What a self-play run has come to, for its user: a few figures, and what to try next."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

from azfit.checkpoint_header import SUFFIX
from azfit.self_play.iteration import read_iterations
from azfit.self_play.state import SelfPlayRun
from azfit.self_play.worth import Worth
from azfit.typed_json import to_json
from solver.wording import counted


@dataclass(frozen=True)
class RunReport:
    """A run from its beginning, over all resumes."""

    run: str
    game: str
    iterations: int
    seconds: float
    games: int
    positions: int
    """Positions of those games, all of them to learn from."""
    accepted: int
    """Candidates that became the best."""
    elo: float
    """The rating of the best network; the network that the run began with has 0."""
    best: str
    best_iteration: int
    """After which the best network was accepted; 0: it is the one that the run began with."""
    first_loss: float | None = None
    last_loss: float | None = None
    worth: Worth | None = None
    not_judged: str | None = None
    """Why there is no worth."""

    def to_dict(self) -> dict[str, Any]:
        entries: dict[str, Any] = to_json(self)
        return entries

    def __str__(self) -> str:
        lines = [
            f"{counted(self.iterations, 'iteration')} in {self.seconds / 60:.1f} minutes: "
            f"{counted(self.games, 'game')}, {counted(self.positions, 'position')}, "
            f"{counted(self.accepted, 'candidate')} accepted"
        ]
        if self.first_loss is not None and self.last_loss is not None:
            lines.append(
                f"training loss {self.first_loss:.3f} in the first iteration, "
                f"{self.last_loss:.3f} in the last"
            )
        origin = f"iteration {self.best_iteration}, Elo {self.elo:+.0f} against the first network"
        if not self.best_iteration:
            origin = "no candidate has beaten the first network yet"
        lines.append(f"best network: {self.best} ({origin})")
        if self.worth is not None:
            lines += self.worth.lines()
        elif self.not_judged is not None:
            lines.append(f"not judged: {self.not_judged}")
        commands = self.next_commands()
        width = max(len(command) for command, _ in commands)
        for label, (command, purpose) in zip(("next:", "     "), commands, strict=True):
            lines.append(f"{label} {command:<{width}}  {purpose}")
        return "\n".join(lines)

    def next_commands(self) -> list[tuple[str, str]]:
        """Two commands to look at the run with, and what for."""
        run = shlex.quote(self.run)
        if self.game.startswith("gomoku"):
            test = (f"fadefour match {run} random", "play against a random player")
        else:
            test = (f"fadefour grade {run}", "count the moves that lose the result")
        return [test, (f"fadefour diagnose {run}", "see what looks wrong in the run")]


def report_on(run: SelfPlayRun) -> RunReport:
    """From the run and its metrics."""
    lines = read_iterations(run.folder)
    games = [line.games for line in lines if line.games is not None]
    losses = [line.training.loss for line in lines if line.training is not None]
    best = run.pool[-1]
    return RunReport(
        run=str(run.folder),
        game=run.config.game,
        iterations=run.iteration,
        seconds=round(run.seconds, 2),
        games=sum(entry.played for entry in games),
        positions=sum(entry.positions for entry in games),
        accepted=sum(bool(line.accepted) for line in lines),
        elo=best.elo,
        best=str(run.folder / f"best{SUFFIX}"),
        best_iteration=best.iteration,
        first_loss=losses[0] if losses else None,
        last_loss=losses[-1] if losses else None,
    )
