"""What the lines of a self-play run tell, by side: figures of late and their course.

Every function takes the lines of metrics.jsonl, one an iteration (docs/diagnostics.md lists their
entries). One iteration is a few dozen games, so "now" is the mean over the last ``LATELY``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from azfit.diagnosis.oscillation import swings
from azfit.games import Game
from azfit.self_play.assessment import CLASSES, SIDES, f1_scores, mean_f1
from azfit.self_play.config import SelfPlayConfig

Line = dict[str, Any]

LATELY = 10

FRESH = ("target_entropy", "network_entropy", "kl", "wdl_loss", "value", "outcome")

# Iterations over which what was learned and what came next are compared: fewer say little.
FEWEST_COMPARED = 3

# Fewer decisions than this say nothing of a rate of acceptance.
FEWEST_DECISIONS = 8


def mean(values: Iterable[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else None


# ---- the watched positions -----------------------------------------------------------


def watched(lines: list[Line], game: Game) -> dict[str, Any]:
    """Of the start and of the reply: the leading moves over time, and the value."""
    told = {}
    for name in ("start", "reply"):
        entries = [line["watch"][name] for line in lines if name in line.get("watch", {})]
        if not entries:
            continue
        moves = entries[-1]["moves"]
        state = game.play_all(moves)
        told[name] = {
            "moves": moves,
            "side": SIDES[game.to_move(state)],
            "value": entries[-1]["value"],
            "values": [round(one["value"], 4) for one in entries],
            **swings(game, state, [one["policy"] for one in entries]),
        }
    return told


# ---- by side -------------------------------------------------------------------------


def by_side(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Means of "fresh" entries over some iterations; F1 from their confusions together."""
    told = {}
    for side in SIDES:
        mine = [one[side] for one in entries if side in one]
        if not mine:
            continue
        confusion = np.sum([one["confusion"] for one in mine], axis=0)
        scores = f1_scores(confusion)
        classes = confusion.sum(axis=1)
        told[side] = {
            "positions": int(classes.sum()),
            **{name: mean(one.get(name) for one in mine) for name in FRESH},
            "classes": dict(zip(CLASSES, (classes / max(1, classes.sum())).tolist(), strict=True)),
            "f1": dict(zip(CLASSES, scores, strict=True)),
            "macro_f1": mean_f1(scores),
        }
    return told


def sides_lately(lines: list[Line]) -> dict[str, Any]:
    return by_side([line["fresh"] for line in lines[-LATELY:] if "fresh" in line])


def course(lines: list[Line]) -> list[dict[str, Any]]:
    """The figures by side of every iteration."""
    return [
        {
            "iteration": line["iteration"],
            **{
                side: {name: line["fresh"][side].get(name) for name in (*FRESH, "macro_f1")}
                for side in SIDES
                if side in line.get("fresh", {})
            },
        }
        for line in lines
    ]


def policy_loss(lines: list[Line]) -> dict[str, float] | None:
    """Of late: the loss, and its parts, the entropy of the targets and the KL above it."""
    told = [line["training"] for line in lines[-LATELY:] if "training" in line]
    if not told:
        return None
    loss, kl = (sum(one[name] for one in told) / len(told) for name in ("policy", "kl"))
    return {"loss": loss, "kl": kl, "target_entropy": loss - kl}


def value_loss(config: SelfPlayConfig, lines: list[Line]) -> dict[str, float] | None:
    """Of late: the win/draw/loss loss of the best network on what it had learned when it became
    the best and on the games that it played since, and how often a position is drawn."""
    told: list[tuple[float, float, float]] = []
    learned = None
    for line in lines:
        training = line.get("training", {})
        sides = [one for one in line.get("fresh", {}).values() if "wdl_loss" in one]
        positions = sum(one["positions"] for one in sides)
        if learned is not None and positions and training:
            fresh = sum(one["positions"] * one["wdl_loss"] for one in sides) / positions
            drawn = config.epochs * config.replay_ratio * training["positions"]
            told.append((learned, fresh, drawn / line["games"]["positions"]))
        if line.get("accepted"):
            learned = training.get("wdl_learned")
    if len(told) < FEWEST_COMPARED:
        return None
    means = np.mean(told[-LATELY:], axis=0).tolist()
    return dict(zip(("learned", "fresh", "times_drawn"), means, strict=True))


# ---- games ---------------------------------------------------------------------------


def outcomes(games: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Of "games" entries: how the games ended, as shares."""
    names = ("first_wins", "second_wins", "draws")
    counts = {name: sum(one[name] for one in games) for name in names}
    played = sum(counts.values())
    if not played:
        return None
    return {"games": played, **{name: counts[name] / played for name in names}}


def starved(games: list[dict[str, Any]]) -> dict[str, Any]:
    """Of "games" entries, by side: of the nodes with an untried move, the share whose FPU is
    below -1, or would be without the clamp."""
    told = {}
    for side, name in enumerate(SIDES):
        opened = sum(one["open"][side] for one in games)
        below = sum(one["starved"][side] for one in games)
        told[name] = {"open": opened, "share": below / opened if opened else None}
    return told


def games_lately(lines: list[Line]) -> list[dict[str, Any]]:
    return [line["games"] for line in lines[-LATELY:] if "games" in line]


# ---- buffer, gate, search ------------------------------------------------------------


def buffer_reach(config: SelfPlayConfig, lines: list[Line]) -> dict[str, Any]:
    """How many iterations of games the buffer holds when full, at the present rate."""
    rate = mean(one["positions"] for one in games_lately(lines))
    return {
        "capacity": config.buffer,
        "positions": lines[-1].get("training", {}).get("positions") if lines else None,
        "positions_per_iteration": rate,
        "iterations_held": config.buffer / rate if rate else None,
    }


def acceptance(config: SelfPlayConfig, lines: list[Line]) -> dict[str, Any] | None:
    """The share of candidates accepted, in the first and the second half of the run, and of games
    drawn in the matches of the second."""
    lines = [line for line in lines if "accepted" in line]
    decided = [bool(line["accepted"]) for line in lines]
    if not config.gate or not decided:
        return None
    half = len(decided) // 2
    since = next((i for i, one in enumerate(reversed(decided)) if one), len(decided))
    return {
        "decisions": len(decided),
        "rate": sum(decided) / len(decided),
        "early": sum(decided[:half]) / half if len(decided) >= FEWEST_DECISIONS else None,
        "late": sum(decided[half:]) / (len(decided) - half)
        if len(decided) >= FEWEST_DECISIONS
        else None,
        "rejected_in_a_row": since,
        "drawn": sum(sum(line["match"]["draws"]) for line in lines[half:])
        / sum(line["match"]["games"] for line in lines[half:]),
    }


def exploration(config: SelfPlayConfig) -> dict[str, Any]:
    """The c of PUCT at the root at the beginning and at the end of a search."""
    base = config.sims * config.c_base_factor
    first, last = (
        config.c_init + math.log((visits + base + 1) / base) for visits in (1, config.sims)
    )
    return {
        **{
            name: getattr(config, name)
            for name in (
                *("sims", "c_init", "c_base_factor", "fpu_reduction", "fpu_clamp", "fpu_dynamic"),
                *("lambda_steps", "noise_eps", "noise_steps"),
            )
        },
        "c_first": first,
        "c_last": last,
    }
