"""Interrupting a long solve and resuming it later, with the same bytes in the end.

Between two depths the table of the full slice is the whole state; a scan finds the rows to look at
next. A checkpoint is that table, written as every other file is.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from solver.errors import CorruptTableError
from solver.manifest import NewFile, checked_blocks, is_there, open_manifest, remove
from solver.rules import Rules
from solver.values import IMPOSSIBLE

BYTES_AT_A_TIME = 1 << 24


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
