"""What a solve or a verification will take, before it starts: memory, disk and rough time."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from solver.errors import NoRoomError
from solver.index import node_count, slice_sizes
from solver.machine import available_memory
from solver.records import HEADER_BYTES, RECORD_BYTES
from solver.retrograde import work_bytes
from solver.rules import Rules

# Measured on two threads (bench/log.md): nodes solved or audited, and bytes written or read with
# their checksums, per second. Rough on purpose: variants differ in how many positions are decided.
NODES_PER_SECOND = 120e6
AUDITED_PER_SECOND = 40e6
BYTES_PER_SECOND = 400e6

LARGE = 1_000_000_000  # nodes

PYTHON_BYTES = 100 << 20


@dataclass(frozen=True)
class Estimate:
    """Bytes and seconds; disk is the most the files can take."""

    rules: Rules
    nodes: int
    memory: int
    disk: int
    seconds: float
    memory_available: int
    disk_available: int

    def to_dict(self) -> dict[str, Any]:
        return {
            "rules": {"n": self.rules.n, "m": self.rules.m, "k": self.rules.k},
            "nodes": self.nodes,
            "memory_bytes": self.memory,
            "disk_bytes": self.disk,
            "seconds": round(self.seconds, 1),
            "memory_available_bytes": self.memory_available,
            "disk_available_bytes": self.disk_available,
        }

    def __str__(self) -> str:
        disk = f"up to {_gb(self.disk)} of disk ({_gb(self.disk_available)} free), "
        return (
            f"{self.rules.name}: {self.nodes:,} nodes; needs {_gb(self.memory)} of memory "
            f"({_gb(self.memory_available)} available), {disk if self.disk else ''}"
            f"roughly {_time(self.seconds)}"
        )

    @property
    def is_large(self) -> bool:
        """So large that a command says what it will take before it starts."""
        return self.nodes >= LARGE

    def refuse_if_too_large(self) -> None:
        if self.memory > self.memory_available:
            raise NoRoomError(f"not enough memory. {self}; choose a smaller n or m")
        if self.disk > self.disk_available:
            raise NoRoomError(
                f"not enough disk. {self}; use --table-only or --stats-only, or another --data"
            )


def _gb(count: int) -> str:
    return f"{count / 1e9:,.2f} GB"


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:,.0f} h"


def _existing(folder: Path) -> Path:
    folder = folder.absolute()
    while not folder.exists():
        folder = folder.parent
    return folder


def estimate_solve(rules: Rules, folder: Path, players: list[str], table: bool) -> Estimate:
    """What solving takes; ``players`` whose ``.data`` files are written, and the dense table."""
    nodes, full = node_count(rules), slice_sizes(rules)[2 * rules.m]
    memory = work_bytes(rules) + PYTHON_BYTES + (full if players else 0)
    # A pair of queues has at most one record in each file.
    disk = (nodes if table else 0) + len(players) * (HEADER_BYTES + nodes * RECORD_BYTES)
    return Estimate(
        rules,
        nodes,
        memory,
        disk,
        0.1 + nodes / NODES_PER_SECOND + disk / BYTES_PER_SECOND,
        available_memory(),
        shutil.disk_usage(_existing(folder)).free,
    )


def estimate_verify(rules: Rules, files: list[Path]) -> Estimate:
    """What verifying these files takes.

    The audit reads a table all over, whether it is a mapped file or made from records.
    """
    nodes = node_count(rules)
    to_read = sum(path.stat().st_size for path in files)
    seconds = 0.1 + nodes / AUDITED_PER_SECOND + to_read / BYTES_PER_SECOND
    return Estimate(rules, nodes, nodes + PYTHON_BYTES, 0, seconds, available_memory(), 0)
