"""What a solve or a verification will take, before it starts: memory, disk and rough time."""

from __future__ import annotations

import math
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from solver.errors import NoRoomError
from solver.index import node_count, slice_sizes
from solver.machine import available_memory
from solver.records import HEADER_BYTES, RECORD_BYTES
from solver.results import group_bytes, results_work_bytes
from solver.results_table import results_bytes
from solver.retrograde import work_bytes
from solver.rules import Rules

# Measured on two threads (bench/log.md): nodes solved or audited, and bytes written or read with
# their checksums, per second. Rough on purpose: variants differ in how many positions are decided.
NODES_PER_SECOND = 120e6
AUDITED_PER_SECOND = 40e6
BYTES_PER_SECOND = 400e6

# Of a solve for results, processor seconds per node: what every node takes, and what it takes more
# the more wins there are, while the groups are in the processor's caches and when they are not.
RESULTS_NODE_SECONDS = 0.2e-9
RESULTS_WIN_SECONDS = ((10e6, 4e-9), (300e6, 10e-9))  # by bytes
RESULTS_THREADS = 2

LARGE = 1_000_000_000  # nodes

PYTHON_BYTES = 100 << 20

RAY_BYTES = 600 << 20  # of --cluster local: its own processes, and its object store
RAY_SECONDS = 5.0
SHARDED_SLOWER = 3.8  # than threads, on the same processors (bench/log.md)


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
    smaller: str = "choose a smaller n or m"
    """What to do where there is not enough memory."""
    fewer_files: str = "use --table-only or --stats-only, or another --data"
    """The same of the disk."""
    cluster_memory: int = 0
    """Of the other machines, together."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "rules": {"n": self.rules.n, "m": self.rules.m, "k": self.rules.k},
            "nodes": self.nodes,
            "memory_bytes": self.memory,
            "cluster_memory_bytes": self.cluster_memory,
            "disk_bytes": self.disk,
            "seconds": round(self.seconds, 1),
            "memory_available_bytes": self.memory_available,
            "disk_available_bytes": self.disk_available,
        }

    def __str__(self) -> str:
        disk = f"up to {_gb(self.disk)} of disk ({_gb(self.disk_available)} free), "
        cluster = f"{_gb(self.cluster_memory)} in all on the machines of the cluster, "
        return (
            f"{self.rules.name}: {self.nodes:,} nodes; needs {_gb(self.memory)} of memory "
            f"({_gb(self.memory_available)} available), "
            f"{cluster if self.cluster_memory else ''}{disk if self.disk else ''}"
            f"roughly {_time(self.seconds)}{' on two processors' if self.cluster_memory else ''}"
        )

    @property
    def is_large(self) -> bool:
        """So large that a command says what it will take before it starts."""
        return self.nodes >= LARGE

    def refuse_if_too_large(self) -> None:
        if self.memory > self.memory_available:
            raise NoRoomError(f"not enough memory. {self}; {self.smaller}")
        if self.disk > self.disk_available:
            raise NoRoomError(f"not enough disk. {self}; {self.fewer_files}")


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
        "use --results-only, which needs a fraction of it, or choose a smaller n or m",
    )


def _share_of_wins(rules: Rules) -> float:
    """Roughly the share of full positions in which the mover wins at once: its lines, times the
    share of those whose cells, but for one, hold pieces that stay."""
    room = rules.n - rules.k + 1
    lines = 2 * room * (rules.n + room)
    pieces = math.comb(rules.m - 1, rules.k - 1) / math.comb(rules.cells, rules.k - 1)
    return min(1.0, lines * rules.k * pieces)


def _results_seconds(rules: Rules) -> float:
    """Of the passes of a solve for results; half or twice as much for the variants measured."""
    sizes, costs = zip(*RESULTS_WIN_SECONDS, strict=True)
    size = math.log(results_work_bytes(rules))
    cost = float(np.interp(size, np.log(sizes), costs))
    seconds = RESULTS_NODE_SECONDS + cost * math.sqrt(_share_of_wins(rules))
    return node_count(rules) * seconds / RESULTS_THREADS


def estimate_results(
    rules: Rules, folder: Path, file: bool, shards: int | None = None, is_local: bool = True
) -> Estimate:
    """What solving for results takes; ``file``: whether they are written. A checkpoint is written
    only where the disk has room for it as well. ``shards``: on a cluster, which ``is_local`` if all
    of it is on this machine.

    A shard has its part of the groups. In the end this machine has them all, and a shard is gone
    when its part is here; without a file the groups stay in the shards."""
    nodes, disk = node_count(rules), results_bytes(rules) if file else 0
    memory, seconds, theirs = results_work_bytes(rules) + PYTHON_BYTES, _results_seconds(rules), 0
    if shards is not None:
        seconds = seconds * SHARDED_SLOWER + RAY_SECONDS
        groups = slice_sizes(rules)[2 * rules.m - 2] * group_bytes(rules)
        processes = shards * PYTHON_BYTES
        if is_local:
            memory += processes + RAY_BYTES + (groups // shards if file else 0)
        else:
            memory -= 0 if file else groups
            theirs = groups + processes
    return Estimate(
        rules,
        nodes,
        memory,
        disk,
        0.01 + seconds + disk / BYTES_PER_SECOND,
        available_memory(),
        shutil.disk_usage(_existing(folder)).free,
        fewer_files="use --stats-only, or another --data",
        cluster_memory=theirs,
    )


def estimate_verify(rules: Rules, files: list[Path], with_plies: bool = True) -> Estimate:
    """What verifying these files takes; ``with_plies``: whether they make a table.

    The audit reads a table all over, whether it is a mapped file or made from records; and a file
    of results in the same way.
    """
    nodes = node_count(rules)
    to_read = sum(path.stat().st_size for path in files)
    memory = (nodes if with_plies else to_read) + PYTHON_BYTES
    seconds = 0.1 + nodes / AUDITED_PER_SECOND + to_read / BYTES_PER_SECOND
    return Estimate(rules, nodes, memory, 0, seconds, available_memory(), 0)
