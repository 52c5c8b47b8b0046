"""The exact judge of a diagnosis: the table for drop-oldest, the solver for Connect Four, forced
wins for Gomoku.

    judge, name = judge_for(game, Path("data"))

Results are for the side to move: +1 win, 0 draw, -1 loss. A move is a blunder if the position is
worth less after it than before. In Gomoku 0 only says that nothing is proved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from azfit.games import Connect4, DropOldest, Game, Gomoku, Result, State, States
from azfit.self_play.iteration import SIDES
from azfit.self_play.watched import watched_positions
from solver.connect4 import Connect4Solver, Connect4Stones
from solver.connect4.book import Book, book_in
from solver.errors import MissingTableError
from solver.gomoku.judge import GomokuJudge
from solver.records import remedy_for
from solver.table import open_table

Results = NDArray[np.int8]

# Connect Four is looked up in the opening book or solved on the spot: with this many pieces on the
# board win, draw or loss takes milliseconds, near the empty board it takes minutes.
FEWEST_PIECES = 16
MOST_SOLVED = 200

# Wins by fours and threes in Gomoku that count: longer ones take longer to find.
FORCED_PLIES = 9

RESULT_NAMES = {1: "win", 0: "draw", -1: "loss"}


# ---- judges --------------------------------------------------------------------------


class Judge(Protocol):
    """Knows the truth about positions of one game, or about some of them."""

    name: str
    most: int | None
    """Positions of a sample that it judges within reasonable time; None for any number."""
    knows_draws: bool
    """Whether 0 is a draw, or says that neither side is known to win."""

    def known(self, states: States) -> NDArray[np.bool_]:
        """bool [N]: which states it judges within reasonable time."""

    def moves_known(self, states: States) -> NDArray[np.bool_]:
        """bool [N]: in which states it also judges every move."""

    def results(self, states: States) -> Results:
        """int8 [N] for the side to move, of known states in play."""

    def best_moves(self, state: State) -> list[int]:
        """The moves that keep the result and also win soonest or lose latest; none if that is not
        known."""


class TableJudge:
    """Drop-oldest, by its solved table."""

    most: int | None = None
    knows_draws = True

    def __init__(self, game: DropOldest, folder: Path) -> None:
        self._game, self._table = game, open_table(folder, game.rules)
        self.name = str(self._table.path)

    def known(self, states: States) -> NDArray[np.bool_]:
        return np.ones(len(states), np.bool_)

    moves_known = known

    def results(self, states: States) -> Results:
        codes, m = self._game.encode(states), self._game.rules.m
        results, _ = self._table.probe_many(codes[:, :m], codes[:, m : 2 * m], codes[:, -1])
        return results

    def best_moves(self, state: State) -> list[int]:
        return sorted(self._table.best_moves(self._game.position(state)))


class Connect4Judge:
    """Connect Four: the first plies by the opening book, late positions by searching to the end."""

    most: int | None = MOST_SOLVED
    knows_draws = True

    def __init__(self, game: Connect4, book: Book) -> None:
        self._game, self._book, self.name = game, book, "Connect Four solver"

    @cached_property
    def _solver(self) -> Connect4Solver:
        """Made when it is needed: its table takes memory."""
        return Connect4Solver(book=self._book)

    def _pieces(self, states: States) -> NDArray[np.int64]:
        return np.asarray((self._game.encode(states)[:, :-1] != 0).sum(axis=1), np.int64)

    def known(self, states: States) -> NDArray[np.bool_]:
        pieces = self._pieces(states)
        return np.asarray(
            (pieces <= self._book.contents.complete_plies) | (pieces >= FEWEST_PIECES)
        )

    def moves_known(self, states: States) -> NDArray[np.bool_]:
        pieces = self._pieces(states)
        return np.asarray((pieces < self._book.contents.complete_plies) | (pieces >= FEWEST_PIECES))

    def results(self, states: States) -> Results:
        return np.array([self._result(self._game.stones(state)) for state in states], np.int8)

    def best_moves(self, state: State) -> list[int]:
        position = self._game.stones(state)
        if position.plies >= self._book.contents.complete_plies:
            return []
        scores = self._solver.move_scores(position)
        return [column - 1 for column, score in scores.items() if score == max(scores.values())]

    def _result(self, position: Connect4Stones) -> int:
        return self._solver.search(position.mover, position.stones, -1, 1)


class ForcedWins:
    """Gomoku, by forced wins: positions with a win to take or to stop. A move that does not keep a
    win, or does not stop one, is a blunder."""

    most: int | None = MOST_SOLVED
    knows_draws = False

    def __init__(self, game: Gomoku) -> None:
        self._game = game
        self._judge = GomokuJudge(game.rows, plies=FORCED_PLIES)
        self.name = f"forced wins of {game.name}"

    def _cells(self, states: States) -> list[tuple[NDArray[np.int8], int]]:
        return [
            (np.ascontiguousarray(code[:-1]), int(code[-1])) for code in self._game.encode(states)
        ]

    def known(self, states: States) -> NDArray[np.bool_]:
        return np.asarray(self.results(states) != 0)

    def moves_known(self, states: States) -> NDArray[np.bool_]:
        stakes = [self._judge.stake(*pair) for pair in self._cells(states)]
        return np.array([stake.is_question for stake in stakes], np.bool_)

    def results(self, states: States) -> Results:
        """What was not decided within the limit of nodes counts as nothing proved."""
        return np.array([self._judge.value(*pair) or 0 for pair in self._cells(states)], np.int8)

    def best_moves(self, state: State) -> list[int]:
        return []


def judge_for(game: Game, folder: Path) -> tuple[Judge | None, str]:
    """The judge of this game and its name, or None and what it would take to have one."""
    judge: Judge
    if isinstance(game, DropOldest):
        try:
            judge = TableJudge(game, folder)
        except MissingTableError:
            return None, f"no table in '{folder}': {remedy_for('table', game.rules, folder)}"
    elif isinstance(game, Connect4):
        judge = Connect4Judge(game, book_in(folder))
    elif isinstance(game, Gomoku):
        judge = ForcedWins(game)
    else:
        return None, f"{game.name} has no exact judge"
    return judge, judge.name


# ---- moves ---------------------------------------------------------------------------


def results_after(judge: Judge, game: Game, states: States, actions: NDArray[np.int32]) -> Results:
    """int8 [N]: what each position is worth, to the player who moves, after this action."""
    after, ended = game.play_many(states, actions)
    worth = np.where(ended == Result.MOVER_WON, 1, 0).astype(np.int8)
    going_on = ended == Result.GOING_ON
    if going_on.any():
        worth[going_on] = -judge.results(after[going_on])
    return worth


def results_of_moves(judge: Judge, game: Game, state: State) -> dict[int, int]:
    """Every legal move of one position and its result for the mover; none if it is not known."""
    moves = game.legal_moves(state)
    if not judge.known(state[None])[0]:
        return {}
    if judge.results(state[None])[0] == -1:  # then every move loses
        return dict.fromkeys(moves, -1)
    if not judge.moves_known(state[None])[0]:
        return {}
    states = np.repeat(state[None], len(moves), axis=0)
    worth = results_after(judge, game, states, np.array(moves, np.int32))
    return dict(zip(moves, worth.tolist(), strict=True))


@dataclass(frozen=True)
class PositionTruth:
    """What the judge says about one position, and how likely the network is to play it right."""

    result: str
    """For the side to move: win, draw or loss."""
    keeping: list[str]
    """The moves that keep the result."""
    right: list[str]
    """Those; where every move keeps the result, those that win soonest or lose latest, if known."""
    keeps_anyway: bool
    """Does every move keep the result?"""
    all_alike: bool
    """Is every move right?"""
    side: str
    probability: float | None = None
    """The probability that the network gives to the right moves; None without a network."""

    def to_dict(self) -> dict[str, Any]:
        entries = asdict(self)
        if self.probability is None:
            del entries["probability"]
        return entries


def keeping_and_right(
    judge: Judge, state: State, results: dict[int, int]
) -> tuple[list[int], list[int]]:
    """Of all moves with their results: those that keep the best result, and the right ones among
    them (see ``PositionTruth.right``)."""
    best = max(results.values())
    keeping = [action for action, result in results.items() if result == best]
    if len(keeping) < len(results):
        return keeping, keeping
    return keeping, judge.best_moves(state) or keeping


def position_truth(
    judge: Judge, game: Game, state: State, policy: NDArray[np.float32] | None = None
) -> PositionTruth | None:
    """None if the judge does not know; policy: the network's, float32 [actions]."""
    results = results_of_moves(judge, game, state)
    if not results:
        return None
    keeping, right = keeping_and_right(judge, state, results)
    return PositionTruth(
        result=RESULT_NAMES[results[keeping[0]]],
        keeping=[game.action_name(action) for action in keeping],
        right=[game.action_name(action) for action in right],
        keeps_anyway=len(keeping) == len(results),
        all_alike=len(right) == len(results),
        side=SIDES[game.to_move(state)],
        probability=None
        if policy is None
        else float(policy[right].sum() / policy[list(results)].sum()),
    )


