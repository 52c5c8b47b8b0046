"""Positions whose policy is followed over a run: where the first player opens, where the second
replies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azfit.games import Game
from azfit.self_play.assessment import predictions
from azfit.self_play.iteration import Watch, WatchedPosition

if TYPE_CHECKING:
    from azfit.network import Network


def watched_positions(game: Game) -> dict[str, list[int]]:
    """Positions whose policy is followed over time, as moves from the start: the start itself,
    and the second player's reply to the move in the middle."""
    cells = game.rows * game.columns
    middle = game.columns // 2
    if game.actions == cells:
        middle += game.rows // 2 * game.columns
    return {"start": [], "reply": [middle]}


def watch(network: Network) -> Watch:
    """The network's policy and value in the watched positions."""
    game, positions = network.game, {}
    for name, moves in watched_positions(game).items():
        planes = game.planes(game.play_all(moves)[None])
        policies, wdl = predictions(network, planes)
        positions[name] = WatchedPosition(
            moves=tuple(moves),
            policy=tuple(round(float(p), 5) for p in policies[0]),
            value=float(wdl[0, 0] - wdl[0, 2]),
        )
    return Watch(**positions)
