"""Scores of Connect Four are the plain negamax's; laws that hold beyond its reach; bad input."""

from __future__ import annotations

import random
import signal
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_connect4 import GAME, plain_score, scored_games, state_of

from solver.connect4 import (
    CELLS,
    Connect4Position,
    Connect4Solver,
    Connect4Stones,
    plies_to_end,
)
from solver.errors import InputError

GAMES = scored_games()


def earlier(plies: int, count: int) -> list[Connect4Position]:
    """Positions so many plies before those of the file; play went on, so they are in play."""
    return [Connect4Position(tuple(game[:-plies])) for game, _ in GAMES[:count]]


def careless_games(count: int, plies: int, seed: int) -> list[list[int]]:
    """Random columns until the game is over or so many are played."""
    draw, games = random.Random(seed), []
    for _ in range(count):
        position = Connect4Position()
        while position.plies < plies and position.legal_moves():
            position = position.play(draw.choice(position.legal_moves()))
        games.append(list(position.columns))
    return games


def small_solver() -> Connect4Solver:
    return Connect4Solver(1, book=None)


def mirrored(position: Connect4Position) -> Connect4Position:
    """Left and right exchanged."""
    return Connect4Position(tuple(8 - column for column in position.columns))


@pytest.fixture(scope="module")
def solver() -> Connect4Solver:
    """Without the book: what is tested is the search."""
    return Connect4Solver(4, book=None)


# ---- against plain negamax ----------------------------------------------------------------------


def test_scores_of_our_positions_are_plain_negamaxs(solver: Connect4Solver) -> None:
    for game, score in GAMES:
        assert solver.score(Connect4Position(tuple(game))) == score, game


def test_moves_of_our_positions_score_what_plain_negamax_says(solver: Connect4Solver) -> None:
    """Also that the file still says what the plain search says."""
    for game, score in [pair for pair in GAMES if len(pair[0]) >= CELLS - 7][::3]:
        state, position, known = state_of(game), Connect4Position(tuple(game)), {}
        assert plain_score(state, known) == score
        moves = {c + 1: -plain_score(GAME.play(state, c), known) for c in GAME.legal(state)}
        assert solver.move_scores(position) == moves
        assert [m.score for m in solver.moves(position)] == sorted(moves.values(), reverse=True)


def test_the_best_move_is_the_first_of_all_moves_and_needs_the_stones_only(
    solver: Connect4Solver,
) -> None:
    for game, score in GAMES[::7]:
        position = Connect4Position(tuple(game))
        best = solver.best_move(Connect4Stones(position.mover, position.stones))
        assert best == solver.best_move(position) == solver.moves(position)[0]
        assert best.score == score
    with pytest.raises(InputError, match="over"):
        solver.best_move(Connect4Position.parse("1212121"))


def test_stones_alone_are_played_on_as_a_position_is() -> None:
    for game in careless_games(50, CELLS, seed=4):
        position, stones = Connect4Position(), Connect4Stones(0, 0)
        for column in game:
            assert stones.legal_moves() == position.legal_moves()
            position, stones = position.play(column), stones.play(column)
            assert (stones.mover, stones.stones) == (position.mover, position.stones)
            assert (stones.plies, stones.to_move) == (len(position.columns), position.to_move)
            assert (stones.is_won, stones.is_over) == (position.is_won, position.is_over)
        for column in {0, *range(1, 9)} - set(stones.legal_moves()):
            with pytest.raises(InputError, match="not a legal move"):
                stones.play(column)


def test_scores_of_careless_games_over_or_not_are_plain_negamaxs(solver: Connect4Solver) -> None:
    for game in careless_games(25, 35, seed=9):
        position = Connect4Position(tuple(game))
        assert position.is_over == (GAME.result(state_of(game)) != 0)
        assert solver.score(position) == plain_score(state_of(game), {}), position


def test_a_bounded_search_gives_the_score_or_the_nearer_bound(solver: Connect4Solver) -> None:
    for game, score in GAMES:
        position = Connect4Position(tuple(game))
        for low, high in ((-1, 1), (0, 1), (-1, 0), (2, 5), (-7, -2), (score, score)):
            bounded = solver.search(position.mover, position.stones, low, high)
            assert bounded == min(high, max(low, score)), (position, low, high)


def test_the_best_line_ends_when_the_score_says_with_the_result_it_says() -> None:
    with small_solver() as solver:
        for position in earlier(6, 40):
            value, line = solver.value(position), solver.best_line(position)
            state = state_of([*position.columns, *line])
            assert len(line) == value.plies == solver.plies(position)
            assert GAME.result(state) == (2 if value.result == "draw" else 1)
            if value.result != "draw":  # a win is completed by the mover, so after odd plies
                assert (value.plies % 2 == 1) == (value.result == "win")


# ---- laws ---------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=30)
@given(st.sampled_from(GAMES), st.integers(1, 12))
def test_mirror_images_score_the_same_and_a_score_is_the_best_of_its_moves(
    scored: tuple[list[int], int], plies: int
) -> None:
    position = Connect4Position(tuple(scored[0][:-plies]))
    with small_solver() as solver, small_solver() as other:  # nothing shared
        score = solver.score(position)
        assert other.score(mirrored(position)) == score
        scores = other.move_scores(position)
        assert max(scores.values()) == score
        images = solver.move_scores(mirrored(position))
        assert {8 - column: worth for column, worth in images.items()} == scores


def test_what_the_table_knows_never_changes_a_score() -> None:
    """Warm, cold, tiny and large tables, and orders of asking, agree."""
    games = earlier(12, 25)
    with Connect4Solver(1) as tiny, Connect4Solver(16) as large:
        scores = [tiny.score(position) for position in games]
        assert [large.score(position) for position in reversed(games)] == scores[::-1]
        assert [large.score(position) for position in games] == scores
        large.forget()
        assert [large.score(position) for position in games] == scores


