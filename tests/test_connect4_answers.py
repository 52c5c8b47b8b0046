"""Connect Four scores that are kept on disk, and searches that can be watched and ended."""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from damaged_files import flip_bit
from slow import slow
from web_folders import OPENINGS

from solver.connect4 import COLUMNS, Connect4Position, Connect4Solver
from solver.connect4 import answers as module
from solver.connect4.answers import (
    ANSWERS,
    APPLICATION,
    FEWEST_NODES,
    AnswerFile,
    checksum_of,
)
from solver.connect4.keys import key_of
from solver.connect4.sets import read_set, verify_sets
from solver.connect4.text import Connect4Report
from solver.errors import CorruptTableError, InputError

HARD = Connect4Position.parse("7115571465")  # beyond any book; takes seconds
MIDDLE = Connect4Position.parse("44443231116")  # takes a moment, more than FEWEST_NODES


def random_position(draw: random.Random, plies: int) -> Connect4Position:
    position = Connect4Position()
    while position.plies < plies and position.legal_moves():
        position = position.play(draw.choice(position.legal_moves()))
    return position


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ANSWERS


# ---- keys ---------------------------------------------------------------------------------------


def test_a_key_is_shared_by_a_board_and_its_mirror_image_and_by_no_other() -> None:
    """Boards drawn as tuples of columns are the second source of truth."""
    draw, boards = random.Random(1), {}
    for _ in range(3000):
        position = random_position(draw, draw.randint(0, 20))
        columns: list[list[int]] = [[] for _ in range(COLUMNS)]
        for ply, column in enumerate(position.columns):
            columns[column - 1].append(ply % 2)
        drawn = tuple(map(tuple, columns))
        board = position.plies % 2, min(drawn, drawn[::-1])
        assert boards.setdefault(key_of(position.mover, position.stones), board) == board
    assert len(boards) == len(set(boards.values()))


# ---- the file -----------------------------------------------------------------------------------


def test_a_second_solver_finds_the_answer_of_the_first_without_a_search(path: Path) -> None:
    with AnswerFile(path) as answers, Connect4Solver(1, answers=answers) as solver:
        score = solver.score(MIDDLE)
        assert solver.nodes >= FEWEST_NODES and len(answers) == 1
    mirrored = Connect4Position(tuple(8 - column for column in MIDDLE.columns))
    with AnswerFile(path) as answers, Connect4Solver(1, answers=answers) as solver:
        assert solver.score(MIDDLE) == solver.score(mirrored) == score
        assert solver.nodes == 0
        for low in range(-5, 5):
            bounded = solver.search(MIDDLE.mover, MIDDLE.stones, low, low + 1)
            assert bounded == min(max(score, low), low + 1)


def test_a_bound_is_not_kept_as_a_score(path: Path) -> None:
    with AnswerFile(path) as answers, Connect4Solver(1, answers=answers) as solver:
        score = solver.score(MIDDLE)
    path.unlink()
    with AnswerFile(path) as answers, Connect4Solver(1, answers=answers) as solver:
        for low, high in ((score, score + 1), (score - 1, score)):
            solver.search(MIDDLE.mover, MIDDLE.stones, low, high)
        assert len(answers) == 0
        solver.search(MIDDLE.mover, MIDDLE.stones, score - 1, score + 1)
    with AnswerFile(path) as answers:
        known = answers.get(MIDDLE.mover, MIDDLE.stones)
        assert known in (None, score)  # it may have taken too little work by now


def test_answers_are_those_of_a_solver_without_a_file(path: Path) -> None:
    draw = random.Random(2)
    positions = [random_position(draw, draw.randint(14, 30)) for _ in range(60)]
    with pytest.MonkeyPatch.context() as patch, Connect4Solver(1) as plain:
        patch.setattr(module, "FEWEST_NODES", 1)
        for _ in range(2):
            with AnswerFile(path) as answers, Connect4Solver(1, answers=answers) as solver:
                for position in positions:
                    assert solver.score(position) == plain.score(position)
                    assert solver.moves(position) == plain.moves(position)
                    assert solver.best_line(position) == plain.best_line(position)


def test_a_full_file_drops_what_took_least_work(path: Path) -> None:
    with AnswerFile(path, most=100) as answers:
        for number in range(1, 1000):
            answers.put(number, number, 3, FEWEST_NODES + number)
            assert len(answers) <= 100
        assert answers.get(999, 999) == 3
        assert answers.get(1, 1) is None
        answers.put(1, 1, 3, FEWEST_NODES - 1)
        assert answers.get(1, 1) is None, "it was not worth keeping"
    with AnswerFile(path, most=100) as answers:
        assert 0 < len(answers) <= 100


