"""A solve for results over several nodes of a Ray cluster: the bytes of one machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import slow
from conftest import run_cli
from libraries import library
from ray_nodes import Nodes, ray_nodes

from solver.checkpoint import ResultsCheckpointFile
from solver.cluster.connection import Cluster, Machine
from solver.errors import FadefourError, NoRoomError
from solver.kernels import Crew
from solver.results import ResultsSolution, SolveState, solve_results
from solver.results_parts import dealt
from solver.results_table import results_path, write_results
from solver.rules import Rules

ray = library("ray")

ROOT = Path(__file__).resolve().parent.parent
LARGE = Rules(4, 4, 4)


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with ray_nodes() as opened:
        for cpus in (1, 2):
            opened.add(cpus=cpus)
        yield opened


@pytest.fixture(scope="module")
def cluster(nodes: Nodes) -> Iterator[Cluster]:
    with Cluster(nodes.address, 1) as connection, pytest.MonkeyPatch.context() as patch:
        patch.setattr("solver.cluster.sharded_solve.RESTART_SECONDS", 1.0)
        yield connection


@pytest.fixture(scope="module")
def whole() -> ResultsSolution:
    return solve_results(LARGE)


def assert_same(solution: ResultsSolution, whole: ResultsSolution) -> None:
    for name in ("states", "small", "counts"):
        assert np.array_equal(getattr(solution, name), getattr(whole, name)), name


class EveryDepth(ResultsCheckpointFile):
    """Saves always, however long it takes."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, LARGE, 0.0)

    def save_if_due(self, state: SolveState, depth: int) -> None:
        self._took = 0.0
        super().save_if_due(state, depth)


def test_messages_are_dealt_to_the_part_that_has_their_group() -> None:
    random, bounds = np.random.default_rng(1), np.array([0, 30, 30, 70, 100], np.uint64)
    columns = random.choice(np.array([0, 3, 0xFF], np.uint64), 1000)
    groups = random.integers(0, 100, 1000).astype(np.uint64)
    messages = groups << np.uint64(16) | columns << np.uint64(8)
    parts = dealt(messages, bounds)
    assert len(parts) == 5
    for part, (first, end) in enumerate(pairwise(bounds.tolist())):
        is_here = (columns != 0xFF) & (groups >= first) & (groups < end)
        assert sorted(parts[part].tolist()) == sorted(messages[is_here].tolist())
    assert parts[-1].tolist() == messages[columns == 0xFF].tolist()


def test_shards_are_dealt_over_the_machines_in_turn() -> None:
    from solver.cluster.shards import places_for

    machines = [Machine("a", "", 1), Machine("b", "", 0), Machine("c", "", 3)]
    names = "".join(machine.node for machine in places_for(machines, None))
    assert names == "accc"
    assert "".join(machine.node for machine in places_for(machines, 2)) == "ac"
    assert places_for([], None) == []


@slow.cluster
@pytest.mark.parametrize("shards", [1, 2, 3])
def test_any_number_of_shards_on_several_nodes_writes_the_same_file(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shards: int
) -> None:
    from solver.cluster.sharded_solve import ShardedPasses

    settle, used = ShardedPasses._settle, []

    def settle_and_look(passes: Any, own: Any, *more: Any) -> None:
        used.append(len(set(own.all("node"))))
        settle(passes, own, *more)

    monkeypatch.setattr(ShardedPasses, "_settle", settle_and_look)
    rules = Rules(4, 3, 3)
    solutions = {
        "here": solve_results(rules),
        "shards": solve_results(rules, passes=ShardedPasses(rules, cluster, shards)),
    }
    for name, solution in solutions.items():
        with Crew(1) as crew:
            write_results(tmp_path / name, solution, crew)
    files = [results_path(tmp_path / name, rules).read_bytes() for name in solutions]
    assert files[0] == files[1]
    assert_same(solutions["shards"], solutions["here"])
    assert set(used) == {min(shards, 2)}, "nodes that had a shard"


