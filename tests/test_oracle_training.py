"""Training from the oracle: perfect play on 3 x 3, exact resume, mining, options, folder."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from folders import names_in
from numpy.typing import NDArray
from tiny_training import tiny
from torch_forks import fork_with_torch

from azfit.checkpoint import load_checkpoint, read_tensors
from azfit.checkpoint_header import checkpoints_in
from azfit.network import Network, NetworkConfig
from azfit.oracle import evaluation, table_teacher
from azfit.oracle.best import BestNetwork
from azfit.oracle.config import preset, read_config
from azfit.oracle.evaluation import Evaluation, Evaluations
from azfit.oracle.mining import critical_nodes, mine, node_range
from azfit.oracle.run import Run
from azfit.oracle.sampler import label_nodes
from azfit.oracle.table_teacher import TableLessons, TableTeacher
from azfit.oracle.training import pause_after, train_from_oracle
from solver import Rules, open_table
from solver.errors import InputError
from solver.index import look_up_codes
from solver.labels import is_validation
from solver.table import DenseTable


@pytest.fixture(scope="module")
def table(table33: DenseTable) -> DenseTable:
    return table33


def in_play(table: DenseTable) -> NDArray[Any]:
    return np.flatnonzero((table.bytes != 1) & (table.bytes != 255)).astype(np.uint64)


def blunders(network: Network, table: DenseTable) -> set[int]:
    """The nodes whose likeliest move loses the result, by plain inference on their planes."""
    nodes = in_play(table)
    batch = label_nodes(table, nodes, ("planes", "keeping"))
    assert batch.planes is not None and batch.keeping is not None
    with torch.inference_mode():
        moves = network(torch.from_numpy(batch.planes)).policy.argmax(1).numpy()
    return set(nodes[~np.take_along_axis(batch.keeping, moves[:, None], 1)[:, 0]].tolist())


def test_quick_preset_learns_perfect_play(table: DenseTable, learned33: Path) -> None:
    assert read_config(learned33 / "run") == replace(
        preset("quick", TableTeacher(table)), threads=1
    )
    network, about = load_checkpoint(checkpoints_in(learned33 / "run" / "checkpoints")[-1])
    assert about["step"] == 1000
    assert blunders(network, table) == set()
    batch = label_nodes(table, in_play(table), ("planes", "values"))
    assert batch.planes is not None
    with torch.inference_mode():
        wdl = network(torch.from_numpy(batch.planes)).wdl.argmax(1).numpy()
    assert (wdl == batch.wdl).all()
    assert json.loads((learned33 / "report.json").read_text())["held_out_keeping"] == 1.0


def test_the_network_returned_is_the_one_saved(table: DenseTable, tmp_path: Path) -> None:
    network, report = train_from_oracle(tiny(), TableTeacher(table), tmp_path / "run", stream=None)
    saved, about = load_checkpoint(checkpoints_in(tmp_path / "run" / "checkpoints")[-1])
    assert about["step"] == report.last.step == 40
    for name, tensor in network.state_dict().items():
        assert torch.equal(saved.state_dict()[name], tensor), name


def final_tensors(run: Path) -> dict[str, torch.Tensor]:
    return read_tensors(run / "resume.safetensors")[0]


def assert_same_run(run: Path, other: Path) -> None:
    tensors, expected = final_tensors(run), final_tensors(other)
    assert tensors.keys() == expected.keys()
    for name in tensors:
        assert torch.equal(tensors[name], expected[name]), name


def test_a_seed_repeats_a_run_and_another_does_not(table: DenseTable, tmp_path: Path) -> None:
    for name, config in (("a", tiny()), ("b", tiny()), ("c", tiny(seed=2))):
        train_from_oracle(config, TableTeacher(table), tmp_path / name, stream=None)
    assert_same_run(tmp_path / "a", tmp_path / "b")
    name = "network.body.first.weight"
    assert not torch.equal(final_tensors(tmp_path / "a")[name], final_tensors(tmp_path / "c")[name])


@pytest.mark.parametrize(("stop_at", "dropout"), [(1, 0), (13, 0.2), (20, 0), (25, 0), (39, 0)])
def test_an_interrupted_run_resumes_to_the_same_weights(
    table: DenseTable,
    tmp_path: Path,
    stop_at: int,
    dropout: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = tiny()
    config = replace(config, network=replace(config.network, dropout=dropout))
    train_from_oracle(config, TableTeacher(table), tmp_path / "whole", stream=None)
    learn = Run.learn

    def learn_then_press(run: Run, fraction: float) -> dict[str, float]:
        metrics = learn(run, fraction)
        if run.step == stop_at:
            signal.raise_signal(signal.SIGINT)
        return metrics

    monkeypatch.setattr(Run, "learn", learn_then_press)
    with pytest.raises(KeyboardInterrupt):
        train_from_oracle(config, TableTeacher(table), tmp_path / "cut", stream=None)
    monkeypatch.undo()
    assert read_tensors(tmp_path / "cut" / "resume.safetensors")[1]["step"] == stop_at
    config = read_config(tmp_path / "cut")
    train_from_oracle(config, TableTeacher(table), tmp_path / "cut", resume=True, stream=None)
    assert_same_run(tmp_path / "whole", tmp_path / "cut")


def resume(data: Path, run: Path) -> None:
    """As a process of its own, quickly evaluated."""
    evaluation.POSITIONS = 100
    with open_table(data, Rules(3, 3, 3)) as table:
        train_from_oracle(
            read_config(run), TableTeacher(cast(DenseTable, table)), run, resume=True, stream=None
        )


@pytest.fixture
def quickly_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "POSITIONS", 100)


@pytest.mark.usefixtures("quickly_evaluated")
def test_a_killed_run_resumes_to_the_same_weights(
    table: DenseTable, solved33: Path, tmp_path: Path
) -> None:
    # Evaluated more often than saved: what was written after the last save is repeated.
    config = tiny(steps=100, save_seconds=0.1, evaluate_seconds=0.0)
    train_from_oracle(config, TableTeacher(table), tmp_path / "whole", stream=None)
    run = tmp_path / "killed"
    run.mkdir()
    (run / "config.json").write_text(json.dumps(config.to_dict()))
    kills = 0
    for wanted in (10, 40, 10**9):
        child = fork_with_torch(resume, solved33, run)
        while child.is_alive():
            child.join(0.02)
            steps = [int(path.stem.split("-")[1]) for path in checkpoints_in(run / "checkpoints")]
            if max(steps, default=0) >= wanted:
                child.kill()
                kills += 1
                break
        child.join()
        assert child.exitcode in (0, -signal.SIGKILL)
    assert kills == 2, "the run was over before it could be killed"
    assert not list(run.rglob("*.writing"))
    assert_same_run(tmp_path / "whole", run)
    assert metrics_lines(run) == metrics_lines(tmp_path / "whole")


@pytest.mark.usefixtures("quickly_evaluated")
def test_a_run_begins_with_the_network_that_is_given(
    table: DenseTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if it is cut off before its state is saved for the first time."""
    torch.manual_seed(7)
    config = tiny(steps=3, ema=0.0)
    init, seen = Network(config.network), list[torch.Tensor]()
    weights = {name: tensor.clone() for name, tensor in init.state_dict().items()}
    learn, name = Run.learn, "body.first.weight"

    def seeing(run: Run, fraction: float) -> dict[str, float]:
        if run.step == 0:
            seen.append(run.network.state_dict()[name].clone())
        return learn(run, fraction)

    def killed(run: Run, fraction: float) -> dict[str, float]:
        raise SystemExit

    teacher, cut, whole = TableTeacher(table), tmp_path / "cut", tmp_path / "whole"
    monkeypatch.setattr(Run, "learn", seeing)
    train_from_oracle(config, teacher, whole, init=init, stream=None)
    monkeypatch.setattr(Run, "learn", killed)
    with pytest.raises(SystemExit):
        train_from_oracle(config, teacher, cut, init=init, stream=None)
    assert not (cut / "resume.safetensors").exists()
    monkeypatch.setattr(Run, "learn", seeing)
    train_from_oracle(read_config(cut), teacher, cut, resume=True, stream=None)
    assert len(seen) == 2 and all(torch.equal(first, weights[name]) for first in seen)
    assert_same_run(whole, cut)
    kept = load_checkpoint(cut / "init.safetensors")[0].state_dict()
    assert all(torch.equal(kept[n], tensor) for n, tensor in weights.items())
    with pytest.raises(InputError, match="another network than init"):
        train_from_oracle(
            tiny(network=replace(config.network, width=8)),
            teacher,
            tmp_path / "other",
            init=init,
            stream=None,
        )
    assert not (tmp_path / "other").exists()


