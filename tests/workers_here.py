"""The workers of self-play without their processes: what they are asked is done here and now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

from azfit.network import Network
from azfit.self_play.config import SelfPlayConfig
from azfit.self_play.workers import _Worker


class WorkersHere:
    """In the place of ``azfit.self_play.workers.Workers``; one worker, whatever the config says."""

    replaced = 0

    def __init__(self, config: SelfPlayConfig) -> None:
        self._worker = _Worker(self, config)
        self._answers: list[tuple[int, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def send(self, message: tuple[str, int, Any]) -> None:
        """The worker's end of the pipe."""
        self._answers.append(message[1:])

    def set_network(self, key: str, network: Network) -> None:
        from safetensors.torch import save

        weights = {name: tensor.contiguous() for name, tensor in network.state_dict().items()}
        self._worker._network(key, save(weights), network.config.to_dict())

    def forget(self, key: str) -> None:
        self._worker._forget(key)

    def share(self, kind: str, items: Sequence[int], *content: Any) -> Iterator[tuple[int, Any]]:
        self._answers = []
        if items:
            getattr(self._worker, f"_{kind}")(list(items), *content)
        yield from self._answers
