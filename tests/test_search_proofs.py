"""Proven results of the search: against the exact table and the Connect Four solver, and what
follows from them at the root."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from evaluators import PLAIN_UCT, Fixed, Hashed, hashed, one_tree
from numpy.typing import NDArray
from plain_games import GOING_ON, PlainConnect4
from plain_search import PlainSearch
from slow import ASKED_FOR, more

from azfit import Connect4, DropOldest, Evaluation, Game, Result, Search, SearchConfig
from azfit.drop_oldest_players import CanonicalPlayer
from azfit.grading.grade import grade
from azfit.players import SearchPlayer
from azfit.search import Proof, Proofs
from azfit.self_play.play_games import play_games
from solver.connect4 import Connect4Position, Connect4Solver
from solver.table import DenseTable
from solver.values import IMPOSSIBLE

# Searches per source of truth; together more than 10^5 with FADEFOUR_SLOW_TESTS=1.
SEARCHES = 40_000 if ASKED_FOR else 4000
CONNECT4_SEARCHES = 30_000 if ASKED_FOR else 3000
TREES = 200

VALUES = {Proof.WON: 1, Proof.DRAWN: 0, Proof.LOST: -1}
PROVING = dataclasses.replace(PLAIN_UCT, prove=True)


class Random:
    """Evaluations at random: a proof holds whatever the network says."""

    def __init__(self, game: Game, seed: int) -> None:
        self.actions, self.draw = game.actions, np.random.default_rng(seed)

    def __call__(self, planes: NDArray[np.float32]) -> Evaluation:
        weights = self.draw.gamma(0.5, size=(len(planes), self.actions)) + 1e-3
        values = self.draw.uniform(-1, 1, len(planes))
        return weights.astype(np.float32), values.astype(np.float32), None


def proofs_of(
    game: Game, states: NDArray[np.uint8], plies: NDArray[np.int64], sims: int, seed: int
) -> tuple[Proofs, Search]:
    config = SearchConfig(sims=sims, prove=True, noise_eps=0.25 * (seed % 2), max_plies=100)
    search = Search(game, len(states), config, seed=seed)
    search.reset(states, plies)
    if seed % 3:
        search.run(Random(game, seed), logits=False)
    else:
        search.run_constant()
    return search.proofs(), search


# ---- against the truth -----------------------------------------------------------------------


@more
@pytest.mark.parametrize("side", [3, 4])
def test_no_proof_contradicts_the_table(
    side: int, table33: DenseTable, request: pytest.FixtureRequest
) -> None:
    """Any position, also a few plies before the ply cap: roots and moves; the plies are a bound."""
    table = table33 if side == 3 else request.getfixturevalue("table44")
    game, draw = DropOldest(side, side, side), np.random.default_rng(side)
    nodes = np.flatnonzero((table.bytes != IMPOSSIBLE) & (table.bytes != 1))  # 1: it is over
    proven = exact = 0
    for batch in range(SEARCHES // TREES):
        states = game.states_of_nodes(draw.choice(nodes, TREES).astype(np.uint64))
        plies = np.where(draw.random(TREES) < 0.5, 0, 100 - draw.integers(1, 8, TREES))
        proofs, _ = proofs_of(game, states, plies, (30, 100, 250)[batch % 3], batch)
        results, lengths = table.probe_many(*game.arrays(states))
        for tree in range(TREES):
            if proofs.roots[tree]:
                proven += 1
                exact += int(proofs.root_plies[tree] == lengths[tree])
                assert VALUES[Proof(proofs.roots[tree])] == results[tree]
                assert proofs.root_plies[tree] >= lengths[tree] > 0
        at, moves = np.nonzero(proofs.moves)
        after, _ = game.play_many(states[at], moves.astype(np.int32))
        results, lengths = table.probe_many(*game.arrays(after))
        values = np.array([VALUES[Proof(p)] for p in proofs.moves[at, moves]])
        assert (values == -results).all()
        assert (proofs.move_plies[at, moves] > lengths).all()
        assert not (values == 0).any(), "nothing in these rules proves a draw"
    assert proven > SEARCHES / 50 and exact > proven / 2, "too few proofs to test anything"


def late_positions(games: int, per_ply: int, seed: int = 1) -> list[list[int]]:
    """Positions of random games from ply 20 to the last, as the columns played (0 to 6)."""
    game, draw = Connect4(), np.random.default_rng(seed)
    states, played = np.tile(game.start(), (games, 1)), np.empty((games, 0), np.int32)
    positions: list[list[int]] = []
    for ply in range(42):
        if ply >= 20:
            positions += played[:per_ply].tolist()
        luck = draw.random((len(states), 7)) * game.legal_masks(states)
        actions = luck.argmax(axis=1).astype(np.int32)
        states, results = game.play_many(states, actions)
        played = np.column_stack([played, actions])[results == Result.GOING_ON]
        states = states[results == Result.GOING_ON]
    return positions


def position_of_columns(columns: list[int]) -> Connect4Position:
    return Connect4Position(tuple(column + 1 for column in columns))


@more
def test_no_proof_contradicts_the_connect4_solver() -> None:
    game, met = Connect4(), dict.fromkeys(Proof, 0)
    late = late_positions(CONNECT4_SEARCHES * 4, CONNECT4_SEARCHES // 15)
    with Connect4Solver(64) as solver:
        for batch, low in enumerate(range(0, len(late), TREES)):
            columns = late[low : low + TREES]
            states = np.stack([game.play_all(played) for played in columns])
            plies = np.array([len(played) for played in columns], np.int64)
            proofs, _ = proofs_of(game, states, plies, (50, 200, 400)[batch % 3], batch)
            for tree, played in enumerate(columns):
                position, root = position_of_columns(played), Proof(proofs.roots[tree])
                met[root] += 1
                if root:
                    value = solver.value(position)
                    assert np.sign(value.score) == VALUES[root], position
                    assert proofs.root_plies[tree] >= value.plies, position
                for column in np.flatnonzero(proofs.moves[tree]):
                    after = position.play(int(column) + 1)
                    value = solver.value(after)
                    assert np.sign(value.score) == -VALUES[Proof(proofs.moves[tree, column])], after
                    assert proofs.move_plies[tree, column] > value.plies, after
    assert sum(met.values()) > CONNECT4_SEARCHES * 0.9 and min(met.values()) > 10, met


def test_neither_the_ply_cap_nor_a_repetition_proves_anything() -> None:
    game = DropOldest(3, 3, 3)
    # Two plies before the cap every line of play ends in it, or in a win: no loss, no draw.
    search = one_tree(game, dataclasses.replace(PROVING, max_plies=2, sims=400), [])
    search.run_constant()
    assert search.visits().sum() == 400
    assert not search.proofs().roots.any() and not search.proofs().moves.any()
    # Connect Four's last ply is no cap but a full board, and that does prove.
    last = [played for played in late_positions(4000, 20) if len(played) == 41]
    proven = set()
    for played in last:
        search = one_tree(Connect4(), PROVING, played)
        search.run_constant(sims=1)
        ended = position_of_columns(played)
        ended = ended.play(ended.legal_moves()[0])
        proven.add(Proof(search.proofs().roots[0]))
        assert Proof(search.proofs().roots[0]) == (Proof.WON if ended.is_won else Proof.DRAWN)
        assert search.proofs().root_plies[0] == 1
    assert Proof.DRAWN in proven


def test_visits_and_proofs_equal_the_plain_search_near_the_end_of_connect4() -> None:
    """Where draws, wins and losses are all proven; simulation by simulation."""
    plain, game = PlainConnect4(), Connect4()
    met = set()
    for actions in late_positions(4000, 6):
        config = SearchConfig(sims=60, prove=True, noise_eps=0.0, max_steps=40.0, max_plies=42)
        search = one_tree(game, config, actions)
        reference = PlainSearch(
            plain,
            lambda planes: hashed(planes, 7),
            c_base=60_000,
            max_steps=40.0,
            max_plies=42,
            prove=True,
        )
        state = plain.start()
        for action in actions:
            assert plain.result(state) == GOING_ON
            state = plain.play(state, action)
        reference.begin(state, len(actions))
        for _ in range(60):
            search.run(Hashed(game), 1, logits=False)
            reference.simulate()
            assert search.visits()[0].tolist() == reference.visits(7), actions
            np.testing.assert_array_equal(search.targets()[0], reference.targets(7))
            assert search.root_values()[0] == reference.root.mean
            assert search.outcomes()[0] == pytest.approx(reference.outcome(), abs=1e-5)
            proofs = search.proofs()
            root, plies = Proof(proofs.roots[0]), int(proofs.root_plies[0])
            known = (VALUES[root], plies) if root else None
            assert known == reference.root.proof
            met.add(root)
    assert met == set(Proof)


# ---- what follows from a proof ---------------------------------------------------------------


def test_a_win_at_once_ends_the_search_and_is_all_that_is_learned() -> None:
    search = one_tree(Connect4(), PROVING, [0, 1, 0, 1, 0, 1])
    search.run(Fixed([1.0] * 7), sims=100, logits=False)
    assert Proof(search.proofs().roots[0]) == Proof.WON and search.proofs().root_plies[0] == 1
    assert search.root_values()[0] == 1.0
    assert search.targets()[0].tolist() == [1, 0, 0, 0, 0, 0, 0]
    assert search.policy(100.0)[0].tolist() == [1, 0, 0, 0, 0, 0, 0]
    assert search.spared()[0] == 99
    search.run_constant(sims=10)  # a proven root is not searched again
    assert search.spared()[0] == 109 and search.root_visits()[0] == 2


def test_moves_that_lose_get_no_visits_and_are_not_drawn() -> None:
    # The second player must parry three in the lowest row: only column 4 (action 3) does.
    search = one_tree(Connect4(), PROVING, [0, 0, 1, 1, 2])
    search.run_constant(sims=300)
    proofs = search.proofs()
    lost = proofs.moves[0] == Proof.LOST
    assert lost.tolist() == [True, True, True, False, True, True, True]
    assert (proofs.move_plies[0][lost] == 2).all()
    assert not search.visits()[0][lost].any()
    assert search.policy(1000.0)[0].tolist() == [0, 0, 0, 1, 0, 0, 0]
    # What was tried of them counts as lost, and stays in the visits of the root.
    move, visits = search.action_values()[0, 3], int(search.visits()[0, 3])
    assert search.root_visits()[0] == 301 and visits < 300
    assert search.root_values()[0] == pytest.approx((move * visits - (300 - visits)) / 301)


def test_a_search_with_proofs_keeps_more_results_than_one_without(table33: DenseTable) -> None:
    """By the table, with an evaluator that knows nothing. When the visits of lost moves were
    withdrawn from all nodes above, proofs cost half as many blunders again: a move whose replies
    are refuted lost the very visits and values that spoke for it."""
    game = DropOldest(3, 3, 3)

    def evaluate(planes: NDArray[np.float32]) -> Evaluation:
        return np.zeros((len(planes), 9), np.float32), np.zeros(len(planes), np.float32), None

    blunders = {}
    for prove in (False, True):
        player = SearchPlayer(game, evaluate, SearchConfig(sims=60, prove=prove))
        graded = grade(CanonicalPlayer(player), table33, sample=1000, seed=1)
        blunders[prove] = graded.overall.errors
    assert blunders[True] < blunders[False]


def test_a_lost_root_defends_as_long_as_it_can() -> None:
    # Three open in the lowest row: every reply loses in 2 plies, except those that stop one end.
    search = one_tree(Connect4(), PROVING, [2, 2, 3, 3, 4], node_capacity=5000)
    search.run_constant(sims=4000)
    proofs = search.proofs()
    assert Proof(proofs.roots[0]) == Proof.LOST and search.root_values()[0] == -1.0
    longest = proofs.move_plies[0].max()
    assert longest == proofs.root_plies[0] and longest == 2
    assert search.targets()[0].tolist() == (proofs.move_plies[0] == longest).astype(float).tolist()
    assert not search.visits().any()
    assert search.choose(0.0)[0] == 0 and search.choose(1.0)[0] >= 0


def test_if_all_that_was_tried_loses_the_priors_of_the_others_decide() -> None:
    # The network plays column 1 and then, for the opponent, the four in the lowest row.
    search = one_tree(Connect4(), dataclasses.replace(PROVING, fpu_reduction=1.0), [0, 0, 1, 1, 2])

    def evaluate(planes: NDArray[np.float32]) -> Evaluation:
        own = (
            [90, 1, 1, 2, 1, 4, 1]
            if planes[0, :2].sum() == 5
            else [0.1, 0.1, 0.1, 99, 0.1, 0.1, 0.1]
        )
        return np.array([own], np.float32), np.zeros(1, np.float32), None

    search.run(evaluate, sims=2, logits=False)
    assert search.proofs().moves[0].tolist() == [Proof.LOST, 0, 0, 0, 0, 0, 0]
    assert not search.visits().any() and search.root_visits()[0] == 3
    assert search.choose(0.0)[0] == 5  # the highest prior of those that are left
    np.testing.assert_allclose(search.policy(1.0)[0], np.array([0, 1, 1, 2, 1, 4, 1]) / 10)


def test_a_kept_subtree_keeps_its_proofs() -> None:
    search = one_tree(Connect4(), PROVING, [2, 2, 3, 3, 4], node_capacity=5000)
    search.run_constant(sims=4000)
    search.advance(search.choose(0.0))
    proofs = search.proofs()
    assert Proof(proofs.roots[0]) == Proof.WON and proofs.root_plies[0] == 1
    before = search.spared()[0]
    search.run_constant(sims=7)
    assert search.spared()[0] == before + 7
    assert search.advance(search.choose())[0] == Result.MOVER_WON


def test_games_of_self_play_end_as_soon_as_a_proof_says() -> None:
    """From a position that is proven won on, the winner wins, within the plies promised."""
    game, config = Connect4(), SearchConfig(sims=80, prove=True, max_plies=42)
    promises = 0
    for episode in play_games(
        game, Hashed(game), config, range(20), seed=1, iteration=0, parallel=20
    ):
        won = np.flatnonzero(episode.values == 1.0)
        for ply in won[:1]:
            promises += 1
            assert episode.winner == episode.sides[ply]
        assert (episode.visits.sum(axis=1) > 0).all()
    assert promises > 10
