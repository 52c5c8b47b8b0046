"""How a network does on games it has not learned from yet, by side and never only on average.

A loss near its floor says little: policy loss = entropy of the targets + KL. And the mean over both
sides hides a side that is starved. So everything here is measured for each side by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from azfit.self_play.iteration import CLASSES, SIDES, Assessment, ByClass, Fresh
from azfit.self_play.replay import ReplayBatch

if TYPE_CHECKING:
    from azfit.network import Network

ROWS_AT_A_TIME = 4096

Floats = NDArray[np.float32]


def entropies(policies: NDArray[Any]) -> NDArray[np.float64]:
    """The entropy of policies [..., actions], in nats."""
    p = policies.astype(np.float64)
    return np.asarray(-(p * np.log(np.where(p > 0, p, 1.0))).sum(axis=-1))


def f1_scores(confusion: NDArray[np.int64]) -> list[float | None]:
    """F1 of each class from counts [outcome, prediction]; None for a class that is neither."""
    scores: list[float | None] = []
    for c in range(len(confusion)):
        right, true, predicted = confusion[c, c], confusion[c].sum(), confusion[:, c].sum()
        scores.append(float(2 * right / (true + predicted)) if true + predicted else None)
    return scores


def mean_of_known(values: Iterable[float | None]) -> float | None:
    """The mean of the values that are known; None if none is."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def predictions(network: Network, planes: Floats) -> tuple[Floats, Floats]:
    """Policies [B, actions] and win/draw/loss [B, 3], as probabilities."""
    import torch  # here, so that drawing curves of these figures does not need it

    policies, values = [], []
    was_training = network.training
    network.eval()
    with torch.inference_mode():
        for low in range(0, len(planes), ROWS_AT_A_TIME):
            outputs = network(torch.from_numpy(planes[low : low + ROWS_AT_A_TIME]))
            policies.append(outputs.policy.softmax(1).numpy())
            values.append(outputs.wdl.softmax(1).numpy())
    network.train(was_training)
    return np.concatenate(policies), np.concatenate(values)


def wdl_losses(wdl: Floats, outcomes: NDArray[np.int64]) -> Floats:
    """The loss of win/draw/loss probabilities [B, 3] for games of these outcomes [B]."""
    return np.asarray(-np.log(np.maximum(wdl[np.arange(len(wdl)), outcomes], 1e-9)))


def assess(network: Network, batch: ReplayBatch) -> Fresh:
    """What the network says about positions, compared with how their games ended, by side."""
    if not len(batch.planes):
        return Fresh()
    policies, wdl = predictions(network, batch.planes)
    predicted = wdl.argmax(axis=1)
    cross = -(batch.policy * np.log(np.maximum(policies, 1e-9))).sum(axis=1)
    wrong = wdl_losses(wdl, batch.wdl)
    targets, network_entropy = entropies(batch.policy), entropies(policies)
    sides: list[Assessment | None] = []
    for side in range(len(SIDES)):
        rows = batch.sides == side
        if not rows.any():
            sides.append(None)
            continue
        confusion = np.zeros((3, 3), np.int64)
        np.add.at(confusion, (batch.wdl[rows], predicted[rows]), 1)
        scores = f1_scores(confusion)
        sides.append(
            Assessment(
                positions=int(rows.sum()),
                target_entropy=float(targets[rows].mean()),
                network_entropy=float(network_entropy[rows].mean()),
                kl=float((cross - targets)[rows].mean()),
                wdl_loss=float(wrong[rows].mean()),
                value=float((wdl[rows, 0] - wdl[rows, 2]).mean()),
                outcome=float(((batch.wdl[rows] == 0) * 1.0 - (batch.wdl[rows] == 2)).mean()),
                f1=dict(zip(CLASSES, scores, strict=True)),
                macro_f1=mean_of_known(scores),
                confusion=(_counts(confusion[0]), _counts(confusion[1]), _counts(confusion[2])),
            )
        )
    return Fresh(*sides)


def _counts(row: NDArray[np.int64]) -> ByClass:
    win, draw, loss = row.tolist()
    return win, draw, loss
