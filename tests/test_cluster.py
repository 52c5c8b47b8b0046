"""Workers on a Ray cluster of several nodes: the same games as here, whichever node dies."""

from __future__ import annotations

import json
import os
import platform
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import run_cli
from libraries import library
from ray_nodes import AGENTS, MARK, SETTINGS, Nodes, ray_nodes, wait_until_gone
from slow import ASKED_FOR, cluster, more
from tiny_self_play import TINY, best_of, final_state, games_of, lines_of, tiny
from workers_here import WorkersHere, collected

from azfit.games import game_by_name
from azfit.network import Network
from azfit.playing.openings import random_openings
from azfit.self_play import loop
from azfit.self_play.episode import read_episodes
from azfit.self_play.loop import self_play
from azfit.self_play.workers import Workers
from solver.cluster.connection import Cluster
from solver.errors import InputError, NoRoomError
from solver.workers.pool import Pool

ray = library("ray")
ROOT = Path(__file__).resolve().parent.parent

CONFIG = tiny(workers=2, sims=30)
GAMES = range(12)


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    """One node with a processor; tests add others and leave one."""
    with ray_nodes() as opened:
        opened.add()
        yield opened


def network(seed: int = 1) -> Network:
    torch.manual_seed(seed)
    return Network(CONFIG.network).eval()


@pytest.mark.parametrize("address", ["auto", "10.0.0.1:6379"])
def test_a_cluster_that_asks_for_its_token_says_where_it_is(address: str) -> None:
    line = Cluster(address, 1)._refusal("Failed to connect: InvalidAuthToken: no token")
    assert "the cluster asks for its token" in line and "RAY_AUTH_MODE=token" in line


@cluster
def test_games_and_matches_are_those_of_one_process_though_a_node_dies_and_one_joins(
    nodes: Nodes,
) -> None:
    openings = random_openings(game_by_name(CONFIG.game), 5, 2, np.random.default_rng(1))
    here = WorkersHere(CONFIG)
    for name, seed in (("best", 1), ("candidate", 2)):
        here.set_network(name, network(seed))
    games = dict(here.play_games(GAMES, 0, "best"))
    reports: list[str] = []
    victim = nodes.add()
    with Workers(tiny(workers="max", sims=30), nodes.address, reports.append) as workers:
        workers.set_network("best", network())
        assert collected(workers.play_games([0, 1, 2, 3], 0, "best")) == {
            number: games[number] for number in range(4)
        }
        answers: dict[int, bytes] = {}
        for number, frame in workers.play_games(GAMES, 0, "best"):
            assert number not in answers
            answers[number] = frame
            if len(answers) == 2:
                nodes.kill(victim)
        assert answers == games
        workers.set_network("candidate", network(2))
        nodes.add(cpus=2)
        scores = collected(workers.play_pairs(openings, "candidate", "best"))
        assert scores == dict(here.play_pairs(openings, "candidate", "best"))
        deadline = time.monotonic() + 300
        while "cluster: 3 workers on 1 machine" not in reports:  # one node had 1, one has 2
            assert time.monotonic() < deadline, reports
            assert collected(workers.play_games(GAMES, 0, "best")) == games
        assert workers.replaced <= 3  # where Ray took its time to notice
        nodes.take_out(nodes.nodes[-1])


def comparable(run: Path) -> Any:
    """A run without what deaths and the order of arrival change."""
    tensors, about = final_state(run)
    about["line"].pop("workers_replaced", None)
    lines = [{k: v for k, v in line.items() if k != "workers_replaced"} for line in lines_of(run)]
    game = game_by_name(CONFIG.game)
    games = {
        name: {e.number: e.to_bytes() for e in read_episodes(run / "games" / name, game)}
        for name in games_of(run)
    }
    return {n: t.tolist() for n, t in tensors.items()}, about, lines, games, best_of(run)


@pytest.fixture(scope="module")
def second() -> Iterator[Nodes]:
    """Another cluster, of a head with a processor. The last test kills it."""
    with ray_nodes(head_cpus=1) as opened:
        yield opened


