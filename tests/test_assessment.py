"""What a network says of fresh games, against sums done by hand, position by position."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from azfit.games import game_by_name
from azfit.network import Network
from azfit.self_play.assessment import assess, entropies, f1_scores, mean_of_known, predictions
from azfit.self_play.config import settled
from azfit.self_play.replay import ReplayBatch

GAME = game_by_name("drop-3-3-3")


def some_batch(count: int = 40) -> ReplayBatch:
    draw = np.random.default_rng(3)
    states = [
        GAME.play_all(draw.permutation(9)[: draw.integers(0, 5)].tolist()) for _ in range(count)
    ]
    legal = GAME.legal_masks(np.array(states))
    visits = legal * draw.integers(0, 9, legal.shape)
    visits[np.arange(count), legal.argmax(axis=1)] += 1
    policy = (visits / visits.sum(axis=1, keepdims=True)).astype(np.float32)
    sides = GAME.sides(np.array(states))
    wdl = draw.integers(0, 3, count)
    return ReplayBatch(GAME.planes(np.array(states)), policy, wdl, wdl + 1, sides)


def test_everything_is_measured_by_side_as_counted_by_hand() -> None:
    torch.manual_seed(4)
    network = Network(settled({"game": "drop-3-3-3", "width": 16}).network).train()
    batch = some_batch()
    assessed = assess(network, batch).by_side()
    assert network.training, "it is left as it was"
    network.eval()
    for side, name in enumerate(("first", "second")):
        rows = [i for i in range(40) if batch.sides[i] == side]
        assessment = assessed[name]
        assert assessment.positions == len(rows) > 5
        keys = ("target_entropy", "kl", "wdl_loss", "value", "outcome")
        sums: dict[str, list[float]] = {key: [] for key in keys}
        pairs = []
        for i in rows:
            with torch.inference_mode():
                outputs = network(torch.from_numpy(batch.planes[i : i + 1]))
            said = outputs.policy.softmax(1)[0].tolist()
            wdl = outputs.wdl.softmax(1)[0].tolist()
            target = batch.policy[i].tolist()
            sums["target_entropy"].append(-sum(p * math.log(p) for p in target if p))
            ratios = [p * math.log(p / q) for p, q in zip(target, said, strict=True) if p]
            sums["kl"].append(sum(ratios))
            sums["wdl_loss"].append(-math.log(wdl[batch.wdl[i]]))
            sums["value"].append(wdl[0] - wdl[2])
            sums["outcome"].append(1.0 - float(batch.wdl[i]))
            pairs.append((int(batch.wdl[i]), wdl.index(max(wdl))))
        for key, values in sums.items():
            assert getattr(assessment, key) == pytest.approx(sum(values) / len(values), abs=1e-5)
        for outcome, key in enumerate(("win", "draw", "loss")):
            right = pairs.count((outcome, outcome))
            true = sum(1 for truth, _ in pairs if truth == outcome)
            guessed = sum(1 for _, guess in pairs if guess == outcome)
            assert assessment.f1[key] == pytest.approx(2 * right / (true + guessed))
        assert np.array(assessment.confusion).sum() == len(rows)


def test_a_side_that_is_absent_is_left_out() -> None:
    batch: Any = some_batch()
    only = np.flatnonzero(batch.sides == 0)
    parts = (batch.planes, batch.policy, batch.wdl, batch.left, batch.sides)
    network = Network(settled({"game": "drop-3-3-3", "width": 16}).network)
    fresh = assess(network, ReplayBatch(*(part[only] for part in parts)))
    assert set(fresh.by_side()) == {"first"}


def test_f1_of_a_class_that_there_is_not() -> None:
    confusion = np.array([[3, 0, 1], [0, 0, 0], [2, 0, 4]])
    scores = f1_scores(confusion)
    assert scores == [pytest.approx(6 / 9), None, pytest.approx(8 / 11)]
    assert mean_of_known(scores) == pytest.approx((6 / 9 + 8 / 11) / 2)
    assert mean_of_known([None, None]) is None


def test_entropies_are_in_nats() -> None:
    policies = np.array([[0.25] * 4, [1.0, 0, 0, 0], [0.5, 0.5, 0, 0]])
    assert entropies(policies).tolist() == pytest.approx([math.log(4), 0, math.log(2)])


def test_many_rows_are_judged_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    network, batch = Network(settled({"game": "drop-3-3-3", "width": 16}).network), some_batch()
    whole = predictions(network, batch.planes)
    monkeypatch.setattr("azfit.self_play.assessment.ROWS_AT_A_TIME", 7)
    for at_once, in_parts in zip(whole, predictions(network, batch.planes), strict=True):
        assert at_once == pytest.approx(in_parts, abs=1e-6)
