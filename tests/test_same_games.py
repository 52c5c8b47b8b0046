"""Games of self-play are the same from version to version: what is added to the search changes
nothing as long as it is not asked for."""

from __future__ import annotations

import hashlib
import zlib
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from azfit import Evaluation, SearchConfig, game_by_name
from azfit.games import Game
from azfit.self_play.play_games import play_games

# As they were before the search could prove anything (2026-11-17): openings, positions, visits and
# moves. The values that are learned from were changed on purpose since, and leave out the steps.
GAMES = {
    "drop-3-3-3": "319ceca38442a14e",
    "connect4": "6c61ed7fce3443bc",
    "gomoku-9": "c9f0e242b2f8e825",
}


class Whole:
    """Evaluations made of whole numbers, the same with every version of numpy."""

    def __init__(self, game: Game) -> None:
        self.actions, self.stone_planes = game.actions, game.stone_planes

    def __call__(self, planes: NDArray[np.float32]) -> Evaluation:
        words = [zlib.crc32(leaf.tobytes()) for leaf in planes[:, : self.stone_planes]]
        numbers = np.array(words, np.int64)[:, None] * np.arange(1, self.actions + 3) >> 7
        small = (numbers % 1000).astype(np.float32)
        return small[:, 2:] + 1, (small[:, 0] - 500) / 512, small[:, 1] / 32


def digest(name: str, **options: Any) -> str:
    game = game_by_name(name)
    config = SearchConfig(sims=40, max_plies=40, temp_moves=8, max_steps=40.0, **options)
    evaluate = Whole(game)
    whole = hashlib.sha256()
    for episode in sorted(
        play_games(
            game,
            lambda planes: _as_logits(evaluate(planes)),
            config,
            range(8),
            seed=5,
            iteration=3,
            parallel=8,
            random_plies=4,
        ),
        key=lambda episode: episode.number,
    ):
        for array in (episode.opening, episode.codes, episode.visits, episode.actions):
            whole.update(array.tobytes())
    return whole.hexdigest()[:16]


def _as_logits(evaluation: Evaluation) -> Evaluation:
    policy, value, steps = evaluation
    return np.log2(policy), value, steps


@pytest.mark.parametrize("name", GAMES)
def test_games_are_as_they_were(name: str) -> None:
    assert digest(name) == GAMES[name]