@slow.cluster
@pytest.mark.parametrize("is_saved", [True, False], ids=["from a checkpoint", "from the beginning"])
def test_a_node_that_dies_in_the_middle_costs_time_only(
    nodes: Nodes,
    cluster: Cluster,
    whole: ResultsSolution,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_saved: bool,
) -> None:
    """Of five shards two are on the node that dies, while messages are under way; three are left
    for the rest."""
    from solver.cluster import sharded_solve

    victim = nodes.add(cpus=2)
    settle, depths, shards = sharded_solve.ShardedPasses._settle, [], []

    def settle_and_kill(passes: Any, own: Any, depth: int, *more: Any) -> None:
        depths.append(depth)
        shards.append(len(own))
        if depth == 6 and depths.count(6) == 1:
            own.all("settle", depth)
            own.actors[0].next_batch.options(num_returns=7).remote()  # will be sent twice
            nodes.kill(victim)
        settle(passes, own, depth, *more)

    monkeypatch.setattr(sharded_solve.ShardedPasses, "_settle", settle_and_kill)
    lines: list[str] = []
    passes = sharded_solve.ShardedPasses(LARGE, cluster, report=lines.append)
    checkpoints = EveryDepth(tmp_path) if is_saved else None
    assert_same(solve_results(LARGE, passes=passes, checkpoints=checkpoints), whole)
    assert passes.traffic.restarts >= 1 and passes.traffic.sent > 0
    assert shards[0] == 5 and shards[-1] == 3
    again = 6 if is_saved else 2
    assert depths == [2, 4, 6, *range(again, depths[-1] + 1, 2)]  # no depth once more than needed
    lines = [line for line in lines if "waiting" not in line]  # on a busy machine
    assert lines[0] == "cluster: 5 shards on 1 machine"
    assert lines[1].startswith("cluster: a shard is lost (") and "\n" not in lines[1]
    assert lines[-1] == "cluster: 3 shards on 1 machine"


@slow.cluster
@pytest.mark.parametrize("when", ["saved", "loaded", "collected"])
def test_a_shard_that_dies_while_states_are_copied_leaves_nothing_half_copied(
    cluster: Cluster,
    whole: ResultsSolution,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    when: str,
) -> None:
    """The third time that states are saved, or the second that they are loaded, or when they are
    collected: half of them have been copied when the last shard is killed."""
    from solver.cluster import shards

    monkeypatch.setattr("solver.checkpoint.BYTES_AT_A_TIME", 1 << 20)
    monkeypatch.setattr(shards, "CHUNK", 1 << 20)
    killed, answer = [], shards.Shards.answer
    size = len(whole.states)

    def kill(own: Any) -> None:
        killed.append(own)
        ray.kill(own.actors[-1])

    def read(states: Any, where: slice) -> Any:
        counts["saved"] += where.start == 0
        if when == "saved" and counts["saved"] == 3 and where.start > size // 4 and not killed:
            kill(states._shards)
        return getitem(states, where)

    def write(states: Any, where: slice, values: Any) -> None:
        if when == "loaded" and where.start > size // 4 and not killed:
            kill(states._shards)
        setitem(states, where, values)

    def collect(own: Any, states: Any) -> None:
        if when == "collected" and not killed:
            monkeypatch.setattr(shards.Shards, "answer", answer_and_kill)
        collecting(own, states)

    def answer_and_kill(own: Any, call: Any) -> Any:
        monkeypatch.setattr(shards.Shards, "answer", answer)
        value = answer(own, call)
        kill(own)
        return value

    counts = {"saved": 0}
    getitem, setitem = shards.ShardedStates.__getitem__, shards.ShardedStates.__setitem__
    collecting = shards.Shards.collect
    monkeypatch.setattr(shards.ShardedStates, "__getitem__", read)
    monkeypatch.setattr(shards.ShardedStates, "__setitem__", write)
    monkeypatch.setattr(shards.Shards, "collect", collect)
    from solver.cluster.sharded_solve import ShardedPasses

    if when == "loaded":
        stopped = Stopping(tmp_path)
        with pytest.raises(KeyboardInterrupt):
            solve_results(LARGE, checkpoints=stopped)
    passes = ShardedPasses(LARGE, cluster, 2)
    checkpoints = EveryDepth(tmp_path)
    assert_same(solve_results(LARGE, passes=passes, checkpoints=checkpoints), whole)
    assert killed and passes.traffic.restarts == 1


