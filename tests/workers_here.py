"""The workers of self-play without their processes: what they are asked is done here and now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

from azfit.network import Network
from azfit.playing.openings import Opening
from azfit.self_play.config import SelfPlayConfig
from azfit.self_play.worker import Forget, Message, PlayGames, PlayPairs, SetNetwork, Worker


class WorkersHere:
    """A ``WorkerPool`` of one worker in this process, whatever the config says."""

    replaced = 0

    def __init__(self, config: SelfPlayConfig) -> None:
        self._worker = Worker(config)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def _ask(self, message: Message) -> Iterator[tuple[int, Any]]:
        answers = list(self._worker.handle(message))
        yield from ((answer.item, answer.value) for answer in answers)

    def set_network(self, name: str, network: Network) -> None:
        assert not list(self._ask(SetNetwork.of(name, network)))

    def forget(self, name: str) -> None:
        assert not list(self._ask(Forget(name)))

    def play_games(
        self, numbers: Sequence[int], iteration: int, network: str
    ) -> Iterator[tuple[int, bytes]]:
        yield from self._ask(PlayGames(tuple(numbers), iteration, network))

    def play_pairs(
        self, openings: Sequence[Opening], player: str, opponent: str
    ) -> Iterator[tuple[int, Any]]:
        items = tuple(range(len(openings)))
        yield from self._ask(PlayPairs(items, tuple(openings), player, opponent))
