"""Does the policy of a watched position swing, how far, and how often?

The probability of each leading move is a series over the iterations. Its straight trend is taken
off; the amplitude is that of the sine with the same variance, the period is the lag of the first
peak of the autocorrelation after it has been negative. A period shows once the series holds two
of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from azfit.diagnosis.contradiction import keys_of
from azfit.games import Game, State
from azfit.self_play.assessment import entropies

Floats = NDArray[np.float64]

# Fewer points than this cannot show two periods of anything but noise.
FEWEST_ITERATIONS = 12

# A pure swing falls to -1 and comes back to 1. At one lag noise alone stays within 2 / sqrt(n) in
# 95 of 100 cases; as the highest of many lags is looked at, and the deepest, both must be clearer.
CLEAR_RETURN = 0.4
NOISE_BOUND = 2.5

LEADING = 3  # moves that are followed

# Recent is the last third of the series, at least the fewest iterations.
LATE_SHARE = 1 / 3


def detrended(series: Sequence[float]) -> Floats:
    """The series less its straight line of least squares."""
    values = np.asarray(series, np.float64)
    time = np.arange(len(values))
    return np.asarray(values - np.polyval(np.polyfit(time, values, 1), time))


def amplitude_of(series: Sequence[float]) -> float:
    """The amplitude of the sine with the same variance about the trend."""
    return float(np.sqrt(2.0) * detrended(series).std())


def autocorrelation(series: Floats) -> Floats:
    """At lags 0 to half the length; each lag's mean product over the variance."""
    n = len(series)
    variance = float((series**2).mean())
    if variance == 0.0:
        return np.zeros(n // 2 + 1)
    products = [float((series[: n - lag] * series[lag:]).mean()) for lag in range(n // 2 + 1)]
    return np.array(products) / variance


def period_of(series: Sequence[float]) -> float | None:
    """In iterations; None if the series does not come back clearly."""
    if len(series) < FEWEST_ITERATIONS:
        return None
    correlation = autocorrelation(detrended(series))
    negative = np.flatnonzero(correlation < 0)
    if not len(negative):
        return None
    start = int(negative[0])
    peak = start + int(correlation[start:].argmax())
    clear = max(CLEAR_RETURN, NOISE_BOUND / np.sqrt(len(series)))
    if correlation[peak] < clear or correlation[:peak].min(initial=0.0) > -clear:
        return None
    return float(_earliest_as_high(correlation, start, peak))


def _earliest_as_high(correlation: Floats, start: int, peak: int) -> int:
    """Multiples of a period peak as high as the period itself: the first such peak counts."""
    for lag in range(start + 1, peak):
        height = correlation[lag]
        rises = height >= correlation[lag - 1] and height >= correlation[lag + 1]
        if rises and height >= 0.8 * correlation[peak]:
            return lag
    return peak


# ---- moves of a position --------------------------------------------------------------


def equal_moves(game: Game, state: State) -> list[list[int]]:
    """The legal moves, those that a symmetry of the position exchanges together."""
    keys = [int(keys_of(game, state[None], t)[0]) for t in range(game.symmetries)]
    fixing = [t for t, key in enumerate(keys) if key == keys[0]]
    sets: dict[int, list[int]] = {}
    for action in game.legal_moves(state):
        lowest = min(int(game.action_image[t, action]) for t in fixing)
        sets.setdefault(lowest, []).append(action)
    return list(sets.values())


def name_of(game: Game, actions: Sequence[int]) -> str:
    """As in ``4``, ``3=5``, or ``a1 and 3 symmetric``."""
    if len(actions) <= 2:
        return "=".join(game.action_name(a) for a in actions)
    return f"{game.action_name(actions[0])} and {len(actions) - 1} symmetric"


@dataclass(frozen=True)
class LeadingMove:
    """The probability of one move, or of moves that are equal by symmetry, over the iterations."""

    move: str
    actions: list[int]
    series: list[float]
    now: float
    late_mean: float
    """Mean over the last third of the series, at least the fewest iterations."""
    late_range: float | None
    """Highest less lowest over the same; None, as what follows, for too few iterations."""
    amplitude: float | None
    amplitude_before: float | None
    """Of the first half."""
    amplitude_lately: float | None
    """Of the second half."""
    period: float | None
    """None if there is no clear period."""
    right: bool
    """Whether an exact judge calls it right."""

    @property
    def label(self) -> str:
        """The move, and whether it is right."""
        return f"{self.move} (right)" if self.right else self.move


def leading_moves(
    game: Game, state: State, policies: Sequence[Sequence[float]], right: Sequence[str] = ()
) -> list[LeadingMove]:
    """The leading moves of a position, by its policies [iterations, actions]; if none of the right
    moves is among them, the likeliest of those comes last."""
    shares = np.asarray(policies, np.float64)
    choices = equal_moves(game, state)
    legal = np.array([shares[:, actions].sum(axis=1) for actions in choices]).T
    legal /= np.maximum(1e-12, legal.sum(axis=1, keepdims=True))
    late = max(FEWEST_ITERATIONS, round(LATE_SHARE * len(shares)))
    order = np.argsort(-legal[-late:].mean(axis=0)).tolist()
    is_right = [any(game.action_name(action) in right for action in moves) for moves in choices]
    shown = order[:LEADING]
    if not any(is_right[i] for i in shown):
        shown += [i for i in order if is_right[i]][:1]
    return [_leading_move(game, choices[i], legal[:, i], late, is_right[i]) for i in shown]


def _leading_move(
    game: Game, actions: list[int], series: Floats, late: int, right: bool
) -> LeadingMove:
    enough = len(series) >= FEWEST_ITERATIONS
    half = len(series) // 2
    return LeadingMove(
        move=name_of(game, actions),
        actions=actions,
        series=[round(float(p), 5) for p in series],
        now=float(series[-1]),
        late_mean=float(series[-late:].mean()),
        late_range=float(np.ptp(series[-late:])) if enough else None,
        amplitude=amplitude_of(series.tolist()) if enough else None,
        amplitude_before=amplitude_of(series[:half].tolist()) if enough else None,
        amplitude_lately=amplitude_of(series[half:].tolist()) if enough else None,
        period=period_of(series.tolist()),
        right=right,
    )


def legal_entropy(game: Game, state: State, policy: Sequence[float]) -> float:
    """The entropy of a policy [actions] over the legal moves, in nats."""
    legal = np.asarray(policy, np.float64)[game.legal_moves(state)]
    return float(entropies(legal / legal.sum()))