def test_the_file_never_grows_beyond_its_limit(path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_PAGES", 20)
        with AnswerFile(path) as answers:
            for number in range(8_000):
                answers.put(number << 20, number, 3, FEWEST_NODES)
            assert answers.get(0, 0) == 3, "a full file still answers"
        assert path.stat().st_size <= 20 * module.PAGE_BYTES


def test_a_damaged_file_is_refused_in_one_line_and_left_as_it_is(path: Path) -> None:
    for content in (b"not a database" * 100, b"\0" * 5000, b"SQLite format 3\0" + bytes(4000)):
        path.write_bytes(content)
        with pytest.raises(CorruptTableError, match="remove it"):
            AnswerFile(path)
        assert path.read_bytes() == content


def test_a_database_of_another_program_is_refused_and_left_as_it_is(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE answers (key, score, nodes)")
    other.commit()
    other.close()
    content = path.read_bytes()
    with pytest.raises(CorruptTableError, match="another kind of file"):
        AnswerFile(path)
    assert path.read_bytes() == content


def test_scores_that_cannot_be_are_not_believed(path: Path) -> None:
    AnswerFile(path).close()
    forged = sqlite3.connect(path)
    rows = (2, 40, 1, checksum_of(2, 40)), (4, "x", 1, 0)
    forged.executemany("INSERT INTO answers VALUES (?, ?, ?, ?)", rows)
    forged.commit()
    forged.close()
    with AnswerFile(path) as answers:
        assert answers.get(1, 1) is None and answers.get(2, 2) is None


def test_a_score_with_a_flipped_bit_is_forgotten(path: Path) -> None:
    """SQLite notices a damaged tree, not a damaged number."""
    with AnswerFile(path) as answers:
        for number in range(1, 16):
            answers.put(number, number, number, FEWEST_NODES)
    size, forgotten = path.stat().st_size, 0
    in_words = path.read_bytes().index(b"CREATE TABLE")  # as SQLite keeps what the tables are
    for place in (*range(0, size, 197), in_words + 9, *range(size - 200, size)):
        flip_bit(path, place, 7 if place == in_words + 9 else place % 8)
        with contextlib.suppress(CorruptTableError, InputError), AnswerFile(path) as answers:
            scores = [answers.get(number, number) for number in range(1, 16)]
            assert all(score in (None, n) for n, score in enumerate(scores, 1)), place
            forgotten += None in scores
        flip_bit(path, place, 7 if place == in_words + 9 else place % 8)
    assert forgotten > 15


def test_a_file_without_checksums_is_begun_anew(path: Path) -> None:
    older = sqlite3.connect(path)
    older.execute("CREATE TABLE answers (key INTEGER PRIMARY KEY, score, nodes)")
    older.execute("INSERT INTO answers VALUES (2, 3, 30000)")
    older.executescript(f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = 1")
    older.close()
    with AnswerFile(path) as answers:
        assert len(answers) == 0 and answers.get(1, 1) is None
        answers.put(1, 1, 5, FEWEST_NODES)
        assert answers.get(1, 1) == 5
    with AnswerFile(path) as answers:
        assert answers.get(1, 1) == 5


def test_a_folder_that_cannot_be_written_to_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot keep answers"):
        AnswerFile(tmp_path / "nowhere" / ANSWERS)


def test_a_file_that_is_closed_or_gone_does_not_stop_a_search(path: Path) -> None:
    answers = AnswerFile(path)
    answers.close()
    with Connect4Solver(1, answers=answers) as solver, Connect4Solver(1) as plain:
        assert solver.score(MIDDLE) == plain.score(MIDDLE)


def test_threads_share_a_file(path: Path) -> None:
    with AnswerFile(path) as answers:

        def use(seed: int) -> None:
            for number in range(300):
                answers.put(number, seed, 1, FEWEST_NODES)
                assert answers.get(number, seed) == 1

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(use, range(4)))
    assert os.path.getsize(path) > 0


@slow
def test_the_openings_of_the_web_tests_have_these_scores() -> None:
    (check,) = verify_sets([OPENINGS])
    assert check.correct == check.total, check.wrong


def test_the_openings_of_the_web_tests_agree_with_each_other() -> None:
    """A score is the best of its moves, the other way round."""
    scores = {str(position): score for position, score in read_set(OPENINGS)}
    checked = 0
    for text, score in scores.items():
        position = Connect4Position.parse(text)
        after = [scores.get(str(position.play(column))) for column in position.legal_moves()]
        known = [-value for value in after if value is not None]
        assert all(value <= score for value in known)
        if len(known) == len(after):
            assert max(known) == score
            checked += 1
    assert checked == 4


# ---- searches that are watched ------------------------------------------------------------------


class Enough(Exception):  # noqa: N818 - an ending, no error
    pass


def test_a_watcher_sees_the_nodes_rise_and_can_end_the_search() -> None:
    seen: list[int] = []

    def watch() -> None:
        seen.append(solver.nodes)
        if len(seen) == 5:
            raise Enough

    with Connect4Solver(1, slice_nodes=1000) as solver:
        with pytest.raises(Enough), solver.watched_by(watch):
            solver.moves(HARD)
        assert len(seen) == 5 and seen == sorted(set(seen))
        with Connect4Solver(1) as plain:
            assert solver.score(MIDDLE) == plain.score(MIDDLE), "the solver stays usable"
        assert len(seen) == 5, "and is no longer watched"


def test_each_move_is_reported_as_soon_as_it_is_known() -> None:
    with Connect4Solver(1) as solver:
        moves = list(solver.each_move(MIDDLE))
        assert [move.column for move in moves][:3] == [4, 3, 5]
        reported: list[object] = []
        report = Connect4Report.of(solver, MIDDLE, reported.append)
        assert reported == moves
        assert report.moves == solver.moves(MIDDLE)
        assert sorted(report.moves) == sorted(moves)