def watched_truths(
    judge: Judge, game: Game, policy_of: Callable[[State], NDArray[np.float32]] | None = None
) -> dict[str, PositionTruth]:
    """The watched positions that the judge knows; policy_of: the network's policy, if there is
    one."""
    truths = {}
    for name, moves in watched_positions(game).items():
        state = game.play_all(moves)
        policy = None if policy_of is None else policy_of(state)
        truth = position_truth(judge, game, state, policy)
        if truth is not None:
            truths[name] = truth
    return truths


# ---- many positions ------------------------------------------------------------------


@dataclass(frozen=True)
class BlunderRate:
    """How often a player gives a result away in one side's positions."""

    positions: int
    blunders: float
    """As a share."""


@dataclass(frozen=True)
class ValueOffset:
    """How far the network's value is from the truth in one side's positions."""

    bias: float
    """Mean of value - truth."""
    error: float
    """Mean of |value - truth|."""


@dataclass(frozen=True)
class SampleTruth:
    """Sampled positions before the judge; all by side."""

    blunders: dict[str, dict[str, BlunderRate]]
    """By player: the network, and the search in several variants."""
    value: dict[str, ValueOffset]
    """Errors of the network's value."""

    def to_dict(self) -> dict[str, Any]:
        """Empty if the judge knew none of the positions."""
        entries = asdict(self)
        return {**entries["blunders"], "value": entries["value"]} if self.blunders else {}


