"""The positions that are watched over a self-play run: policy and value by iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from azfit.diagnosis.oscillation import LeadingMove, leading_moves, legal_entropy
from azfit.diagnosis.truth import PositionTruth
from azfit.games import Game, Result
from azfit.self_play.iteration import SIDES, Iteration, WatchedPosition
from solver.errors import CorruptTableError, InputError


@dataclass(frozen=True)
class WatchedHistory:
    """The network's answers in one position over a run."""

    moves: list[int]
    """The moves that lead to the position."""
    side: str
    value: float
    """The value in the last iteration."""
    values: list[float]
    iterations: int
    entropy: float
    """The entropy of the policy in the last iteration."""
    leading: list[LeadingMove]


def watched(
    iterations: Sequence[Iteration], game: Game, truths: Mapping[str, PositionTruth]
) -> dict[str, WatchedHistory]:
    """The start and the reply over time; truths: what an exact judge says about them, if there is
    one."""
    histories = {}
    for name in ("start", "reply"):
        entries = [
            _checked(iteration.watch.by_name()[name], f"watch.{name}", iteration.iteration, game)
            for iteration in iterations
            if iteration.watch is not None and name in iteration.watch.by_name()
        ]
        if not entries:
            continue
        last = entries[-1]
        state = game.play_all(last.moves)
        truth = truths.get(name)
        right = [] if truth is None or truth.all_alike else truth.right
        histories[name] = WatchedHistory(
            moves=list(last.moves),
            side=SIDES[game.to_move(state)],
            value=last.value,
            values=[round(entry.value, 4) for entry in entries],
            iterations=len(entries),
            entropy=legal_entropy(game, state, last.policy),
            leading=leading_moves(game, state, [entry.policy for entry in entries], right),
        )
    return histories


def _checked(entry: WatchedPosition, key: str, iteration: int, game: Game) -> WatchedPosition:
    """The entry, if it is a position of this game with a policy for its moves."""
    try:
        going_on = game.result(game.play_all(entry.moves)) == Result.GOING_ON
    except InputError:
        going_on = False
    # Probabilities are rounded, so their sum is only near 1.
    fits = len(entry.policy) == game.actions and 0.5 < sum(entry.policy) < 1.5
    if going_on and fits and min(entry.policy) >= 0:
        return entry
    raise CorruptTableError(
        f"'{key}' of iteration {iteration} in metrics.jsonl is not a position and policy of "
        f"{game.name}: restore or remove that line"
    )
