"""The replay buffer against a deque, its draws against counting, its symmetries against numpy."""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_games import GOING_ON, PlainConnect4, PlainDrop, PlainGame, PlainGomoku
from tiny_self_play import tiny

from azfit import game_by_name
from azfit.network import Outputs
from azfit.objective import IGNORED, Targets, losses
from azfit.self_play.config import settled
from azfit.self_play.episode import DRAWN, Episode
from azfit.self_play.replay import DRAW, LOSS, WIN, ReplayBuffer

GAME = game_by_name("drop-3-3-3")
PLAIN: list[PlainGame] = [PlainDrop(3, 3, 3), PlainConnect4(), PlainGomoku(9)]


def random_game(
    plain: PlainGame, number: int, plies: int, winner: int = 0
) -> tuple[Episode, list[Any]]:
    """Some random moves as a game with these many plies at most, and its plain states."""
    draw = np.random.default_rng(number)
    states, actions = [plain.start()], []
    for _ in range(plies):
        actions.append(int(draw.choice(plain.legal(states[-1]))))
        states.append(plain.play(states[-1], actions[-1]))
        if plain.result(states[-1]) != GOING_ON:
            break
    states.pop()
    wide = game_by_name(plain.name).actions
    visits = np.zeros((len(states), wide), np.uint16)
    for ply, state in enumerate(states):
        legal = plain.legal(state)
        visits[ply, legal] = draw.integers(0, 50, len(legal))
        visits[ply, actions[ply]] += 1
    codes = np.array([plain.code(state) for state in states], np.int8)
    values = draw.uniform(-1, 1, len(states)).astype(np.float32)
    moves = np.array(actions, np.int16)
    walks = np.zeros((3, 2), np.uint32)
    none = np.zeros(0, np.int16)
    return Episode(number, number, none, codes, visits, moves, values, winner, walks), states


def rows_of(episode: Episode) -> list[Any]:
    """What a position of the buffer consists of, as plain values."""
    left = range(episode.plies, 0, -1)
    won = [1 if episode.winner == DRAWN else 2 * (side != episode.winner) for side in episode.sides]
    return [
        (code.tolist(), visits.tolist(), wdl, plies)
        for code, visits, wdl, plies in zip(episode.codes, episode.visits, won, left, strict=True)
    ]


def contents(buffer: ReplayBuffer) -> list[Any]:
    arrays = (buffer.codes, buffer.visits, buffer.wdl, buffer.left)
    return [tuple(array[place].tolist() for array in arrays) for place in buffer.by_age]


@settings(max_examples=60, deadline=None)
@given(
    capacity=st.integers(1, 40),
    games=st.lists(st.tuples(st.integers(1, 12), st.sampled_from([0, 1, DRAWN])), max_size=12),
)
def test_the_buffer_is_a_queue_of_the_newest_positions(
    capacity: int, games: list[tuple[int, int]]
) -> None:
    buffer, queue = ReplayBuffer(GAME, capacity), deque[Any](maxlen=capacity)
    for number, (plies, winner) in enumerate(games):
        episode, _ = random_game(PLAIN[0], number, plies, winner)
        buffer.add(episode)
        queue.extend(rows_of(episode))
        assert buffer.size == len(queue)
        assert contents(buffer) == list(queue)
    outcomes = buffer.outcomes()
    for side, counts in enumerate((outcomes.first, outcomes.second)):
        counted = Counter(row[2] for row in queue if row[0][-1] == side)
        assert counts == tuple(counted[outcome] for outcome in (WIN, DRAW, LOSS))


def filled(capacity: int, games: int, skip: int = 0) -> ReplayBuffer:
    buffer = ReplayBuffer(GAME, capacity)
    for number in range(skip, games):
        buffer.add(random_game(PLAIN[0], number, 8, (0, 1, DRAWN)[number % 3])[0])
    return buffer


