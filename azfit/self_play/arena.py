"""Matches between two players of any game: colours and scores.

Two fixed players would play the same game again and again, so every game begins with a few random
plies; and as an opening may favour a side, each is played twice, with the colours exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from azfit.games import Game, Result, States
from azfit.search import Evaluator, Search
from azfit.search_config import SearchConfig
from azfit.self_play.openings import Opening

Plies: TypeAlias = NDArray[np.int64]


class Mover(Protocol):
    """Chooses moves, each from its state alone."""

    def moves(self, states: States, plies: Plies) -> NDArray[np.int32]:
        """Actions int32 [count] for states in play, uint8 [count, state_bytes]; plies [count]."""


class SearchMover:
    """The most visited move of a fresh search without noise, the lowest action among equals."""

    def __init__(self, game: Game, evaluate: Evaluator, config: SearchConfig) -> None:
        self._game, self._evaluate, self._config = game, evaluate, config

    def moves(self, states: States, plies: Plies) -> NDArray[np.int32]:
        search = Search(self._game, len(states), self._config)
        search.reset(states, plies=plies, seeds=0)
        search.run(self._evaluate)
        return search.choose(temperature=0.0)


class NetworkMover:
    """The legal move with the highest logit, without search."""

    def __init__(self, game: Game, evaluate: Evaluator) -> None:
        self._game, self._evaluate = game, evaluate

    def moves(self, states: States, plies: Plies) -> NDArray[np.int32]:
        logits = self._evaluate(self._game.planes(states))[0]
        masked = np.where(self._game.legal_masks(states), logits, -np.inf)
        return np.asarray(masked.argmax(axis=1), np.int32)


class RandomMover:
    """Any legal move with equal chance."""

    def __init__(self, game: Game, random: np.random.Generator) -> None:
        self._game, self._random = game, random

    def moves(self, states: States, plies: Plies) -> NDArray[np.int32]:
        legal = self._game.legal_masks(states)
        luck = np.where(legal, self._random.random(legal.shape), -1.0)
        return np.asarray(luck.argmax(axis=1), np.int32)


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
        """Of the points, a draw being half a point."""
        return (sum(self.wins) + 0.5 * sum(self.draws)) / max(1, self.games)

    @property
    def standard_error(self) -> float:
        """Of ``share``, from the games' spread."""
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
    game: Game, player: Mover, opponent: Mover, openings: Sequence[Opening], max_plies: int
) -> list[Score]:
    """Two games from each opening, colours exchanged, all side by side; a score per opening."""
    starts = [game.play_all(opening) for opening in openings for _ in range(2)]
    states = np.array(starts, np.uint8).reshape(-1, game.state_bytes)
    plies = np.array([len(opening) for opening in openings for _ in range(2)], np.int64)
    colour = np.tile([0, 1], len(openings))  # the player's, in each game
    points = np.zeros(len(states), np.int64)  # 1 won, -1 lost, 0 drawn
    going_on = plies < max_plies
    while going_on.any():
        mine = game.sides(states) == colour
        for mover, sign, turn in ((player, 1, mine), (opponent, -1, ~mine)):
            rows = np.flatnonzero(going_on & turn)
            if not len(rows):
                continue
            actions = mover.moves(states[rows], plies[rows])
            states[rows], results = game.play_many(states[rows], actions)
            plies[rows] += 1
            points[rows[results == Result.MOVER_WON]] = sign
            going_on[rows[results != Result.GOING_ON]] = False
        going_on &= plies < max_plies
    return [_score(points[i : i + 2]) for i in range(0, len(points), 2)]


def _score(points: NDArray[np.int64]) -> Score:
    """Of two games, the first of them as first player."""
    wins, draws, losses = ((points == which).astype(int) for which in (1, 0, -1))
    return Score(*((int(n[0]), int(n[1])) for n in (wins, draws, losses)))
