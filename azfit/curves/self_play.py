"""Curves of a self-play run as one PNG, by side wherever there are sides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from azfit.diagnosis.truth import PositionTruth, judge_for, watched_truths
from azfit.diagnosis.watched_history import WatchedHistory, watched
from azfit.games import Game, game_by_name
from azfit.self_play.iteration import SIDES, Assessment, Games, Iteration, Training
from solver.errors import FadefourError
from solver.plotting import pyplot, save_png

Axis = Any
Iterations = Sequence[Iteration]

# One colour per side in every panel; dashed is what was aimed at (targets, outcomes).
COLOURS = {"first": "tab:blue", "second": "tab:red"}
WIDTHS = {"first": 3.0, "second": 1.2}  # both can be seen where they are equal
NEUTRAL = "tab:gray"

MOST_MARKS = 60

# A little more than the range, so that a line along its end is not hidden by the frame.
SHARES, VALUES = (-0.03, 1.03), (-1.05, 1.05)

LEGEND = {"fontsize": "small", "loc": "upper center", "bbox_to_anchor": (0.5, -0.12), "ncol": 3}


def draw_self_play(iterations: Iterations, game: str, png: Path, data: Path = Path("data")) -> None:
    """Draws the PNG of these iterations; InputError without matplotlib. data: the folder of the
    solved table, by which the right moves are marked if it is there."""
    plt = pyplot()
    panels: list[tuple[str, Callable[[Axis, Iterations], None]]] = [
        ("losses (training)", _losses),
        ("policy entropy in nats (fresh games)", _entropies),
        ("value and outcome (fresh games)", _values),
        ("F1, mean over the classes (fresh games)", _f1),
        ("outcomes of the games", _outcomes),
        ("candidate against best, and Elo", _gate),
        ("share of starved nodes (FPU below -1)", _starved),
        ("value of the watched positions", _watched_values),
    ]
    figure, axes = plt.subplots(2, 5, figsize=(25, 10.5))
    places = [axis for row in axes for axis in row]
    for axis, (title, draw) in zip((*places[:4], *places[5:9]), panels, strict=True):
        _titled(axis, title)
        draw(axis, iterations)
    histories = watched(iterations, game_by_name(game), _truths(game_by_name(game), data))
    for axis, name in ((places[4], "start"), (places[9], "reply")):
        _titled(axis, f"policy of the {name}, leading moves")
        if name in histories:
            _policy(axis, histories[name], iterations, name)
    for axis in places:
        _finish(axis)
    figure.suptitle(f"{game}, self-play, {len(iterations)} iterations")
    figure.tight_layout()
    png.parent.mkdir(parents=True, exist_ok=True)
    save_png(figure, png)


def _truths(game: Game, data: Path) -> dict[str, PositionTruth]:
    """What an exact judge says about the watched positions; nothing without a judge, or if its
    table is damaged: curves are drawn without it."""
    try:
        judge, _ = judge_for(game, data)
        return {} if judge is None else watched_truths(judge, game)
    except FadefourError:
        return {}


def _titled(axis: Axis, title: str) -> None:
    axis.set_title(title)
    axis.set_xlabel("iteration")
    axis.grid(alpha=0.3)


def _finish(axis: Axis) -> None:
    """Whole iterations on the axis, and a legend below it, where it hides nothing."""
    axis.xaxis.get_major_locator().set_params(integer=True)
    if axis.get_legend_handles_labels()[1] and axis.get_legend() is None:
        axis.legend(**LEGEND)


def _from_zero(axis: Axis, least: float = 0.0) -> None:
    """An axis from 0, with a line along 0 in sight, up to ``least`` at least."""
    top = max(least, axis.get_ylim()[1])
    axis.set_ylim(-0.03 * top, top)


Point = tuple[int, float | None]
"""An iteration and a figure of it, if it has one."""


def _plot(axis: Axis, points: Iterable[Point], **style: Any) -> None:
    known = [(iteration, value) for iteration, value in points if value is not None]
    if known:
        axis.plot(*zip(*known, strict=True), marker=_marker(len(known)), **style)


def _marker(points: int) -> str | None:
    """Where there are many, marks would hide whether a line is dashed."""
    return "." if points <= MOST_MARKS else None


# ---- the panels ----------------------------------------------------------------------


def _losses(axis: Axis, iterations: Iterations) -> None:
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
    for label, get in parts.items():
        _plot(axis, [(number, get(training)) for number, training in trained], label=label)
    _fresh_games(axis, iterations, (("w/d/l, fresh games", ":", lambda side: side.wdl_loss),))
    _from_zero(axis)


Entry = tuple[str, str, Callable[[Assessment], float | None]]
"""Label, line style, and the figure of one side."""


def _fresh_games(axis: Axis, iterations: Iterations, entries: Sequence[Entry]) -> None:
    """Figures of the assessment of new games, a colour per side."""
    for side in SIDES:
        assessed = [
            (iteration.iteration, iteration.fresh.by_side()[side])
            for iteration in iterations
            if iteration.fresh is not None and side in iteration.fresh.by_side()
        ]
        for label, style, get in entries:
            points = [(number, get(assessment)) for number, assessment in assessed]
            name = f"{side}, {label}" if label else side
            look = {"color": COLOURS[side], "linewidth": WIDTHS[side], "linestyle": style}
            _plot(axis, points, label=name, **look)


def _entropies(axis: Axis, iterations: Iterations) -> None:
    entries: tuple[Entry, ...] = (
        ("network", "-", lambda side: side.network_entropy),
        ("targets", "--", lambda side: side.target_entropy),
        ("KL", ":", lambda side: side.kl),
    )
    _fresh_games(axis, iterations, entries)
    _from_zero(axis)


def _values(axis: Axis, iterations: Iterations) -> None:
    entries: tuple[Entry, ...] = (
        ("value", "-", lambda side: side.value),
        ("outcome", "--", lambda side: side.outcome),
    )
    _fresh_games(axis, iterations, entries)
    axis.set_ylim(*VALUES)


def _f1(axis: Axis, iterations: Iterations) -> None:
    _fresh_games(axis, iterations, (("", "-", lambda side: side.macro_f1),))
    axis.set_ylim(*SHARES)


def _outcomes(axis: Axis, iterations: Iterations) -> None:
    ends: dict[str, tuple[str, Callable[[Games], int]]] = {
        "first wins": (COLOURS["first"], lambda games: games.first_wins),
        "second wins": (COLOURS["second"], lambda games: games.second_wins),
        "draws": (NEUTRAL, lambda games: games.draws),
    }
    played = [
        (iteration.iteration, iteration.games)
        for iteration in iterations
        if iteration.games is not None and iteration.games.played
    ]
    for label, (colour, count) in ends.items():
        points = [(number, count(games) / games.played) for number, games in played]
        _plot(axis, points, color=colour, label=label)
    axis.set_ylim(*SHARES)


def _gate(axis: Axis, iterations: Iterations) -> None:
    """Scores as marks by what the gate decided; Elo on an axis of its own."""
    for accepted, mark, colour in ((True, "^", "tab:green"), (False, "x", "tab:orange")):
        matches = [
            (iteration.iteration, iteration.match.score)
            for iteration in iterations
            if iteration.accepted is accepted and iteration.match is not None
        ]
        axis.scatter(
            [number for number, _ in matches],
            [score for _, score in matches],
            marker=mark,
            color=colour,
            label=f"score, {'accepted' if accepted else 'rejected'}",
            zorder=3,
        )
    axis.set_ylim(*SHARES)
    axis.set_ylabel("score")
    elo = axis.twinx()
    points = [(iteration.iteration, iteration.elo) for iteration in iterations]
    _plot(elo, points, color=NEUTRAL, label="Elo (right axis)")
    elo.set_ylabel("Elo")
    handles = [
        pair for part in (axis, elo) for pair in zip(*part.get_legend_handles_labels(), strict=True)
    ]
    axis.legend(*zip(*handles, strict=True), **LEGEND)


def _starved(axis: Axis, iterations: Iterations) -> None:
    for side, name in enumerate(SIDES):
        points = [
            (iteration.iteration, iteration.games.starved[side] / iteration.games.open[side])
            for iteration in iterations
            if iteration.games is not None and iteration.games.open[side]
        ]
        _plot(axis, points, color=COLOURS[name], linewidth=WIDTHS[name], label=name)
    _from_zero(axis, 0.05)


def _watched_values(axis: Axis, iterations: Iterations) -> None:
    for name, side in (("start", "first"), ("reply", "second")):
        points = [
            (iteration.iteration, iteration.watch.by_name()[name].value)
            for iteration in iterations
            if iteration.watch is not None and name in iteration.watch.by_name()
        ]
        _plot(axis, points, color=COLOURS[side], label=f"{name} ({side} player)")
    axis.set_ylim(*VALUES)


def _policy(axis: Axis, history: WatchedHistory, iterations: Iterations, name: str) -> None:
    numbers = [
        iteration.iteration
        for iteration in iterations
        if iteration.watch is not None and name in iteration.watch.by_name()
    ]
    for move in history.leading:
        axis.plot(numbers, move.series, marker=_marker(len(numbers)), label=move.label)
    axis.set_ylim(*SHARES)