@cluster
def test_a_run_whose_nodes_die_in_training_and_which_moves_to_another_cluster_is_the_same(
    nodes: Nodes, second: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It begins on one cluster, loses a node while it trains and the next games are played, stops
    in the second iteration, and is resumed on another cluster."""
    config, learn = tiny(workers=2, iterations=3, seed=4, overlap=True), loop.learn
    victim, learned = nodes.add(), 0

    def learn_and_lose_a_node(*arguments: Any) -> None:
        nonlocal learned
        learned += 1
        if learned == 1:
            nodes.kill(victim)
        if learned == 2:
            raise KeyboardInterrupt
        learn(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(loop, "learn", learn_and_lose_a_node)
        with pytest.raises(KeyboardInterrupt):
            self_play(config, tmp_path / "moved", cluster=nodes.address, stream=None)
    assert not ray.is_initialized()
    self_play(config, tmp_path / "moved", resume=True, cluster=second.address, stream=None)
    monkeypatch.setattr(loop, "Workers", WorkersHere)
    self_play(config, tmp_path / "here", stream=None)
    assert comparable(tmp_path / "moved") == comparable(tmp_path / "here")


# ---- grade and certify ---------------------------------------------------------------


def without_seconds(report: Any) -> Any:
    if isinstance(report, dict):
        return {k: without_seconds(v) for k, v in report.items() if "seconds" not in k}
    return [without_seconds(entry) for entry in report] if isinstance(report, list) else report


@cluster
def test_grade_and_certify_give_the_same_bytes_though_a_node_dies(
    nodes: Nodes, learned33: Path, solved33: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from azfit.grading import certify, conversion, grade

    for module, size in ((grade, 1 << 11), (certify, 100), (conversion, 500)):
        monkeypatch.setattr(module, "AT_A_TIME", size)  # batches enough for a small board
    run, begin = learned33 / "run", Pool.begin
    reports: dict[str, list[Any]] = {"here": [], "cluster": []}
    victims = [nodes.add()]

    def begin_and_kill(pool: Pool, *arguments: Any, **options: Any) -> Any:
        for i, answer in enumerate(begin(pool, *arguments, **options)):
            if i == 3 and victims:
                nodes.kill(victims.pop())
            yield answer

    monkeypatch.setattr(Pool, "begin", begin_and_kill)
    for where, options in (("here", []), ("cluster", ["--cluster", nodes.address])):
        common = ["--threads", "1", "--data", solved33, "--json", *options]
        proof = tmp_path / where / "proof.npz"
        proof.parent.mkdir()
        for command in (
            ["grade", run, "--all"],
            ["grade", run, "--sample", "200", "--sims", "20"],
            ["certify", run, "--convert", "--out", proof],
        ):
            ended = run_cli(*command, *common)
            assert ended.code in (0, 1) and not ended.err, ended.err
            report = json.loads(ended.out.replace(str(proof.parent), ""))
            reports[where].append(without_seconds(report))
        reports[where].append({path.name: path.read_bytes() for path in proof.parent.iterdir()})
    assert not victims
    assert reports["cluster"] == reports["here"]
    assert reports["here"][-1], "no proof was written"


# ---- what is refused -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("127.0.0.1:1", "nothing answers there (Connection refused)"),
        ("nowhere.invalid:6379", "nothing answers there ("),
        ("somewhere", "use auto, local, or HOST:PORT"),
        ("ray://127.0.0.1:10001", "use auto, local, or HOST:PORT"),
        ("127.0.0.1:99999", "use auto, local, or HOST:PORT"),
    ],
)
def test_an_address_where_no_ray_is_is_refused_at_once(
    address: str, reason: str, tmp_path: Path
) -> None:
    ended = run_cli("self-play", "--run", tmp_path / "run", "--cluster", address)
    assert ended.code == 2 and reason in ended.err
    assert ended.err.startswith(f"fadefour: --cluster {address}: ")
    assert len(ended.err.splitlines()) == 1 and not ended.out


@cluster
def test_a_node_with_another_fadefour_is_refused_with_both_versions(
    nodes: Nodes, tmp_path: Path
) -> None:
    import solver

    (tmp_path / "sitecustomize.py").write_text("import solver; solver.__version__ = '0.0.1'\n")
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    other = nodes.add(env_vars={"PYTHONPATH": path})
    try:
        with pytest.raises(InputError) as refused, Workers(CONFIG, nodes.address):
            pass
    finally:
        nodes.take_out(other)
    assert str(refused.value) == (
        f"--cluster {nodes.address}: fadefour {solver.__version__} runs here and fadefour 0.0.1 on "
        "127.0.0.1: install the same version on all machines of the cluster"
    )
    assert not ray.is_initialized()


@cluster
def test_a_machine_with_another_python_is_refused_at_the_start_and_left_out_later(
    nodes: Nodes, tmp_path: Path
) -> None:
    """It joins while games are played: its workers are refused with one line, the others go on."""
    (tmp_path / "sitecustomize.py").write_text(
        "import platform; platform.python_version = lambda: '3.99.1'\n"
    )
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    ours = platform.python_version()
    difference = (
        f"Python {ours} runs here and Python 3.99.1 on 127.0.0.1: install the same version on all "
        "machines of the cluster"
    )
    reports: list[str] = []

    def play_until(line: str) -> None:
        deadline = time.monotonic() + 120
        while line not in reports:
            assert time.monotonic() < deadline, reports
            assert collected(workers.play_games(GAMES, 0, "best")) == games

    with Workers(tiny(workers="max", sims=30), nodes.address, reports.append) as workers:
        workers.set_network("best", network())
        games = collected(workers.play_games(GAMES, 0, "best"))
        place: Any = workers.pool._place
        following = place._cluster.cpus() + 1
        other = nodes.add(env_vars={"PYTHONPATH": path})
        play_until(f"cluster: a machine is not used: {difference}")
        good = nodes.add()
        play_until(f"cluster: {following} workers on 1 machine")
        lines: list[str] = []
        for _ in range(2):  # it is said once
            used = [machine.node for machine in place._cluster.machines(lines.append)]
            assert good.node_id in used and other.node_id not in used
            assert lines == [difference]
        nodes.take_out(good)
    assert len([line for line in reports if "not used" in line]) == 1
    with pytest.raises(InputError, match=re.escape(difference)), Workers(CONFIG, nodes.address):
        pass
    nodes.take_out(other)


@cluster
def test_another_ray_is_refused_with_both_versions(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = ray.__version__
    monkeypatch.setattr(ray, "__version__", "1.2.3")
    with pytest.raises(InputError, match="ersion mismatch") as refused:
        Workers(CONFIG, nodes.address).__enter__()
    message = str(refused.value)
    assert version in message and "1.2.3" in message and "\n" not in message


@cluster
def test_what_is_larger_than_the_object_store_is_kept_and_a_full_one_is_one_line(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = tiny(width=4096, blocks=1, workers=1, sims=2)  # 134 MB; the store has 84
    torch.manual_seed(1)
    weights = Network(large.network).eval()
    with Workers(large, nodes.address) as workers:
        workers.set_network("best", weights)
        assert len(collected(workers.play_games([0], 0, "best"))) == 1

        def full(value: object) -> None:
            raise ray.exceptions.ObjectStoreFullError("it is full")

        monkeypatch.setattr(ray, "put", full)
        with pytest.raises(NoRoomError, match="object store on this machine is full") as raised:
            workers.set_network("candidate", network())
        assert "\n" not in str(raised.value)


# ---- as a user runs it ---------------------------------------------------------------


def start(mark: str, *arguments: str | Path) -> subprocess.Popen[str]:
    """The command in a session of its own, as a terminal would start it."""
    return subprocess.Popen(
        [sys.executable, str(ROOT / "cli.py"), "self-play", *map(str, arguments)],
        env={**os.environ, **SETTINGS, "PYTHONPATH": str(ROOT), MARK: mark},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    while not condition():
        assert process.poll() is None, f"it ended too soon: {process.communicate()}"
        time.sleep(0.05)


def has_games(run: Path) -> Callable[[], bool]:
    path = run / "games" / "000000.games"
    return lambda: path.exists() and path.stat().st_size > 0


def long_run(folder: Path) -> list[str | Path]:
    options = TINY | {"games_per_iteration": 10_000, "sims": 20}
    text = {name: json.dumps(value) for name, value in options.items()}
    (folder / "options.toml").write_text("".join(f"{k} = {v}\n" for k, v in text.items()))
    return ["--run", folder / "run", "--config", folder / "options.toml"]


@more
@cluster
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_of_a_local_cluster_whose_run_is_stopped(
    how: signal.Signals, tmp_path: Path
) -> None:
    """After a kill -9 the agents of Ray may need a minute more: with FADEFOUR_SLOW_TESTS=1 they are
    waited for."""
    mark, later = f"{tmp_path}", AGENTS if how is signal.SIGKILL and not ASKED_FOR else ()
    process = start(mark, *long_run(tmp_path), "--cluster", "local")
    try:
        wait_until(has_games(tmp_path / "run"), process)
        os.kill(process.pid, how)
        out, err = process.communicate(timeout=60)
        if how is signal.SIGINT:
            assert (process.returncode, out) == (130, "")
            assert "fadefour: interrupted; what was finished is kept" in err
        assert not (left := wait_until_gone(mark, 400, later)), left  # they look now and then
    finally:
        for pid in wait_until_gone(mark, 0):
            os.kill(pid, signal.SIGKILL)


@cluster
def test_a_cluster_that_goes_away_is_one_line_and_soon(second: Nodes, tmp_path: Path) -> None:
    process = start(f"{tmp_path}", *long_run(tmp_path), "--cluster", second.address)
    wait_until(has_games(tmp_path / "run"), process)
    second.kill_head()
    _, err = process.communicate(timeout=40)  # Ray itself would wait for a minute
    last = err.splitlines()[-1]
    assert process.returncode == 2, err
    assert last.startswith(f"fadefour: the Ray cluster '{second.address}' is gone (")
    assert "Traceback" not in err


@cluster
def test_auto_is_the_cluster_of_this_machine(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_run(tmp_path)
    command: list[str | Path] = ["self-play", "--config", tmp_path / "options.toml"]
    command += ["--iterations", "1"]
    command += ["--games-per-iteration", "2", "--cluster", "auto", "--run"]
    monkeypatch.setenv("RAY_ADDRESS", nodes.address)
    ended = run_cli(*command, tmp_path / "run")
    assert ended.code == 0 and "cluster: 1 worker on 1 machine" in ended.err, ended.err
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    ended = run_cli(*command, tmp_path / "other")
    assert ended.code == 2 and len(ended.err.splitlines()) == 1
    assert ended.err.startswith("fadefour: --cluster 127.0.0.1:1: nothing answers there")


def test_without_the_option_ray_is_not_imported(
    tmp_path: Path, learned33: Path, solved33: Path
) -> None:
    long_run(tmp_path)
    options, proof = tmp_path / "options.toml", tmp_path / "proof.npz"
    one = ["--config", options, "--iterations", "1", "--games-per-iteration", "2"]
    commands = [
        ["self-play", "--run", tmp_path / "run", *one],
        ["solve", "--n", "3", "--m", "3", "--results-only", "--data", tmp_path / "data"],
        ["grade", learned33 / "run", "--sample", "50", "--data", solved33],
        ["certify", learned33 / "run", "--data", solved33, "--out", proof],
    ]
    program = (
        "import sys; from conftest import run_cli\n"
        f"for command in {[[str(part) for part in command] for command in commands]!r}:\n"
        "    ended = run_cli(*command)\n"
        "    assert ended.code in (0, 1) and ended.out, (command, ended)\n"
        "    assert 'ray' not in sys.modules, command\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
