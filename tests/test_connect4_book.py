"""The opening book: which positions it has, its file, how it is made, and who asks it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plain_connect4 import GAME, scored_games
from plain_games import GOING_ON
from slow import slow
from two_plies import book_of_two_plies

from solver.connect4 import Connect4Position, Connect4Solver, Connect4Stones
from solver.connect4 import book as book_module
from solver.connect4 import book_making as making
from solver.connect4.book import (
    BOOK,
    SHIPPED,
    Book,
    BookScores,
    book_in,
    moves_of,
    positions_of,
)
from solver.connect4.book_making import check_book, derive_plies_above, make_book
from solver.connect4.keys import bitboards_of, key_of
from solver.connect4.text import Connect4Report
from solver.errors import CorruptTableError, FadefourError, InputError

Command = Callable[..., Any]

OPENINGS = Path(__file__).with_name("connect4_openings.txt")
COLUMNS, ROWS = 7, 6


def stored_openings() -> dict[str, int]:
    lines = [line.split() for line in OPENINGS.read_text().splitlines()]
    return {moves: int(score) for moves, score in lines}


def book_with(tmp_path: Path, contents: BookScores) -> Book:
    book = Book(tmp_path / BOOK)
    book.save(contents)
    return book


# ---- positions ----------------------------------------------------------------------------------


def drawn(state: Any) -> tuple[Any, ...]:
    """A board of the plain game or its mirror image, whichever comes first."""
    board = [tuple(state[row * COLUMNS + c] for row in range(ROWS)) for c in range(COLUMNS)]
    return min(tuple(board), tuple(board[::-1]))


def test_the_book_lists_every_position_in_play_once_and_no_other() -> None:
    """By playing every move on plain boards."""
    boards = {drawn(GAME.start()): GAME.start()}
    for ply in range(6):
        assert len(positions_of(ply).keys) == len(boards), ply
        after = [GAME.play(s, c) for s in boards.values() for c in GAME.legal(s)]
        boards = {drawn(s): s for s in after if GAME.result(s) == GOING_ON}


def test_a_key_can_be_turned_back_into_its_position() -> None:
    draw = random.Random(2)
    for _ in range(500):
        position = Connect4Stones(0, 0)
        for _ in range(draw.randint(0, 30)):
            if position.is_over:
                break
            position = position.play(draw.choice(position.legal_moves()))
        mover, stones = bitboards_of(key_of(position.mover, position.stones))
        assert key_of(mover, stones) == key_of(position.mover, position.stones)
        assert stones.bit_count() == position.plies
    for ply in (3, 7):
        positions = positions_of(ply)
        assert (np.diff(positions.keys.astype(np.int64)) > 0).all()
        for row in range(0, len(positions.keys), 97):
            mover, stones = int(positions.movers[row]), int(positions.stones[row])
            assert key_of(mover, stones) == int(positions.keys[row])


def test_a_move_that_makes_four_is_a_win_and_leads_to_no_position_of_the_book() -> None:
    wins = 0
    for column in range(COLUMNS):
        moves = moves_of(6, column)
        for row in np.flatnonzero(moves.wins).tolist():
            after = Connect4Stones(int(moves.movers[row]), int(moves.stones[row]))
            assert after.is_won
            assert int(moves.keys[row]) not in positions_of(7).keys
        wins += int(moves.wins.sum())
    assert wins > 0


# ---- the shipped book ---------------------------------------------------------------------------


def test_the_shipped_book_is_complete_and_says_what_was_stored_before_it() -> None:
    book = SHIPPED.contents
    assert book.is_complete and book.plies >= 2
    assert book.scores[0].tolist() == [1]
    compared = 0
    for moves, score in stored_openings().items():
        position = Connect4Position.parse(moves)
        known = SHIPPED.get(position.mover, position.stones)
        if known is not None:
            assert known == score, moves
            assert SHIPPED.get(position.mirrored.mover, position.mirrored.stones) == score
            compared += 1
    assert compared > book.plies  # the main line, and a position beyond the book


def test_the_shipped_book_agrees_with_its_own_moves() -> None:
    check = check_book(SHIPPED, sample=0, seed=0)
    assert check.ok and check.derived == sum(map(len, SHIPPED.contents.scores[:-1]))


@slow
def test_the_shipped_book_agrees_with_searches_without_it() -> None:
    assert check_book(SHIPPED, sample=5, seed=1).ok


def test_the_empty_board_with_its_best_line_needs_no_long_search() -> None:
    with Connect4Solver() as solver:
        report = Connect4Report.of(solver, Connect4Position())
        assert [move.score for move in report.moves] == [1, 0, 0, -1, -1, -2, -2]
        assert report.value == ("win", 41, 1) and len(report.line) == 41
        assert solver.nodes < 100_000_000 // 10  # the empty board alone takes 560 million


# ---- the file -----------------------------------------------------------------------------------


def test_a_book_is_read_as_it_was_written(tmp_path: Path) -> None:
    contents = BookScores.unknown(3)
    contents.scores[3][5:50] = np.arange(-18, 27)[:45].clip(-18, 18)
    contents.further, contents.seconds = {17: -3, 1 << 48: 4}, {3: 12.5}
    again = Book(book_with(tmp_path, contents).path).contents
    assert [part.tolist() for part in again.scores] == [part.tolist() for part in contents.scores]
    assert (again.further, again.seconds) == (contents.further, contents.seconds)
    assert again.known == 47 and not again.is_complete
    listed = sum(map(len, contents.scores))
    assert len(contents.to_bytes()) < listed + 9 * 2 + 200  # a byte for each position


def test_a_damaged_book_is_refused_in_one_line_wherever_it_is_damaged(tmp_path: Path) -> None:
    whole, draw = BookScores.unknown(2).to_bytes(), random.Random(3)
    for _ in range(300):
        data = bytearray(whole)
        if draw.random() < 0.3:
            data = data[: draw.randrange(len(data))]
        else:
            data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        path = tmp_path / BOOK
        path.write_bytes(data)
        try:
            contents = Book(path).contents
        except CorruptTableError as error:
            assert str(path) in str(error) and "\n" not in str(error)
        else:  # the time that a search took, and spaces, are not part of the scores
            assert contents.to_bytes() == whole


@pytest.mark.parametrize(
    "change",
    [
        {"plies": 99},
        {"plies": True},
        {"plies": -1},
        {"further": 10**9},
        {"seconds": 5},
        {"seconds": {"x": 1}},
        {"sha256": None},
    ],
)
def test_a_header_that_no_program_wrote_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    magic, header, body = BookScores.unknown(1).to_bytes().split(b"\n", 2)
    about = json.dumps(json.loads(header) | change).encode()
    path = tmp_path / BOOK
    path.write_bytes(b"\n".join([magic, about, body]))
    with pytest.raises(CorruptTableError, match="remove it"):
        _ = Book(path).contents


@pytest.fixture
def ships_two_plies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Book:
    """As if the book that comes with fadefour had no more."""
    book = book_of_two_plies(tmp_path)
    monkeypatch.setattr(book_module, "SHIPPED", book)
    return book


def test_the_book_of_a_folder_is_used_if_it_knows_more(
    tmp_path: Path, ships_two_plies: Book
) -> None:
    assert book_in(tmp_path) is ships_two_plies
    book_with(tmp_path, BookScores.unknown(4))
    assert book_in(tmp_path) is ships_two_plies
    more = BookScores.unknown(4)
    more.scores[4][:] = 7
    book_with(tmp_path, more)
    assert book_in(tmp_path).path == tmp_path / BOOK
    four = Connect4Stones(*bitboards_of(int(positions_of(4).keys[0])))
    with Connect4Solver(1, book=book_in(tmp_path)) as solver:  # what the book says is believed
        assert solver.score(four) == 7 and solver.nodes == 0
        assert solver.search(four.mover, four.stones, -1, 1) == 1


# ---- making -------------------------------------------------------------------------------------


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Keys of the positions that were searched for; the search is replaced by the shipped book,
    which says what a search of minutes would."""
    asked: list[int] = []

    def answer(mover: int, stones: int, least: int, solver: Connect4Solver) -> int:
        score = SHIPPED.get(mover, stones)
        assert score is not None and least <= score
        asked.append(key_of(mover, stones))
        return score

    monkeypatch.setattr(making, "bounded_score", answer)
    return asked


