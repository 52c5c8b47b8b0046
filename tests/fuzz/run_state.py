"""The states that runs resume from: real ones with their header or their numbers changed.

Of self-play and of training from the table. A state that is taken up can be saved again, says the
same then, and the optimiser can make its next step.
"""

from __future__ import annotations

import json
import shutil
from typing import Any

import torch

from azfit.network_config import NetworkConfig
from azfit.oracle.config import TrainingConfig
from azfit.oracle.run import Run
from azfit.oracle.table_teacher import TableTeacher
from azfit.self_play.config import settled
from azfit.self_play.state import SelfPlayRun
from fuzz.tensor_files import DIGEST_FITS, RAW_CHANGES, TensorFile
from fuzz.untrusted import Input, refused, scratch_folder
from solver import FadefourError, Rules, solve, write_table
from solver.table import DenseTable, table_path

FOLDER = scratch_folder()
RULES = Rules(3, 2, 2)
SELF_PLAY = settled(
    {"game": "drop-3-2-2", "width": 1, "blocks": 0, "workers": 1, "threads": 1, "buffer": 90}
)
TRAINING = TrainingConfig(
    NetworkConfig(game="drop-3-2-2", width=1, blocks=0), minutes=None, steps=10, threads=1
)


def new_table() -> DenseTable:
    write_table(FOLDER, solve(RULES, threads=1))
    return DenseTable(table_path(FOLDER, RULES), RULES)


TEACHER = TableTeacher(new_table())


def stepped(network: Any, optimiser: Any) -> None:
    """One step of the optimiser; it needs the state of every parameter to fit."""
    for parameter in network.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimiser.step()


def self_play_state() -> TensorFile:
    run = SelfPlayRun(SELF_PLAY, FOLDER / "self_play")
    stepped(run.candidate, run.trainer.optimiser)
    run.save()
    return TensorFile(run.state_path)


def training_state() -> TensorFile:
    run = Run(TRAINING, TEACHER, FOLDER / "training")
    stepped(run.network, run.optimiser)
    run.save_state(metrics_lines=4)
    return TensorFile(run.state_path)


STATES = (self_play_state(), training_state())


def check(data: bytes) -> bool:
    source = Input(data)
    options, kind = source.byte(), source.byte() & 1
    content, _ = STATES[kind].forged(source, options)
    return check_training(content) if kind else check_self_play(content)


def check_self_play(content: bytes) -> bool:
    run = SelfPlayRun(SELF_PLAY, FOLDER / "self_play")
    run.state_path.write_bytes(content)
    shutil.rmtree(run.folder / "checkpoints", ignore_errors=True)
    try:
        run.load()
    except FadefourError as error:
        return refused(error, run.state_path.name)
    assert run.phase in ("play", "match") and run.iteration >= 0 and run.budget_spent >= 0
    run.tidy()
    stepped(run.candidate, run.trainer.optimiser)
    run.save()
    again = SelfPlayRun(SELF_PLAY, run.folder)
    again.load()
    assert (again.iteration, again.phase, again.pool) == (run.iteration, run.phase, run.pool)
    assert again.line == run.line
    return True


def check_training(content: bytes) -> bool:
    run = Run(TRAINING, TEACHER, FOLDER / "training")
    run.state_path.write_bytes(content)
    try:
        run.load_state()
    except FadefourError as error:
        return refused(error, run.folder.name)  # the file, or the run if its table is another
    assert run.step >= 0 and run.fraction >= 0 and run.seconds >= 0
    lines = [b"line"] * 5
    assert lines[: run.metrics_lines]
    stepped(run.network, run.optimiser)
    run.save_state(metrics_lines=run.metrics_lines or 0)
    again = Run(TRAINING, TEACHER, run.folder)
    again.load_state()
    assert (again.step, again.mined_rounds) == (run.step, run.mined_rounds)
    assert again.evaluations == run.evaluations
    json.dumps(run.step)
    return True


def seeds() -> list[bytes]:
    places = range(0, 70, 2)
    return [
        *(bytes([DIGEST_FITS, kind, 0, 0, 0]) for kind in (0, 1)),
        *(bytes([DIGEST_FITS, place % 4 // 2, 1, place, 20 + place]) for place in places),
        *(bytes([DIGEST_FITS, place % 4 // 2, 0, 1, place, 10 + place]) for place in places),
        *(bytes([RAW_CHANGES, 0, 0, 0, 0, 2, 1, at, 5, 0, at, 9]) for at in range(0, 250, 40)),
    ]
