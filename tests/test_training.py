"""Training in self-play: batches of any size, and what is said when it cannot go on."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic_runs import episode
from tiny_self_play import tiny

from azfit.games import game_by_name
from azfit.network import Network
from azfit.self_play.config import SelfPlayConfig
from azfit.self_play.iteration_log import IterationLog
from azfit.self_play.replay import ReplayBatch, ReplayBuffer
from azfit.self_play.training import Trainer, average_kept, batches, value_loss
from azfit.torch_threads import Pace
from solver.errors import FadefourError

GAME = game_by_name("drop-3-3-3")
WON = (0, 3, 1, 4, 2)  # the first player's row


def buffer_of(games: int) -> ReplayBuffer:
    buffer = ReplayBuffer(GAME, 1000)
    for number in range(games):
        buffer.add(episode(GAME, WON, [], 0, number))
    return buffer


@settings(max_examples=100, deadline=None)
@given(
    ratio=st.floats(1e-6, 30),
    batch_size=st.integers(1, 40),
    games=st.integers(1, 13),
    epochs=st.integers(1, 3),
    balance_sampling=st.booleans(),
)
def test_no_batch_is_empty_or_larger_than_asked(
    ratio: float, batch_size: int, games: int, epochs: int, balance_sampling: bool
) -> None:
    config = tiny(
        replay_ratio=ratio,
        batch_size=batch_size,
        epochs=epochs,
        balance_sampling=balance_sampling,
    )
    buffer = buffer_of(games)
    sizes = [len(batch.wdl) for batch in batches(buffer, config, np.random.default_rng(1))]
    assert len(sizes) == epochs * config.steps_of(buffer.size)
    assert min(sizes) >= 1 and max(sizes) <= batch_size
    assert sum(sizes) == epochs * max(1, round(ratio * buffer.size))


def trainer_for(config: SelfPlayConfig) -> Trainer:
    torch.manual_seed(1)
    return Trainer(Network(config.network), config)


@pytest.mark.parametrize("balance_sampling", [False, True])
def test_batches_of_one_position_are_learned(tmp_path: Path, balance_sampling: bool) -> None:
    """A quarter of 5 positions is 1.25: one position and one step per epoch, not two."""
    config = tiny(batch_size=1, replay_ratio=0.25, balance_sampling=balance_sampling)
    trainer = trainer_for(config)
    training = trainer.learn(buffer_of(1), 0, 0.0, IterationLog(tmp_path, None, 0))
    assert math.isfinite(training.loss) and training.steps_taken == config.epochs
    assert all(parameter.isfinite().all() for parameter in trainer.candidate.parameters())


def test_the_average_follows_the_weights_and_is_what_plays() -> None:
    """With a share that is reached from the first step on, and so is constant: 2 / 11."""
    config, plain = tiny(ema=2 / 11, dropout=0.0), tiny(dropout=0.0)
    trainer, other = trainer_for(config), trainer_for(plain)
    wanted = {name: weight.clone() for name, weight in trainer.candidate.state_dict().items()}
    buffer = buffer_of(3)
    for batch in batches(buffer, config, np.random.default_rng(1)):
        trainer.step(batch)
        other.step(batch)
        for name, weight in trainer.candidate.state_dict().items():
            wanted[name] = 2 / 11 * wanted[name] + 9 / 11 * weight
    for name, weight in trainer.played.state_dict().items():
        torch.testing.assert_close(weight, wanted[name])
        assert other.candidate.state_dict()[name].equal(trainer.candidate.state_dict()[name])
    assert other.played is other.candidate
    assert not same_weights(trainer.played, trainer.candidate)
    again = trainer_for(config)
    again.take_up(trainer.tensors())
    assert same_weights(again.played, trainer.played)
    assert same_weights(again.candidate, trainer.candidate)
    trainer.restart(other.candidate)
    assert same_weights(trainer.played, other.candidate)


def test_a_slow_average_leaves_its_first_weights_behind_at_once() -> None:
    """Kept at step t: min(d, (1 + t) / (10 + t)), also after a resume and after a restart. With
    0.999 alone, 60 steps would leave 94 % of the random weights in what plays."""
    config = tiny(ema=0.999, dropout=0.0, batch_size=1)
    trainer, buffer = trainer_for(config), buffer_of(3)
    wanted = {name: weight.clone() for name, weight in trainer.candidate.state_dict().items()}
    rows = [np.arange(i, i + 2) for i in range(12)]
    for step, places in enumerate(rows, 1):
        if step == 6:  # a resume
            tensors = trainer.tensors()
            trainer = trainer_for(config)
            trainer.take_up(tensors)
        trainer.step(buffer.batch(places))
        kept = (1 + step) / (10 + step)
        for name, weight in trainer.candidate.state_dict().items():
            wanted[name] = kept * wanted[name] + (1 - kept) * weight
    for name, weight in trainer.played.state_dict().items():
        torch.testing.assert_close(weight, wanted[name])
    first = trainer_for(config).candidate
    trainer.restart(first)
    trainer.step(buffer.batch(rows[0]))
    for name, weight in trainer.played.state_dict().items():
        before, now = first.state_dict()[name], trainer.candidate.state_dict()[name]
        torch.testing.assert_close(weight, 2 / 11 * before + 9 / 11 * now)
    assert average_kept(0.9, 10**6) == 0.9


def same_weights(network: Network, other: Network) -> bool:
    weights = other.state_dict()
    return all(weight.equal(weights[name]) for name, weight in network.state_dict().items())


def test_a_mixed_value_is_between_outcome_and_search() -> None:
    """The loss by numpy, and what is learned of one position whose search and game disagree."""
    logits = torch.tensor([[1.0, 0.0, -1.0], [0.0, 2.0, 0.5]])
    chances = np.exp(logits.numpy()) / np.exp(logits.numpy()).sum(axis=1, keepdims=True)
    wanted = ((chances[:, 0] - chances[:, 2] - [0.3, -0.4]) ** 2).mean()
    assert float(value_loss(logits, torch.tensor([0.3, -0.4]))) == pytest.approx(wanted, rel=1e-5)
    learned = {}
    for mix in (0.0, 0.5, 1.0):
        config = tiny(value_mix=mix, dropout=0.0, lr=0.01)
        trainer, batch = trainer_for(config), buffer_of(1).batch(np.arange(1))
        values = np.full(1, {0: -0.6, 1: 0.6, 2: 0.6}[int(batch.wdl[0])], np.float32)
        for _ in range(150):
            parts = trainer.step(replace(batch, values=values))
        assert ("value" in parts) == (mix > 0)
        wdl = trainer.candidate(torch.from_numpy(batch.planes)).wdl.softmax(1)[0].detach()
        learned[mix] = abs(float(wdl[0] - wdl[2]) - float(values[0]))
    assert learned[1.0] < 0.05 < learned[0.5] < learned[0.0]


def test_a_loss_that_is_not_finite_is_described(tmp_path: Path) -> None:
    trainer = trainer_for(tiny(lr=10.0, clip=1e6, wdl_weight=50.0, batch_size=5, epochs=3))
    log = IterationLog(tmp_path, None, 0)
    step, steps = trainer.step, 0

    def diverging(batch: ReplayBatch) -> dict[str, float]:
        nonlocal steps
        steps += 1
        return step(batch) | ({"loss": math.nan, "wdl": math.inf} if steps == 4 else {})

    trainer.step = diverging  # type: ignore[method-assign]
    with pytest.raises(FadefourError) as raised:
        trainer.learn(buffer_of(3), 6, 0.0, log)
    message = str(raised.value)
    assert message.startswith("the loss of step 4 of iteration 7 is nan (policy ")
    assert "wdl inf" in message and "at the step before" in message
    assert "--lr (it was 10), --clip (1e+06) or --wdl-weight (50)" in message
    assert "\n" not in message


def test_a_network_that_cannot_be_trained_is_not_blamed_on_the_learning_rate(
    tmp_path: Path,
) -> None:
    trainer = trainer_for(tiny())
    with torch.no_grad():
        for parameter in trainer.candidate.parameters():
            parameter.fill_(3e38)
    with pytest.raises(FadefourError, match=r"before anything was learned.*--init") as raised:
        trainer.learn(buffer_of(1), 0, 0.0, IterationLog(tmp_path, None, 0))
    assert "--lr" not in str(raised.value) and "\n" not in str(raised.value)


def test_training_that_becomes_slow_says_so_once_an_iteration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Collapsed(Pace):
        def took(self, seconds: float) -> bool:
            self.best, self.latest = 20.0, 1.5
            return True

    monkeypatch.setattr("azfit.self_play.training.Pace", Collapsed)
    out = io.StringIO()
    log = IterationLog(tmp_path, out, 0)
    trainer = trainer_for(tiny(threads=2, batch_size=2))
    trainer.learn(buffer_of(3), 0, 0.0, log)
    log.close()
    (line,) = out.getvalue().splitlines()
    assert line.startswith("training has slowed down from 20 to 1.5 steps/s: ")
    assert "--threads 1" in line
