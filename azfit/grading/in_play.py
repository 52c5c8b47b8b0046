"""Grading a player on the positions that it reaches itself: games against several opponents.

A game begins with a few random plies, the same ones for two games with the colours exchanged;
otherwise games between two fixed strategies would all be alike. Opponents draw their moves at
random: ``random`` from all legal moves, ``table`` from the best ones; ``itself`` is the player on
both sides. Every position in which the player was to move counts once, however often it came up:
a game that runs in circles until the ply cap would otherwise outweigh all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from azfit.grading.grade import AT_A_TIME, Grade, Shown, grade_shown
from azfit.grading.tally import Tally
from azfit.players import Player, canonical_images, carry_masks, dense, from_the_mover, legal_masks
from solver.errors import InputError
from solver.labels import labelled
from solver.playout import BIT, Positions, is_won, join, play
from solver.progress import Progress, Silent
from solver.table import DenseTable, Table

Cells = NDArray[np.int8]

OPPONENTS = ("random", "table", "itself")
OPENING_PLIES = 2


@dataclass(frozen=True)
class InPlay:
    """Games against one opponent, and the grade on the positions they led to."""

    opponent: str
    wins: int
    draws: int
    """Games that reached the ply cap."""
    losses: int
    """For the player; against itself, for X."""
    moves: int
    """That the player made after the opening."""
    grade: Grade

    def to_dict(self) -> dict[str, Any]:
        told = {
            name: getattr(self, name) for name in ("opponent", "wins", "draws", "losses", "moves")
        }
        return {**told, "grade": self.grade.to_dict()}


class _Games:
    """Games played side by side; all have the same number of plies."""

    def __init__(
        self, player: Player, table: DenseTable, opponent: str, random: np.random.Generator
    ) -> None:
        self._player, self._table, self._opponent = player, table, opponent
        self._random = random
        self.reached: list[Positions] = []
        self.score = {1: 0, 0: 0, -1: 0}

    def play(self, games: int, opening: int, max_plies: int) -> None:
        start = Positions.of([self._table.rules.start()] * -(-games // 2), self._table.rules)
        for _ in range(opening):
            start = play(start, self._draw(legal_masks(start)))
            start = start.take(~is_won(start))
        boards = join([start, start])
        side = np.repeat([0, 1], len(start))  # the player's colour in each game
        for _ in range(opening, max_plies):
            if not len(boards):
                return
            mine = boards.to_move == side if self._opponent != "itself" else side >= 0
            boards = self._move(boards, mine)
            won = is_won(boards)
            winner = 1 - boards.to_move[won]
            for_x = self._opponent == "itself"
            self.score[1] += int((winner == (0 if for_x else side[won])).sum())
            self.score[-1] += int((winner != (0 if for_x else side[won])).sum())
            boards, side = boards.take(~won), side[~won]
        self.score[0] += len(boards)

    def _move(self, boards: Positions, mine: NDArray[np.bool_]) -> Positions:
        cells = np.empty(len(boards), np.int8)
        if mine.any():
            self.reached.append(boards.take(mine))
            cells[mine] = self._player.answer(self.reached[-1]).cells
        if not mine.all():
            cells[~mine] = self._reply(boards.take(~mine))
        return play(boards, cells)

    def _reply(self, boards: Positions) -> Cells:
        if self._opponent == "random":
            return self._draw(legal_masks(boards))
        nodes, transforms, _ = canonical_images(boards)
        best = labelled(self._table, nodes).optimal
        return self._draw(carry_masks(best, transforms, self._table.rules))

    def _draw(self, masks: NDArray[np.uint32]) -> Cells:
        inside = (masks[:, None] & BIT[: self._table.rules.cells]) != 0
        luck = self._random.random(inside.shape)
        return np.asarray(np.where(inside, luck, -1).argmax(axis=1), np.int8)


def _distinct(reached: Sequence[Positions], table: DenseTable) -> Iterator[Shown]:
    """Each position once, on a board on which it came up."""
    boards = from_the_mover(join(reached))
    nodes, transforms, _ = canonical_images(boards)
    nodes, rows = np.unique(nodes, return_index=True)
    for first in range(0, len(rows), AT_A_TIME):
        some = rows[first : first + AT_A_TIME]
        met = nodes[first : first + AT_A_TIME]
        yield Shown(met, labelled(table, met), boards.take(some), transforms[some])


def grade_in_play(
    player: Player,
    table: Table,
    *,
    opponents: Sequence[str] = OPPONENTS,
    games: int = 200,
    seed: int = 0,
    opening_plies: int = OPENING_PLIES,
    max_plies: int = 100,
    progress: Progress | None = None,
) -> list[InPlay]:
    """Plays ``games`` games against each opponent, half with each colour, and grades them."""
    exact, report = dense(table), progress or Silent()
    for opponent in opponents:
        if opponent not in OPPONENTS:
            raise InputError(f"opponent {opponent!r}: use one of {', '.join(OPPONENTS)}")
    if games < 1 or not 0 <= opening_plies < max_plies:
        raise InputError(
            f"games={games}, opening_plies={opening_plies}: play at least 1 game and "
            f"open with 0 to {max_plies - 1} random plies"
        )
    exact.check_all()
    told = []
    for number, opponent in enumerate(opponents):
        report.begin(f"against {opponent}", games, "game")
        match = _Games(player, exact, opponent, np.random.default_rng([seed, number]))
        match.play(games, opening_plies, max_plies)
        moves = sum(map(len, match.reached))
        blank = Grade(
            player.to_dict(),
            table.rules,
            f"the positions it reached in {games} games against {opponent}",
            None,
            seed,
            Tally(table.rules),
        )
        shown = _distinct(match.reached, exact) if moves else iter(())
        graded = grade_shown(player, exact, blank, shown, Silent())
        score = match.score
        told.append(InPlay(opponent, score[1], score[0], score[-1], moves, graded))
        report.end(f"{score[1]} won, {score[0]} drawn, {score[-1]} lost")
    return told
