"""Values that labels imply, against plain negamax, and those of the book; how they are taught."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from plain_connect4 import GAME, plain_score, scored_games, state_of
from plain_games import GOING_ON
from two_plies import book_of_two_plies

from azfit.network import Network
from azfit.objective import IGNORED, losses
from azfit.oracle.config import TrainingConfig, preset
from azfit.oracle.connect4.labelling import Rows, Source
from azfit.oracle.connect4.teacher import Connect4Teacher
from azfit.oracle.connect4.valued import UNKNOWN_PLIES, implied_by, in_book
from solver.connect4 import Connect4Position, Connect4Solver, plies_to_end
from solver.connect4.book import positions_of
from solver.connect4.keys import bitboards_of, key_of, keys_of
from solver.connect4.labels import label

LATE = [columns for columns, _ in scored_games() if len(columns) >= 33]
"""No side can win at once in these; after a careless move, it often can."""
CARELESS = [
    [*columns, column + 1]
    for columns in LATE
    for column in GAME.legal(state_of(columns))
    if GAME.result(GAME.play(state_of(columns), column)) == GOING_ON
]


def labelled(games: list[Any]) -> Rows:
    with Connect4Solver() as solver:
        listed = []
        for number, columns in enumerate(games):
            position = Connect4Position(tuple(columns))
            known = label(position, solver)
            source = int(Source.RUN)
            listed.append((position.mover, position.stones, *known, source, 0.0, number))
    return Rows.of(listed)


@pytest.fixture(scope="module")
def rows() -> Rows:
    return labelled([*LATE, *CARELESS[::3]])


@pytest.fixture(scope="module")
def teacher(rows: Rows) -> Connect4Teacher:
    return Connect4Teacher(rows)


def config_of(teacher: Connect4Teacher, share: float) -> TrainingConfig:
    config = preset("quick", teacher)
    network = replace(config.network, width=8, blocks=1)
    return replace(config, network=network, value_share=share, held_out=0.3)


def test_results_and_plies_are_what_plain_negamax_says(teacher: Connect4Teacher) -> None:
    """Of every move of every position: it is listed with the right value, or with good reason
    not at all."""
    after = teacher.valued
    listed, own = {int(key): row for row, key in enumerate(after.keys)}, set(teacher.keys.tolist())
    met = dict.fromkeys(("with plies", "with a result", "unknown", "over"), 0)
    for row, columns in enumerate([*LATE, *CARELESS[::3]]):
        position = Connect4Position(tuple(columns))
        for column in GAME.legal(state_of(columns)):
            state, played = GAME.play(state_of(columns), column), position.play(column + 1)
            key = key_of(played.mover, played.stones)
            if GAME.result(state) != GOING_ON:
                met["over"] += 1
                assert key not in listed
                continue
            score = plain_score(state, {})
            if key not in listed:
                met["unknown"] += 1
                assert key in own or (teacher.rows.scores[row] > 0 and score >= 0)
                continue
            place = listed[key]
            assert after.results[place] == np.sign(score)
            knows_plies = after.plies_left[place] != UNKNOWN_PLIES
            met["with plies" if knows_plies else "with a result"] += 1
            assert not knows_plies or after.plies_left[place] == plies_to_end(score, played.plies)
    assert all(met.values()), met


def test_a_position_is_listed_once_and_none_that_is_labelled_or_excluded(rows: Rows) -> None:
    teacher = Connect4Teacher(rows)
    after = teacher.valued
    assert len(after) > 100
    assert len(set(after.keys.tolist())) == len(after)
    assert not set(after.keys.tolist()) & set(teacher.keys.tolist())
    assert after.keys.tolist() == keys_of(after.movers, after.stones).tolist()
    excluded = set(after.keys[::7].tolist())
    other = Connect4Teacher(rows, excluded)
    assert "valued_sha256" not in other.provenance  # nothing is taught yet
    assert set(other.valued.keys.tolist()) == set(after.keys.tolist()) - excluded
    both = (other.provenance, teacher.provenance)
    assert both[0]["positions_sha256"] == both[1]["positions_sha256"]
    assert both[0]["valued_sha256"] != both[1]["valued_sha256"]


def test_of_two_labels_the_one_that_knows_the_plies_counts() -> None:
    """The same position after two moves: one is optimal, the other keeps the result only."""
    columns = next(c for c in LATE if len(GAME.legal(state_of(c))) > 2)
    one = labelled([columns])
    plies_left = np.array([5])
    legal = sum(1 << (column - 1) for column in Connect4Position(tuple(columns)).legal_moves())
    slow = replace(one, scores=np.array([-1], np.int8), keeping=np.array([legal], np.uint8))
    quick = replace(slow, optimal=slow.keeping)
    slow = replace(slow, optimal=np.array([legal & -legal], np.uint8))
    for pair in ((slow, quick), (quick, slow)):
        both = Rows.joined(list(pair))
        after = implied_by(both, np.repeat(plies_left, 2)).new_to(both, ())
        assert len(after) > 1 and (after.plies_left == 4).all()


def test_they_teach_values_only_and_never_what_follows_from_held_out_positions(
    teacher: Connect4Teacher,
) -> None:
    config = config_of(teacher, 1.0)
    batch = teacher.lessons(config, teacher.mix, "training").batch(1, 2, 2000)
    is_after = batch.indices >= len(teacher)
    assert 0.4 < is_after.mean() < 0.6
    held_out = set(
        teacher.lessons(config, teacher.mix, "held-out").judged(1, 0, 9999).indices.tolist()
    )
    assert held_out and max(held_out) < len(teacher)
    parents = teacher.valued.parents[batch.indices[is_after] - len(teacher)]
    assert not held_out & set(parents.tolist())
    targets = batch.targets(Network(config.network))
    assert targets.has_policy is not None
    assert (targets.has_policy.numpy() == ~is_after).all()
    assert targets.policy[is_after].abs().sum() == 0
    numbers = batch.indices[is_after] - len(teacher)
    assert (targets.wdl[is_after].numpy() == 1 - teacher.valued.results[numbers]).all()
    known = targets.steps[is_after].numpy() != IGNORED
    assert known.any() and not known.all()
    left = teacher.valued.plies_left[numbers]
    assert (targets.steps[is_after].numpy()[known] == left[known] - 1).all()
    without = config_of(teacher, 0.0)
    plain = teacher.lessons(without, teacher.mix, "training").batch(1, 2, 2000)
    assert (plain.indices < len(teacher)).all()
    assert plain.targets(Network(config.network)).has_policy is None


def test_positions_without_a_policy_do_not_count_in_its_loss(teacher: Connect4Teacher) -> None:
    """The policy loss is that of the other positions alone; the value loss is that of all."""
    config = config_of(teacher, 1.0)
    torch.manual_seed(1)
    network = Network(config.network).eval()
    batch = teacher.lessons(config, teacher.mix, "training").batch(1, 2, 300)
    labelled_only = replace(
        batch,
        indices=batch.indices[batch.indices < len(teacher)],
        mirrored=batch.mirrored[batch.indices < len(teacher)],
    )
    with torch.inference_mode():
        whole, part = (
            losses(network(t.planes), t, config)
            for t in (batch.targets(network), labelled_only.targets(network))
        )
        assert whole["policy"] == pytest.approx(float(part["policy"]), rel=1e-5)
        assert whole["kl"] == pytest.approx(float(part["kl"]), rel=1e-4)
        assert whole["wdl"] != pytest.approx(float(part["wdl"]), rel=1e-4)
        nothing = replace(batch, indices=batch.indices[batch.indices >= len(teacher)][:3])
        nothing = replace(nothing, mirrored=np.zeros(3, np.uint8)).targets(network)
        assert float(losses(network(nothing.planes), nothing, config)["policy"]) == 0


def test_the_last_ply_of_the_book_is_among_them(tmp_path: Path, rows: Rows) -> None:
    book = book_of_two_plies(tmp_path)
    known = {key: book.get(*bitboards_of(key)) for key in positions_of(2).keys.tolist()}
    excluded, *others = known
    teacher = Connect4Teacher(rows, {excluded}, book)
    listed = {int(key): row for row, key in enumerate(teacher.valued.keys)}
    assert excluded not in listed and set(others) <= set(listed)
    for key in others:
        row, score = listed[key], known[key]
        assert score is not None and teacher.valued.results[row] == np.sign(score)
        assert teacher.valued.plies_left[row] == plies_to_end(score, 2)
    assert len(in_book(book)) == len(known) == 25
    batch = teacher.lessons(config_of(teacher, 1.0), teacher.mix, "training").batch(1, 2, 9000)
    drawn = set(batch.indices.tolist())
    assert sum(len(teacher) + listed[key] in drawn for key in others) > 20
