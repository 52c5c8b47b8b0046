"""A long solve that is interrupted or killed continues to the same bytes."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import SCRIPT, VARIANT33
from damaged_files import (
    DAMAGE,
    edit_manifest,
)
from folders import names_in, snapshot
from interrupted_solves import Interrupted, SolveInterruptedError

from solver import (
    Rules,
    Solution,
    solve,
)
from solver.checkpoint import CheckpointFile

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")
RULES33 = Rules(3, 3, 3)


class InterruptedAt(Interrupted, CheckpointFile):
    """Saves after every depth, and is interrupted after one of them."""


@pytest.mark.parametrize("rules", [Rules(3, 3, 3), Rules(4, 3, 3), Rules(4, 2, 2)], ids=str)
def test_a_solve_interrupted_after_any_depth_and_resumed_gives_the_same_bytes(
    tmp_path: Path, rules: Rules
) -> None:
    whole = solve(rules)
    full_slice_deepest = 0
    for depth in range(1, 255):
        interrupted = InterruptedAt(tmp_path, rules, 0)
        interrupted.at_depth = depth
        try:
            solve(rules, checkpoints=interrupted)
        except SolveInterruptedError:
            full_slice_deepest = depth
        else:
            break
        resuming = InterruptedAt(tmp_path, rules, 0)
        resumed = solve(rules, threads=1 + depth % 2, checkpoints=resuming)
        assert resuming.resumed_from == depth
        assert np.array_equal(resumed.table, whole.table)
        resuming.discard()
        assert names_in(tmp_path) == set()
    assert full_slice_deepest >= 1


def test_a_solve_that_is_not_due_saves_nothing(tmp_path: Path) -> None:
    solve(RULES33, checkpoints=CheckpointFile(tmp_path, RULES33, 3600))
    assert names_in(tmp_path) == set()


def test_solve_killed_between_checkpoints_resumes_to_the_same_bytes(
    tmp_path: Path, solution44: Solution
) -> None:
    command = [sys.executable, SCRIPT, "solve", "--table-only", "--data", str(tmp_path)]
    running = subprocess.Popen(
        [*command, "--checkpoint-minutes", "0"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    checkpoint = tmp_path / "solving_4x4_m4.checkpoint"
    while not checkpoint.with_name(checkpoint.name + ".json").exists():
        assert running.poll() is None, "the solve ended without a checkpoint"
        time.sleep(0.005)
    running.kill()
    running.wait()
    assert not (tmp_path / "solved_4x4_m4.table").exists()
    resumed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert resumed.returncode == 0, resumed.stderr
    assert "resume at depth" in resumed.stderr
    stored = np.fromfile(tmp_path / "solved_4x4_m4.table", np.uint8)
    assert np.array_equal(stored, solution44.table)
    assert names_in(tmp_path) == {"solved_4x4_m4.table", "solved_4x4_m4.table.json"}


CHECKPOINT_DAMAGE: dict[str, Callable[[Path], object]] = {
    name: DAMAGE[name]
    for name in ("truncated", "bit flipped", "wrong version", "no manifest", "manifest of garbage")
} | {
    "no depth": lambda path: edit_manifest(path, lambda body: body["counts"].clear()),
    "another depth": lambda path: edit_manifest(path, lambda body: body["counts"].update(depth=3)),
    "deeper": lambda path: edit_manifest(path, lambda body: body["counts"].update(depth=6)),
    "a depth in words": lambda path: edit_manifest(
        path, lambda body: body["counts"].update(depth="four")
    ),
    "of other rules": lambda path: edit_manifest(
        path, lambda body: body["rules"].update(k=2, tag=Rules(3, 3, 2).tag)
    ),
}


@pytest.mark.parametrize("damage", CHECKPOINT_DAMAGE)
def test_a_damaged_checkpoint_is_refused_in_one_line_with_the_way_out(
    tmp_path: Path, fadefour: Callable[..., Any], damage: str
) -> None:
    interrupted = InterruptedAt(tmp_path, RULES33, 0)
    interrupted.at_depth = 4
    with pytest.raises(SolveInterruptedError):
        solve(RULES33, checkpoints=interrupted)
    CHECKPOINT_DAMAGE[damage](interrupted.path)
    before = snapshot(tmp_path)
    ended = fadefour("solve", *VARIANT33, "--data", tmp_path, "--json")
    assert (ended.code, ended.out) == (2, "")
    assert re.fullmatch(r"fadefour: .*checkpoint.*: remove '.*' to start .*\n", ended.err)
    assert snapshot(tmp_path) == before