class Stopping(EveryDepth):
    """Stops the solve when depth 4 is saved."""

    def save_if_due(self, state: SolveState, depth: int) -> None:
        super().save_if_due(state, depth)
        if depth == 4:
            raise KeyboardInterrupt


@slow.cluster
def test_it_goes_on_from_a_checkpoint_of_one_machine_and_back(
    cluster: Cluster, whole: ResultsSolution, tmp_path: Path
) -> None:
    from solver.cluster.sharded_solve import ShardedPasses

    files = {}
    for name in ("here", "shards"):
        (tmp_path / name).mkdir()
        passes = ShardedPasses(LARGE, cluster, 2) if name == "shards" else None
        with pytest.raises(KeyboardInterrupt):
            solve_results(LARGE, checkpoints=Stopping(tmp_path / name), passes=passes)
        files[name] = EveryDepth(tmp_path / name)
    assert files["here"].path.read_bytes() == files["shards"].path.read_bytes()
    continued = ShardedPasses(LARGE, cluster, 3)
    assert_same(solve_results(LARGE, checkpoints=files["here"], passes=continued), whole)
    assert_same(solve_results(LARGE, checkpoints=files["shards"]), whole)


@slow.cluster
def test_without_a_file_the_states_stay_where_they_are(cluster: Cluster) -> None:
    from solver.cluster.sharded_solve import ShardedPasses

    rules = Rules(4, 3, 3)
    passes = ShardedPasses(rules, cluster, 2, counts_only=True)
    solution, whole = solve_results(rules, passes=passes), solve_results(rules)
    assert np.array_equal(solution.counts, whole.counts)
    assert not solution.states.any() and whole.states.any()


# ---- what goes wrong -----------------------------------------------------------------


