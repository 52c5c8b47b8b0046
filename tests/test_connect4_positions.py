"""Which Connect Four positions are taught: plies, careful play, the book, games of runs."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from plain_connect4 import scored_games
from synthetic_runs import episode, write_config, write_games
from two_plies import book_of_two_plies

from azfit.games import game_by_name
from azfit.oracle.connect4 import dataset as dataset_module
from azfit.oracle.connect4.dataset import Dataset
from azfit.oracle.connect4.labelling import LabelTask, LabelWorker, Source
from azfit.oracle.connect4.positions import (
    FIRST_PLY,
    LAST_PLY,
    LATE_PLY,
    QUICK_PLY,
    careful_position,
    drawn_ply,
    random_position,
    shares_by_ply,
    winning_cells,
)
from azfit.oracle.connect4.run_positions import run_positions
from solver.connect4 import COLUMN_BITS, COLUMNS, ROWS, Connect4Position, Connect4Stones
from solver.connect4.book import Book, BookScores, positions_of
from solver.connect4.keys import key_of
from solver.connect4.labels import columns_of
from solver.connect4.sets import SETTING
from solver.errors import InputError

# ---- shares by ply ------------------------------------------------------------------------------


def test_early_plies_have_a_share_that_hard_openings_can_be_learned_from() -> None:
    """Six in seven of the hardest public set have 9 stones or fewer: a fifth of a percent, the
    share that takes the same time at every ply, would teach 400 of them in 200,000."""
    shares = shares_by_ply()
    early = sum(shares[:10]) / sum(shares)
    assert 0.02 < early < 0.05
    assert shares[:FIRST_PLY] == [0.0] * FIRST_PLY and max(shares) == 1.0
    assert all(a < b for a, b in pairwise(shares[FIRST_PLY : QUICK_PLY + 1]))
    assert all(a > b > 0 for a, b in pairwise(shares[LATE_PLY : LAST_PLY + 1]))
    assert sum(shares[30:]) / sum(shares) < 0.25


@pytest.mark.parametrize("first_ply", [0, 3, 12, 30])
def test_the_first_ply_is_the_earliest_drawn(first_ply: int) -> None:
    draw = random.Random(2)
    drawn = Counter(drawn_ply(draw, first_ply) for _ in range(30_000))
    assert min(drawn) == first_ply
    assert {drawn_ply(draw, first_ply, latest=14) for _ in range(3000)} <= set(
        range(first_ply, max(first_ply, 14) + 1)
    )


# ---- careful play -------------------------------------------------------------------------------


def wins_at_once(position: Connect4Stones) -> bool:
    return any(position.play(column).is_won for column in position.legal_moves())


def test_winning_cells_are_those_where_a_stone_makes_four() -> None:
    draw = random.Random(3)
    for _ in range(300):
        position = random_position(draw, draw.randint(6, 36))
        for own in (position.mover, position.stones ^ position.mover):
            expected = 0
            for cell in (c * COLUMN_BITS + r for c in range(COLUMNS) for r in range(ROWS)):
                bit = 1 << cell
                if not position.stones & bit and Connect4Stones(0, own | bit).is_won:
                    expected |= bit
            assert winning_cells(own, position.stones) == expected


def test_a_careful_player_overlooks_no_win_and_no_loss_that_is_one_move_away() -> None:
    """A position in play one ply on: nobody could have won before, and whoever can win now could
    not have been stopped."""
    draw = random.Random(4)
    threatened = {"careful": 0, "random": 0}
    for _ in range(300):
        position = careful_position(draw, draw.randint(8, 30))
        assert not position.is_over
        stones = position.stones ^ position.mover  # of who moved last
        if wins_at_once(position):
            assert was_forced(position, stones)
            threatened["careful"] += 1
        threatened["random"] += wins_at_once(random_position(draw, position.plies))
    assert threatened["careful"] < threatened["random"] / 3


def was_forced(position: Connect4Stones, last: int) -> bool:
    """Each last move that could have been made let the mover win, too: there was no better one."""
    for column in range(COLUMNS):
        filled = position.stones >> column * COLUMN_BITS & ((1 << ROWS) - 1)
        top = filled + 1 >> 1 << column * COLUMN_BITS
        if not top or not top & last:
            continue
        before = Connect4Stones(last ^ top, position.stones ^ top)
        if before.is_over or wins_at_once(before):
            continue
        if all(wins_at_once(before.play(c)) for c in before.legal_moves()):
            return True
    return False


# ---- the book -----------------------------------------------------------------------------------


@pytest.fixture
def deeper(tmp_path: Path) -> Book:
    """Three plies of scores, not the true ones."""
    contents = BookScores.unknown(3)
    for part in contents.scores:
        part[:] = 0
    book = Book(tmp_path / "connect4.book")
    book.save(contents)
    return book


def test_every_position_whose_moves_the_book_knows_is_taught_once(
    tmp_path: Path, deeper: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    """First those of the book at hand, later what a deeper one has more; none of a set."""
    sets = tmp_path / "sets"
    sets.mkdir()
    (sets / "Test_own.txt").write_text("44 0\n12 0\n")
    monkeypatch.setenv(SETTING, str(sets))
    keys = {ply: set(positions_of(ply).keys.tolist()) for ply in range(4)}
    judging = {key_of(p.mover, p.stones) for p in map(Connect4Position.parse, ("44", "12"))}
    dataset = Dataset(tmp_path / "positions")
    dataset.grow(5, book=book_of_two_plies(tmp_path), workers=1)
    assert dataset._keys == keys[0] | keys[1]
    assert (dataset.rows(5).sources == Source.BOOK).all()
    dataset.grow(6, book=deeper, workers=1)
    assert dataset._keys == (keys[0] | keys[1] | keys[2]) - judging
    files = len(list(dataset.folder.iterdir()))
    again = Dataset(dataset.folder)
    again.grow(len(again), book=deeper, workers=1)
    assert len(list(dataset.folder.iterdir())) == files
    opening = again.rows(1)
    assert (opening.movers[0], opening.stones[0], opening.scores[0]) == (0, 0, 1)
    assert np.flatnonzero(columns_of(opening.optimal)[0]).tolist() == [3]
    assert np.flatnonzero(columns_of(opening.keeping)[0]).tolist() == [3]


@pytest.mark.parametrize(("first_ply", "expected"), [(0, 3), (3, 3), (7, 7)])
def test_what_the_book_knows_is_not_drawn_again(
    deeper: Book, monkeypatch: pytest.MonkeyPatch, first_ply: int, expected: int
) -> None:
    asked: set[int] = set()

    def late(draw: random.Random, first_ply: int, latest: int = LAST_PLY) -> int:
        asked.add(first_ply)
        return 36

    monkeypatch.setattr("azfit.oracle.connect4.labelling.drawn_ply", late)
    worker = LabelWorker(LabelTask(1, deeper.path, frozenset(), first_ply))
    assert all(len(worker.rows_of(number, None)) for number in (0, 1))
    assert asked == {expected}


# ---- games of runs ------------------------------------------------------------------------------


def run_of(folder: Path, games: list[list[int]]) -> Path:
    write_config(folder, game="connect4")
    game = game_by_name("connect4")
    moves = [[column - 1 for column in columns] for columns in games]
    write_games(folder, [episode(game, m, [], winner=-1, number=n) for n, m in enumerate(moves)])
    return folder


def test_a_game_of_a_run_gives_each_of_its_positions_once_by_the_shares_of_their_plies(
    tmp_path: Path,
) -> None:
    """Whole games, in another order; what is known already is left out."""
    played = [columns for columns, _ in scored_games()][:60]
    run = run_of(tmp_path / "run", [list(columns) for columns in played])
    dataset = Dataset(tmp_path / "positions")
    parts = run_positions([run, run], 6, dataset)
    keys = [[key_of(*pair) for pair in part.tolist()] for part in parts]
    flat = [key for part in keys for key in part]
    assert len(flat) == len(set(flat))
    possible = {}
    for columns in played:
        for ply in range(6, len(columns)):
            position = Connect4Position(tuple(columns[:ply]))
            possible[key_of(position.mover, position.stones)] = ply
    assert set(flat) <= set(possible)
    counts, drawn = Counter(possible.values()), Counter(possible[key] for key in flat)
    shares = shares_by_ply(6)
    for ply in range(QUICK_PLY, LATE_PLY + 1):
        assert drawn[ply] == counts[ply]
    expected = sum(shares[ply] * counts[ply] for ply in counts if ply < QUICK_PLY)
    early = sum(drawn[ply] for ply in drawn if ply < QUICK_PLY)
    assert abs(early - expected) < 4 * np.sqrt(expected) and early < sum(
        counts[ply] for ply in counts if ply < QUICK_PLY
    )
    for part in parts:  # of one game: each contains the one before it
        assert all(int(a[1]) & int(b[1]) == int(a[1]) for a, b in pairwise(part))
    dataset._keys |= set(flat[:50])
    rest = run_positions([run], 6, dataset)
    assert {key_of(*pair) for part in rest for pair in part.tolist()} == set(flat[50:])


def test_a_run_without_games_or_of_another_game_is_named(tmp_path: Path) -> None:
    dataset = Dataset(tmp_path / "positions")
    assert run_positions([], 6, dataset) == []
    write_config(tmp_path / "run", game="connect4")
    with pytest.raises(InputError, match="has no games yet"):
        run_positions([tmp_path / "run"], 6, dataset)
    write_config(tmp_path / "other", game="gomoku-9")
    with pytest.raises(InputError, match="plays gomoku-9"):
        run_positions([tmp_path / "other"], 6, dataset)


def test_games_from_elsewhere_are_a_third_of_the_items_while_they_last() -> None:
    games = [np.full((1, 2), number, np.uint64) for number in range(3)]
    items = dataset_module._items(0, games)
    chosen = [next(items) for _ in range(18)]
    assert [number for number, _ in chosen] == list(range(18))
    assert [int(game[0, 0]) for _, game in chosen if game is not None] == [0, 1, 2]
    assert [number for number, game in chosen if game is not None] == [2, 5, 8]