@pytest.mark.parametrize("balanced", [False, True])
def test_a_buffer_filled_from_its_last_files_draws_the_same(balanced: bool) -> None:
    """The ring of a resumed run begins at another place; batches must not depend on that."""
    whole, resumed = filled(50, 20), filled(50, 20, skip=9)
    assert whole.size == resumed.size == 50
    assert whole.added % 50 != resumed.added % 50
    batches = []
    for buffer in (whole, resumed):
        draw = np.random.default_rng(5)
        batches.append(buffer.batch(buffer.epoch(64, draw, balanced), draw))
    for name in ("planes", "policy", "wdl", "left", "sides"):
        assert np.array_equal(getattr(batches[0], name), getattr(batches[1], name))


@pytest.mark.parametrize(("count", "times"), [(1, 0), (20, 0), (50, 1), (51, 1), (125, 2)])
def test_uniform_epochs_draw_without_replacement(count: int, times: int) -> None:
    buffer = filled(50, 20)
    drawn = Counter(buffer.epoch(count, np.random.default_rng(1), False).tolist())
    assert sum(drawn.values()) == count
    assert set(drawn) <= set(range(50))
    assert all(times <= drawn[place] <= times + 1 for place in range(50))


def test_uniform_epochs_favour_no_place() -> None:
    buffer, draw = filled(50, 20), np.random.default_rng(2)
    drawn = Counter(p for _ in range(2000) for p in buffer.epoch(5, draw, False).tolist())
    assert all(abs(drawn[place] - 200) < 5 * 200**0.5 for place in range(50))


@pytest.mark.parametrize("absent", [None, WIN, DRAW, LOSS, (WIN, LOSS)])
def test_stratified_epochs_share_equally_among_the_classes_present(absent: Any) -> None:
    buffer = filled(200, 20)
    gone = absent if isinstance(absent, tuple) else (absent,)
    present = [outcome for outcome in (WIN, DRAW, LOSS) if outcome not in gone]
    places = np.arange(buffer.size)
    buffer.wdl[: buffer.size] = np.array(present)[places % len(present)]
    rare = np.flatnonzero(buffer.wdl[: buffer.size] == present[0])[3:]
    buffer.wdl[rare] = present[-1]  # three of the first class are left: drawn again and again
    for count in (1, 100, 101, 1000):
        drawn = buffer.epoch(count, np.random.default_rng(3), True)
        counted = Counter(buffer.wdl[drawn].tolist())
        assert sum(counted.values()) == count
        assert set(counted) <= set(present)
        assert max(counted.values()) - min(counted[outcome] for outcome in present) <= 1
    common = np.flatnonzero(buffer.wdl[: buffer.size] == present[-1])
    assert len(np.intersect1d(drawn, common)) > 0.8 * len(common)
    order = buffer.wdl[drawn]
    if len(present) > 1:
        assert (order[:-1] != order[1:]).sum() > 300, "batches of an epoch must be mixed"


@pytest.mark.parametrize("plain", PLAIN, ids=lambda plain: plain.name)
def test_targets_are_shares_of_visits(plain: PlainGame) -> None:
    episode, states = random_game(plain, 4, 9)
    buffer = ReplayBuffer(game_by_name(plain.name), 100)
    buffer.add(episode)
    batch = buffer.batch(np.arange(episode.plies))
    for row, state in enumerate(states):
        total = sum(episode.visits[row].tolist())
        shares = [count / total for count in episode.visits[row].tolist()]
        assert batch.policy[row].tolist() == pytest.approx(shares)
        assert np.array_equal(batch.planes[row], plain.planes(state))
        assert batch.sides[row] == plain.to_move(state)
    assert batch.wdl.tolist() == [2 * int(side) for side in batch.sides]
    assert batch.left.tolist() == list(range(episode.plies, 0, -1))


