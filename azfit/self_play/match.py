"""A match between two networks, or a network and chance, in any of the games."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from azfit.checkpoint import load_checkpoint
from azfit.games import Game, game_by_name
from azfit.inference import AUTO, NetworkEvaluator
from azfit.network import Network
from azfit.search_config import SearchConfig
from azfit.self_play.arena import (
    Mover,
    NetworkMover,
    RandomMover,
    Score,
    SearchMover,
    play_pairs,
)
from azfit.self_play.config import by_game
from azfit.self_play.elo import difference
from azfit.self_play.openings import Opening, random_openings
from solver.errors import InputError

RANDOM = "random"
PAIRS_AT_A_TIME = 64
MOST_OPENING_PLIES = 8


@dataclass(frozen=True)
class Match:
    """How a player did against another."""

    game: str
    player: str
    opponent: str
    sims: int
    score: Score

    def to_dict(self) -> dict[str, Any]:
        told = {"game": self.game, "player": self.player, "opponent": self.opponent}
        gap = difference(self.score.share, self.score.games)
        return {**told, "sims": self.sims, **self.score.to_dict(), "elo_difference": gap}

    def __str__(self) -> str:
        score = self.score
        lines = [f"{self.player} against {self.opponent}: {self.game}, {self.sims} simulations"]
        for side, name in enumerate(("first", "second")):
            lines.append(
                f"  moving {name:<6}  {score.wins[side]} won, {score.draws[side]} drawn, "
                f"{score.losses[side]} lost"
            )
        gap = difference(score.share, score.games)
        lines.append(
            f"score {score.share:.1%} ± {score.standard_error:.1%} of {score.games} games, "
            f"Elo {gap:+.0f}"
        )
        return "\n".join(lines)


def play_match(
    player: str, opponent: str, *, games: int = 100, sims: int = 100, seed: int = 0
) -> Match:
    """Pairs of games from random openings; a player is a checkpoint or ``random``."""
    if games < 2 or games % 2:
        raise InputError(f"--games {games}: use an even number, each opening is played twice")
    if sims < 0:
        raise InputError(f"--sims {sims}: use 0 for the network alone, or more")
    networks = {name: load_checkpoint(name)[0] for name in (player, opponent) if name != RANDOM}
    game = _common_game(networks)
    random = np.random.default_rng(seed)
    movers = [_mover(networks.get(name), game, sims, random) for name in (player, opponent)]
    openings = enough_openings(game, games // 2, random)
    max_plies, score = int(by_game(game)["max_plies"]), Score()
    for first in range(0, len(openings), PAIRS_AT_A_TIME):
        some = openings[first : first + PAIRS_AT_A_TIME]
        for one in play_pairs(game, movers[0], movers[1], some, max_plies):
            score += one
    return Match(game.name, *_short_names(player, opponent), sims, score)


def enough_openings(game: Game, count: int, random: np.random.Generator) -> list[Opening]:
    """So many different openings, of two plies or, where there are too few, of more."""
    for plies in range(2, MOST_OPENING_PLIES + 1, 2):
        openings = random_openings(game, count, plies, random)
        if len(openings) == count:
            break
    return openings


def _short_names(player: str, opponent: str) -> tuple[str, str]:
    """The files' names, with as much of the path as tells them apart."""
    paths = [Path(name).with_suffix("") for name in (player, opponent)]
    parts = [path.parts for path in paths]
    length = 1
    while length < max(map(len, parts)) and parts[0][-length:] == parts[1][-length:]:
        length += 1
    first, second = ("/".join(one[-length:]) for one in parts)
    return first, second


def _common_game(networks: dict[str, Network]) -> Game:
    names = {network.config.game for network in networks.values()}
    if not names:
        raise InputError("two random players: give a checkpoint for one of them")
    if len(names) > 1:
        raise InputError(
            f"the checkpoints play {' and '.join(sorted(names))}: give two of one game"
        )
    return game_by_name(names.pop())


def _mover(network: Network | None, game: Game, sims: int, random: np.random.Generator) -> Mover:
    if network is None:
        return RandomMover(game, random)
    evaluate = NetworkEvaluator(network, AUTO)
    if not sims:
        return NetworkMover(game, evaluate)
    config = SearchConfig(max_plies=int(by_game(game)["max_plies"]))
    return SearchMover(game, evaluate, config.for_matches(sims, float(network.config.max_plies)))
