"""Run folders of self-play with known numbers, written without playing or training anything."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from azfit.games import Game, game_by_name
from azfit.self_play.config import SelfPlayConfig, settled
from azfit.self_play.episode import Episode, EpisodeFile

Target = dict[int, int]
"""Visits by action."""


def write_config(folder: Path, **options: Any) -> SelfPlayConfig:
    config = settled({"workers": 1, "threads": 1, **options})
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config.to_dict()))
    return config


def write_lines(folder: Path, lines: Sequence[dict[str, Any]]) -> None:
    text = "".join(
        json.dumps({"iteration": i + 1, "seconds": 60.0 * i, **line}) + "\n"
        for i, line in enumerate(lines)
    )
    (folder / "metrics.jsonl").write_text(text)


def episode(
    game: Game, moves: Sequence[int], targets: Sequence[Target], winner: int, number: int = 0
) -> Episode:
    """A game of these moves, with these visits at its first plies; elsewhere the move has all."""
    states = [game.play_all(moves[:ply]) for ply in range(len(moves))]
    visits = np.zeros((len(moves), game.actions), np.uint16)
    for ply, move in enumerate(moves):
        for action, count in (targets[ply] if ply < len(targets) else {move: 10}).items():
            visits[ply, action] = count
    return Episode(
        iteration=0,
        number=number,
        opening=np.zeros(0, np.int16),
        codes=game.encode(np.array(states)),
        visits=visits,
        actions=np.array(moves, np.int16),
        values=np.zeros(len(moves), np.float32),
        winner=winner,
        walks=np.zeros((3, 2), np.uint32),
    )


def write_games(folder: Path, episodes: Sequence[Episode], iteration: int = 0) -> Path:
    path = folder / "games" / f"{iteration:06d}.games"
    games = EpisodeFile(path)
    for game in episodes:
        games.append(game.to_bytes())
    games.close()
    return path


def side(
    targets: float, network: float, value: float, outcome: float, confusion: list[list[int]]
) -> dict[str, Any]:
    """The "fresh" entry of a side."""
    return {
        "positions": int(np.sum(confusion)),
        "target_entropy": targets,
        "network_entropy": network,
        "kl": 0.2,
        "wdl_loss": 0.35,
        "value": value,
        "outcome": outcome,
        "confusion": confusion,
        "macro_f1": 0.5,
    }


def policy(game: Game, shares: dict[int, float]) -> list[float]:
    """These probabilities, and what is left spread over the other actions."""
    rest = (1 - sum(shares.values())) / max(1, game.actions - len(shares))
    return [shares.get(action, rest) for action in range(game.actions)]


def line(
    start: list[float],
    reply: list[float],
    first: dict[str, Any],
    second: dict[str, Any],
    *,
    wins: tuple[int, int, int] = (50, 45, 5),
    positions: int = 2000,
    starved: tuple[int, int] = (0, 0),
    training: tuple[float, float] = (1.0, 0.2),
    accepted: bool = True,
    middle: int = 3,
) -> dict[str, Any]:
    """An iteration of 100 games in metrics.jsonl."""
    return {
        "games": {
            "played": sum(wins),
            "first_wins": wins[0],
            "second_wins": wins[1],
            "draws": wins[2],
            "positions": positions,
            "mean_plies": positions / sum(wins),
            "walked": [1000, 1000],
            "open": [1000, 1000],
            "starved": list(starved),
        },
        "fresh": {"first": first, "second": second},
        "training": {
            **{"policy": training[0], "kl": training[1], "loss": 2.3, "wdl": 0.3, "steps": 1.0},
            "wdl_learned": 0.3,
            "positions": positions,
        },
        "match": {
            **{"games": 20, "score": 0.55, "standard_error": 0.1},
            **{"wins": [7, 4], "draws": [0, 0], "losses": [3, 6]},
        },
        "elo": 100.0,
        "accepted": accepted,
        "watch": {
            "start": {"moves": [], "policy": start, "value": 0.5},
            "reply": {"moves": [middle], "policy": reply, "value": -0.55},
        },
    }


GOOD = [[90, 2, 8], [2, 10, 2], [8, 2, 90]]


def healthy_line(number: int, drop_oldest: bool = False) -> dict[str, Any]:
    """Balanced, learned, decided, accepted two times in three and later one in three; of Connect
    Four or of 3×3 drop-oldest."""
    game = game_by_name("drop-3-3-3" if drop_oldest else "connect4")
    accepted = number % 3 != 0 if number < 15 else number % 3 == 0
    middle = 4 if drop_oldest else 3
    return line(
        policy(game, {middle: 0.9}),
        policy(game, {0: 0.85, middle: 0.0} if drop_oldest else {middle: 0.85}),
        side(0.8, 0.75, 0.05, 0.02, GOOD),
        side(0.8, 0.78, -0.05, -0.02, GOOD),
        accepted=accepted,
        middle=middle,
    )


def reference_line(number: int) -> dict[str, Any]:
    """The reference run of docs/diagnostics.md: no clamp, 81 % losses of the second player, and a
    reply that swings with a period of 100 iterations."""
    game = game_by_name("connect4")
    swing = 0.15 * np.sin(2 * np.pi * number / 100)
    return line(
        policy(game, {3: 0.88}),
        policy(game, {3: 0.33 + swing, 1: 0.30 - swing / 2, 0: 0.29 - swing / 2}),
        side(1.00, 0.59, 0.58, 0.62, [[81, 0, 0], [2, 1, 1], [5, 0, 10]]),
        side(1.11, 1.29, -0.58, -0.66, [[10, 0, 5], [1, 1, 2], [0, 0, 81]]),
        wins=(81, 15, 4),
        starved=(0, 300),
        training=(1.0, 0.21),
        accepted=number % 3 == 0,
    )


REFERENCE_OPTIONS = {
    "game": "connect4",
    "sims": 100,
    "c_init": 1.0,
    "c_base_factor": 1000.0,
    "fpu_reduction": 0.4,
    "fpu_clamp": False,
    "lambda_steps": 0.2,
    "buffer": 100_000,
}
