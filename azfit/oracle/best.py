"""``best.safetensors`` of a training run: the best of the networks that were evaluated.

Best is the one with the greatest ``Evaluations.rank``; of equals it is the later one, which has
learned longer.
"""

from __future__ import annotations

from pathlib import Path

from azfit.checkpoint import read_tensors
from azfit.checkpoint_header import SUFFIX
from azfit.oracle.evaluation import Evaluations
from azfit.oracle.run import Run
from solver.errors import FadefourError


class BestNetwork:
    """The file, and how its network did."""

    def __init__(self, folder: Path, resume: bool) -> None:
        self.path = folder / f"best{SUFFIX}"
        self.evaluations = self._stored() if resume else None

    def _stored(self) -> Evaluations | None:
        """From the file's header; None without a file that can be used."""
        try:
            return Evaluations.from_header(read_tensors(self.path)[1])
        except (FadefourError, KeyError, TypeError, ValueError):
            return None  # the next evaluation writes a new one

    def offer(self, run: Run, evaluations: Evaluations) -> Evaluations:
        """Keeps the run's network if it is the best so far; returns how the best one did."""
        if self.evaluations is None or evaluations.rank >= self.evaluations.rank:
            run.save_network(self.path)
            self.evaluations = evaluations
        return self.evaluations
