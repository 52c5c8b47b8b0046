"""Worker processes: the same games as without, whoever dies; and nothing hangs."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_self_play import tiny
from workers_here import WorkersHere, collected

from azfit.games import game_by_name
from azfit.inference import NetworkEvaluator
from azfit.network import Network
from azfit.playing.openings import random_openings
from azfit.self_play import loop
from azfit.self_play.episode import Episode
from azfit.self_play.play_games import play_games
from azfit.self_play.worker import PlayGames, PlayPairs, SelfPlayWorker, Task
from azfit.self_play.workers import Workers
from azfit.weights import Weights
from solver.errors import FadefourError
from solver.workers.pool import DEATHS_IN_A_ROW
from solver.workers.processes import ProcessSeat
from solver.workers.worker import Deal, Message

CONFIG = tiny(workers=2, sims=30)
GAMES = range(8)


def network(seed: int = 1) -> Network:
    torch.manual_seed(seed)
    return Network(CONFIG.network).eval()


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    """Two processes for all tests; each leaves them fit for the next."""
    with Workers(CONFIG) as opened:
        opened.set_network("best", network())
        yield opened


def processes(workers: Workers) -> list[Any]:
    return [seat.process for seat in workers.pool.seats if isinstance(seat, ProcessSeat)]


def process_ids(workers: Workers) -> list[int]:
    return [process.pid or 0 for process in processes(workers)]


@pytest.fixture(scope="module")
def games() -> dict[int, bytes]:
    """The same games, played in this process."""
    threads = torch.get_num_threads()
    here = WorkersHere(CONFIG)  # sets the threads to 1
    here.set_network("best", network())
    frames = dict(here.play_games(GAMES, 0, "best"))
    torch.set_num_threads(threads)
    return frames


def test_games_arrive_exactly_once_and_are_those_of_one_process(
    workers: Workers, games: dict[int, bytes]
) -> None:
    assert collected(workers.play_games(GAMES, 0, "best")) == games
    assert collected(workers.play_games([], 0, "best")) == {}
    assert collected(workers.play_games([5], 0, "best")) == {5: games[5]}


def test_matches_are_those_of_one_process(workers: Workers) -> None:
    openings = random_openings(game_by_name(CONFIG.game), 5, 2, np.random.default_rng(1))
    here = WorkersHere(CONFIG)
    for pool in (workers, here):
        pool.set_network("candidate", network(2))
        pool.set_network("best", network())
    scores = collected(workers.play_pairs(openings, "candidate", "best"))
    assert scores == dict(here.play_pairs(openings, "candidate", "best"))
    assert sorted(scores) == list(range(5))
    assert all(score.games == 2 for score in scores.values())
    workers.forget("candidate")
    workers.forget("candidate")


def test_a_network_goes_to_the_workers_once_whatever_parts_it_plays(
    monkeypatch: pytest.MonkeyPatch, games: dict[int, bytes]
) -> None:
    here = WorkersHere(CONFIG)
    kept: list[str] = []
    dropped: list[str] = []
    keep, drop = here.pool.keep, here.pool.drop

    def keep_and_note(name: str, value: Any) -> None:
        kept.append(name)
        keep(name, value)

    def drop_and_note(name: str) -> None:
        dropped.append(name)
        drop(name)

    monkeypatch.setattr(here.pool, "keep", keep_and_note)
    monkeypatch.setattr(here.pool, "drop", drop_and_note)
    for part in ("best", "best", "ahead"):
        here.set_network(part, network())
    assert len(kept) == 1
    here.set_network("candidate", network(2))
    here.set_network("best", network(2))  # it is accepted
    assert len(set(kept)) == len(kept) == 2 and not dropped
    assert dict(here.play_games(GAMES, 0, "ahead")) == games
    here.forget("ahead")
    assert dropped == kept[:1]
    here.forget("candidate")
    assert dropped == kept[:1] and len(dict(here.play_games(GAMES, 0, "best"))) == len(GAMES)


def test_a_run_sends_each_network_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of its folder: the first, and the candidates of all iterations."""
    kept, keep = [], SelfPlayWorker.keep

    def keep_and_count(worker: SelfPlayWorker, name: str, value: Weights) -> None:
        kept.append(name)
        keep(worker, name, value)

    monkeypatch.setattr(SelfPlayWorker, "keep", keep_and_count)
    monkeypatch.setattr(loop, "Workers", WorkersHere)
    for overlap in (False, True):
        kept.clear()
        loop.self_play(
            tiny(overlap=overlap, iterations=3, pool_games=0, accept=1.0),
            tmp_path / f"{overlap}",
            stream=None,
        )
        assert len(set(kept)) == len(kept) == 4


def test_what_networks_said_is_remembered_within_a_phase_only() -> None:
    """What is known decides what is evaluated together, and so how it is rounded: a run that goes
    on after an interruption between two phases must find the same."""
    worker = SelfPlayWorker(tiny())
    for name, seed in (("a", 1), ("b", 2)):
        worker.keep(name, Weights.of(network(seed)))

    def cache(task: Task, name: str = "a") -> Any:
        return worker._player(task, name)[0]

    first, match = cache(PlayGames(0, "a")), cache(PlayPairs("b", "a"))
    assert first is cache(PlayGames(0, "a"))
    assert match is cache(PlayPairs("b", "a")) and match is not first
    player = cache(PlayPairs("b", "a"), "b")
    assert player is cache(PlayPairs("b", "c"), "b"), "it meets another opponent"
    assert cache(PlayPairs("c", "a")) is not match
    assert cache(PlayGames(1, "a")) is not first