def judged_sample(judge: Judge, states: States) -> tuple[NDArray[np.int64], Results]:
    """Rows in which the judge knows every move, and their results; no more than it can judge soon,
    drawn at random because the states are in order of time."""
    rows = np.flatnonzero(judge.moves_known(states))
    if judge.most is not None and len(rows) > judge.most:
        rows = np.sort(np.random.default_rng(0).permutation(rows)[: judge.most])
    return rows, judge.results(states[rows]) if len(rows) else np.empty(0, np.int8)


def blunder_rates(
    judge: Judge,
    game: Game,
    states: States,
    truth: Results,
    actions: NDArray[np.int32],
) -> dict[str, BlunderRate]:
    """By side: how many of these moves give a result away."""
    lost = results_after(judge, game, states, actions) < truth
    sides = game.sides(states)
    return {
        name: BlunderRate(int((sides == side).sum()), float(lost[sides == side].mean()))
        for side, name in enumerate(SIDES)
        if (sides == side).any()
    }


def value_offsets(truth: Results, values: NDArray[Any], sides: Results) -> dict[str, ValueOffset]:
    """By side: how far these values are from the truth."""
    off = values - truth
    return {
        name: ValueOffset(
            float(off[sides == side].mean()), float(np.abs(off[sides == side]).mean())
        )
        for side, name in enumerate(SIDES)
        if (sides == side).any()
    }
