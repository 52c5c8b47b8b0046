"""The opponent's reply: whose policy belongs to a position, and a head that only training has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_games import PlainGame
from test_replay import PLAIN, plain_images, random_game
from tiny_self_play import tiny

from azfit import game_by_name
from azfit.checkpoint_header import checkpoints_in
from azfit.network import Network
from azfit.self_play.assessment import entropies
from azfit.self_play.replay import ReplayBuffer
from azfit.self_play.reply import ReplyHead, reply_loss
from azfit.self_play.run_folder import begun
from azfit.self_play.training import Trainer, batches


def shares(visits: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return visits.astype(np.float32) / visits.sum(dtype=np.float32)


# ---- targets -------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    capacity=st.integers(1, 30),
    games=st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=8), min_size=1, max_size=8),
)
def test_a_reply_is_the_policy_of_the_next_position_if_that_is_learned(
    capacity: int, games: list[list[int]]
) -> None:
    """Whatever is learned how often, and wherever the ring begins; against a plain list."""
    buffer = ReplayBuffer(game_by_name("drop-3-3-3"), capacity)
    wanted: list[np.ndarray[Any, Any]] = []
    for number, counts in enumerate(games):
        episode, _ = random_game(PLAIN[0], number, len(counts))
        counted = np.array(counts[: episode.plies], np.uint8)
        buffer.add(replace(episode, counted=counted))
        for ply, times in enumerate(counted.tolist()):
            is_known = ply + 1 < episode.plies and counted[ply + 1] > 0
            reply = shares(episode.visits[ply + 1]) if is_known else np.zeros(9, np.float32)
            wanted += [reply] * times
    if buffer.size:
        replies = buffer.batch(buffer.by_age, replies=True).replies
        assert replies is not None
        assert np.array_equal(replies, np.array(wanted[-capacity:]))


@pytest.mark.parametrize("plain", PLAIN, ids=lambda plain: plain.name)
def test_a_reply_is_turned_as_its_position_is(plain: PlainGame) -> None:
    game = game_by_name(plain.name)
    episode, _ = random_game(plain, 11, 7)
    buffer = ReplayBuffer(game, 100)
    buffer.add(episode)
    place = episode.plies - 2
    boards = plain_images(buffer.batch(np.array([place])).planes[0])
    reply = shares(episode.visits[place + 1])
    images = [reply, reply[::-1]]
    if game.actions == game.rows * game.columns:
        images = [i.ravel() for i in plain_images(reply.reshape(game.rows, game.columns))]
    batch = buffer.batch(np.full(100, place), np.random.default_rng(0), replies=True)
    assert batch.replies is not None
    seen = set()
    for planes, carried in zip(batch.planes, batch.replies, strict=True):
        (match,) = (i for i, board in enumerate(boards) if np.array_equal(board, planes))
        assert np.array_equal(images[match], carried)
        seen.add(match)
    assert len(seen) == game.symmetries


def test_replies_that_are_not_asked_for_are_not_made() -> None:
    buffer = ReplayBuffer(game_by_name("drop-3-3-3"), 100)
    buffer.add(random_game(PLAIN[0], 1, 6)[0])
    for weight, is_made in ((0.0, False), (0.15, True)):
        made = list(batches(buffer, tiny(reply_weight=weight), np.random.default_rng(1)))
        assert all((batch.replies is not None) == is_made for batch in made)


# ---- the loss and the head -----------------------------------------------------------


def test_the_loss_is_the_cross_entropy_of_those_that_have_a_reply() -> None:
    logits = torch.randn(4, 5, generator=torch.Generator().manual_seed(1))
    replies = torch.zeros(4, 5)
    assert float(reply_loss(logits, replies)) == 0.0
    replies[1, 2] = 1.0
    replies[3] = 0.2
    chances = logits.numpy().astype(float)
    chances = np.exp(chances) / np.exp(chances).sum(axis=1, keepdims=True)
    wanted = -(np.log(chances[1, 2]) + np.log(chances[3]).mean()) / 4
    assert float(reply_loss(logits, replies)) == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("kind", ["mlp", "tower"])
def test_a_canonical_network_predicts_turned_replies_on_turned_boards(kind: str) -> None:
    network = Network(tiny(kind=kind, width=8).network).eval()
    head = ReplyHead(network)
    buffer = ReplayBuffer(network.game, 100)
    buffer.add(random_game(PLAIN[0], 3, 5)[0])
    planes = buffer.batch(np.array([buffer.size - 1])).planes[0]
    boards = torch.from_numpy(np.array(plain_images(planes)).copy())
    with torch.no_grad():
        features, _, target = network.seen(boards)
        logits = head(features, target).numpy()
    for image, turned in zip(plain_images(logits[0].reshape(3, 3)), logits, strict=True):
        np.testing.assert_allclose(image.ravel(), turned, atol=1e-5)


def trainer_for(**options: Any) -> tuple[Trainer, ReplayBuffer]:
    config = tiny(game="connect4", max_plies=42, width=8, dropout=0.0, **options)
    buffer = ReplayBuffer(game_by_name("connect4"), 1000)
    for number in range(4):
        buffer.add(random_game(PLAIN[1], number, 12)[0])
    torch.manual_seed(1)
    return Trainer(Network(config.network), config), buffer


def test_the_head_learns_and_teaches_the_body() -> None:
    (trainer, buffer), (other, _) = trainer_for(reply_weight=1.0, lr=0.01), trainer_for(lr=0.01)
    places = np.arange(buffer.size)
    first = trainer.candidate.state_dict()
    assert all(weight.equal(first[name]) for name, weight in other.candidate.state_dict().items())
    batch = buffer.batch(places, replies=True)
    assert batch.replies is not None
    floor = entropies(batch.replies).mean()
    above = [trainer.step(batch)["reply"] - floor for _ in range(60)]
    assert 0 < above[-1] < 0.75 * above[0]
    assert "reply" not in other.step(buffer.batch(places))
    grown = trainer_for(reply_weight=1.0, lr=0.01)[0]
    grown.step(batch)
    body = "body.first.weight"
    assert not grown.candidate.state_dict()[body].equal(other.candidate.state_dict()[body])


def test_the_head_is_resumed_and_stays_after_a_rejection() -> None:
    trainer, buffer = trainer_for(reply_weight=0.15)
    batch = buffer.batch(np.arange(20), replies=True)
    trainer.step(batch)
    again, _ = trainer_for(reply_weight=0.15)
    again.take_up({name: tensor.clone() for name, tensor in trainer.tensors().items()})
    for _ in range(2):
        assert trainer.step(batch) == again.step(batch)
        ours, theirs = trainer.tensors(), again.tensors()
        assert ours.keys() == theirs.keys()
        assert all(tensor.equal(theirs[name]) for name, tensor in ours.items())
        for each in (trainer, again):
            each.restart(trainer_for()[0].candidate)
    heads = [name for name in ours if "reply" in name]
    assert len([name for name in heads if name.startswith("training.")]) == 2
    assert len([name for name in heads if name.startswith("optimiser.")]) == 6


def test_only_the_state_of_a_run_has_the_head(tmp_path: Path) -> None:
    from azfit.checkpoint import read_tensors

    begun(tiny(reply_weight=0.15), tmp_path / "with", None)
    begun(tiny(), tmp_path / "without", None)
    played = [tmp_path / "with" / "best.safetensors"]
    played += checkpoints_in(tmp_path / "with" / "checkpoints")
    assert len(played) == 2
    plain = read_tensors(tmp_path / "without" / "best.safetensors")[0]
    for path in played:
        tensors = read_tensors(path)[0]
        assert tensors.keys() == plain.keys()
        assert all(tensor.equal(plain[name]) for name, tensor in tensors.items())
    for name, has in (("with", True), ("without", False)):
        state = read_tensors(tmp_path / name / "resume.safetensors")[0]
        assert any(".reply." in key for key in state) is has
