"""``train-from-oracle`` as a user types it: options, resume, messages, bad input, what is left."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from damaged_files import flip_bit

from azfit.checkpoint import load_checkpoint, read_tensors
from azfit.oracle import log as log_module
from azfit.oracle import training
from azfit.oracle.run import Run
from solver.errors import NoRoomError
from solver.storage import writing_in

Command = Callable[..., Any]

TINY = ("--width", 8, "--blocks", 1, "--batch", 16, "--steps", 5)


@pytest.fixture(autouse=True)
def _threads_as_before() -> Any:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def train(fadefour: Command, solved33: Path) -> Command:
    """The command on 3 x 3, with the options that are given."""

    def run(*options: object) -> Any:
        variant = () if "--resume" in options else ("--n", "3", "--m", "3")
        return fadefour("train-from-oracle", "--data", solved33, *variant, *map(str, options))

    return run


@pytest.fixture(scope="module")
def finished(train: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with the options TINY on one thread. Read only."""
    run = tmp_path_factory.mktemp("finished") / "run"
    assert train("--run", run, *TINY, "--threads", 1).code == 0
    return run


@pytest.fixture
def trained(finished: Path, tmp_path: Path) -> Path:
    """A copy of that run."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


def config_of(run: Path) -> dict[str, Any]:
    config: dict[str, Any] = json.loads((run / "config.json").read_text())
    return config


def assert_one_line(ended: Any, *names: str) -> None:
    assert ended.code == 2, ended.out + ended.err
    assert len(ended.err.strip().splitlines()) == 1, ended.err
    for name in names:
        assert name in ended.err


def test_a_table_with_a_byte_that_looks_deep_is_called_damaged(
    fadefour: Command, trained: Path, copy33: Path
) -> None:
    """Its games were said to be too long for the network."""
    table = copy33 / "solved_3x3_m3.table"
    flip_bit(table, table.read_bytes().index(5), bit=7)
    ended = fadefour("train-from-oracle", "--run", trained, "--resume", "--data", copy33)
    assert_one_line(ended, "solved_3x3_m3.table' is damaged")


# ---- what a run leaves behind --------------------------------------------------------


@pytest.mark.parametrize("command", ["grade", "certify", "diagnose"])
def test_the_state_of_a_run_is_called_that_where_a_network_is_needed(
    fadefour: Command, finished: Path, command: str
) -> None:
    ended = fadefour(command, finished / "resume.safetensors")
    assert_one_line(ended, "is the state of a run, not a network: give the run's best.safetensors")


def test_a_run_ends_in_a_summary_and_leaves_its_best_network(
    train: Command, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    ended = train("--run", run, *TINY)
    assert ended.code == 0, ended.err
    assert "5 steps of 16 positions" in ended.out
    for words in ("moves that keep the result", "win/draw/loss right", "(critical: ", "KL"):
        assert words in ended.out
    assert f"{run / 'best.safetensors'}" in ended.out
    assert f"next: fadefour grade {run}" in ended.out
    assert max(map(len, ended.out.splitlines())) < 200
    network, about = load_checkpoint(run / "best.safetensors", "drop-3-3-3")
    assert about["step"] == about["evaluated_step"] == 5
    assert network.config.width == 8


def test_json_holds_every_figure(train: Command, tmp_path: Path) -> None:
    ended = train("--run", tmp_path / "run", *TINY, "--json")
    assert ended.code == 0 and ended.err == ""
    report = json.loads(ended.out)
    for part in ("held_out", "critical"):
        for name in ("keeping", "optimal", "wdl_accuracy", "overconfidence", "kl", "moves"):
            assert f"{part}_{name}" in report
    assert report["steps"] == report["best_step"] == 5
    assert report["best"] == str(tmp_path / "run" / "best.safetensors")
    assert report["positions_per_second"] > 0


def test_the_state_to_resume_from_says_what_it_is(finished: Path) -> None:
    about = read_tensors(finished / "resume.safetensors")[1]
    assert about["kind"] == "state of train-from-oracle"


# ---- threads -------------------------------------------------------------------------


def test_threads_are_typed_or_the_presets_or_measured(train: Command, tmp_path: Path) -> None:
    quick = train("--run", tmp_path / "a", "--preset", "quick", *TINY)
    assert quick.code == 0 and config_of(tmp_path / "a")["threads"] == 1
    assert "torch runs on" not in quick.err
    train("--run", tmp_path / "b", "--preset", "quick", *TINY, "--threads", 2)
    assert config_of(tmp_path / "b")["threads"] == 2
    measured = train("--run", tmp_path / "c", *TINY)
    assert config_of(tmp_path / "c")["threads"] == torch.get_num_threads()
    assert "torch runs on" in measured.err and "--threads N" in measured.err


def test_a_resumed_run_keeps_its_threads_unless_they_are_typed(
    train: Command, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    train("--run", run, *TINY, "--threads", 2)
    resumed = train("--run", run, "--resume")
    assert resumed.code == 0 and "2 threads, as this run did before" in resumed.err
    assert torch.get_num_threads() == 2
    fewer = train("--run", run, "--resume", "--threads", 1)
    assert fewer.code == 0 and "1 thread instead of 2" in fewer.err
    assert config_of(run)["threads"] == torch.get_num_threads() == 1


def test_measuring_threads_does_not_change_what_is_learned(
    train: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "available_cores", lambda: 1)
    train("--run", tmp_path / "measured", *TINY)
    monkeypatch.setattr(training, "choose_threads", lambda *_: pytest.fail("measured"))
    train("--run", tmp_path / "typed", *TINY, "--threads", 1)
    measured, typed = (
        read_tensors(tmp_path / name / "resume.safetensors")[0] for name in ("measured", "typed")
    )
    assert all(torch.equal(measured[name], typed[name]) for name in measured)


def test_a_run_that_becomes_slow_says_so_once(
    train: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every step is called a window of its own; the later ones slow."""
    monkeypatch.setattr(training.Pace, "took", lambda pace, _: True)
    ended = train("--run", tmp_path / "run", *TINY, "--threads", 2)
    slow = [line for line in ended.err.splitlines() if "other work" in line]
    assert len(slow) == 1 and "--resume --threads 1" in slow[0]