def test_a_book_is_made_from_its_deepest_ply(tmp_path: Path, answers: list[int]) -> None:
    book = book_with(tmp_path, BookScores.unknown(0))
    report = make_book(book, 2, threads=2)
    made = Book(book.path).contents
    assert [part.tolist() for part in made.scores] == [
        part.tolist() for part in SHIPPED.contents.scores[:3]
    ]
    assert sorted(answers)[-25:] and set(positions_of(2).keys.tolist()) <= set(answers)
    assert made.further and report.to_dict()["known"] == made.known
    assert check_book(book, sample=0, seed=0).ok


def test_a_book_that_was_interrupted_asks_only_for_the_rest(
    tmp_path: Path, answers: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = making.bounded_score

    def interrupted(*question: Any) -> int:
        if len(answers) == 7:
            raise FadefourError("killed")
        return whole(*question)

    book = book_with(tmp_path, BookScores.unknown(0))
    monkeypatch.setattr(making, "bounded_score", interrupted)
    with pytest.raises(FadefourError, match="killed"):
        make_book(book, 2, threads=1)
    kept = Book(book.path).contents
    assert kept.plies == 2 and 0 < kept.known <= 7 and not kept.is_complete
    monkeypatch.setattr(making, "bounded_score", whole)
    before = set(answers)
    answers.clear()
    make_book(Book(book.path), 2, threads=1)
    second = set(positions_of(2).keys.tolist())
    assert len(second & set(answers)) == 25 - kept.known and len(second & before) == 7


def test_few_questions_wait_however_many_positions_a_ply_has(
    tmp_path: Path, answers: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each answer looks at all that wait: with every position of ply 8 among them, a book would
    take longer to wait than to search."""
    waited_for: list[int] = []
    wait = making.wait

    def counted(waiting: Any, *options: Any) -> Any:
        waited_for.append(len(waiting))
        return wait(waiting, *options)

    monkeypatch.setattr(making, "wait", counted)
    make_book(book_with(tmp_path, BookScores.unknown(0)), 2, threads=1)
    assert len(set(answers) & set(positions_of(2).keys.tolist())) == 25
    assert 0 < max(waited_for) <= making.QUESTIONS_PER_THREAD


def test_fewer_plies_can_be_made_in_a_book_that_is_unfinished_further_down(
    tmp_path: Path, answers: list[int]
) -> None:
    book = book_with(tmp_path, BookScores.unknown(4))
    made = make_book(book, 2, threads=1).contents
    assert made.plies == 4 and made.complete_plies == 2 and not made.is_complete
    assert made.scores[1].tolist() == SHIPPED.contents.scores[1].tolist()


def test_a_finished_book_is_not_made_again(tmp_path: Path, answers: list[int]) -> None:
    book = book_with(tmp_path, SHIPPED.contents)
    make_book(book, 1, threads=1)
    assert not answers and book.contents.known == SHIPPED.contents.known


def test_upper_plies_that_contradict_the_lower_ones_are_refused() -> None:
    wrong = BookScores.from_bytes(SHIPPED.contents.to_bytes())
    wrong.scores[0][0] = 3
    with pytest.raises(CorruptTableError, match="its moves say 1"):
        derive_plies_above(wrong, wrong.plies)


# ---- the command --------------------------------------------------------------------------------


def late(count: int, change: Callable[[int], int] = lambda score: score) -> BookScores:
    """A book that has only late positions, whose scores plain negamax has found."""
    contents = BookScores.unknown(0)
    for columns, score in scored_games()[:count]:
        position = Connect4Position(tuple(columns))
        contents.further[key_of(position.mover, position.stones)] = change(score)
    return contents


def test_book_verify_finds_a_wrong_score(
    fadefour: Command, tmp_path: Path, ships_two_plies: Book
) -> None:
    count = ships_two_plies.contents.known + 1
    book_with(tmp_path, late(count))
    verify = ("book", "--verify", "--data", tmp_path, "--sample", count, "--threads", 1, "--json")
    ended = fadefour(*verify)
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["sampled"] == count
    book_with(tmp_path, late(count, lambda score: score + 1 if score == 0 else score))
    ended = fadefour(*verify)
    assert ended.code == 1
    assert "does not score 1" in json.loads(ended.out)["wrong"][0]


def test_book_says_what_it_has(fadefour: Command, tmp_path: Path) -> None:
    ended = fadefour("book", "--data", tmp_path)
    assert ended.code == 0 and "1 positions: 1 won" in ended.out
    entries = json.loads(fadefour("book", "--data", tmp_path, "--json").out)
    assert entries["complete"] and entries["positions"][:3] == [1, 4, 25]
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--plies", 11), "0 to 10"),
        (("--plies", 1, "--verify"), "cannot be combined"),
        (("--sample", 3), "--sample has no effect without --verify"),
        (("--plies", 1, "--threads", 0), "threads=0"),
    ],
)
def test_bad_use_is_named(
    fadefour: Command, tmp_path: Path, options: tuple[Any, ...], words: str
) -> None:
    ended = fadefour("book", "--data", tmp_path, *options)
    assert ended.code == 2 and words in ended.err and ended.err.count("\n") == 1


def test_probe_answers_from_the_book_of_its_folder(fadefour: Command, tmp_path: Path) -> None:
    ended = fadefour("probe", "--game", "connect4", "-", "--data", tmp_path, "--json")
    assert json.loads(ended.out)["score"] == 1
    book_with(tmp_path, BookScores.unknown(0)).path.write_bytes(b"not a book")
    ended = fadefour("probe", "--game", "connect4", "-", "--data", tmp_path)
    assert ended.code == 2 and "remove it" in ended.err


def test_no_position_is_made_beyond_the_limit(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--plies 11"):
        make_book(Book(tmp_path / BOOK), 11)