def plain_images(board: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """Of a board [..., rows, columns]: a mirror, or all turns and reflections of a square."""
    if board.shape[-1] != board.shape[-2]:
        return [board, board[..., ::-1]]
    turned = [np.rot90(board, turns, axes=(-2, -1)) for turns in range(4)]
    return [*turned, *(board.swapaxes(-2, -1) for board in turned)]


@pytest.mark.parametrize("plain", PLAIN, ids=lambda plain: plain.name)
def test_augmentation_carries_planes_and_policy_together(plain: PlainGame) -> None:
    """Every image is one of the board's, the policy is the same image of the policy, and all of
    the group occur."""
    game = game_by_name(plain.name)
    episode, _ = random_game(plain, 11, 7)
    buffer = ReplayBuffer(game, 100)
    buffer.add(episode)
    last = episode.plies - 1
    pure = buffer.batch(np.array([last]))
    boards = plain_images(pure.planes[0])
    policy = pure.policy[0]
    if game.actions == game.rows * game.columns:
        policy = policy.reshape(game.rows, game.columns)
        policies = [image.ravel() for image in plain_images(policy)]
    else:
        policies = [policy, policy[::-1]]
    assert len(boards) == game.symmetries
    batch = buffer.batch(np.full(200, last), np.random.default_rng(0))
    seen = set()
    for planes, carried in zip(batch.planes, batch.policy, strict=True):
        matches = [i for i, board in enumerate(boards) if np.array_equal(board, planes)]
        assert any(np.array_equal(policies[i], carried) for i in matches)
        seen.update(matches)
    assert seen == set(range(game.symmetries))
    assert np.array_equal(batch.wdl, np.full(200, pure.wdl[0]))


def test_without_random_numbers_nothing_is_turned() -> None:
    buffer = filled(50, 20)
    places = np.arange(50)
    plain, again = buffer.batch(places), buffer.batch(places)
    assert np.array_equal(plain.planes, again.planes)
    assert np.array_equal(plain.planes, GAME.planes(GAME.decode(buffer.codes)))


@pytest.mark.parametrize(
    ("ratio", "batch", "positions", "steps"),
    [
        (0.1, 512, 500_000, 98),  # 50,000 / 512 = 97.7
        (0.1, 512, 100, 1),
        (1.0, 100, 1000, 10),
        (1.0, 100, 1001, 11),
        (2.5, 10, 8, 2),
        (1e-6, 512, 1, 1),
    ],
)
def test_steps_of_an_epoch(ratio: float, batch: int, positions: int, steps: int) -> None:
    config = settled({"replay_ratio": ratio, "batch_size": batch})
    assert config.steps_of(positions) == steps


def test_a_full_buffer_of_gomoku_takes_well_under_a_gigabyte() -> None:
    game = game_by_name("gomoku-15")
    buffer = ReplayBuffer(game, 500_000)
    buffer._grow(1)
    arrays = (buffer.codes, buffer.visits, buffer.wdl, buffer.left)
    rows = len(buffer.wdl)
    assert sum(array.nbytes for array in arrays) / rows * 500_000 < 5e8


def test_balance_sampling_weighs_the_loss_of_classes_alike() -> None:
    config = tiny(balance_sampling=True)
    assert config.class_weights and not tiny().class_weights
    wdl = torch.tensor([0, 0, 0, 0, 0, 0, 1, 2])
    logits = torch.randn(8, 3, generator=torch.Generator().manual_seed(1))
    policy = torch.full((8, 9), 1 / 9)
    targets = Targets(torch.zeros(8), policy, wdl, torch.full((8,), IGNORED))
    outputs = Outputs(torch.zeros(8, 9), logits, torch.zeros(8, 5), None)
    each = -logits.log_softmax(1)[torch.arange(8), wdl]
    by_class = torch.stack([each[wdl == outcome].mean() for outcome in range(3)])
    # Weighed by 1 / frequency, every class counts the same, however many it has.
    torch.testing.assert_close(losses(outputs, targets, config)["wdl"], by_class.mean())
    torch.testing.assert_close(losses(outputs, targets, tiny())["wdl"], each.mean())