def test_a_suspended_search_opens_the_same_nodes() -> None:
    position = Connect4Position(tuple(GAMES[0][0][:20]))
    counts = set()
    for nodes in (1, 7, 1000, 1 << 20):
        with Connect4Solver(1, slice_nodes=nodes) as solver:
            counts.add((solver.score(position), solver.nodes))
    assert len(counts) == 1 and counts.pop()[1] > 1000


def test_an_interrupted_search_stops_soon_and_the_solver_goes_on(solver: Connect4Solver) -> None:
    late = Connect4Position(tuple(GAMES[9][0]))
    score = solver.score(late)
    threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        solver.score(Connect4Position())  # minutes
    assert solver.score(late) == score


def test_threads_that_share_a_solver_get_the_right_scores(solver: Connect4Solver) -> None:
    games = earlier(8, 20)
    with small_solver() as alone:
        expected = [alone.score(position) for position in games]
    scores: dict[int, list[int]] = {}

    def ask(thread: int) -> None:
        scores[thread] = [solver.score(position) for position in games]

    threads = [threading.Thread(target=ask, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(scores[thread] == expected for thread in range(4))


# ---- finished games and notation ----------------------------------------------------------------


def test_a_finished_game_is_lost_in_0_plies_or_drawn(solver: Connect4Solver) -> None:
    won = Connect4Position.parse("1212121")
    assert won.is_over and won.legal_moves() == []
    assert solver.value(won) == ("loss", 0, -(22 - 4))
    assert solver.move_scores(won) == {} and solver.best_line(won) == []
    drawn = Connect4Position(tuple(next(game for game, score in GAMES if score == 0)))
    full = Connect4Position((*drawn.columns, *solver.best_line(drawn)))
    assert GAME.result(state_of(list(full.columns))) == 2
    assert full.is_over and solver.value(full) == ("draw", 0, 0)


def test_a_win_at_once_scores_18_on_the_fourth_stone(solver: Connect4Solver) -> None:
    assert solver.value(Connect4Position.parse("121212")) == ("win", 1, 18)
    assert plies_to_end(0, 10) == 32


def test_notation_goes_in_and_out(solver: Connect4Solver) -> None:
    for text in ("44433", "1", "7654321"):
        assert str(Connect4Position.parse(f" {text} ")) == text
    assert str(Connect4Position.parse("")) == str(Connect4Position.parse("-")) == "-"
    position = Connect4Position.parse("4433")
    assert position.play(2) == Connect4Position.parse("44332")
    assert (position.to_move, position.plies) == (0, 4)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("448", "'8'"),
        ("a", "'a'"),
        ("44 33", "' '"),
        ("4444444", "column 4 is full"),
        ("12121213", "after the end"),
    ],
)
def test_bad_positions_are_named_in_one_line(text: str, names: str) -> None:
    with pytest.raises(InputError) as error:
        Connect4Position.parse(text)
    assert names in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("mover", "stones"),
    [
        (0, 0b10),  # in the air
        (0, 1 << 6),  # above a column
        (0b1, 0b1),  # the second player has none to move with
        (0, 0b11),  # two of one side
        (0b10, 0b1),  # not among the stones
        (0b1111, 0b1111 | 0b1111 << 7),  # the side to move has a four
        (0, 1 << 63),
        (-1, 1),
        (0, 1 << 70),
    ],
)
def test_bitboards_that_are_no_position_are_refused(
    solver: Connect4Solver, mover: int, stones: int
) -> None:
    with pytest.raises(InputError, match="not a Connect Four position"):
        solver.search(mover, stones)


def test_bad_use_of_a_solver_is_named() -> None:
    for megabytes in (0, -1, 1 << 18):
        with pytest.raises(InputError, match="megabytes"):
            Connect4Solver(megabytes)
    with pytest.raises(InputError, match=r"megabytes=1\.5: give an integer"):
        Connect4Solver(1.5)  # type: ignore[arg-type]
    for slice_nodes in (0, 10**30):
        with pytest.raises(InputError, match="slice_nodes"):
            Connect4Solver(1, slice_nodes=slice_nodes)
    solver = small_solver()
    with pytest.raises(InputError, match="between 1 and 0"):
        solver.search(0, 0, 1, 0)
    with pytest.raises(InputError, match="between 0 and 1000000"):
        solver.search(0, 0, 0, 10**30)
    with pytest.raises(InputError, match=r"mover=0\.5: give an integer"):
        solver.search(0.5, 0)  # type: ignore[arg-type]
    solver.close()
    with pytest.raises(InputError, match="closed"):
        solver.score(Connect4Position())
    with pytest.raises(InputError, match="not a legal move"):
        Connect4Position.parse("444444").play(4)


@pytest.mark.parametrize("columns", [(0.5,), (4, True), "44", 4, ("4",), None])
def test_columns_that_are_no_integers_are_refused(columns: Any) -> None:
    with pytest.raises(InputError, match=r"give (an integer|numbers)"):
        Connect4Position(columns)


def test_columns_may_be_any_integers() -> None:
    assert Connect4Position(tuple(np.array([4, 4]))) == Connect4Position.parse("44")
    assert Connect4Position([4, 4]) == Connect4Position.parse("44")  # type: ignore[arg-type]


def test_a_number_is_no_text() -> None:
    with pytest.raises(InputError, match="position 44 is not text"):
        Connect4Position.parse(44)  # type: ignore[arg-type]
