"""The main figures of a diagnosis as one PNG: two positions, and what differs between the sides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from azfit.games import game_by_name
from azfit.self_play.assessment import SIDES
from solver.plotting import pyplot, save_png

Told = dict[str, Any]
Axis = Any

MOVES_SHOWN = 9

# Below the axis, where it hides nothing.
LEGEND = {"fontsize": "small", "loc": "upper center", "bbox_to_anchor": (0.5, -0.14), "ncol": 3}


def draw_diagnosis(told: Told, png: Path) -> None:
    """Policies of the start and the reply; entropies; starved nodes; value and outcome."""
    plt = pyplot()
    figure, axes = plt.subplots(1, 5, figsize=(25, 5))
    for axis, name in zip(axes[:2], ("start", "reply"), strict=True):
        axis.set_title(f"{name}: leading moves")
        if name in told["watch"]:
            _position(axis, told, name)
    _bars(
        axes[2],
        "policy entropy (nats)",
        {
            "network": [_side(told, s, "network_entropy") for s in SIDES],
            "targets": [_side(told, s, "target_entropy") for s in SIDES],
            "Jensen gap": [(told["jensen"] or {}).get(s, {}).get("gap") for s in SIDES],
        },
    )
    _bars(
        axes[3],
        "value and outcome",
        {name: [_side(told, s, name) for s in SIDES] for name in ("value", "outcome")},
    )
    _bars(
        axes[4],
        "search",
        {
            "open nodes with FPU < -1": [told["starved"][s]["share"] for s in SIDES],
            "another move by the clamp": [
                told.get("clamp", {}).get(s, {}).get("other_move") for s in SIDES
            ],
        },
    )
    axes[3].set_ylim(-1, 1)
    axes[4].set_ylim(0, 1)
    figure.suptitle(f"{told['subject']} ({told['game']})")
    figure.tight_layout()
    save_png(figure, png)


def _side(told: Told, side: str, name: str) -> float | None:
    value: float | None = told["sides"].get(side, {}).get(name)
    return value


def _position(axis: Axis, told: Told, name: str) -> None:
    """The network's and the searches' probability of each leading move, the truth by its name."""
    one, game = told["watch"][name], game_by_name(told["game"])
    truth = told["truth"].get(name, {"all_alike": True})
    right = set() if truth["all_alike"] else set(truth["right"])
    searches = told.get("repeats", {}).get(name, {}).get("policy")
    labels, network, search = [], [], []
    for move in one["leading"][:MOVES_SHOWN]:
        among = right & {game.action_name(action) for action in move["actions"]}
        labels.append(move["move"] + ("\nis right" if among else ""))
        network.append(move["now"])
        if searches is not None:
            search.append(sum(searches[action] for action in move["actions"]))
    _grouped_bars(axis, labels, {"network": network, "searches": search})
    axis.set_ylim(0, 1)


def _bars(axis: Axis, title: str, bars: dict[str, list[float | None]]) -> None:
    axis.set_title(title)
    _grouped_bars(axis, [f"{side} player" for side in SIDES], bars)


def _grouped_bars(axis: Axis, labels: list[str], bars: dict[str, Any]) -> None:
    width = 0.8 / len(bars)
    for number, (name, values) in enumerate(bars.items()):
        if values:
            places = [i + (number + 0.5) * width - 0.4 for i in range(len(labels))]
            axis.bar(places, [v or 0.0 for v in values], width, label=name)
    axis.axhline(0, color="black", linewidth=0.8)
    axis.set_xticks(range(len(labels)), labels, fontsize="small")
    axis.grid(alpha=0.3, axis="y")
    axis.legend(**LEGEND)
