"""probe and verify of Connect Four as a user types them, and the public sets where they are."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import SCRIPT
from plain_connect4 import POSITIONS, scored_games, state_of
from slow import ASKED_FOR, more

from solver.connect4 import Connect4Position, Connect4Solver
from solver.connect4.sets import SETTING, SetCheck, read_set, set_files, verify_sets
from solver.errors import FadefourError

Command = Callable[..., Any]


PUBLIC = ("L1_R1", "L1_R2", "L1_R3", "L2_R1", "L2_R2", "L3_R1")
# Of these sets make test solves so many; all 500 positions of the first take half a minute, of the
# second a quarter of an hour: FADEFOUR_SLOW_TESTS=1.
QUICKLY = {"L1_R2": 50, "L1_R3": 1}

GAME, SCORE = next(pair for pair in scored_games() if pair[1] > 1)
TEXT = "".join(map(str, GAME))


# ---- probe --------------------------------------------------------------------------------------


def test_probe_tells_result_plies_every_move_and_the_line(fadefour: Command) -> None:
    report = json.loads(fadefour("probe", "--game", "connect4", TEXT, "--json").out)
    with Connect4Solver(1) as solver:
        position = Connect4Position.parse(TEXT)
        value, scores = solver.value(position), solver.move_scores(position)
    assert (report["position"], report["result"], report["score"]) == (TEXT, "win", SCORE)
    assert report["plies"] == value.plies == len(report["line"])
    assert {move["column"]: move["score"] for move in report["moves"]} == scores
    worths = [move["score"] for move in report["moves"]]
    assert worths == sorted(worths, reverse=True)
    assert set(report["moves"][0]) == {"column", "result", "plies", "score"}


def test_probe_draws_the_board_and_names_the_sides(fadefour: Command) -> None:
    ended = fadefour("probe", "--game", "connect4", TEXT)
    assert ended.code == 0
    side, plies = "XO"[len(GAME) % 2], 2 * (22 - SCORE - len(GAME) // 2) - 1
    assert ended.out.splitlines()[0] == (
        f"{TEXT}: {side} to move, win in {plies} plies (score {SCORE:+d})"
    )
    board = ended.out.splitlines()[2:8]
    stones = {1: "X", -1: "O", 0: "·"}
    state = state_of(GAME)
    for row, drawn in enumerate(reversed(board)):
        assert drawn == "  | " + " ".join(stones[p] for p in state[row * 7 : row * 7 + 7])
    assert "    1 2 3 4 5 6 7" in ended.out and f"Best line: {side} " in ended.out
    over = fadefour("probe", "--game", "connect4", "1212121")
    assert over.code == 0 and "lost: the game is over" in over.out and "Best line" not in over.out


# ---- verify -------------------------------------------------------------------------------------


def test_verify_counts_what_is_right_by_file(fadefour: Command, tmp_path: Path) -> None:
    half = tmp_path / "half.txt"
    half.write_text("".join(POSITIONS.read_text().splitlines(keepends=True)[:60]))
    ended = fadefour("verify", "--game", "connect4", POSITIONS, half, "--json")
    report = json.loads(ended.out)
    assert ended.code == 0 and report["ok"]
    assert [(s["positions"], s["correct"]) for s in report["sets"]] == [(120, 120), (60, 60)]
    words = fadefour("verify", "--game", "connect4", half)
    assert words.code == 0 and "60 of 60 positions correct: verified" in words.out


def test_a_wrong_score_fails_the_check_and_is_shown(fadefour: Command, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.txt"
    wrong.write_text(f"{TEXT} {SCORE}\n{TEXT} {SCORE - 1}\n\n121212 -18\n")
    ended = fadefour("verify", "--game", "connect4", wrong)
    assert ended.code == 1
    assert "1 of 3 positions correct: verification FAILED" in ended.out
    assert f"'{TEXT}': the file says {SCORE - 1}, the solver {SCORE}" in ended.out
    assert "'121212': the file says -18, the solver 18" in ended.out


def without_times(checks: list[SetCheck]) -> list[SetCheck]:
    return [replace(check, nodes=0, seconds=0.0, search_seconds=0.0) for check in checks]


def test_threads_change_nothing_but_the_time(fadefour: Command, tmp_path: Path) -> None:
    """The same scores, and the same wrong ones in the order of the file."""
    lines = POSITIONS.read_text().splitlines()
    for place in range(0, len(lines), 9):
        moves, score = lines[place].split()
        lines[place] = f"{moves} {int(score) + 1}"
    wrong = tmp_path / "wrong.txt"
    wrong.write_text("\n".join(lines))
    alone, together = (verify_sets([wrong, POSITIONS], threads) for threads in (1, 3))
    assert without_times(alone) == without_times(together)
    assert [(check.correct, len(check.wrong)) for check in together] == [(106, 10), (120, 0)]
    assert [int(words.split("the file says ")[1].split(",")[0]) for words in together[0].wrong] == [
        int(line.split()[1]) for line in lines[:90:9]
    ]
    ended = fadefour("verify", "--game", "connect4", POSITIONS, "--threads", "2", "--json")
    assert (ended.code, json.loads(ended.out)["ok"]) == (0, True)


def _is_in_play(moves: str) -> bool:
    try:
        return not Connect4Position.parse(moves).is_over
    except FadefourError:
        return False


def test_ctrl_c_ends_all_searches(tmp_path: Path) -> None:
    """Both threads search positions beyond any opening book, so many that it takes minutes."""
    path, draw = tmp_path / "slow.txt", random.Random(1)
    openings = ("".join(map(str, draw.choices(range(1, 8), k=11))) for _ in range(5000))
    path.write_text("".join(f"{moves} 1\n" for moves in openings if _is_in_play(moves)))
    child = subprocess.Popen(
        [sys.executable, SCRIPT, "verify", "--game", "connect4", path, "--threads", "2", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while len(list(Path(f"/proc/{child.pid}/task").iterdir())) < 3:  # until both have begun
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    finally:
        child.kill()
    assert (child.returncode, out) == (130, "")
    assert err.strip() == "fadefour: interrupted; what was finished is kept"


# ---- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("44433", "MOVES SCORE"),
        ("44433 -3 x", "MOVES SCORE"),
        ("44833 -3", "'8'"),
        ("44433 three", "'three'"),
        ("44433 22", "'22'"),
        ("4444444 1", "column 4 is full"),
    ],
)
def test_a_bad_line_of_a_set_is_named(
    fadefour: Command, tmp_path: Path, line: str, names: str
) -> None:
    path = tmp_path / "set.txt"
    path.write_text(f"121212 18\n{line}\n")
    ended = fadefour("verify", "--game", "connect4", path)
    assert ended.code == 2 and ended.out == ""
    assert len(ended.err.strip().splitlines()) == 1
    assert "line 2" in ended.err and names in ended.err and str(path) in ended.err


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (("probe", "--game", "connect4", "448"), "'8'"),
        (("probe", "--game", "connect4", "44", "--n", 3), "--n"),
        (("probe", "--game", "connect4", "44", "--table", "x"), "--table"),
        (("probe", "--game", "chess", "44"), "chess"),
        (("probe", "--game", "connect4", ""), "give - for the empty board"),
        (("probe", "--game", "connect4", " "), "give - for the empty board"),
        (("verify", "--game", "connect4"), "FILES"),
        (("verify", "--game", "connect4", "none.txt"), "none.txt"),
        (("verify", "--game", "connect4", "none.txt", "--n", 3), "--n has no effect"),
        (("verify", "--game", "connect4", POSITIONS, "--threads", 0), "threads=0"),
        (("verify", "--game", "connect4", "/dev"), "'/dev': it is a folder"),
        (("verify", "--game", "connect4", "/dev/zero"), "'/dev/zero': it is a device"),
        (("probe", "--game", "connect4", "44", "--threads", 0), "threads=0"),
        (("probe", "--game", "connect4", "4" * 5000), "5,000 columns"),
        (("verify", "set.txt"), "--game connect4"),
    ],
)
def test_bad_use_gets_one_line_and_exit_code_2(
    fadefour: Command, arguments: tuple[Any, ...], names: str
) -> None:
    ended = fadefour(*arguments)
    assert ended.code == 2 and ended.out == ""
    assert len(ended.err.strip().splitlines()) == 1 and names in ended.err


def test_a_long_line_is_not_repeated_whole(fadefour: Command, tmp_path: Path) -> None:
    path = tmp_path / "set.txt"
    for content in ("[" * 100_000, "4" * 10 + "x" * 100_000 + " 3", "44 " + "9" * 100_000):
        path.write_text(content)
        ended = fadefour("verify", "--game", "connect4", path)
        assert ended.code == 2 and "set.txt, line 1: " in ended.err
        assert len(ended.err) < 400


def test_a_set_without_positions_or_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "set.txt"
    for content in (b"", b"\n\n", b"\xff\xfe\x00"):
        path.write_bytes(content)
        with pytest.raises(FadefourError, match="MOVES SCORE"):
            read_set(path)


# ---- the public sets ----------------------------------------------------------------------------


def test_the_setting_names_the_folder_of_sets(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(SETTING, str(tmp_path))
    assert set_files() == []
    (tmp_path / "b.txt").touch()
    (tmp_path / "a.txt").touch()
    assert [path.name for path in set_files()] == ["a.txt", "b.txt"]


@more
@pytest.mark.parametrize("name", PUBLIC)
def test_every_score_of_a_public_set_is_found(name: str, tmp_path: Path) -> None:
    path = next((path for path in set_files() if path.stem == f"Test_{name}"), None)
    if path is None:
        pytest.skip(f"{SETTING} has no Test_{name}.txt")
    lines = path.read_text().splitlines(keepends=True)
    set_file = tmp_path / path.name
    set_file.write_text("".join(lines if ASKED_FOR else lines[: QUICKLY.get(name, len(lines))]))
    (check,) = verify_sets([set_file])
    assert check.wrong == [] and check.correct == check.total
