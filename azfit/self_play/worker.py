"""A worker of self-play: it plays games of a network against itself, and pairs of match games.

It knows nothing about where it runs or who asks (``solver.workers``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import torch

from azfit.evaluation_cache import EvaluationCache
from azfit.games import game_by_name
from azfit.inference import NetworkEvaluator
from azfit.players import SearchPlayer
from azfit.playing.arena import Score, play_pairs
from azfit.search import Evaluator
from azfit.search_config import SearchConfig
from azfit.self_play.config import SelfPlayConfig
from azfit.self_play.play_games import play_games
from azfit.weights import Weights
from solver.workers.worker import Item

# ---- what it is sent -----------------------------------------------------------------


@dataclass(frozen=True)
class PlayGames:
    """Play games of an iteration. An item is a game's number; its answer is the game as a frame of
    bytes."""

    iteration: int
    network: str

    @property
    def phase(self) -> object:
        """The same for all tasks of a phase, and of no other of this kind."""
        return self.iteration


@dataclass(frozen=True)
class PlayPairs:
    """Play two games from an opening, which comes with the item; the answer is the score."""

    player: str
    opponent: str

    @property
    def phase(self) -> object:
        """A candidate has one phase of matches."""
        return self.player


Task: TypeAlias = PlayGames | PlayPairs

# ---- the worker ----------------------------------------------------------------------


@dataclass(frozen=True)
class _Remembered:
    """What networks said in a phase."""

    phase: object
    caches: dict[str, EvaluationCache] = field(default_factory=dict)


class SelfPlayWorker:
    """Plays on one torch thread, with its own search and networks."""

    def __init__(self, config: SelfPlayConfig) -> None:
        torch.set_num_threads(1)
        self._config = config
        self._game = game_by_name(config.game)
        self._networks: dict[str, tuple[Evaluator, SearchConfig]] = {}
        """Each network's evaluator, and the search with the scale of its steps head."""
        self._remembered: dict[type[Task], _Remembered] = {}

    def keep(self, name: str, value: Weights) -> None:
        network = value.network()
        evaluator = NetworkEvaluator(network, self._config.backend, threads=1)
        search = replace(self._config.search_config, max_steps=float(network.config.max_plies))
        self._networks[name] = (evaluator, search)

    def drop(self, name: str) -> None:
        self._networks.pop(name, None)
        for remembered in self._remembered.values():
            remembered.caches.pop(name, None)

    def _player(self, task: Task, name: str) -> tuple[Evaluator, SearchConfig]:
        """Evaluator and search of a network, for this task.

        What a network said is remembered within a phase and no longer, and for games and matches
        apart: what is known already decides which positions are evaluated together, and so how
        sums round. A run that is interrupted between two phases would not go on as it would have.
        """
        evaluator, search = self._networks[name]
        if not self._config.cache:
            return evaluator, search
        remembered = self._remembered.get(type(task))
        if remembered is None or remembered.phase != task.phase:
            remembered = self._remembered[type(task)] = _Remembered(task.phase)
        if name not in remembered.caches:
            remembered.caches[name] = EvaluationCache(evaluator, self._game)
        return remembered.caches[name], search

    def work(self, task: Task, items: deque[Item]) -> Iterator[tuple[int, bytes | Score]]:
        if isinstance(task, PlayGames):
            return self._play_games(task, items)
        return self._play_pairs(task, items)

    def _play_games(self, task: PlayGames, items: deque[Item]) -> Iterator[tuple[int, bytes]]:
        for episode in play_games(
            self._game,
            *self._player(task, task.network),
            _Numbers(items),
            seed=self._config.seed,
            iteration=task.iteration,
            parallel=self._config.parallel_games,
            random_plies=self._config.random_plies,
            surprise_weight=self._config.surprise_weight,
        ):
            yield episode.number, episode.to_bytes()

    def _play_pairs(self, task: PlayPairs, items: deque[Item]) -> Iterator[tuple[int, Score]]:
        player, opponent = (
            SearchPlayer(self._game, evaluate, search)
            for evaluate, search in (self._player(task, n) for n in (task.player, task.opponent))
        )
        max_plies = self._config.max_plies or self._game.max_plies
        while items:
            pairs = [items.popleft() for _ in range(min(len(items), pairs_at_once(self._config)))]
            openings = [opening for _, opening in pairs]
            scores = play_pairs(self._game, player, opponent, openings, max_plies)
            for (number, _), score in zip(pairs, scores, strict=True):
                yield number, score


def pairs_at_once(config: SelfPlayConfig) -> int:
    """Pairs of games that a worker plays side by side."""
    return max(1, config.parallel_games // 2)


class _Numbers(Iterator[int]):
    """The numbers of the items that wait, also of those that are added later."""

    def __init__(self, items: deque[Item]) -> None:
        self._items = items

    def __next__(self) -> int:
        if not self._items:
            raise StopIteration
        return self._items.popleft()[0]
