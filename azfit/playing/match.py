"""A match between two networks, or a network and a random player, in any of the games."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from azfit.games import Game
from azfit.inference import AUTO
from azfit.loading import game_of_network, load_player, network_path
from azfit.players import Player, RandomPlayer
from azfit.playing.arena import Score, most_plies, play_pairs
from azfit.playing.elo import difference
from azfit.playing.openings import Opening, random_openings
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
    games_asked: int

    def to_dict(self) -> dict[str, Any]:
        players = {"game": self.game, "player": self.player, "opponent": self.opponent}
        gap = difference(self.score.share, self.score.games)
        return {**players, "sims": self.sims, **self.score.to_dict(), "elo_difference": gap}

    def __str__(self) -> str:
        score = self.score
        strength = f"{self.sims} simulations per move" if self.sims else "without search"
        lines = [f"{self.player} against {self.opponent}: {self.game}, {strength}"]
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
        if score.games < self.games_asked:
            lines.append(
                f"{score.games} games instead of {self.games_asked}: there are no more distinct "
                "openings"
            )
        return "\n".join(lines)


def play_match(
    player: str,
    opponent: str,
    *,
    games: int = 100,
    sims: int = 100,
    seed: int = 0,
    prove: bool | None = None,
    lcb: float = 0.0,
) -> Match:
    """Pairs of games from random openings; a player is a checkpoint, a run or ``random``.

    sims: simulations per move; 0 for the networks alone. prove, lcb: as for ``load_player``.
    """
    if games < 2 or games % 2:
        raise InputError(f"--games {games}: use an even number; each opening is played twice")
    if sims < 0:
        raise InputError(f"--sims {sims}: use 0 for the networks alone, or more")
    game = _common_game([name for name in (player, opponent) if name != RANDOM])
    rng, max_plies = np.random.default_rng(seed), most_plies(game)

    def seated(name: str) -> Player:
        if name == RANDOM:
            return RandomPlayer(game, rng)
        return load_player(
            name, sims or None, backend=AUTO, max_plies=max_plies, prove=prove, lcb=lcb
        )

    players, score = [seated(name) for name in (player, opponent)], Score()
    openings = enough_openings(game, games // 2, rng)
    for first in range(0, len(openings), PAIRS_AT_A_TIME):
        batch = openings[first : first + PAIRS_AT_A_TIME]
        score = sum(play_pairs(game, players[0], players[1], batch, max_plies), score)
    return Match(game.name, *_short_names(player, opponent), sims, score, games)


def enough_openings(game: Game, count: int, rng: np.random.Generator) -> list[Opening]:
    """This many different openings, of two plies or, where there are too few, of more."""
    for plies in range(2, MOST_OPENING_PLIES + 1, 2):
        openings = random_openings(game, count, plies, rng)
        if len(openings) == count:
            break
    return openings


def _short_names(player: str, opponent: str) -> tuple[str, str]:
    """The names of the runs or files, with enough of the path to distinguish them."""
    names = (player, opponent)
    parts = [(name,) if name == RANDOM else network_path(name).parts for name in names]
    length = 1
    if parts[0] != parts[1]:
        while parts[0][-length:] == parts[1][-length:]:
            length += 1
    first, second = ("/".join(part[-length:]) for part in parts)
    return first, second


def _common_game(checkpoints: list[str]) -> Game:
    games = {name: game_of_network(name) for name in checkpoints}
    if not games:
        raise InputError("two random players: give a checkpoint for one of them")
    if len(set(games.values())) > 1:
        (first, game), (second, other) = games.items()
        raise InputError(
            f"'{first}' plays {game.name}, '{second}' {other.name}: give two for the same game"
        )
    return next(iter(games.values()))
