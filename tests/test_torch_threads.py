"""The number of torch's threads is chosen by measurement, and a run that slows down is noticed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from azfit import torch_threads
from azfit.inference import NetworkEvaluator
from azfit.network import Network, NetworkConfig
from azfit.torch_threads import Pace, choose_threads, pick_threads

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def _threads_as_before() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


class Clock:
    """A clock that only the work moves: so many seconds by the number of threads."""

    def __init__(self, seconds: Callable[[int], float], monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.calls, self._seconds = 0.0, 0, seconds
        monkeypatch.setattr(torch_threads.time, "perf_counter", lambda: self.now)

    def work(self) -> None:
        self.calls += 1
        self.now += self._seconds(torch.get_num_threads())


def test_work_that_suffers_from_threads_gets_one(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(lambda threads: 0.01 * threads, monkeypatch)
    choice = choose_threads(clock.work, 4)
    assert choice.threads == torch.get_num_threads() == 1
    assert choice.rates == pytest.approx({1: 100, 2: 50, 4: 25})


def test_work_that_gains_from_threads_gets_them(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(lambda threads: 0.03 / threads, monkeypatch)
    choice = choose_threads(clock.work, 3)
    assert choice.threads == torch.get_num_threads() == 3
    assert choice.rates == pytest.approx({1: 100 / 3, 2: 200 / 3, 3: 100})


def test_slow_work_is_done_twice_on_each_number(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(lambda threads: 60.0, monkeypatch)
    choose_threads(clock.work, 2)
    assert clock.calls == 4


def test_one_core_is_not_measured() -> None:
    calls: list[int] = []
    assert choose_threads(lambda: calls.append(1), 1).threads == 1
    assert not calls


def test_a_thread_has_to_pay() -> None:
    assert pick_threads({1: 100.0, 2: 105.0}).threads == 1
    assert pick_threads({1: 100.0, 2: 150.0, 4: 155.0}).threads == 2
    described = pick_threads({1: 100.0, 2: 150.0}).describe("steps")
    assert described == "2 threads: 150 steps/s (1 thread: 100)"


def test_an_evaluator_chooses_by_its_own_boards() -> None:
    network = Network(NetworkConfig(game="drop-3-3-3", width=8, blocks=1, max_plies=5))
    choice = NetworkEvaluator(network).choose_threads(boards=16, most=2)
    assert choice.threads in (1, 2) and torch.get_num_threads() == choice.threads
    assert set(choice.rates) == {1, 2}


def test_a_collapse_is_noticed_and_a_hiccup_is_not() -> None:
    pace = Pace()
    assert not any(pace.took(0.1) for _ in range(200))
    assert not pace.took(3.0), "one slow step among quick ones"
    assert not any(pace.took(0.1) for _ in range(100))
    assert not any(pace.took(0.3) for _ in range(100)), "a third of the speed is no collapse"
    noticed = [pace.took(1.0) for _ in range(30)]
    assert any(noticed)
    assert pace.best == pytest.approx(10, rel=0.1) and pace.latest == pytest.approx(1, rel=0.1)


@pytest.mark.parametrize(("given", "expected"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_waiting_threads_sleep_unless_the_user_says_otherwise(
    given: str | None, expected: str
) -> None:
    environment = {name: v for name, v in os.environ.items() if name != "OMP_WAIT_POLICY"}
    if given is not None:
        environment["OMP_WAIT_POLICY"] = given
    show = "import azfit.network, os; print(os.environ['OMP_WAIT_POLICY'])"
    command = [sys.executable, "-c", show]
    shown = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert shown.stdout.strip() == expected
