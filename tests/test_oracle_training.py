"""Training from the oracle: perfect play on 3 x 3, exact resume, mining, options, folder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from azfit.checkpoint import checkpoints_in, load_checkpoint, read_tensors
from azfit.network import Network, NetworkConfig
from azfit.oracle.config import TrainingConfig, preset
from azfit.oracle.mining import critical_nodes, mine, node_range
from azfit.oracle.run import Run
from azfit.oracle.sampler import SampleMix, label_nodes
from azfit.oracle.training import read_config, train_from_oracle
from solver import Rules, open_table, solve, write_table
from solver.errors import InputError
from solver.table import DenseTable

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("table")
    write_table(found, solve(Rules(3, 3, 3), threads=1))
    return found


@pytest.fixture(scope="module")
def table(folder: Path) -> Iterator[DenseTable]:
    with open_table(folder, Rules(3, 3, 3)) as opened:
        yield cast(DenseTable, opened)


def tiny(**changes: object) -> TrainingConfig:
    config = TrainingConfig(
        network=NetworkConfig(game="drop-3-3-3", width=16, blocks=1, max_plies=18),
        minutes=None,
        steps=40,
        batch=32,
        threads=1,
        warmup=5,
        mix=SampleMix(uniform=1, critical=1),
        held_out=0.1,
        mine_from=0.5,
        mine_rounds=2,
        ema=0.9,
    )
    return replace(config, **changes)  # type: ignore[arg-type]


def in_play(table: DenseTable) -> NDArray[Any]:
    return np.flatnonzero((table.bytes != 1) & (table.bytes != 255)).astype(np.uint64)


def blunders(network: Network, table: DenseTable) -> set[int]:
    """The nodes whose likeliest move loses the result, all asked one way: by their planes."""
    nodes = in_play(table)
    batch = label_nodes(table, nodes, ("planes", "keeping"))
    assert batch.planes is not None and batch.keeping is not None
    with torch.inference_mode():
        moves = network(torch.from_numpy(batch.planes)).policy.argmax(1).numpy()
    return set(nodes[~np.take_along_axis(batch.keeping, moves[:, None], 1)[:, 0]].tolist())


def test_quick_preset_learns_perfect_play(table: DenseTable, tmp_path: Path) -> None:
    began = time.process_time()
    network, evaluations = train_from_oracle(
        preset("quick", table), table, tmp_path / "run", stream=None
    )
    assert blunders(network, table) == set()
    batch = label_nodes(table, in_play(table), ("planes", "values"))
    assert batch.planes is not None
    with torch.inference_mode():
        wdl = network(torch.from_numpy(batch.planes)).wdl.argmax(1).numpy()
    assert (wdl == batch.wdl).all()
    assert evaluations.held_out.keeping == 1.0
    assert time.process_time() - began < 120  # a minute, and a busy machine
    saved, about = load_checkpoint(checkpoints_in(tmp_path / "run" / "checkpoints")[-1])
    assert about["step"] == 1000
    assert blunders(saved, table) == set()


def final_tensors(run: Path) -> dict[str, torch.Tensor]:
    return read_tensors(run / "resume.safetensors")[0]


def assert_same_run(run: Path, other: Path) -> None:
    mine_, theirs = final_tensors(run), final_tensors(other)
    assert mine_.keys() == theirs.keys()
    for name in mine_:
        assert torch.equal(mine_[name], theirs[name]), name


def test_a_seed_repeats_a_run_and_another_does_not(table: DenseTable, tmp_path: Path) -> None:
    for name, config in (("a", tiny()), ("b", tiny()), ("c", tiny(seed=2))):
        train_from_oracle(config, table, tmp_path / name, stream=None)
    assert_same_run(tmp_path / "a", tmp_path / "b")
    one, other = final_tensors(tmp_path / "a"), final_tensors(tmp_path / "c")
    assert not torch.equal(one["network.body.first.weight"], other["network.body.first.weight"])


@pytest.mark.parametrize("stop_at", [1, 13, 20, 25, 39])
def test_an_interrupted_run_resumes_to_the_same_weights(
    table: DenseTable, tmp_path: Path, stop_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_from_oracle(tiny(), table, tmp_path / "whole", stream=None)
    learn = Run.learn

    def learn_then_press(run: Run, fraction: float) -> dict[str, float]:
        metrics = learn(run, fraction)
        if run.step == stop_at:
            signal.raise_signal(signal.SIGINT)
        return metrics

    monkeypatch.setattr(Run, "learn", learn_then_press)
    with pytest.raises(KeyboardInterrupt):
        train_from_oracle(tiny(), table, tmp_path / "cut", stream=None)
    monkeypatch.undo()
    assert read_tensors(tmp_path / "cut" / "resume.safetensors")[1]["step"] == stop_at
    config = read_config(tmp_path / "cut")
    train_from_oracle(config, table, tmp_path / "cut", resume=True, stream=None)
    assert_same_run(tmp_path / "whole", tmp_path / "cut")


CHILD = """
import sys
from azfit.oracle.training import read_config, train_from_oracle
from solver import Rules, open_table
with open_table(sys.argv[1], Rules(3, 3, 3)) as table:
    train_from_oracle(read_config(sys.argv[2]), table, sys.argv[2], resume=True, stream=None)
