"""Curves of a self-play run as one PNG, by side wherever there are sides."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from azfit.diagnosis.run_history import watched
from azfit.games import game_by_name
from azfit.self_play.assessment import SIDES
from solver.plotting import pyplot, save_png

Line = dict[str, Any]
Axis = Any

# One colour a side in every panel; dashed is what was aimed at (targets, outcomes).
COLOURS = {"first": "tab:blue", "second": "tab:red"}
NEUTRAL = "tab:gray"

LEGEND = {"fontsize": "small", "loc": "upper center", "bbox_to_anchor": (0.5, -0.12), "ncol": 3}


def draw_self_play(lines: list[Line], game: str, png: Path) -> None:
    """Draws the PNG of these lines of metrics.jsonl; InputError without matplotlib."""
    plt = pyplot()
    panels: list[tuple[str, Callable[[Axis, list[Line]], None]]] = [
        ("losses (training)", _losses),
        ("policy entropy in nats (fresh games)", _entropies),
        ("value and outcome (fresh games)", _values),
        ("F1, mean of the classes (fresh games)", _f1),
        ("outcomes of the games", _outcomes),
        ("candidate against best, and Elo", _gate),
        ("open nodes with FPU below -1", _starved),
        ("value of the watched positions", _watched_values),
    ]
    figure, axes = plt.subplots(2, 5, figsize=(25, 10.5))
    places = [axis for row in axes for axis in row]
    for axis, (title, draw) in zip((*places[:4], *places[5:9]), panels, strict=True):
        _titled(axis, title)
        draw(axis, lines)
    told = watched(lines, game_by_name(game))
    for axis, name in ((places[4], "start"), (places[9], "reply")):
        _titled(axis, f"policy of the {name}, leading moves")
        if name in told:
            _policy(axis, told[name], lines)
    for axis in places:
        _finish(axis)
    figure.suptitle(f"{game}, self-play, {len(lines)} iterations")
    figure.tight_layout()
    png.parent.mkdir(parents=True, exist_ok=True)
    save_png(figure, png)


def _titled(axis: Axis, title: str) -> None:
    axis.set_title(title)
    axis.set_xlabel("iteration")
    axis.grid(alpha=0.3)


def _finish(axis: Axis) -> None:
    """Whole iterations on the axis, and a legend below it, where it hides nothing."""
    axis.xaxis.get_major_locator().set_params(integer=True)
    if axis.get_legend_handles_labels()[1] and axis.get_legend() is None:
        axis.legend(**LEGEND)


Keys = tuple[str | int, ...]


def _line(
    axis: Axis, lines: list[Line], keys: Keys, over: Keys | None = None, **style: Any
) -> None:
    """The entry at these keys, or its share of another one, over the iterations that have it."""
    points = []
    for line in lines:
        value = _entry(line, keys)
        if over is not None and value is not None:
            whole = _entry(line, over)
            value = value / whole if whole else None
        if value is not None:
            points.append((line["iteration"], value))
    if points:
        axis.plot(*zip(*points, strict=True), marker=".", **style)


def _entry(line: Line, keys: Keys) -> float | None:
    found: Any = line
    for key in keys:
        try:
            found = found[key]
        except (KeyError, IndexError, TypeError):
            return None
    return None if found is None else float(found)


# ---- the panels ----------------------------------------------------------------------


def _losses(axis: Axis, lines: list[Line]) -> None:
    names = {"loss": "all", "policy": "policy", "kl": "KL"}
    for name, label in {**names, "wdl": "w/d/l", "steps": "steps"}.items():
        _line(axis, lines, ("training", name), label=label)
    for side in SIDES:
        colour, label = COLOURS[side], f"{side}, w/d/l fresh"
        _line(axis, lines, ("fresh", side, "wdl_loss"), color=colour, linestyle=":", label=label)
    axis.set_ylim(bottom=0)


def _of_fresh_games(
    axis: Axis, lines: list[Line], entries: tuple[tuple[str, str, str], ...]
) -> None:
    """Entries (name, label, line style) of the assessment of new games, a colour a side."""
    for side in SIDES:
        for name, label, style in entries:
            _line(
                axis,
                lines,
                ("fresh", side, name),
                color=COLOURS[side],
                linestyle=style,
                label=f"{side}, {label}",
            )


def _entropies(axis: Axis, lines: list[Line]) -> None:
    entries = (("network_entropy", "network", "-"), ("target_entropy", "targets", "--"))
    _of_fresh_games(axis, lines, (*entries, ("kl", "KL", ":")))
    axis.set_ylim(bottom=0)


def _values(axis: Axis, lines: list[Line]) -> None:
    _of_fresh_games(axis, lines, (("value", "value", "-"), ("outcome", "outcome", "--")))
    axis.set_ylim(-1, 1)


def _f1(axis: Axis, lines: list[Line]) -> None:
    for side in SIDES:
        _line(
            axis,
            lines,
            ("fresh", side, "macro_f1"),
            color=COLOURS[side],
            label=side,
        )
    axis.set_ylim(0, 1)


def _outcomes(axis: Axis, lines: list[Line]) -> None:
    colours = {"first_wins": COLOURS["first"], "second_wins": COLOURS["second"], "draws": NEUTRAL}
    for name, colour in colours.items():
        _line(
            axis,
            lines,
            ("games", name),
            ("games", "played"),
            color=colour,
            label=name.replace("_", " "),
        )
    axis.set_ylim(0, 1)


def _gate(axis: Axis, lines: list[Line]) -> None:
    """Scores as marks by what the gate decided; Elo on an axis of its own."""
    for accepted, mark, colour in ((True, "^", "tab:green"), (False, "x", "tab:orange")):
        some = [line for line in lines if line.get("accepted") is accepted and "match" in line]
        axis.scatter(
            [line["iteration"] for line in some],
            [line["match"]["score"] for line in some],
            marker=mark,
            color=colour,
            label=f"score, {'accepted' if accepted else 'rejected'}",
            zorder=3,
        )
    axis.set_ylim(-0.05, 1.05)
    axis.set_ylabel("score")
    elo = axis.twinx()
    _line(elo, lines, ("elo",), color=NEUTRAL, label="Elo (right)")
    elo.set_ylabel("Elo")
    handles = [
        part for one in (axis, elo) for part in zip(*one.get_legend_handles_labels(), strict=True)
    ]
    axis.legend(*zip(*handles, strict=True), **LEGEND)


def _starved(axis: Axis, lines: list[Line]) -> None:
    for number, side in enumerate(SIDES):
        _line(
            axis,
            lines,
            ("games", "starved", number),
            ("games", "open", number),
            color=COLOURS[side],
            label=side,
        )
    axis.set_ylim(0, max(0.05, axis.get_ylim()[1]))


def _watched_values(axis: Axis, lines: list[Line]) -> None:
    for name, side in (("start", "first"), ("reply", "second")):
        _line(
            axis,
            lines,
            ("watch", name, "value"),
            color=COLOURS[side],
            label=f"{name} ({side} player)",
        )
    axis.set_ylim(-1, 1)


def _policy(axis: Axis, told: dict[str, Any], lines: list[Line]) -> None:
    iterations = [line["iteration"] for line in lines if "watch" in line]
    for move in told["leading"]:
        axis.plot(iterations, move["series"], marker=".", label=move["move"])
    axis.set_ylim(0, 1)
