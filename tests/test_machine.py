"""What the machine has: cores by affinity and quota, with and without the calls of Linux."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from azfit.self_play.config import default_workers, settled
from solver.errors import NoRoomError
from solver.kernels import check_threads
from solver.machine import available_cores, available_memory, zeroed


def limits(folder: Path, text: str) -> Path:
    (folder / "cpu.max").write_text(text)
    return folder


def test_cores_are_those_of_the_affinity(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {2, 5, 7}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    assert available_cores(tmp_path) == 3


def test_a_system_without_affinity_counts_its_cores(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert available_cores(tmp_path) == 6
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert available_cores(tmp_path) == 1


@pytest.mark.parametrize(
    ("text", "cores"),
    [("max 100000\n", 8), ("150000 100000\n", 2), ("50000 100000\n", 1), ("rubbish", 8)],
)
def test_a_containers_quota_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, cores: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert available_cores(limits(tmp_path, text)) == cores


def test_a_quota_of_the_older_kind_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text("300000\n")
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000\n")
    assert available_cores(tmp_path) == 3
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text("-1\n")
    assert available_cores(tmp_path) == 8


def test_threads_and_workers_follow_the_cores_that_may_be_used() -> None:
    """A process bound to one core, as by taskset, uses one thread and one worker."""
    code = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))});"
        "from azfit.self_play.config import default_workers, settled;"
        "from solver.kernels import check_threads;"
        "print(check_threads(None), default_workers(), settled({}).threads)"
    )
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("this system has no affinity")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["1", "1", "1"]


def test_defaults_agree_with_the_machine() -> None:
    cores = available_cores()
    assert check_threads(None) == cores
    assert default_workers() == max(1, cores - 1)
    assert settled({}).threads == cores


def test_memory_is_zeroed_or_refused_in_one_line() -> None:
    assert available_memory() > 1 << 20
    memory = zeroed(np.uint64, 1000)
    assert memory.dtype == np.uint64 and memory.shape == (1000,) and not memory.any()
    with pytest.raises(NoRoomError, match="cannot get 4,611,686,018,427,387,904 bytes of memory"):
        zeroed(np.uint8, 1 << 62)


def test_memory_needs_nothing_that_linux_alone_has(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MAP_ANONYMOUS", "MAP_ANON", "MADV_HUGEPAGE"):
        monkeypatch.delattr(mmap, name, raising=False)
    assert zeroed(np.uint8, 5).tolist() == [0] * 5


def test_a_system_without_huge_pages_gives_memory_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class WithoutHugePages(mmap.mmap):
        def madvise(self, *_: int) -> None:
            raise OSError(22, "Invalid argument")

    monkeypatch.setattr(mmap, "mmap", WithoutHugePages)
    assert zeroed(np.int64, 3).tolist() == [0] * 3


@pytest.mark.parametrize(
    ("folder", "limit", "used"),
    [
        (".", "memory.max", "memory.current"),
        ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ],
)
def test_a_containers_limit_of_memory_counts(
    tmp_path: Path, folder: str, limit: str, used: str
) -> None:
    """What it has used does not, cached files excepted."""
    place = tmp_path / folder
    place.mkdir(exist_ok=True)
    assert available_memory(tmp_path) == pytest.approx(available_memory(), rel=0.2)
    (place / limit).write_text("3000000\n")
    (place / used).write_text("2000000\n")
    (place / "memory.stat").write_text("anon 100\nactive_file 400000\ninactive_file 50000\n")
    assert available_memory(tmp_path) == 1_450_000
    (place / used).write_text("9000000\n")
    assert available_memory(tmp_path) == 0
    (place / limit).write_text("max\n")
    assert available_memory(tmp_path) > 10**8
