"""The lines of metrics.jsonl as types: what is read is what was written, and damage is named."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from synthetic_runs import healthy_line, write_lines

from azfit.metrics import numbered_metrics
from azfit.self_play.iteration import Iteration, read_iterations
from solver.errors import CorruptTableError, FadefourError, InputError

ROOT = Path(__file__).resolve().parent.parent


def whole_line() -> dict[str, Any]:
    """Every key of docs/diagnostics.md."""
    line = healthy_line(0) | {"iteration": 3, "seconds": 12.5, "workers_replaced": 1}
    line["phase_seconds"] = {"play": 1.0, "training": 0.5, "match": 0.25}
    line["match"]["pairs_by_colour"] = 4
    line["buffer"] = {"first": [1, 2, 3], "second": [4, 5, 6]}
    line["training"] |= {"steps_taken": 9, "learning_rate": 0.003}
    for side in ("first", "second"):
        line["fresh"][side] |= {"f1": {"win": 0.5, "draw": None, "loss": 0.25}, "wdl_loss": 0.75}
    return json.loads(json.dumps(line))


def test_a_line_keeps_every_key_and_value() -> None:
    assert Iteration.from_dict(whole_line()).to_dict() == whole_line()


def test_fields_are_what_the_file_says() -> None:
    line = Iteration.from_dict(whole_line())
    assert line.games is not None and line.games.starved == (0, 0)
    assert line.match is not None and line.match.losses == (3, 6)
    assert line.fresh is not None and line.fresh.by_side()["second"].confusion[2] == (8, 2, 90)
    assert line.watch is not None and line.watch.by_name()["reply"].moves == (3,)


def test_missing_parts_and_figures_of_later_versions_are_none(tmp_path: Path) -> None:
    old = whole_line() | {"iteration": 1}
    for part in ("buffer", "phase_seconds", "watch"):
        del old[part]
    del old["training"]["wdl_learned"], old["fresh"]["first"]["wdl_loss"], old["fresh"]["second"]
    write_lines(tmp_path, [old, {"elo": 5, "a later version": {"writes": "more"}}])
    first, second = read_iterations(tmp_path)
    assert (first.buffer, first.phase_seconds, first.watch) == (None, None, None)
    assert first.training is not None and first.training.wdl_learned is None
    assert first.fresh is not None and set(first.fresh.by_side()) == {"first"}
    assert first.to_dict() == old
    assert second == Iteration(iteration=2, seconds=60.0, elo=5.0)


def test_iterations_come_in_order_and_the_later_of_two_counts(tmp_path: Path) -> None:
    lines = [{"iteration": n, "elo": elo} for n, elo in ((2, 1.0), (1, 2.0), (2, 3.0))]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert [(line.iteration, line.elo) for line in read_iterations(tmp_path)] == [(1, 2), (2, 3)]


def test_no_file_and_lines_of_another_kind_of_run_are_no_iterations(tmp_path: Path) -> None:
    assert read_iterations(tmp_path) == []
    (tmp_path / "metrics.jsonl").write_text('{"kind": "training", "step": 1, "seconds": 1}\n')
    assert read_iterations(tmp_path) == []


def test_a_last_line_that_was_cut_short_is_left_out(tmp_path: Path) -> None:
    text = '{"iteration": 1}\n{"iteration": 2}\n'
    for cut in range(len('{"iteration": 1}\n'), len(text) - 2):
        (tmp_path / "metrics.jsonl").write_text(text[:cut])
        assert [line.iteration for line in read_iterations(tmp_path)] == [1]


def changed(path: str, value: Any) -> bytes:
    line = whole_line()
    *parents, last = path.split(".")
    entry = line
    for parent in parents:
        entry = entry[parent]
    if value is None:
        entry[last + "x"] = entry.pop(last)
    else:
        entry[last] = value
    return json.dumps(line).encode()


@pytest.mark.parametrize(
    ("line", "named"),
    [
        (changed("iteration", None), "'iteration' is missing"),
        (changed("iteration", "3"), "'iteration' is '3', not a whole number"),
        (changed("iteration", 3.5), "'iteration'"),
        (changed("games", []), "'games' is [], not an object"),
        (changed("games.first_wins", None), "'games.first_wins' is missing"),
        (changed("games.first_wins", True), "'games.first_wins' is True"),
        (changed("games.open", [1]), "'games.open' has 1 entries, not 2"),
        (changed("games.mean_plies", "long"), "'games.mean_plies' is 'long', not a number"),
        (changed("games.mean_plies", float("nan")), "'games.mean_plies' is nan"),
        (changed("fresh.first.confusion", [[1, 2, 3]]), "'fresh.first.confusion'"),
        (changed("fresh.first.f1", {"win": "x"}), "'fresh.first.f1.win'"),
        (changed("accepted", 1), "'accepted' is 1, not true or false"),
        (changed("watch.start.policy", {"a": 1}), "'watch.start.policy'"),
        (changed("elo", [0] * 1000), "'elo' is [0, 0"),
        (b"{", "line 2"),
        (b"[]", "not an object"),
        (b"\xff\xfe", "line 2"),
        (b"[" * 100_000, "line 2"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: bytes, named: str) -> None:
    (tmp_path / "metrics.jsonl").write_bytes(b'{"iteration": 1}\n' + line + b'\n{"iteration": 9}\n')
    with pytest.raises(CorruptTableError) as raised:
        read_iterations(tmp_path)
    message = str(raised.value)
    assert named in message and f"line 2 of '{tmp_path / 'metrics.jsonl'}'" in message
    assert "\n" not in message and len(message) < 300


def test_what_is_not_a_readable_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").mkdir()
    with pytest.raises(InputError, match="it is a folder"):
        read_iterations(tmp_path)
    with pytest.raises(FadefourError, match="cannot read"):
        numbered_metrics(tmp_path / ("x" * 300))


def test_reading_does_not_import_torch() -> None:
    code = "import sys, azfit.self_play.iteration; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
