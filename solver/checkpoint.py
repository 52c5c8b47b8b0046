"""Interrupting a long solve and resuming it later, with the same bytes in the end.

Between two depths the table of the full slice is the whole state; a scan finds the rows to look at
next. A checkpoint is that table, written as every other file is. Of a solve for results it is the
columns of the full slice, the positions with 2m - 2 pieces, and what was counted so far.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from solver.errors import CorruptTableError, NoRoomError
from solver.manifest import NewFile, checked_blocks, is_there, open_manifest, remove
from solver.results import SolveState
from solver.rules import Rules
from solver.values import IMPOSSIBLE

BYTES_AT_A_TIME = 1 << 24
RESULTS_CHECKPOINT = "results checkpoint"


def checkpoint_path(folder: Path, rules: Rules) -> Path:
    return folder / f"solving_{rules.name}.checkpoint"


@dataclass
class CheckpointFile:
    """Saves a solve in a folder when ``every_seconds`` have passed since it was last saved."""

    folder: Path
    rules: Rules
    every_seconds: float
    _saved_at: float = field(default_factory=time.monotonic)

    @property
    def path(self) -> Path:
        return checkpoint_path(self.folder, self.rules)

    def load(self, full: NDArray[np.uint8]) -> int | None:
        if not is_there(self.path):
            return None
        remedy = f"remove '{self.path}' to start from the beginning"
        manifest = open_manifest(self.path, "checkpoint", remedy, self.rules)
        if manifest.bytes != len(full):
            raise CorruptTableError(
                f"'{self.path}' has {manifest.bytes} bytes, expected {len(full)}: {remedy}"
            )
        at = deepest = 0
        for block in checked_blocks(self.path, manifest, remedy):
            values = np.frombuffer(block, np.uint8)
            full[at : at + len(block)] = values
            deepest = max(deepest, int(values[values != IMPOSSIBLE].max(initial=0)))
            at += len(block)
        depth = deepest - 1  # a checkpoint is saved only if its depth settled something
        if manifest.counts.get("depth") != depth:
            raise CorruptTableError(
                f"'{self.path}' is settled to depth {depth}, its manifest says "
                f"{manifest.counts.get('depth')!r}: {remedy}"
            )
        return depth

    def save_if_due(self, full: NDArray[np.uint8], depth: int) -> None:
        if time.monotonic() - self._saved_at < self.every_seconds:
            return
        with NewFile(self.path, "checkpoint", self.rules, len(full)) as new:
            for first in range(0, len(full), BYTES_AT_A_TIME):
                new.write(full[first : first + BYTES_AT_A_TIME])
            new.commit({"depth": depth})
        self._saved_at = time.monotonic()

    def discard(self) -> None:
        remove(self.path)


@dataclass
class ResultsCheckpointFile:
    """Saves a solve for results when ``every_seconds`` have passed since it was last saved, and
    never so often that saving takes more than a tenth of the time. ``keep_free``: bytes of the disk
    that the files of the solve will need. ``notice``: called if the disk has no room, once until a
    checkpoint has been saved again."""

    folder: Path
    rules: Rules
    every_seconds: float
    keep_free: int = 0
    notice: Callable[[str], object] = print
    _saved_at: float = field(default_factory=time.monotonic)
    _took: float = 0.0
    _noticed: bool = False

    @property
    def path(self) -> Path:
        return self.folder / f"solving_results_{self.rules.name}.checkpoint"

    def load(self, state: SolveState) -> int | None:
        if not is_there(self.path):
            return None
        remedy = f"remove '{self.path}' to start from the beginning"
        manifest = open_manifest(self.path, RESULTS_CHECKPOINT, remedy, self.rules)
        parts = _bytes_of(state)
        total = sum(map(len, parts))
        if manifest.bytes != total:
            raise CorruptTableError(
                f"'{self.path}' has {manifest.bytes} bytes, expected {total}: {remedy}"
            )
        blocks = checked_blocks(self.path, manifest, remedy)
        waiting: NDArray[np.uint8] = np.empty(0, np.uint8)
        for part in parts:
            at = 0
            while at < len(part):
                if not len(waiting):
                    waiting = np.frombuffer(next(blocks), np.uint8)
                size = min(len(waiting), len(part) - at)
                part[at : at + size] = waiting[:size]
                at, waiting = at + size, waiting[size:]
        depth = manifest.counts.get("depth")
        counted = int(np.flatnonzero(state.counts.sum(axis=0)[:IMPOSSIBLE]).max(initial=0))
        if type(depth) is not int or depth % 2 or not max(2, counted - 3) <= depth < IMPOSSIBLE:
            raise CorruptTableError(
                f"'{self.path}' has counts up to byte {counted}, its manifest says that depth "
                f"{depth!r} is settled: {remedy}"
            )
        return depth

    def save_if_due(self, state: SolveState, depth: int) -> None:
        if time.monotonic() - self._saved_at < max(self.every_seconds, 10 * self._took):
            return
        began, parts = time.monotonic(), _bytes_of(state)
        try:
            self._save(parts, depth)
            self._noticed = False
        except NoRoomError as error:
            if not self._noticed:
                self.notice(f"going on without a checkpoint: {error}")
            self._noticed = True
        self._saved_at = time.monotonic()
        self._took = self._saved_at - began

    def _save(self, parts: list[NDArray[np.uint8]], depth: int) -> None:
        total = sum(map(len, parts))
        free = shutil.disk_usage(self.folder).free - self.keep_free
        if free < total:
            raise NoRoomError(
                f"'{self.path}' would take {total / 1e9:,.2f} GB, and the disk has "
                f"{max(0, free) / 1e9:,.2f} GB to spare"
            )
        with NewFile(self.path, RESULTS_CHECKPOINT, self.rules, total) as new:
            for part in parts:
                for first in range(0, len(part), BYTES_AT_A_TIME):
                    new.write(part[first : first + BYTES_AT_A_TIME])
            new.commit({"depth": depth})

    def discard(self) -> None:
        remove(self.path)


def _bytes_of(state: SolveState) -> list[NDArray[np.uint8]]:
    """The parts of a checkpoint, in order."""
    return [state.states, state.before, state.counts.reshape(-1).view(np.uint8)]
