"""Matches between two players of any game: colours and scores.

Two fixed players would play the same game again and again, so every game begins with a few random
plies; and as an opening may favour a side, each is played twice, with the colours exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from azfit.games import DropOldest, Game, Result
from azfit.players import Player
from azfit.playing.openings import Opening


def most_plies(game: Game) -> int:
    """A game that gets this far counts as a draw, unless the caller says otherwise.

    A drawn game of drop-oldest never ends, so the cap decides how many games can be played. On
    3 x 3 and 4 x 4 no win takes more than 17 plies, and ten rounds of a queue are plenty; with more
    cells and pieces, wins of 39 and 51 plies are known.
    """
    if not isinstance(game, DropOldest):
        return game.max_plies
    return 10 * game.rules.m if game.rules.n * game.rules.m <= 16 else 100


@dataclass(frozen=True)
class Score:
    """Games of one player against another, by the colour that the player had."""

    wins: tuple[int, int] = (0, 0)
    """As first and as second player."""
    draws: tuple[int, int] = (0, 0)
    losses: tuple[int, int] = (0, 0)

    @property
    def games(self) -> int:
        return sum(self.wins) + sum(self.draws) + sum(self.losses)

    @property
    def share(self) -> float:
        """Share of the points; a draw counts half a point."""
        return (sum(self.wins) + 0.5 * sum(self.draws)) / max(1, self.games)

    @property
    def standard_error(self) -> float:
        """The standard error of ``share``, from the games' spread."""
        if not self.games:
            return 0.0
        square = (sum(self.wins) + 0.25 * sum(self.draws)) / self.games
        return float(np.sqrt(max(0.0, square - self.share**2) / self.games))

    def __add__(self, other: Score) -> Score:
        def add(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
            return (a[0] + b[0], a[1] + b[1])

        return Score(
            add(self.wins, other.wins),
            add(self.draws, other.draws),
            add(self.losses, other.losses),
        )

    def to_dict(self) -> dict[str, object]:
        return {
            "games": self.games,
            "score": self.share,
            "standard_error": self.standard_error,
            "wins": list(self.wins),
            "draws": list(self.draws),
            "losses": list(self.losses),
        }


def play_pairs(
    game: Game, player: Player, opponent: Player, openings: Sequence[Opening], max_plies: int
) -> list[Score]:
    """Two games from each opening, colours exchanged, all side by side; a score per opening."""
    starts = [game.play_all(opening) for opening in openings for _ in range(2)]
    states = np.array(starts, np.uint8).reshape(-1, game.state_bytes)
    plies = np.array([len(opening) for opening in openings for _ in range(2)], np.int64)
    colour = np.tile([0, 1], len(openings))  # the player's, in each game
    points = np.zeros(len(states), np.int64)  # 1 won, -1 lost, 0 drawn
    going_on = plies < max_plies
    while going_on.any():
        players_turn = game.sides(states) == colour
        for chooser, sign, turn in ((player, 1, players_turn), (opponent, -1, ~players_turn)):
            rows = np.flatnonzero(going_on & turn)
            if not len(rows):
                continue
            actions = chooser.choose(states[rows], plies[rows]).actions
            states[rows], results = game.play_many(states[rows], actions)
            plies[rows] += 1
            points[rows[results == Result.MOVER_WON]] = sign
            going_on[rows[results != Result.GOING_ON]] = False
        going_on &= plies < max_plies
    return [_score(points[i : i + 2]) for i in range(0, len(points), 2)]


def _score(points: NDArray[np.int64]) -> Score:
    """The score of two games, the first of them as first player."""
    wins, draws, losses = ((points == which).astype(int) for which in (1, 0, -1))
    return Score(*((int(n[0]), int(n[1])) for n in (wins, draws, losses)))
