"""Solves that are interrupted between two passes, for tests of resuming."""

from __future__ import annotations

from typing import Any


class SolveInterruptedError(Exception):
    pass


class Interrupted:
    """Put before a kind of checkpoint file: notes what a solve resumes from, and interrupts it once
    the depth ``at_depth`` is saved."""

    at_depth = -1
    resumed_from: int | None = None

    def load(self, state: Any) -> int | None:
        self.resumed_from = super().load(state)  # type: ignore[misc]
        return self.resumed_from

    def save_if_due(self, state: Any, depth: int) -> None:
        super().save_if_due(state, depth)  # type: ignore[misc]
        if depth == self.at_depth:
            raise SolveInterruptedError
