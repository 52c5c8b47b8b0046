"""Players that are asked on a cluster: batches of states go out, choices come back in order.

A batch is answered as it would be here on one thread, so what is graded or proved is the same.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch

from azfit.drop_oldest_players import CanonicalPlayer, on_canonical_boards
from azfit.games import State, States
from azfit.inference import NetworkEvaluator
from azfit.loading import LoadedNetwork, load_network, load_player
from azfit.players import Choices, Opinion, Player, Plies
from azfit.weights import Weights
from solver.workers.opening import open_pool
from solver.workers.pool import Pool
from solver.workers.worker import Item

AHEAD = 8  # batches for each worker, from the one whose choices are needed next

# ---- on the worker's machine ---------------------------------------------------------


@dataclass(frozen=True)
class _Network:
    weights: Weights
    sims: int | None
    prove: bool | None
    lcb: float


class ChoosingWorker:
    """Keeps networks and answers for them; a task is the name of one, an item has the states."""

    def __init__(self) -> None:
        torch.set_num_threads(1)
        self._players: dict[str, Player] = {}

    def keep(self, name: str, value: _Network) -> None:
        network = value.weights.network()
        loaded = LoadedNetwork(name, network, NetworkEvaluator(network, threads=1), "")
        player = loaded.player(value.sims, prove=value.prove, lcb=value.lcb)
        self._players[name] = on_canonical_boards(player)

    def drop(self, name: str) -> None:
        self._players.pop(name, None)

    def work(self, task: str, items: deque[Item]) -> Iterator[tuple[int, Choices]]:
        while items:
            number, states = items.popleft()
            yield number, self._players[task].choose(states)


# ---- in the master -------------------------------------------------------------------


class SpreadPlayer(Player):
    """A player with a network, asked about many batches on a cluster and about single ones here."""

    def __init__(self, inner: Player, pool: Pool, network: str) -> None:
        super().__init__(inner.game, inner.name)
        self.sims, self.proves, self.sha256 = inner.sims, inner.proves, inner.sha256
        self._inner, self._pool, self._network = inner, pool, network

    def choose(self, states: States, plies: Plies | None = None) -> Choices:
        return self._inner.choose(states, plies)

    def opinion(self, state: State, watch: Callable[[], object] = lambda: None) -> Opinion:
        return self._inner.opinion(state, watch)

    def choose_many(self, batches: Iterable[States]) -> Iterator[Choices]:
        early: dict[int, Choices] = {}
        following = 0
        for number, choices in self._pool.begin(self._network, enumerate(batches), ahead=AHEAD):
            early[number] = choices
            while following in early:
                yield early.pop(following)
                following += 1


@contextlib.contextmanager
def load_players(
    checkpoints: Sequence[str],
    sims: int | None,
    threads: int | None,
    cluster: str | None,
    report: Callable[[str], None],
    *,
    prove: bool | None = None,
    lcb: float = 0.0,
) -> Iterator[list[Player]]:
    """As ``load_player`` makes them; cluster, report: as for ``open_pool``."""
    if cluster is None:
        yield [load_player(name, sims, threads, prove=prove, lcb=lcb) for name in checkpoints]
        return
    loaded = [load_network(name, threads=1) for name in checkpoints]
    with open_pool(ChoosingWorker, None, cluster, report) as pool:
        players: list[Player] = []
        for i, network in enumerate(loaded):
            name = f"network {i}"
            pool.keep(name, _Network(Weights.of(network.network), sims, prove, lcb))
            player = network.player(sims, prove=prove, lcb=lcb)
            spread = SpreadPlayer(on_canonical_boards(player), pool, name)
            players.append(CanonicalPlayer(spread) if player.canonical else spread)
        yield players