@pytest.mark.usefixtures("quickly_evaluated")
@pytest.mark.parametrize("method", ["save_state", "save_checkpoint"])
@pytest.mark.parametrize("after", [False, True])
def test_a_run_cut_off_while_it_saves_has_all_its_checkpoints_in_the_end(
    table: DenseTable,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    after: bool,
) -> None:
    config = tiny(steps=5, save_seconds=0.0, evaluate_seconds=0.0)
    train_from_oracle(config, TableTeacher(table), tmp_path / "whole", stream=None)
    save = getattr(Run, method)

    def save_and_stop(run: Run, *arguments: Any) -> None:
        if run.step != 4 or after:
            save(run, *arguments)
        if run.step == 4:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Run, method, save_and_stop)
        with pytest.raises(KeyboardInterrupt):
            train_from_oracle(config, TableTeacher(table), tmp_path / "cut", stream=None)
    train_from_oracle(config, TableTeacher(table), tmp_path / "cut", resume=True, stream=None)
    kept = [names_in(tmp_path / run / "checkpoints") for run in ("whole", "cut")]
    assert kept[0] == kept[1] and len(kept[0]) == 6
    assert_same_run(tmp_path / "whole", tmp_path / "cut")


def metrics_lines(run: Path) -> list[tuple[str, int]]:
    """Kind and step of each line."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [(line["kind"], line["step"]) for line in lines]


@pytest.mark.usefixtures("quickly_evaluated")
def test_lines_after_the_state_are_dropped_and_a_cut_one_too(
    table: DenseTable, tmp_path: Path
) -> None:
    run, config = tmp_path / "run", tiny(evaluate_seconds=0.0)
    train_from_oracle(config, TableTeacher(table), run, stream=None)
    whole, state = (run / "metrics.jsonl").read_bytes(), (run / "resume.safetensors").read_bytes()
    later = json.dumps({"kind": "mining", "step": 40, "seconds": 9.0})
    (run / "metrics.jsonl").write_bytes(whole + f'{later}\n{{"kind": "trai'.encode())
    train_from_oracle(config, TableTeacher(table), run, resume=True, stream=None)
    assert (run / "metrics.jsonl").read_bytes() == whole
    assert (run / "resume.safetensors").read_bytes() != state, "the time goes on"


def test_mining_finds_exactly_the_blunders(table: DenseTable, tmp_path: Path) -> None:
    for hide in (True, False):
        config = tiny(mine_rounds=0)
        config = replace(config, network=replace(config.network, hide_leaving=hide))
        network, _ = train_from_oracle(
            config, TableTeacher(table), tmp_path / f"{hide}", stream=None
        )
        critical = np.concatenate(list(critical_nodes(table, *node_range(table, network))))
        nodes, margins = mine(network, table, critical, 1.0)
        assert len(nodes) == len(set(nodes.tolist()))
        mined = set(nodes[margins < 0].tolist())
        assert mined == blunders(network, table)
        assert len(nodes) > len(mined) > 100


def test_mined_positions_are_drawn(table: DenseTable, tmp_path: Path) -> None:
    run = Run(tiny(held_out=0.0), TableTeacher(table), tmp_path)
    assert run.mine_if_due(0.4) is None
    mined = run.mine_if_due(0.6)
    assert mined is not None and mined.positions > 0
    assert run.mine_if_due(0.6) is None, "a round is held once"
    run.mined = run.mined[:3]
    run._draw_from_mined()
    drawn = cast(TableLessons, run.lessons).sampler.batch(1, 0, 3000, ("nodes",)).nodes
    share = np.isin(np.asarray(drawn), run.mined).mean()
    assert share == pytest.approx(1 / 3, abs=0.05)  # 0.5 beside 1 of the other sources


def test_a_run_goes_on_if_all_that_was_mined_is_held_out(table: DenseTable, tmp_path: Path) -> None:
    """Near its end a run may mine a single position; the sampler cannot draw from nothing."""
    run = Run(tiny(held_out=0.5), TableTeacher(table), tmp_path)
    nodes = in_play(table)
    held_out = is_validation(look_up_codes(nodes, table.rules), 0.5)
    run.mined = nodes[held_out][:1]
    run._draw_from_mined()
    run.learn(0.6)
    run.mined = nodes
    run._draw_from_mined()
    drawn = cast(TableLessons, run.lessons).sampler.batch(1, 0, 3000, ("nodes",)).nodes
    assert not np.isin(np.asarray(drawn), nodes[held_out]).any()


def test_a_run_is_not_resumed_with_another_table(
    table: DenseTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_from_oracle(tiny(), TableTeacher(table), tmp_path / "run", stream=None)
    other = {"table_sha256": "0" * 64}
    monkeypatch.setattr(TableTeacher, "provenance", property(lambda _: other))
    with pytest.raises(InputError, match=r"the table is not what .* began with"):
        train_from_oracle(tiny(), TableTeacher(table), tmp_path / "run", resume=True, stream=None)


def test_a_stop_is_heard_while_mistakes_are_mined(
    table: DenseTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    critical = table_teacher.critical_nodes

    def press_then_list(*arguments: Any) -> Iterator[NDArray[np.uint64]]:
        signal.raise_signal(signal.SIGINT)
        yield from critical(*arguments)

    monkeypatch.setattr(table_teacher, "critical_nodes", press_then_list)
    with pytest.raises(KeyboardInterrupt):
        train_from_oracle(tiny(), TableTeacher(table), tmp_path / "cut", stream=None)
    monkeypatch.undo()
    about = read_tensors(tmp_path / "cut" / "resume.safetensors")[1]
    assert (about["step"], about["mined_rounds"]) == (20, 0)
    train_from_oracle(tiny(), TableTeacher(table), tmp_path / "cut", resume=True, stream=None)
    train_from_oracle(tiny(), TableTeacher(table), tmp_path / "whole", stream=None)
    assert_same_run(tmp_path / "whole", tmp_path / "cut")


# ---- the best network ----------------------------------------------------------------


def evaluations(step: int, critical: float, held_out: float, wdl: float) -> Evaluations:
    zeros = {"policy": 0.0, "kl": 0.0, "wdl": 0.0, "steps": 0.0, "optimal": 0.0}
    parts = [
        Evaluation(keeping=keeping, wdl_accuracy=wdl, overconfidence=0.0, **zeros)
        for keeping in (held_out, critical)
    ]
    return Evaluations(step, *parts)


def test_the_best_network_loses_the_fewest_critical_results(
    table: DenseTable, tmp_path: Path
) -> None:
    run, best = Run(tiny(), TableTeacher(table), tmp_path), BestNetwork(tmp_path, resume=False)
    kept = []
    for step, figures in enumerate(
        (
            (0.9, 0.9, 0.9),
            (0.8, 1.0, 1.0),  # worse where it counts most
            (0.95, 0.5, 0.5),
            (0.95, 0.4, 1.0),  # of the same number of critical ones, the fewest of all
            (0.95, 0.5, 0.6),
            (0.95, 0.5, 0.6),  # of equals, the later one
            (float("nan"), 1.0, 1.0),
        )
    ):
        run.step = step
        run.evaluations = evaluations(step, *figures)
        best.offer(run, run.evaluations)
        kept.append(load_checkpoint(tmp_path / "best.safetensors")[1]["step"])
        resumed = BestNetwork(tmp_path, resume=True)
        assert resumed.evaluations == best.evaluations, "a resumed run knows its best network"
    assert kept == [0, 0, 2, 2, 4, 5, 5]
    assert BestNetwork(tmp_path, resume=False).evaluations is None


def test_a_damaged_best_network_is_replaced(table: DenseTable, tmp_path: Path) -> None:
    (tmp_path / "best.safetensors").write_bytes(b"junk")
    assert BestNetwork(tmp_path, resume=True).evaluations is None


# ---- the folder ----------------------------------------------------------------------


@pytest.mark.usefixtures("quickly_evaluated", "drawn_curves")
def test_the_run_folder_tells_what_happened(table: DenseTable, tmp_path: Path) -> None:
    run = tmp_path / "run"
    config = tiny(save_seconds=0.0, evaluate_seconds=0.0, keep=2)
    train_from_oracle(config, TableTeacher(table), run, stream=None)
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


def test_evaluations_do_not_take_most_of_the_time_of_a_busy_machine() -> None:
    """Wanted every 5 s: one that takes 0.1 s leaves it at that, one of 8 s waits for 32 s."""
    assert [pause_after(seconds, 5.0) for seconds in (0.1, 8.0, 100.0)] == [5.0, 32.0, 50.0]
    assert pause_after(8.0, 0.0) == 0.0, "after every step, if that is wanted"


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
        preset("huge", TableTeacher(table))
    shallow = tiny(network=NetworkConfig(game="drop-3-3-3", max_plies=5))
    with pytest.raises(InputError, match="games of 18 plies"):
        train_from_oracle(shallow, TableTeacher(table), tmp_path / "a", stream=None)
    with pytest.raises(InputError, match="the table is for drop-3-3-3"):
        train_from_oracle(
            tiny(network=NetworkConfig()), TableTeacher(table), tmp_path / "b", stream=None
        )
    assert not (tmp_path / "a").exists()


def test_runs_are_not_mixed_up(table: DenseTable, tmp_path: Path) -> None:
    train_from_oracle(tiny(steps=2), TableTeacher(table), tmp_path / "run", stream=None)
    with pytest.raises(InputError, match="already holds a run"):
        train_from_oracle(tiny(steps=2), TableTeacher(table), tmp_path / "run", stream=None)
    with pytest.raises(InputError, match="another config"):
        train_from_oracle(
            tiny(steps=3), TableTeacher(table), tmp_path / "run", resume=True, stream=None
        )
    with pytest.raises(InputError, match="not a run to resume"):
        read_config(tmp_path / "nowhere")
