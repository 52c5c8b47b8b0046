"""Worker processes: each plays games with its own search and networks, on one torch thread.

The master hands out items (numbers of games, pairs of a match) and receives one answer an item.
A worker that dies is replaced, and the new one gets the items that its predecessor left; workers
whose master dies end themselves.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import replace
from multiprocessing import connection
from typing import Any, Self

from azfit.network import Network
from azfit.search_config import SearchConfig
from azfit.self_play.config import SelfPlayConfig
from solver.errors import FadefourError

DEATHS_IN_A_ROW = 3  # of one worker and those that replaced it, without an answer: no accident


# ---- in the worker -------------------------------------------------------------------


class _Worker:
    """Serves one master until the pipe closes."""

    def __init__(self, pipe: Any, config: SelfPlayConfig) -> None:
        import torch

        from azfit.games import game_by_name

        torch.set_num_threads(1)
        self._pipe, self._config = pipe, config
        self._game = game_by_name(config.game)
        self._players: dict[str, tuple[Any, SearchConfig]] = {}
        """Each network's evaluator, and the search with its own scale of steps."""

    def serve(self) -> None:
        while True:
            kind, *content = self._pipe.recv()
            getattr(self, f"_{kind}")(*content)

    def _network(self, key: str, weights: bytes, about: dict[str, Any]) -> None:
        from safetensors.torch import load

        from azfit.evaluation_cache import EvaluationCache
        from azfit.inference import NetworkEvaluator
        from azfit.network import Network, NetworkConfig

        network = Network(NetworkConfig.from_dict(about))
        network.load_state_dict(load(weights))
        evaluator: Any = NetworkEvaluator(network.eval(), self._config.backend, threads=1)
        if self._config.cache:
            evaluator = EvaluationCache(evaluator, self._game)
        search = replace(self._config.search, max_steps=float(network.config.max_plies))
        self._players[key] = (evaluator, search)

    def _forget(self, key: str) -> None:
        self._players.pop(key, None)

    def _play(self, numbers: list[int], iteration: int, key: str) -> None:
        from azfit.self_play.play_games import play_games

        for episode in play_games(
            self._game,
            *self._players[key],
            numbers,
            seed=self._config.seed,
            iteration=iteration,
            parallel=self._config.parallel_games,
            random_plies=self._config.random_plies,
        ):
            self._pipe.send(("answer", episode.number, episode.to_bytes()))

    def _match(self, pairs: list[int], openings: list[Any], player: str, opponent: str) -> None:
        from azfit.self_play.arena import SearchMover, play_pairs

        movers = [
            SearchMover(self._game, evaluate, search.in_earnest(search.sims))
            for evaluate, search in (self._players[player], self._players[opponent])
        ]
        max_plies = self._config.max_plies or self._game.max_plies
        at_once = max(1, self._config.parallel_games // 2)
        for first in range(0, len(pairs), at_once):
            some = pairs[first : first + at_once]
            chosen = [openings[pair] for pair in some]
            scores = play_pairs(self._game, movers[0], movers[1], chosen, max_plies)
            for pair, score in zip(some, scores, strict=True):
                self._pipe.send(("answer", pair, score))


def _end_with_the_master() -> None:
    """Waits in a thread until the master is gone, however it went."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os._exit(1)


def _main(pipe: Any, config: SelfPlayConfig) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the master's to answer
    threading.Thread(target=_end_with_the_master, daemon=True).start()
    try:
        _Worker(pipe, config).serve()
    except (EOFError, BrokenPipeError):
        return
    except FadefourError as error:
        pipe.send(("error", str(error)))
    except Exception:  # whatever it is, the master raises it again, with this traceback
        pipe.send(("failure", traceback.format_exc()))


# ---- in the master -------------------------------------------------------------------


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Ctrl-C waits. A process that is started meanwhile inherits that, and so cannot be hit
    before it has said (in ``_main``) that it ignores Ctrl-C."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Seat:
    """A worker process, its end of the pipe, and the items it has not answered yet."""

    def __init__(self, config: SelfPlayConfig) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_main, args=(theirs, config), daemon=True)
        with _without_interrupts():
            self.process.start()
        theirs.close()
        self.open_items: list[int] = []
        self.deaths = 0
        """Of those who sat here before, since the last answer."""

    def end(self) -> None:
        self.pipe.close()
        self.process.terminate()
        self.process.join()


class Workers:
    """A context manager: the processes live as long as it does."""

    def __init__(self, config: SelfPlayConfig) -> None:
        self._config = config
        self._networks: dict[str, tuple[bytes, dict[str, Any]]] = {}
        self._seats: list[_Seat] = []
        self.replaced = 0
        """Workers that died and were replaced."""

    def __enter__(self) -> Self:
        try:
            for _ in range(self._config.workers):
                self._seats.append(_Seat(self._config))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for seat in self._seats:
            seat.end()

    @property
    def process_ids(self) -> list[int]:
        return [seat.process.pid or 0 for seat in self._seats]

    def set_network(self, key: str, network: Network) -> None:
        """Gives every worker this network under this name."""
        from safetensors.torch import save

        weights = {name: tensor.contiguous() for name, tensor in network.state_dict().items()}
        self._networks[key] = (save(weights), network.config.to_dict())
        for seat in self._seats:
            self._send(seat, "network", key, *self._networks[key])

    def forget(self, key: str) -> None:
        if self._networks.pop(key, None) is not None:
            for seat in self._seats:
                self._send(seat, "forget", key)

    @staticmethod
    def _send(seat: _Seat, *message: Any) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            seat.pipe.send(message)  # to a dead one: ``share`` will notice

    def share(self, kind: str, items: Sequence[int], *content: Any) -> Iterator[tuple[int, Any]]:
        """Deals the items out; yields (item, answer) as they come, each exactly once.

        kind, content: "play", iteration, network; or "match", openings, player, opponent.
        """
        for i, seat in enumerate(self._seats):
            seat.open_items = list(items[i :: len(self._seats)])
            self._hand_out(seat, kind, content)
        while any(seat.open_items for seat in self._seats):
            by_pipe = {seat.pipe: seat for seat in self._seats if seat.open_items}
            for ready in connection.wait(list(by_pipe)):
                seat = by_pipe[ready]  # type: ignore[index]
                try:
                    told, *answer = seat.pipe.recv()
                except (EOFError, ConnectionResetError, OSError):
                    self._replace(seat, kind, content)
                    continue
                if told == "error":
                    raise FadefourError(answer[0])
                if told == "failure":
                    raise RuntimeError(f"in a worker:\n{answer[0]}")
                seat.deaths = 0
                item, value = answer
                seat.open_items.remove(item)
                yield item, value

    def _hand_out(self, seat: _Seat, kind: str, content: tuple[Any, ...]) -> None:
        if seat.open_items:
            self._send(seat, kind, seat.open_items, *content)

    def _replace(self, dead: _Seat, kind: str, content: tuple[Any, ...]) -> None:
        dead.process.join(timeout=5)
        code, deaths = dead.process.exitcode, dead.deaths + 1
        if deaths >= DEATHS_IN_A_ROW:
            raise FadefourError(
                f"a worker died {deaths} times in a row (exit code {code}): "
                "is there enough memory? use fewer --workers or --parallel-games"
            )
        dead.end()
        self.replaced += 1
        seat = _Seat(self._config)
        seat.open_items, seat.deaths = dead.open_items, deaths
        self._seats[self._seats.index(dead)] = seat
        for key, network in self._networks.items():
            self._send(seat, "network", key, *network)
        self._hand_out(seat, kind, content)
