"""What is drawn of a self-play run, by side wherever there are sides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from azfit.curves.panels import Curve, Panel, Style
from azfit.diagnosis.truth import PositionTruth, judge_for, watched_truths
from azfit.diagnosis.watched_history import WatchedHistory, watched
from azfit.games import Game, game_by_name
from azfit.self_play.iteration import SIDES, Assessment, Games, Iteration, Training
from solver.errors import FadefourError

Iterations = Sequence[Iteration]

ITERATION = "iteration"


def self_play_panels(
    iterations: Iterations, game_name: str, data: Path = Path("data")
) -> list[Panel]:
    """data: the folder of the solved table, by which the right moves are marked if it is there."""
    game = game_by_name(game_name)
    histories = watched(iterations, game, _truths(game, data))
    return [
        _losses(iterations),
        _entropies(iterations),
        _values(iterations),
        _f1(iterations),
        _policy(histories, iterations, "start"),
        _policy(histories, iterations, "reply"),
        _outcomes(iterations),
        _scores(iterations),
        _elo(iterations),
        _starved(iterations),
        _watched_values(iterations),
    ]


def _truths(game: Game, data: Path) -> dict[str, PositionTruth]:
    """What an exact judge says about the watched positions; nothing without a judge, or if its
    table is damaged: curves are drawn without it."""
    try:
        judge, _ = judge_for(game, data)
        return {} if judge is None else watched_truths(judge, game)
    except FadefourError:
        return {}


def _shares(title: str, curves: list[Curve]) -> Panel:
    return Panel(title, ITERATION, curves, low=0.0, high=1.0)


def _values_panel(title: str, curves: list[Curve]) -> Panel:
    return Panel(title, ITERATION, curves, low=-1.0, high=1.0)


def _losses(iterations: Iterations) -> Panel:
    parts: dict[str, Callable[[Training], float]] = {
        "total": lambda training: training.loss,
        "policy": lambda training: training.policy,
        "KL": lambda training: training.kl,
        "w/d/l": lambda training: training.wdl,
        "steps": lambda training: training.steps,
    }
    trained = [
        (iteration.iteration, iteration.training)
        for iteration in iterations
        if iteration.training is not None
    ]
    curves = [
        Curve.of(label, [(number, get(training)) for number, training in trained])
        for label, get in parts.items()
    ]
    fresh = _fresh_games(
        iterations, (("w/d/l, fresh games", "dotted", lambda side: side.wdl_loss),)
    )
    return Panel("losses (training)", ITERATION, [*curves, *fresh])


Entry = tuple[str, Style, Callable[[Assessment], float | None]]
"""Label, style of the line, and the figure of one side."""


def _fresh_games(iterations: Iterations, entries: Sequence[Entry]) -> list[Curve]:
    """Figures of the assessment of new games."""
    curves = []
    for side in SIDES:
        assessed = [
            (iteration.iteration, iteration.fresh.by_side()[side])
            for iteration in iterations
            if iteration.fresh is not None and side in iteration.fresh.by_side()
        ]
        for label, style, get in entries:
            points = [(number, get(assessment)) for number, assessment in assessed]
            curves.append(Curve.of(f"{side}, {label}" if label else side, points, side, style))
    return curves


def _entropies(iterations: Iterations) -> Panel:
    entries: tuple[Entry, ...] = (
        ("network", "line", lambda side: side.network_entropy),
        ("targets", "dashed", lambda side: side.target_entropy),
        ("KL", "dotted", lambda side: side.kl),
    )
    title = "policy entropy in nats (fresh games)"
    return Panel(title, ITERATION, _fresh_games(iterations, entries))


def _values(iterations: Iterations) -> Panel:
    entries: tuple[Entry, ...] = (
        ("value", "line", lambda side: side.value),
        ("outcome", "dashed", lambda side: side.outcome),
    )
    return _values_panel("value and outcome (fresh games)", _fresh_games(iterations, entries))


def _f1(iterations: Iterations) -> Panel:
    curves = _fresh_games(iterations, (("", "line", lambda side: side.macro_f1),))
    return _shares("F1, mean over the classes (fresh games)", curves)


def _outcomes(iterations: Iterations) -> Panel:
    ends: dict[str, tuple[str | None, Callable[[Games], int]]] = {
        "first wins": ("first", lambda games: games.first_wins),
        "second wins": ("second", lambda games: games.second_wins),
        "draws": (None, lambda games: games.draws),
    }
    played = [
        (iteration.iteration, iteration.games)
        for iteration in iterations
        if iteration.games is not None and iteration.games.played
    ]
    curves = [
        Curve.of(label, [(number, count(games) / games.played) for number, games in played], side)
        for label, (side, count) in ends.items()
    ]
    return _shares("outcomes of the games", curves)


def _scores(iterations: Iterations) -> Panel:
    """Marks by what the gate decided."""
    decisions: tuple[tuple[bool, str, Style], ...] = (
        (True, "accepted", "up"),
        (False, "rejected", "cross"),
    )
    curves = [
        Curve.of(
            label,
            [
                (iteration.iteration, iteration.match.score)
                for iteration in iterations
                if iteration.accepted is accepted and iteration.match is not None
            ],
            style=style,
        )
        for accepted, label, style in decisions
    ]
    return _shares("score of the candidate against the best", curves)


def _elo(iterations: Iterations) -> Panel:
    points = [(iteration.iteration, iteration.elo) for iteration in iterations]
    return Panel("Elo of the best network", ITERATION, [Curve.of("Elo", points)])


def _starved(iterations: Iterations) -> Panel:
    curves = [
        Curve.of(
            name,
            [
                (iteration.iteration, iteration.games.starved[side] / iteration.games.open[side])
                for iteration in iterations
                if iteration.games is not None and iteration.games.open[side]
            ],
            name,
        )
        for side, name in enumerate(SIDES)
    ]
    title = "share of starved nodes (FPU below -1)"
    return Panel(title, ITERATION, curves, least_high=0.05)


def _watched_values(iterations: Iterations) -> Panel:
    curves = [
        Curve.of(
            f"{name} ({side} player)",
            [
                (iteration.iteration, iteration.watch.by_name()[name].value)
                for iteration in iterations
                if iteration.watch is not None and name in iteration.watch.by_name()
            ],
            side,
        )
        for name, side in (("start", "first"), ("reply", "second"))
    ]
    return _values_panel("value of the watched positions", curves)


def _policy(histories: dict[str, WatchedHistory], iterations: Iterations, name: str) -> Panel:
    numbers = [
        iteration.iteration
        for iteration in iterations
        if iteration.watch is not None and name in iteration.watch.by_name()
    ]
    leading = histories[name].leading if name in histories else []
    curves = [
        Curve.of(move.label, zip(numbers, move.series, strict=True), style="line")
        for move in leading
    ]
    return _shares(f"policy of the {name}, leading moves", curves)