# ---- resume --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        (("--batch", 32), "--batch"),
        (("--minutes", 3), "--minutes"),
        (("--preset", "default"), "--preset"),
        (("--n", 3), "--n"),
        (("--no-class-weights",), "--class-weights"),
        (("--seed", 1, "--ema", 0.5), "--seed, --ema"),
    ],
)
def test_resume_refuses_options_of_the_run(
    train: Command, finished: Path, typed: tuple[object, ...], named: str
) -> None:
    assert_one_line(train("--run", finished, "--resume", *typed), "leave out", named)


def test_a_finished_run_reports_again_and_repeats_no_line(train: Command, trained: Path) -> None:
    before = (trained / "metrics.jsonl").read_text()
    again = train("--run", trained, "--resume")
    assert again.code == 0, again.err
    assert "5 steps of 16 positions" in again.out and "after step 5" in again.out
    assert (trained / "metrics.jsonl").read_text() == before


def test_a_run_has_one_writer(train: Command, tmp_path: Path, trained: Path) -> None:
    with writing_in(tmp_path / "new"):
        assert_one_line(train("--run", tmp_path / "new", *TINY), "another fadefour is writing")
    with writing_in(trained):
        assert_one_line(train("--run", trained, "--resume"), "another fadefour")


def test_an_interrupted_run_says_how_to_go_on(
    train: Command, solved33: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn = Run.learn

    def learn_then_press(run: Run, fraction: float) -> dict[str, float]:
        signal.raise_signal(signal.SIGINT)
        return learn(run, fraction)

    monkeypatch.setattr(Run, "learn", learn_then_press)
    run = tmp_path / "a run"
    ended = train("--run", run, *TINY, "--threads", 1)
    monkeypatch.undo()
    assert ended.code == 130
    command = f"fadefour train-from-oracle --run '{run}' --resume --data {solved33}"
    assert f"to continue: {command}\n" in ended.err
    resumed = train("--run", run, "--resume")
    assert resumed.code == 0 and "5 steps of 16 positions" in resumed.out


def test_init_is_a_network_to_go_on_with(train: Command, finished: Path, tmp_path: Path) -> None:
    """The run has its shape, and its weights to begin with: one step at no rate leaves them."""
    run = tmp_path / "run"
    still = ("--steps", 1, "--batch", 16, "--learning-rate", 1e-9, "--threads", 1)
    ended = train("--run", run, "--init", finished, *still)
    assert ended.code == 0, ended.err
    before, after = (load_checkpoint(folder / "best.safetensors")[0] for folder in (finished, run))
    assert before.config == after.config and before.config.width == 8
    for first, second in zip(before.parameters(), after.parameters(), strict=True):
        assert torch.allclose(first, second, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--init", "nowhere.safetensors"), "nowhere.safetensors"),
        (("--init", "{finished}", "--width", 16), "width=16: the network of --init has 8"),
        (("--init", "shipped"), "the network plays drop-4-4-4, but the table is for drop-3-3-3"),
        (("--init", "{finished}", "--game", "connect4"), "plays drop-3-3-3, not connect4"),
        (("--value-share", 1), "--value-share has no effect in drop-oldest"),
    ],
)
def test_a_wrong_network_to_begin_with_gets_one_line(
    train: Command, fadefour: Command, finished: Path, tmp_path: Path, options: Any, named: str
) -> None:
    given = [str(option).format(finished=finished) for option in options]
    run = ("--run", tmp_path / "run")
    to_train = fadefour if "--game" in options else train
    ended = to_train(*(("train-from-oracle",) if "--game" in options else ()), *run, *given)
    assert_one_line(ended, named)
    assert not (tmp_path / "run").exists()