"""


def test_a_killed_run_resumes_to_the_same_weights(
    table: DenseTable, folder: Path, tmp_path: Path
) -> None:
    config = tiny(steps=150, save_seconds=0.0, evaluate_seconds=1e6)
    train_from_oracle(config, table, tmp_path / "whole", stream=None)
    run = tmp_path / "killed"
    run.mkdir()
    (run / "config.json").write_text(json.dumps(config.to_dict()))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    kills = 0
    for wanted in (20, 60, 10**9):
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(folder), str(run)], env=environment
        )
        while child.poll() is None:
            time.sleep(0.02)
            steps = [int(path.stem.split("-")[1]) for path in checkpoints_in(run / "checkpoints")]
            if max(steps, default=0) >= wanted:
                child.send_signal(signal.SIGKILL)
                kills += 1
                break
        code = child.wait()
        assert code in (0, -signal.SIGKILL)
    assert kills == 2, "the run was over before it could be killed"
    assert not list((run / "checkpoints").glob("*.writing"))
    assert_same_run(tmp_path / "whole", run)


def test_mining_finds_exactly_the_blunders(table: DenseTable, tmp_path: Path) -> None:
    for hide in (True, False):
        config = tiny(mine_rounds=0)
        config = replace(config, network=replace(config.network, hide_leaving=hide))
        network, _ = train_from_oracle(config, table, tmp_path / f"{hide}", stream=None)
        critical = np.concatenate(list(critical_nodes(table, *node_range(table, network))))
        nodes, margins = mine(network, table, critical, 1.0)
        assert len(nodes) == len(set(nodes.tolist()))
        found = set(nodes[margins < 0].tolist())
        assert found == blunders(network, table)
        assert len(nodes) > len(found) > 100


def test_mined_positions_are_drawn(table: DenseTable, tmp_path: Path) -> None:
    run = Run(tiny(held_out=0.0), table, tmp_path)
    assert run.mine_if_due(0.4) is None
    mined = run.mine_if_due(0.6)
    assert mined is not None and mined.positions > 0
    assert run.mine_if_due(0.6) is None, "a round is held once"
    run.mined = run.mined[:3]
    run._draw_from_mined()
    drawn = run.sampler.batch(1, 0, 3000, ("nodes",)).nodes
    share = np.isin(np.asarray(drawn), run.mined).mean()
    assert share == pytest.approx(1 / 3, abs=0.05)  # 0.5 beside 1 of the other sources


def test_the_run_folder_tells_what_happened(table: DenseTable, tmp_path: Path) -> None:
    run = tmp_path / "run"
    config = tiny(save_seconds=0.0, evaluate_seconds=0.0, keep=2)
    train_from_oracle(config, table, run, stream=None)
    assert read_config(run) == config
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    kinds = {line["kind"] for line in lines}
    assert kinds == {"training", "held_out", "critical", "mining"}
    training = [line for line in lines if line["kind"] == "training"]
    assert {"loss", "kl", "policy", "wdl", "steps", "moves", "accuracy"} <= training[0].keys()
    assert all(0 <= line["kl"] <= line["policy"] for line in training)
    assert len(checkpoints_in(run / "checkpoints")) == 2
    assert (run / "curves.png").stat().st_size > 10_000
    assert list((run / "tensorboard").iterdir())


def test_learning_rate_warms_up_and_falls_to_its_end() -> None:
    config = tiny(warmup=10, learning_rate=1e-2, final_rate=0.1)
    assert config.rate_at(0, 0.0) == pytest.approx(1e-3)
    assert config.rate_at(9, 0.0) == pytest.approx(1e-2)
    assert config.rate_at(100, 0.5) == pytest.approx(5.5e-3)
    assert config.rate_at(100, 1.0) == config.rate_at(100, 1.7) == pytest.approx(1e-3)


def test_rounds_of_mining_are_spread_over_the_rest() -> None:
    config = tiny(mine_from=0.5, mine_rounds=5)
    due = [config.mining_due(fraction) for fraction in (0.0, 0.49, 0.5, 0.61, 0.95, 1.0)]
    assert due == [0, 0, 1, 2, 5, 5]
    assert tiny(mine_rounds=0).mining_due(1.0) == 0


def test_impossible_options_are_refused(table: DenseTable, tmp_path: Path) -> None:
    for changes in (
        {"minutes": 1.0},
        {"steps": None},
        {"steps": 0},
        {"batch": 0},
        {"learning_rate": 0.0},
        {"learning_rate": float("nan")},
        {"held_out": 1.0},
        {"policy_target": "best"},
        {"ema": 1.0},
        {"threads": 0},
        {"keep": 0},
        {"policy_weight": 0.0, "wdl_weight": 0.0, "steps_weight": 0.0, "moves_weight": 0.0},
    ):
        with pytest.raises(InputError):
            tiny(**changes)
    with pytest.raises(InputError, match="preset 'huge'"):
        preset("huge", table)
    shallow = tiny(network=NetworkConfig(game="drop-3-3-3", max_plies=5))
    with pytest.raises(InputError, match="games of 18 plies"):
        train_from_oracle(shallow, table, tmp_path / "a", stream=None)
    with pytest.raises(InputError, match="the table is for drop-3-3-3"):
        train_from_oracle(tiny(network=NetworkConfig()), table, tmp_path / "b", stream=None)
    assert not (tmp_path / "a").exists()


def test_runs_are_not_mixed_up(table: DenseTable, tmp_path: Path) -> None:
    train_from_oracle(tiny(steps=2), table, tmp_path / "run", stream=None)
    with pytest.raises(InputError, match="holds a run already"):
        train_from_oracle(tiny(steps=2), table, tmp_path / "run", stream=None)
    with pytest.raises(InputError, match="another config"):
        train_from_oracle(tiny(steps=3), table, tmp_path / "run", resume=True, stream=None)
    with pytest.raises(InputError, match="no run to resume"):
        read_config(tmp_path / "nowhere")
    (tmp_path / "run" / "config.json").write_text("{")
    with pytest.raises(InputError, match="cannot be read"):
        read_config(tmp_path / "run")
