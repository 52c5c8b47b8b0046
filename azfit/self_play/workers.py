"""The workers of a run: what its phases ask for, whoever the workers are.

A phase knows a network by its part ("best", "candidate"); workers know it by its contents. So a
network goes to the workers once, however many parts it plays, and however long.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self

from azfit.network import Network
from azfit.playing.openings import Opening
from azfit.self_play.config import MAX_WORKERS, SelfPlayConfig
from azfit.self_play.worker import PlayGames, PlayPairs, SelfPlayWorker, pairs_at_once
from azfit.weights import Weights
from solver.workers.opening import open_pool
from solver.workers.pool import Job, Pool


class Workers:
    """A pool of ``SelfPlayWorker``; they live as long as the ``with`` block."""

    pool: Pool

    def __init__(
        self,
        config: SelfPlayConfig,
        cluster: str | None = None,
        report: Callable[[str], None] = lambda line: None,
    ) -> None:
        """cluster, report: as for ``open_pool``."""
        self._config = config
        self._networks: dict[str, str] = {}
        """By part: the name of the network's contents."""
        count = None if config.workers == MAX_WORKERS else int(config.workers)
        self._opening = open_pool(partial(SelfPlayWorker, config), count, cluster, report)

    def __enter__(self) -> Self:
        self.pool = self._opening.__enter__()
        return self

    def __exit__(self, *stopped: Any) -> None:
        self._opening.__exit__(*stopped)

    @property
    def replaced(self) -> int:
        """Workers that died and were replaced."""
        return self.pool.replaced

    def set_network(self, name: str, network: Network) -> None:
        """Gives every worker this network under this name."""
        weights = Weights.of(network)
        contents = f"{hashlib.sha256(weights.tensors).hexdigest()} {weights.config}"
        if contents not in self._networks.values():
            self.pool.keep(contents, weights)
        before = self._networks.get(name)
        self._networks[name] = contents
        self._drop_unused(before)

    def forget(self, name: str) -> None:
        """Every worker drops the network of this name, if there is one, unless it has another name
        too."""
        self._drop_unused(self._networks.pop(name, None))

    def _drop_unused(self, contents: str | None) -> None:
        if contents is not None and contents not in self._networks.values():
            self.pool.drop(contents)

    def play_games(self, numbers: Sequence[int], iteration: int, network: str) -> Job:
        """(number, game as a frame of bytes) as the games end, each exactly once."""
        items = [(number, None) for number in numbers]
        task = PlayGames(iteration, self._networks.get(network, network))
        return self.pool.begin(task, items, self._config.parallel_games)

    def play_pairs(self, openings: Sequence[Opening], player: str, opponent: str) -> Job:
        """(place of the opening, the player's ``Score`` in its two games), each exactly once."""
        contents = [self._networks.get(name, name) for name in (player, opponent)]
        task, items = PlayPairs(*contents), list(enumerate(openings))
        return self.pool.begin(task, items, pairs_at_once(self._config))