@slow.cluster
def test_shards_that_die_again_and_again_are_one_line(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    from solver.cluster.sharded_solve import ShardedPasses

    def die(passes: Any, shards: Any, *_: Any) -> None:
        for actor in shards.actors:
            ray.kill(actor)
        for _ in range(1000):  # a killed actor may still answer for a moment
            shards.all("counts")
            time.sleep(0.01)

    monkeypatch.setattr(ShardedPasses, "_settle", die)
    rules = Rules(3, 3, 3)
    with pytest.raises(FadefourError, match="died 3 times in a row") as raised:
        solve_results(rules, passes=ShardedPasses(rules, cluster, 1))
    assert "\n" not in str(raised.value)


@slow.cluster
def test_shards_whose_processors_others_hold_say_so_once_and_wait(
    nodes: Nodes, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    from solver.cluster import sharded_solve, shards

    class Other:
        def is_there(self) -> bool:
            return True

    lines: list[str] = []
    other = ray.remote(num_cpus=2)(Other).remote()
    ray.get(other.is_there.remote())

    def report(line: str) -> None:
        lines.append(line)
        if "waiting" in line:
            ray.kill(other)

    monkeypatch.setattr(shards, "START_SECONDS", 0.2)
    monkeypatch.setattr(shards, "WAIT_SECONDS", 0.5)
    rules = Rules(3, 3, 3)
    passes = sharded_solve.ShardedPasses(rules, cluster, report=report)
    assert_same(solve_results(rules, passes=passes), solve_results(rules))
    assert [line for line in lines if "waiting" in line] == [lines[0]]
    assert "does other work hold the processors?" in lines[0]
    assert lines[1:] == ["cluster: 3 shards on 1 machine"]


@slow.cluster
def test_an_object_store_that_is_full_during_a_solve_is_one_line(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a shard raises whose answer has no room there, as Ray does."""
    from solver.cluster import sharded_solve, shards

    class Full(shards.Shard):
        def read(self, at: int, count: int) -> Any:
            raise ray.exceptions.OutOfDiskError("The object cannot be created")

    monkeypatch.setattr(shards, "Shard", Full)
    monkeypatch.setattr(sharded_solve, "RESTART_SECONDS", 0.1)
    rules = Rules(3, 3, 3)
    with pytest.raises(NoRoomError, match=r"object store on a machine .* is full") as raised:
        solve_results(rules, passes=sharded_solve.ShardedPasses(rules, cluster, 1))
    assert "\n" not in str(raised.value) and "\x1b" not in str(raised.value)


@slow.cluster
def test_what_a_shard_raises_itself_is_not_tried_again(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    from solver.cluster import sharded_solve, shards

    class TooDeep(shards.Shard):
        def commit(self, depth: int) -> int:
            raise FadefourError("a forced win is too long to be counted")

    monkeypatch.setattr(shards, "Shard", TooDeep)
    rules = Rules(3, 3, 3)
    passes = sharded_solve.ShardedPasses(rules, cluster, 1)
    with pytest.raises(FadefourError, match=r"^a forced win is too long to be counted$"):
        solve_results(rules, passes=passes)
    assert passes.traffic.restarts == 0


# ---- as a user runs it ---------------------------------------------------------------


def fadefour(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "cli.py"), *map(str, arguments)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )


@slow.cluster
def test_the_command_writes_the_file_of_the_plain_solve(nodes: Nodes, tmp_path: Path) -> None:
    """On a cluster of its own, and on the one to which this machine belongs."""
    rules, variant = Rules(3, 3, 3), ["--n", "3", "--m", "3", "--results-only", "--threads", "2"]
    assert run_cli("solve", *variant, "--data", tmp_path / "here").code == 0
    for name, shards in (("local", 2), ("auto", 3)):
        address = {"RAY_ADDRESS": nodes.address} if name == "auto" else {}
        data = tmp_path / name
        ended = fadefour("solve", *variant, "--data", data, "--cluster", name, **address)
        assert f"cluster: {shards} shards on 1 machine" in ended.stderr.splitlines()
        file, plain = (results_path(f, rules).read_bytes() for f in (data, tmp_path / "here"))
        assert file == plain
    counts = run_cli("solve", *variant, "--stats-only", "--json")
    command = ("solve", *variant, "--stats-only", "--json", "--cluster", nodes.address)
    there = fadefour(*command)
    assert json.loads(there.stdout) == json.loads(counts.out) and not there.stderr


def test_the_estimate_counts_the_shards(tmp_path: Path) -> None:
    """The table and, on this machine, the part of it that is in a shard when it is collected."""
    figures = {}
    for name in ("here", "local", "10.0.0.1:6379"):
        options = [] if name == "here" else ["--cluster", name]
        for way in ([], ["--stats-only"]):
            command = ["solve", "--m", "5", "--results-only", "--threads", "2", "--estimate"]
            ended = run_cli(*command, *options, *way, "--data", tmp_path, "--json")
            figures[name, bool(way)] = json.loads(ended.out)
    here, local, far = (
        {way: figures[name, way]["memory_bytes"] for way in (False, True)}
        for name in ("here", "local", "10.0.0.1:6379")
    )
    assert here[False] == here[True]
    assert local[False] - local[True] > 1e8, "the part of a shard"
    assert local[True] > here[True], "Ray itself"
    assert far[False] == here[False] and far[True] < here[True]
    assert here[True] - far[True] > 5e8, "the table"
    assert figures["10.0.0.1:6379", True]["cluster_memory_bytes"] > here[True] - far[True]
    assert figures["local", True]["cluster_memory_bytes"] == 0
