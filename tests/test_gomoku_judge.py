"""The judge of Gomoku moves against a brute force, and as the truth of a diagnosis."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
from gomoku_positions import close_game, has_five, scattered
from plain_gomoku_tactics import PlainStops, PlainTactics

from azfit.diagnosis.truth import (
    BlunderRate,
    ForcedWins,
    blunder_rates,
    judge_for,
    judged_sample,
    results_of_moves,
)
from azfit.games import Gomoku, States
from solver.gomoku import GomokuPosition
from solver.gomoku.judge import GomokuJudge, Task


def test_stakes_and_right_moves_are_those_of_a_brute_force() -> None:
    """On 6 lines, with wins by fours and threes of at most 5 plies."""
    draw, judge = random.Random(31), GomokuJudge(6, plies=5)
    plain, fours, threes = PlainStops(6), PlainTactics(6, False), PlainTactics(6, True)
    seen: Counter[Task | None] = Counter()
    while min(seen[task] for task in (Task.FOURS, Task.STOP)) < 4 or seen[Task.THREES] < 1:
        cells = scattered(draw, 6, draw.randint(9, 15), draw.choice([0.3, 0.5, 0.7]))
        stake, legal = judge.stake(cells, 0), np.flatnonzero(cells == 0).tolist()
        if seen[stake.task] >= 4 or (stake.plies == 1 and draw.random() < 0.8):
            continue
        seen[stake.task] += 1
        key, moves = tuple(cells.tolist()), (len(legal) + 1) // 2
        by_fours = fours.least_moves(key, 0, True, moves)
        by_threes = threes.least_moves(key, 0, True, 3)
        if by_fours is not None or by_threes is not None:
            assert stake.task is (Task.THREES if by_fours is None else Task.FOURS)
        else:
            stops = [move for move in legal if not plain.loses(cells, 0, move)]
            threatened = plain.wins(cells, 1)
            assert stake.task is (Task.STOP if threatened and stops else None)
            assert stake.is_lost == (threatened and not stops)
        rights = []
        for move in legal if stake.task else []:
            after = cells.copy()
            after[move] = 1
            if stake.task is Task.STOP:
                right = not plain.loses(cells, 0, move)
            elif has_five(after, 6, move):
                right = True
            else:
                board = tuple(after.tolist())
                right = fours.least_moves(board, 0, False, moves) is not None
                right = right or threes.least_moves(board, 0, False, 2) is not None
            assert judge.is_right(cells, 0, stake, move) == right
            rights.append(right)
        assert stake.is_question == (len(set(rights)) == 2)


def test_values_follow_from_right_moves() -> None:
    """After a right move in a win the opponent has lost; a threat that is not stopped is a loss."""
    draw, judge, seen = random.Random(32), GomokuJudge(9, plies=7), Counter[int]()
    for _ in range(60):
        position = close_game(draw, 9, draw.randint(8, 30))
        cells, side = position.cells, position.to_move
        stake, value = judge.stake(cells, side), judge.value(cells, side)
        assert stake.is_decided and value is not None
        seen[value] += 1
        if stake.task in (Task.FOURS, Task.THREES):
            assert value == 1
        for move in draw.sample(position.legal_moves(), 6):
            after = position.play(move)
            if after.is_over or stake.task is None:
                continue
            worth, right = (
                judge.value(after.cells, 1 - side),
                judge.is_right(cells, side, stake, move),
            )
            if stake.task is Task.STOP:
                assert right == (worth != 1)
            elif right:
                assert worth == -1
    assert min(seen[value] for value in (1, 0, -1)) > 0


# ---- as the truth of a diagnosis ----------------------------------------------------------------


def states_of(game: Gomoku, *texts: str) -> States:
    return np.array([game.state(GomokuPosition.parse(text, game.rows)) for text in texts])


def test_blunders_in_gomoku_are_wins_not_taken_and_threats_not_stopped(tmp_path) -> None:
    game = Gomoku(9)
    judge, name = judge_for(game, tmp_path)
    assert isinstance(judge, ForcedWins) and "gomoku-9" in name
    states = states_of(
        game,
        "e5 a1 e6 a3 e7 a9",  # X wins by e4 or e8
        "e5 a1 e6 a3 e7",  # O stops that at e4 or e8
        "e5 a1",  # nothing is forced
        "e5 a1 e6 a3 e7 a9 e8",  # O has lost
    )
    assert judge.moves_known(states).tolist() == [True, True, False, False]
    assert judge.known(states).tolist() == [True, False, False, True]
    assert judge.results(states).tolist() == [1, 0, 0, -1]
    rows, truth = judged_sample(judge, states)
    assert (rows.tolist(), truth.tolist()) == ([0, 1], [1, 0])
    cells = {name: game.action(name) for name in ("e4", "i9")}
    for name, blunders in (("e4", 0.0), ("i9", 1.0)):
        moves = np.array([cells[name]] * 2, np.int32)
        rates = blunder_rates(judge, game, states[:2], truth, moves)
        assert rates == {side: BlunderRate(1, blunders) for side in ("first", "second")}
    assert results_of_moves(judge, game, states[2]) == {}
    assert set(results_of_moves(judge, game, states[3]).values()) == {-1}
    won = results_of_moves(judge, game, states[0])
    assert won[cells["e4"]] == 1 and won[cells["i9"]] == 0