# ---- bad input -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--minutes", "nan"), "minutes=nan"),
        (("--minutes", "inf"), "minutes=inf"),
        (("--minutes", "1e400"), "minutes=inf"),
        (("--width", 10**9), "width=1000000000"),
        (("--width", 10**4000), "width="),
        (("--width", 8192, "--blocks", 100), "GB of memory"),
        (("--batch", 10**7, "--width", 8000), "GB of memory"),
        (("--seed", -1), "seed=-1"),
        (("--seed", 2**63), "seed="),
        (("--held-out", "nan"), "held_out=nan"),
        (("--threads", 0), "threads=0"),
    ],
)
def test_impossible_options_get_one_line_and_leave_nothing(
    train: Command, tmp_path: Path, options: tuple[object, ...], named: str
) -> None:
    ended = train("--run", tmp_path / "run", *options)
    assert_one_line(ended, named)
    assert len(ended.err) < 300
    assert not (tmp_path / "run").exists()


def damaged(config: dict[str, Any], **changes: object) -> str:
    return json.dumps({**config, **changes})


DAMAGES: dict[str, Callable[[dict[str, Any]], str | bytes]] = {
    "empty": lambda config: "",
    "cut short": lambda config: json.dumps(config)[:50],
    "no text": lambda config: b"\xff\xfe\xff",
    "deep": lambda config: "[" * 100_000,
    "a list": lambda config: "[]",
    "a number": lambda config: "5",
    "null": lambda config: "null",
    "no network": lambda config: json.dumps({n: v for n, v in config.items() if n != "network"}),
    "network a list": lambda config: damaged(config, network=[1]),
    "network a number": lambda config: damaged(config, network=5),
    "mix a list": lambda config: damaged(config, mix=["uniform"]),
    "mix of texts": lambda config: damaged(config, mix={"uniform": "all"}),
    "pieces a number": lambda config: damaged(config, pieces=3),
    "pieces of texts": lambda config: damaged(config, pieces=["a", "b"]),
    "batch a text": lambda config: damaged(config, batch="many"),
    "batch huge": lambda config: damaged(config, batch=10**400),
    "clip huge": lambda config: damaged(config, clip=10**400),
    "a number of 5,000 digits": lambda config: (
        json.dumps(config)[:-1] + ', "seed": ' + "9" * 5000 + "}"
    ),
    "steps a truth value": lambda config: damaged(config, steps=True),
    "an unknown entry": lambda config: damaged(config, colour="blue"),
    "an unknown entry of the network": lambda config: damaged(
        config, network={**config["network"], "colour": "blue"}
    ),
    "another game": lambda config: damaged(
        config,
        network={
            **config["network"],
            "game": "connect4",
            "canonical": False,
            "hide_leaving": False,
        },
    ),
    "a game of 5,000 digits": lambda config: damaged(
        config, network={**config["network"], "game": f"drop-{'9' * 5000}-4-4"}
    ),
    "dropout a text": lambda config: damaged(config, network={**config["network"], "dropout": "x"}),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_config_gets_one_line(train: Command, trained: Path, damage: str) -> None:
    text = DAMAGES[damage](config_of(trained))
    (trained / "config.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    ended = train("--run", trained, "--resume")
    assert_one_line(ended)
    assert len(ended.err) < 500


IN_A_RUN = ["config.json", "metrics.jsonl", "resume.safetensors", "best.safetensors", "checkpoints"]


@pytest.mark.parametrize("name", IN_A_RUN)
@pytest.mark.parametrize("resume", [False, True])
def test_something_else_in_a_files_place_gets_one_line_before_the_work(
    train: Command,
    tmp_path: Path,
    finished: Path,
    name: str,
    resume: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = tmp_path / "run"
    if resume:
        shutil.copytree(finished, run)
        (run / name).rename(tmp_path / "moved")
    if name == "checkpoints":
        run.mkdir(exist_ok=True)
        (run / name).write_text("a file")
    else:
        (run / name).mkdir(parents=True)
    monkeypatch.setattr(Run, "learn", lambda *_: pytest.fail("it learned"))
    ended = train("--run", run, *(["--resume"] if resume else TINY))
    assert_one_line(ended, "already holds a run" if name == "config.json" and not resume else name)


def test_a_folder_that_cannot_be_gets_one_line(train: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for run in (tmp_path / ("x" * 300), tmp_path / "file" / "run", Path("/proc/run")):
        assert_one_line(train("--run", run, *TINY))
        assert_one_line(train("--run", run, "--resume"))


# ---- curves --------------------------------------------------------------------------


def test_curves_that_cannot_be_drawn_do_not_fail_a_run(train: Command, tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "curves.png").mkdir(parents=True)
    ended = train("--run", run, *TINY)
    assert ended.code == 0
    assert len([line for line in ended.err.splitlines() if "curves.png was not drawn" in line]) == 1


def test_curves_that_cannot_be_drawn_do_not_hide_another_error(
    train: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    (run / "curves.png").mkdir(parents=True)

    def full(*_: object) -> None:
        raise NoRoomError("no room to write the checkpoint")

    monkeypatch.setattr(Run, "save_checkpoint", full)
    ended = train("--run", run, *TINY)
    assert ended.code == 2
    assert ended.err.strip().splitlines()[-1] == "fadefour: no room to write the checkpoint"


def test_a_loss_that_is_not_finite_ends_the_run(
    train: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Run, "learn", lambda run, fraction: {"loss": float("nan")})
    ended = train("--run", tmp_path / "run", *TINY, "--threads", 1)
    assert ended.code == 2 and "--learning-rate below 0.002" in ended.err
    assert not (tmp_path / "run" / "resume.safetensors").exists()


def test_the_budget_is_shown_in_round_numbers(
    train: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoken = []
    monkeypatch.setattr(log_module, "display_on", lambda stream: Recorder(spoken))
    train("--run", tmp_path / "a", *TINY, "--threads", 1)
    assert spoken[0].startswith("step 1 of 5, ") and "positions/s" in spoken[0]
    spoken.clear()
    # by a clock of its own: on a busy machine 3 s may pass before the first step
    monkeypatch.setattr(Run, "seconds", property(lambda run: 0.7 * run.step))
    options = (*TINY[:-2], "--minutes", 0.05, "--threads", 1)
    train("--run", tmp_path / "b", *options)
    assert " s of 3 s  " in spoken[0] and len(spoken[0].split(" s of")[0]) <= 4


class Recorder:
    """A display that remembers every status."""

    def __init__(self, spoken: list[str]) -> None:
        self._spoken = spoken

    def status(self, text: Callable[[], str], fraction: float) -> None:
        assert fraction > 0
        self._spoken.append(text())

    def line(self, text: str) -> None: ...

    def close(self) -> None: ...
