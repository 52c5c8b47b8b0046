"""What a worker can be asked, and how it answers: an answer per game or pair of games.

A worker knows nothing about where it runs or who asks. ``azfit.self_play.workers`` runs several of
them in processes of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

import torch
from safetensors.torch import load, save

from azfit.evaluation_cache import EvaluationCache
from azfit.games import game_by_name
from azfit.inference import NetworkEvaluator
from azfit.network import Network, NetworkConfig
from azfit.players import SearchPlayer
from azfit.playing.arena import Score, play_pairs
from azfit.playing.openings import Opening
from azfit.search import Evaluator
from azfit.search_config import SearchConfig
from azfit.self_play.config import SelfPlayConfig
from azfit.self_play.play_games import play_games

# ---- messages ------------------------------------------------------------------------


@dataclass(frozen=True)
class SetNetwork:
    """Keep this network under this name."""

    name: str
    weights: bytes
    config: NetworkConfig

    @classmethod
    def of(cls, name: str, network: Network) -> Self:
        weights = {name: tensor.contiguous() for name, tensor in network.state_dict().items()}
        return cls(name, save(weights), network.config)


@dataclass(frozen=True)
class Forget:
    """Drop the network of this name."""

    name: str


@dataclass(frozen=True)
class PlayGames:
    """Play these games of an iteration; the answer to each is the game as a frame of bytes."""

    items: tuple[int, ...]
    """The games' numbers."""
    iteration: int
    network: str


@dataclass(frozen=True)
class PlayPairs:
    """Play two games from each of these openings; the answer to each pair is its score."""

    items: tuple[int, ...]
    """Places in ``openings``."""
    openings: tuple[Opening, ...]
    player: str
    opponent: str


Task: TypeAlias = PlayGames | PlayPairs

Message: TypeAlias = SetNetwork | Forget | PlayGames | PlayPairs


@dataclass(frozen=True)
class Answer:
    """To one item of a task."""

    item: int
    value: bytes | Score


@dataclass(frozen=True)
class Failed:
    """The worker gave up."""

    message: str
    expected: bool
    """A FadefourError, one line for the user; otherwise the message is a traceback."""


# ---- the worker ----------------------------------------------------------------------


class Worker:
    """Plays on one torch thread, with its own search and networks."""

    def __init__(self, config: SelfPlayConfig) -> None:
        torch.set_num_threads(1)
        self._config = config
        self._game = game_by_name(config.game)
        self._players: dict[str, tuple[Evaluator, SearchConfig]] = {}
        """Each network's evaluator, and the search with the scale of its steps head."""

    def handle(self, message: Message) -> Iterator[Answer]:
        """Does what is asked; of a task, yields the answers as they come."""
        if isinstance(message, SetNetwork):
            self._set_network(message)
        elif isinstance(message, Forget):
            self._players.pop(message.name, None)
        elif isinstance(message, PlayGames):
            yield from self._play_games(message)
        else:
            yield from self._play_pairs(message)

    def _set_network(self, message: SetNetwork) -> None:
        network = Network(message.config)
        network.load_state_dict(load(message.weights))
        evaluator: Evaluator = NetworkEvaluator(network.eval(), self._config.backend, threads=1)
        if self._config.cache:
            evaluator = EvaluationCache(evaluator, self._game)
        search = replace(self._config.search, max_steps=float(network.config.max_plies))
        self._players[message.name] = (evaluator, search)

    def _play_games(self, task: PlayGames) -> Iterator[Answer]:
        for episode in play_games(
            self._game,
            *self._players[task.network],
            task.items,
            seed=self._config.seed,
            iteration=task.iteration,
            parallel=self._config.parallel_games,
            random_plies=self._config.random_plies,
        ):
            yield Answer(episode.number, episode.to_bytes())

    def _play_pairs(self, task: PlayPairs) -> Iterator[Answer]:
        player, opponent = (
            SearchPlayer(self._game, evaluate, search)
            for evaluate, search in (self._players[task.player], self._players[task.opponent])
        )
        max_plies = self._config.max_plies or self._game.max_plies
        at_once = max(1, self._config.parallel_games // 2)
        for first in range(0, len(task.items), at_once):
            pairs = task.items[first : first + at_once]
            openings = [task.openings[pair] for pair in pairs]
            scores = play_pairs(self._game, player, opponent, openings, max_plies)
            for pair, score in zip(pairs, scores, strict=True):
                yield Answer(pair, score)
