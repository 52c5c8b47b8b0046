"""A diagnosis for people: tables with a column for each side, then plain sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from azfit.columns import aligned
from azfit.diagnosis.outcome_findings import kept_how
from azfit.self_play.assessment import CLASSES, SIDES

Told = dict[str, Any]
Rows = list[list[str]]

COURSE_ROWS = 8  # iterations shown of a run, evenly spread


def number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.2f}"


def share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def evenly(length: int, wanted: int = COURSE_ROWS) -> list[int]:
    """Places of up to ``wanted`` entries of a list, the first and the last among them."""
    if length <= wanted:
        return list(range(length))
    return [round(i * (length - 1) / (wanted - 1)) for i in range(wanted)]


def text(told: Told) -> str:
    """The whole diagnosis."""
    parts = [
        f"{told['kind']} {told['subject']}: {told['game']}, {told['iterations']} iterations",
        *told["cut"],
        *_watched(told),
        *_course(told),
        _sides(told),
        *_searches(told),
        *_rest(told),
        in_sentences(told),
    ]
    return "\n\n".join(part for part in parts if part)


# ---- the watched positions -----------------------------------------------------------


def _watched(told: Told) -> list[str]:
    parts = []
    for name, one in told["watch"].items():
        title = f"{name} ({one['side']} player), network entropy {one['entropy']:.2f}"
        truth = told["truth"].get(name)
        if truth is not None:
            title += f"; exact: {truth['result']}, " + _kept(truth)
        rows = [["move", "now", "lately", "swing", "period", "in periods held", "over time"]]
        held = (told["buffer"] or {}).get("iterations_held")
        for move in one["leading"]:
            period = move["period"]
            few = move["amplitude"] is None
            rows.append(
                [
                    move["move"],
                    share(move["now"]),
                    share(move["late_mean"]),
                    "too few iterations" if few else f"±{move['amplitude']:.1%}",
                    "-" if period is None else f"{period:.0f}",
                    "-" if period is None or held is None else f"{held / period:.1f}",
                    _over_time(move["series"]),
                ]
            )
        parts.append(f"{title}\n{aligned(rows)}")
    return parts


def _kept(truth: Told) -> str:
    if truth["all_alike"]:
        return "whatever is played"
    likely = f" (network {truth['probability']:.0%})" if "probability" in truth else ""
    return f"{kept_how(truth)} by {' '.join(truth['right'])}{likely}"


def _over_time(series: Sequence[float]) -> str:
    return " ".join(f"{100 * series[i]:.0f}" for i in evenly(len(series)))


# ---- by side -------------------------------------------------------------------------


def _course(told: Told) -> list[str]:
    course = told["course"]
    if len(course) < 2:
        return []
    rows = [["iteration", *(f"{side} {what}" for side in SIDES for what in COURSE)]]
    for i in evenly(len(course)):
        cells = [
            number(course[i].get(side, {}).get(name)) for side in SIDES for name in COURSE.values()
        ]
        rows.append([str(course[i]["iteration"]), *cells])
    return ["entropy of network and targets, KL, over time\n" + aligned(rows)]


COURSE = {"net": "network_entropy", "targets": "target_entropy", "KL": "kl"}


def _sides(told: Told) -> str:
    """Everything that is one figure a side."""
    sides, gaps = told["sides"], told["jensen"] or {}
    rows: Rows = [["now, by side", *SIDES]]

    def add(title: str, get: Callable[[str], str]) -> None:
        rows.append([title, *(get(side) if side in sides else "-" for side in SIDES)])

    add("entropy of the network", lambda s: number(sides[s]["network_entropy"]))
    add("entropy of the targets", lambda s: number(sides[s]["target_entropy"]))
    add("KL", lambda s: number(sides[s]["kl"]))
    add("Jensen gap of the targets", lambda s: number(gaps.get(s, {}).get("gap")))
    add("  over positions met again", lambda s: share(gaps.get(s, {}).get("repeated_share")))
    add("win/draw/loss loss, fresh games", lambda s: number(sides[s]["wdl_loss"]))
    add("value", lambda s: signed(sides[s]["value"]))
    add("outcome", lambda s: signed(sides[s]["outcome"]))
    for name in CLASSES:
        add(f"share of {name}", lambda s, n=name: share(sides[s]["classes"][n]))  # type: ignore[misc]
    for name in CLASSES:
        add(f"F1 of {name}", lambda s, n=name: number(sides[s]["f1"][n]))  # type: ignore[misc]
    add("F1, mean", lambda s: number(sides[s]["macro_f1"]))
    add("open nodes with FPU < -1", lambda s: share(told["starved"][s]["share"]))
    return aligned(rows + _truth_rows(told))


def _truth_rows(told: Told) -> Rows:
    found = told.get("blunders", {})
    rows: Rows = []
    for mover in ("network", "clamp on", "clamp off", "lambda 0"):
        if mover in found:
            name = "network alone" if mover == "network" else f"search, {mover}"
            cells = [share(found[mover].get(side, {}).get("blunders")) for side in SIDES]
            rows.append([f"blunders (exact), {name}", *cells])
    if "value" in found:
        for what in ("bias", "error"):
            cells = [signed(found["value"].get(side, {}).get(what)) for side in SIDES]
            rows.append([f"value against the truth, {what}", *cells])
    return rows


# ---- searches, games, gate -----------------------------------------------------------


def _searches(told: Told) -> list[str]:
    rows: Rows = [["searched anew", *SIDES]]
    for key, title in (("clamp", "clamp on/off"), ("steps_head", "lambda as it is/0")):
        if key not in told:
            continue
        one = told[key]

        def add(what: str, get: Callable[[Told], str], title: str = title, one: Told = one) -> None:
            cells = [get(one[side]) if side in one else "-" for side in SIDES]
            rows.append([f"{title}: {what}", *cells])

        add("another move chosen", lambda o: share(o["other_move"]))
        add("distance of visits", lambda o: number(o["distance"], 3))
        add("visits of the second move", lambda o: "/".join(number(v, 1) for v in o[SECOND]))
        add("moves not tried", lambda o: "/".join(number(v, 1) for v in o["untried_moves"]))
    parts = [aligned(rows)] if len(rows) > 1 else []
    if "repeats" in told:
        parts.append(
            "\n".join(
                f"{one['repeats']} searches of the {name} with noise: entropy "
                f"{one['entropy']:.2f}, Jensen gap {one['gap']:.3f}"
                for name, one in told["repeats"].items()
            )
        )
    return parts


SECOND = "second_visits"


def _rest(told: Told) -> list[str]:
    lines = []
    if (one := told["outcomes"]) is not None:
        lines.append(
            f"outcomes of {one['games']} games: first {one['first_wins']:.0%}, second "
            f"{one['second_wins']:.0%}, draws {one['draws']:.0%}"
        )
    if (one := told["acceptance"]) is not None:
        halves = ""
        if one["early"] is not None:
            halves = (
                f"; first half {one['early']:.0%} (50-70 % is usual), second half "
                f"{one['late']:.0%} (20-40 %)"
            )
        lines.append(f"accepted {one['rate']:.0%} of {one['decisions']} candidates{halves}")
    if (one := told["buffer"]) is not None and one["iterations_held"] is not None:
        lines.append(
            f"buffer of {one['capacity']:,} positions: {one['iterations_held']:.0f} iterations of "
            f"{one['positions_per_iteration']:.0f}"
        )
    there = "exact judge: " if told["truth"]["there"] else "no exact judge: "
    lines.append(there + told["truth"]["judge"])
    return ["\n".join(lines)]


# ---- sentences -----------------------------------------------------------------------


def in_sentences(told: Told) -> str:
    """What looks wrong, then what is worth knowing."""
    wrong = [one["sentence"] for one in told["findings"] if one["level"] == "wrong"]
    notes = [one["sentence"] for one in told["findings"] if one["level"] == "note"]
    lines = ["looks wrong:", *(f"- {s}" for s in wrong)] if wrong else ["nothing looks wrong"]
    if notes:
        lines += ["worth knowing:", *(f"- {s}" for s in notes)]
    return "\n".join(lines)