@pytest.mark.parametrize("victims", [1, 2])
def test_workers_killed_between_their_games_are_replaced(
    workers: Workers, games: dict[int, bytes], victims: int
) -> None:
    before, replaced = process_ids(workers), workers.replaced
    answers: dict[int, bytes] = {}
    for item, frame in workers.play_games(GAMES, 0, "best"):
        if not answers:
            for pid in before[:victims]:
                os.kill(pid, signal.SIGKILL)
        assert item not in answers
        answers[item] = frame
    assert answers == games
    assert workers.replaced - replaced <= victims  # fewer if one had sent all before it died
    assert len(set(process_ids(workers)) & set(before)) == 2 - (workers.replaced - replaced)


def test_a_worker_killed_in_the_middle_of_a_game_is_replaced_and_plays_it_again() -> None:
    """The game takes far longer than the blow, which comes a moment after it was dealt."""
    with Workers(tiny(workers=1, sims=1_000, cache=False)) as workers:
        workers.set_network("best", network())
        (victim,) = process_ids(workers)
        list(workers.play_games([1], 0, "best"))  # by now the worker is up and quick
        blow = threading.Timer(0.1, os.kill, (victim, signal.SIGKILL))
        blow.start()
        (interrupted,) = workers.play_games([0], 0, "best")
        blow.join()
        assert workers.replaced == 1 and process_ids(workers) != [victim]
        (whole,) = workers.play_games([0], 0, "best")
        assert interrupted == whole


def test_a_worker_killed_while_idle_is_replaced_when_it_is_needed(
    workers: Workers, games: dict[int, bytes]
) -> None:
    victim = processes(workers)[1]
    assert victim.pid is not None
    os.kill(victim.pid, signal.SIGKILL)
    victim.join()
    workers.set_network("best", network())
    assert collected(workers.play_games(GAMES, 0, "best")) == games
    assert victim.pid not in process_ids(workers)


def test_ctrl_c_is_the_masters_to_answer(workers: Workers, games: dict[int, bytes]) -> None:
    before = process_ids(workers)
    answers = {}
    for item, frame in workers.play_games(GAMES, 0, "best"):
        for pid in before:
            os.kill(pid, signal.SIGINT)
        answers[item] = frame
    assert answers == games
    assert process_ids(workers) == before


def test_every_network_is_searched_with_its_own_scale_of_steps() -> None:
    """A network of --init may count fewer plies than the games last."""
    torch.manual_seed(1)
    short = Network(replace(CONFIG.network, max_plies=6)).eval()
    config = replace(CONFIG, lambda_steps=0.9)
    here = WorkersHere(config)
    here.set_network("best", short)
    game, frames = game_by_name(config.game), dict(here.play_games(GAMES, 0, "best"))
    visits = {n: Episode.from_body(frame[12:], game).visits.tolist() for n, frame in frames.items()}
    for scale, as_played in ((6.0, True), (None, False)):
        wanted = play_games(
            game,
            NetworkEvaluator(short, threads=1),
            replace(config.search_config, max_steps=scale),
            GAMES,
            seed=config.seed,
            iteration=0,
            parallel=config.parallel_games,
        )
        assert ({game.number: game.visits.tolist() for game in wanted} == visits) == as_played


def test_an_error_in_a_worker_is_raised_here() -> None:
    broken = network()
    with torch.no_grad():
        broken.heads.policy.weight.fill_(float("nan"))  # type: ignore[union-attr,operator]
    with Workers(tiny(workers=1)) as own:
        own.set_network("best", broken)
        with pytest.raises(FadefourError, match="not finite") as raised:
            collected(own.play_games(GAMES, 0, "best"))
        assert "\n" not in str(raised.value)
        ids = process_ids(own)
    assert not any(is_alive(pid) for pid in ids)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_workers_that_die_again_and_again_are_one_clear_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    send, killed = ProcessSeat.send, []

    def send_and_kill(seat: ProcessSeat, message: Message) -> None:
        send(seat, message)
        if isinstance(message, Deal):
            assert seat.process.pid is not None
            os.kill(seat.process.pid, signal.SIGKILL)
            killed.append(seat.process.pid)

    monkeypatch.setattr(ProcessSeat, "send", send_and_kill)
    with Workers(tiny(workers=1)) as own:
        own.set_network("best", network())
        with pytest.raises(FadefourError, match=r"died 3 times in a row \(exit code -9\)"):
            collected(own.play_games(GAMES, 0, "best"))
    assert len(killed) == DEATHS_IN_A_ROW
    assert not any(is_alive(pid) for pid in killed)


def test_workers_started_before_one_that_cannot_be_are_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[ProcessSeat] = []
    real = ProcessSeat.__init__

    def second_fails(seat: ProcessSeat, make: Any) -> None:
        if started:
            raise KeyboardInterrupt
        real(seat, make)
        started.append(seat)

    monkeypatch.setattr(ProcessSeat, "__init__", second_fails)
    with pytest.raises(KeyboardInterrupt), Workers(CONFIG):
        pass
    assert started[0].process.exitcode == -signal.SIGTERM


def test_an_error_nobody_foresaw_is_raised_again_with_its_traceback() -> None:
    raises = pytest.raises(RuntimeError, match="in a worker")
    with Workers(tiny(workers=1)) as alone, raises as raised:
        collected(alone.play_games(GAMES, 0, "a network that nobody sent"))
    assert "Traceback" in str(raised.value) and "KeyError" in str(raised.value)
