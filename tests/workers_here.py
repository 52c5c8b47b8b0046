"""The workers of self-play without their processes: what they are asked is done here and now."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Self

from azfit.self_play.config import SelfPlayConfig
from azfit.self_play.worker import SelfPlayWorker
from azfit.self_play.workers import Workers
from solver.workers.worker import Item


class PoolHere:
    """What ``Workers`` asks of a pool, of one worker in this process."""

    replaced = 0

    def __init__(self, config: SelfPlayConfig) -> None:
        self._worker = SelfPlayWorker(config)
        self.keep, self.drop = self._worker.keep, self._worker.drop

    def begin(self, task: Any, items: Iterable[Item], at_once: int = 1) -> Any:
        return _JobHere(self._worker, task, deque(items))


class _JobHere:
    def __init__(self, worker: SelfPlayWorker, task: Any, items: deque[Item]) -> None:
        self._worker, self._task, self._items = worker, task, items

    def stop(self) -> None:
        self._items.clear()

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        yield from list(self._worker.work(self._task, self._items))


class WorkersHere(Workers):
    """One worker in this process, whatever the config says."""

    def __init__(self, config: SelfPlayConfig, *_: object) -> None:
        self._config, self._networks = config, {}
        self.pool = PoolHere(config)  # type: ignore[assignment]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def collected(answers: Iterable[tuple[int, Any]]) -> dict[int, Any]:
    """By item, each of which is answered once."""
    by_item: dict[int, Any] = {}
    for item, answer in answers:
        assert item not in by_item, "an item was answered twice"
        by_item[item] = answer
    return by_item
