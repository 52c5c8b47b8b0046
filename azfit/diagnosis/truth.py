"""The exact judge beside a diagnosis: the table for drop-oldest, the solver for Connect Four.

Results are for the side to move: +1 win, 0 draw, -1 loss. A move is a blunder if the position is
worth less after it than before.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from azfit.games import DropOldest, Game, Result, States
from azfit.self_play.assessment import SIDES
from solver.errors import MissingTableError
from solver.table import open_table, solve_command

Results = NDArray[np.int8]

# Connect Four is solved position by position: with so many pieces on the board win, draw or loss
# takes milliseconds, near the empty board it takes minutes.
FEWEST_PIECES = 16
MOST_SOLVED = 200

# What the first player's opening leads to, by column (Allen and Allis, 1988): the centre wins, its
# neighbours draw, all others lose. 'fadefour probe --game connect4 -' takes minutes to find it.
CONNECT4_OPENINGS = (-1, -1, 0, 1, 0, -1, -1)

# The scores of the second player's replies to the centre, by column: 'fadefour probe --game
# connect4 4'. Each loses; the one that loses latest is the right one.
CONNECT4_CENTRE = 3
CONNECT4_REPLIES = (-4, -2, -2, -1, -2, -2, -4)

RESULT_NAMES = {1: "win", 0: "draw", -1: "loss"}


class Oracle(Protocol):
    """Knows the truth, of some positions at least."""

    name: str

    def known(self, states: States) -> NDArray[np.bool_]:
        """bool [N]: which states it judges within reasonable time."""

    def moves_known(self, states: States) -> NDArray[np.bool_]:
        """bool [N]: and what every move there leads to."""

    def results(self, states: States) -> Results:
        """int8 [N] for the side to move, of states in play that it knows."""

    def best_moves(self, state: NDArray[np.uint8]) -> list[int]:
        """The moves that keep the result and also win soonest or lose latest; none if that is not
        known."""


class TableOracle:
    """Drop-oldest, by its solved table."""

    def __init__(self, game: DropOldest, folder: Path) -> None:
        self._game, self._table = game, open_table(folder, game.rules)
        self.name = str(self._table.path)

    def known(self, states: States) -> NDArray[np.bool_]:
        return np.ones(len(states), np.bool_)

    moves_known = known

    def results(self, states: States) -> Results:
        codes, m = self._game.encode(states), self._game.rules.m
        found, _ = self._table.probe_many(codes[:, :m], codes[:, m : 2 * m], codes[:, -1])
        return found

    def best_moves(self, state: NDArray[np.uint8]) -> list[int]:
        return sorted(self._table.best_moves(self._game.position(state)))


class Connect4Oracle:
    """Connect Four, by searching to the end: the first ply, which is known, and late positions."""

    def __init__(self, game: Game) -> None:
        self._game, self.name = game, "Connect Four solver"
        self._solver: Any = importlib.import_module("solver.connect4").Connect4Solver()

    def _pieces(self, states: States) -> NDArray[np.int64]:
        return np.asarray((self._game.encode(states)[:, :-1] != 0).sum(axis=1), np.int64)

    def known(self, states: States) -> NDArray[np.bool_]:
        pieces = self._pieces(states)
        return np.asarray((pieces <= 1) | (pieces >= FEWEST_PIECES))

    def moves_known(self, states: States) -> NDArray[np.bool_]:
        pieces = self._pieces(states)
        return np.asarray((pieces == 0) | (pieces >= FEWEST_PIECES))

    def results(self, states: States) -> Results:
        return np.array([self._result(code) for code in self._game.encode(states)], np.int8)

    def best_moves(self, state: NDArray[np.uint8]) -> list[int]:
        played = np.flatnonzero(self._game.encode(state[None])[0, :-1]).tolist()
        worth = {(): CONNECT4_OPENINGS, (CONNECT4_CENTRE,): CONNECT4_REPLIES}.get(tuple(played), ())
        return [column for column, one in enumerate(worth) if one == max(worth)]

    def _result(self, code: NDArray[np.int8]) -> int:
        """Of a code: +1 first player, -1 second, by row * 7 + column; the side to move."""
        cells, side = code[:-1], int(code[-1])
        played = np.flatnonzero(cells)
        if len(played) == 0:
            return max(CONNECT4_OPENINGS)
        if len(played) == 1:
            return -CONNECT4_OPENINGS[int(played[0])]
        stones, mover = (_bitboard(cells, own) for own in ((1, -1), ((1, -1)[side],)))
        return int(self._solver.search(mover, stones, -1, 1))


def _bitboard(cells: NDArray[np.int8], owners: tuple[int, ...]) -> int:
    """The pieces of these owners as the solver numbers cells: column * 7 + row."""
    found = np.flatnonzero(np.isin(cells, owners))
    return sum(1 << (int(cell) % 7 * 7 + int(cell) // 7) for cell in found)


def oracle_for(game: Game, folder: Path) -> tuple[Oracle | None, str]:
    """The judge of this game, or None and what it would take to have one."""
    if isinstance(game, DropOldest):
        try:
            oracle = TableOracle(game, folder)
        except MissingTableError:
            return None, f"no table in '{folder}': {solve_command(game.rules)}, then give --data"
        return oracle, oracle.name
    if game.name == "connect4":
        try:
            solver: Oracle = Connect4Oracle(game)
        except (ImportError, AttributeError):
            return None, "no exact solver of Connect Four is installed"
        return solver, solver.name
    return None, f"{game.name} has no exact judge"


def results_after(
    oracle: Oracle, game: Game, states: States, actions: NDArray[np.int32]
) -> Results:
    """int8 [N]: what each position is worth, to the player who moves, after this action."""
    after, ended = game.play_many(states, actions)
    worth = np.where(ended == Result.MOVER_WON, 1, 0).astype(np.int8)
    going_on = ended == Result.GOING_ON
    if going_on.any():
        worth[going_on] = -oracle.results(after[going_on])
    return worth


def results_of_moves(oracle: Oracle, game: Game, state: NDArray[np.uint8]) -> dict[int, int]:
    """Every legal move of one position and its result for the mover; none if it is not known."""
    moves = game.legal_moves(state)
    if not oracle.known(state[None])[0]:
        return {}
    if oracle.results(state[None])[0] == -1:  # then every move loses
        return dict.fromkeys(moves, -1)
    if not oracle.moves_known(state[None])[0]:
        return {}
    states = np.repeat(state[None], len(moves), axis=0)
    worth = results_after(oracle, game, states, np.array(moves, np.int32))
    return dict(zip(moves, worth.tolist(), strict=True))


def judged_sample(
    oracle: Oracle, states: States, limit: int | None
) -> tuple[NDArray[np.int64], Results]:
    """Rows of which the oracle knows every move, and their results; at most ``limit``, drawn at
    random, for the states come in the order of time."""
    rows = np.flatnonzero(oracle.moves_known(states))
    if limit is not None and len(rows) > limit:
        rows = np.sort(np.random.default_rng(0).permutation(rows)[:limit])
    return rows, oracle.results(states[rows]) if len(rows) else np.empty(0, np.int8)


def blunders(
    oracle: Oracle,
    game: Game,
    states: States,
    truth: Results,
    actions: NDArray[np.int32],
) -> dict[str, Any]:
    """By side: the share of these moves that give a result away, and of how many."""
    worth = results_after(oracle, game, states, actions)
    sides = game.sides(states)
    return {
        name: {
            "positions": int((sides == side).sum()),
            "blunders": float((worth < truth)[sides == side].mean()),
        }
        for side, name in enumerate(SIDES)
        if (sides == side).any()
    }


def value_errors(truth: Results, values: NDArray[Any], sides: Results) -> dict[str, Any]:
    """By side: the mean of value less truth, and of its size."""
    return {
        name: {
            "bias": float((values - truth)[sides == side].mean()),
            "error": float(np.abs(values - truth)[sides == side].mean()),
        }
        for side, name in enumerate(SIDES)
        if (sides == side).any()
    }
