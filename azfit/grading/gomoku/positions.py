"""What a Gomoku player is graded on: positions of its own games, and of random play."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from azfit.games import Gomoku, Result, State, States
from azfit.players import Player
from azfit.playing.openings import Opening
from solver.gomoku import GomokuPosition
from solver.progress import Progress, Silent

# Random games: before the first ply nothing can be forced; in later ones nearly every move is.
FIRST_PLY, LAST_PLY = 8, 60

# Random stones are put this close to others: far apart they would never meet.
REACH = 2


@dataclass(frozen=True)
class Sample:
    """Positions in play, and the moves that were chosen in them if they are known."""

    name: str
    states: States
    actions: NDArray[np.int32] | None = None


def random_moves(size: int, draw: random.Random) -> Iterator[GomokuPosition]:
    """A random game, position by position: the first stone near the middle, others close by."""
    position = GomokuPosition((), size)
    near = _around(size * size // 2, size)
    while not position.is_over:
        yield position
        position = position.play(draw.choice(sorted(near.difference(position.moves))))
        near |= _around(position.moves[-1], size)


def _around(cell: int, size: int) -> set[int]:
    row, column = divmod(cell, size)
    return {
        r * size + c
        for r in range(max(0, row - REACH), min(size, row + REACH + 1))
        for c in range(max(0, column - REACH), min(size, column + REACH + 1))
    }


def random_positions(game: Gomoku, count: int, seed: int) -> Sample:
    """Positions in play from random games, plies evenly spread; the same for the same seed."""
    draw = random.Random(seed)
    states: list[State] = []
    while len(states) < count:
        plies = draw.randint(FIRST_PLY, min(LAST_PLY, game.actions - 1))
        for position in random_moves(game.rows, draw):
            if len(position.moves) == plies:
                states.append(game.state(position))
                break
    return Sample(f"{count:,} of random play", np.array(states))


def random_opening(size: int, plies: int, draw: random.Random) -> Opening:
    """The first moves of a random game."""
    return next(p.moves for p in random_moves(size, draw) if len(p.moves) == plies)


def own_games(
    player: Player, games: int, opening_plies: int, seed: int, progress: Progress | None = None
) -> Sample:
    """The positions of games against itself, each once. A game begins with random moves: a player
    with fixed moves would play the same game again and again."""
    game, draw, report = player.game, random.Random(seed), progress or Silent()
    openings = [random_opening(game.rows, opening_plies, draw) for _ in range(games)]
    playing = np.array([game.play_all(opening) for opening in openings])
    states: list[States] = []
    actions: list[NDArray[np.int32]] = []
    report.begin(f"{player.name}: games against itself", games, "game")
    while len(playing):
        states.append(playing)
        actions.append(player.choose(playing).actions)
        after, results = game.play_many(playing, actions[-1])
        playing = after[results == Result.GOING_ON]
        report.reach(games - len(playing))
    distinct, rows = np.unique(np.concatenate(states), axis=0, return_index=True)
    report.end(f"{len(distinct):>14,} positions")
    return Sample(f"{games:,} games against itself", distinct, np.concatenate(actions)[rows])
