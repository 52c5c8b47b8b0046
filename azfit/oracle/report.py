"""What a training run reports at its end."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from azfit.oracle.config import TrainingConfig
from azfit.oracle.evaluation import Evaluations
from solver.wording import duration


@dataclass(frozen=True)
class TrainingReport:
    """What a run reports when its budget is spent."""

    folder: Path
    config: TrainingConfig
    steps: int
    seconds: float
    last: Evaluations
    best: Evaluations
    best_path: Path

    @property
    def positions_per_second(self) -> float:
        return self.steps * self.config.batch / max(1e-9, self.seconds)

    def to_dict(self) -> dict[str, Any]:
        return {
            "run": str(self.folder),
            "steps": self.steps,
            "seconds": round(self.seconds, 1),
            "positions_per_second": round(self.positions_per_second, 1),
            "best": str(self.best_path),
            "best_step": self.best.step,
            "best_metrics": self.best.to_metrics(),
            **self.last.to_metrics(),
        }

    def text(self) -> str:
        """How long it took, a small table of the best network, and where that is."""
        held_out, critical = self.best.held_out, self.best.critical
        name = "held-out" if self.config.held_out else "all"
        rows = [
            ("moves that keep the result", held_out.keeping, critical.keeping, "{:.4%}"),
            ("depth-optimal moves", held_out.optimal, critical.optimal, "{:.4%}"),
            ("win/draw/loss right", held_out.wdl_accuracy, critical.wdl_accuracy, "{:.4%}"),
            ("policy, KL in nats", held_out.kl, critical.kl, "{:.5f}"),
        ]
        table = [f"{'positions':<28} {name:>12} {'critical':>12}"]
        for label, first, second, form in rows:
            table.append(f"{label:<28} {form.format(first):>12} {form.format(second):>12}")
        return "\n".join(
            [
                f"trained {self.config.network.game}: {self.steps:,} steps of "
                f"{self.config.batch:,} positions in {duration(self.seconds)} "
                f"({self.positions_per_second:,.0f} positions/s)",
                "",
                *table,
                "(critical: positions in which some move loses the result)",
                "",
                f"best network: {self.best_path} (after step {self.best.step:,})",
            ]
        )
