"""What this machine offers: cores and their features, memory, and zeroed memory for tables."""

from __future__ import annotations

import contextlib
import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.errors import NoRoomError

CGROUPS = Path("/sys/fs/cgroup")


def available_cores(cgroups: Path = CGROUPS) -> int:
    """Cores that this process may use: its affinity, or less where a container has a quota."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on macOS
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    quota = _quota(cgroups)
    return cores if quota is None else max(1, min(cores, quota))


def processor_features() -> set[str]:
    """What Linux lists as the flags of an x86 processor; nothing elsewhere."""
    try:
        with open("/proc/cpuinfo") as lines:
            return next(
                (set(line.split()[2:]) for line in lines if line.startswith("flags")), set()
            )
    except OSError:
        return set()


def _quota(cgroups: Path) -> int | None:
    """Cores that a container's quota amounts to, rounded up; None without one."""
    try:
        limit, period = (cgroups / "cpu.max").read_text().split()  # version 2
    except (OSError, ValueError):
        try:  # version 1, -1 for no limit
            limit = (cgroups / "cpu" / "cpu.cfs_quota_us").read_text().strip()
            period = (cgroups / "cpu" / "cpu.cfs_period_us").read_text().strip()
        except OSError:
            return None
    if not (limit.isdigit() and period.isdigit() and int(period)):
        return None
    return -(-int(limit) // int(period))


def available_memory(cgroups: Path = CGROUPS) -> int:
    """Bytes available without swapping, or less where a container has a limit."""
    limit = _memory_left(cgroups)
    return _free_memory() if limit is None else min(_free_memory(), limit)


def _free_memory() -> int:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:  # not on macOS
        pass
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _memory_left(cgroups: Path) -> int | None:
    """What a container's limit leaves, cached files counted as free; None without a limit."""
    for folder, limit, used in (
        (cgroups, "memory.max", "memory.current"),  # version 2, "max" for no limit
        (cgroups / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),  # version 1
    ):
        try:
            most, now = (int((folder / name).read_text()) for name in (limit, used))
            statistics = (folder / "memory.stat").read_text().splitlines()
            figures = dict(line.split() for line in statistics)
            cached = int(figures["inactive_file"]) + int(figures["active_file"])
        except (OSError, ValueError, KeyError):
            continue
        return max(0, most - now + cached)
    return None


def zeroed(dtype: Any, count: int) -> NDArray[Any]:
    """Zeroed memory in huge pages where the system has them: tables are read at random."""
    size = max(1, count * np.dtype(dtype).itemsize)
    try:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE)  # of no file, so anonymous
    except (OSError, OverflowError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise NoRoomError(f"cannot get {size:,} bytes of memory: {why}") from error
    with contextlib.suppress(AttributeError, OSError):  # macOS, or a Linux without huge pages
        memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, dtype)[:count]
