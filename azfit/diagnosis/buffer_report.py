"""What the replay buffer of a run holds, by side: the games on disk, the newest positions of them.

inspected = inspect_buffer(Path("runs/four"))
print(text(inspected))
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from azfit.columns import aligned
from azfit.diagnosis.contradiction import (
    Groups,
    canonical,
    gaps_by_side,
    grouped,
    keys_of,
    most_compared,
)
from azfit.diagnosis.diagnose import read_self_play_config
from azfit.diagnosis.finding import Finding
from azfit.diagnosis.findings import findings
from azfit.diagnosis.outcome_findings import balance, one_outcome
from azfit.diagnosis.report import evenly, in_sentences, number, share
from azfit.diagnosis.run_history import outcomes as shares_of
from azfit.diagnosis.search_findings import contradiction
from azfit.diagnosis.stored_games import StoredGames, read_games
from azfit.diagnosis.truth import RESULT_NAMES, Oracle, oracle_for
from azfit.games import DropOldest, Game, States, game_by_name
from azfit.self_play.assessment import CLASSES, SIDES, entropies
from azfit.self_play.episode import DRAWN, Episode
from solver.errors import InputError

Told = dict[str, Any]

MOST_FREQUENT = 8  # positions shown
MOVES_SHOWN = 3  # of each
LENGTHS = (0, 10, 25, 50, 75, 90, 100)  # percentiles


def inspect_buffer(folder: Path, data: Path = Path("data")) -> Told:
    """Figures of the games in this run's folder, the truth beside them if ``data`` holds the table
    (Connect Four needs none), and what looks wrong."""
    config = read_self_play_config(folder)
    game = game_by_name(config.game)
    stored = read_games(folder, game)
    if not stored.episodes:
        raise InputError(f"'{folder}' has no games yet: let it run, or give another run")
    buffer = stored.newest(config.buffer)
    compared = stored.newest(min(config.buffer, most_compared(game)))
    keys, policies = canonical(game, compared.states, compared.targets)
    groups = grouped(keys, policies, compared.sides)
    oracle, judge_name = oracle_for(game, data)
    told = {
        "run": str(folder),
        "game": config.game,
        "cut": stored.cut,
        "capacity": config.buffer,
        "games_on_disk": len(stored.episodes),
        "positions_on_disk": len(stored),
        "games": len(buffer.episodes),
        "positions": len(buffer),
        "by_iteration": by_iteration(buffer),
        "outcomes": outcomes(buffer.episodes),
        "lengths": lengths(buffer.episodes),
        "compared": len(compared),
        "distinct": {
            "as_played": distinct(keys_of(game, compared.states), compared.sides),
            "up_to_symmetry": len(groups.first) / len(compared),
        },
        "sides": sides_told(buffer),
        "jensen": gaps_by_side(groups, compared.sides),
        "entropy_by_ply": entropy_by_ply(buffer),
        "frequent": frequent(game, compared, groups, oracle),
        "judge": judge_name,
        "options": {
            "balance_sampling": config.balance_sampling,
            "random_plies": config.random_plies,
        },
        "truth": {},
    }
    if oracle is not None:
        start = oracle.results(game.start()[None])[0]
        told["truth"] = {"start": {"result": RESULT_NAMES[int(start)]}}
    told["findings"] = [one.to_dict() for one in findings_in(told)]
    return told


def findings_in(told: Told) -> list[Finding]:
    """What looks wrong in these figures, by the rules of a diagnosis that need no more."""
    seen = {**told, "outcomes": shares_of([told["outcomes"]])}
    return findings(seen, (balance, one_outcome, contradiction))


# ---- figures -------------------------------------------------------------------------


def by_iteration(buffer: StoredGames) -> list[Told]:
    found, counts = np.unique(buffer.iterations, return_counts=True)
    return [
        {"iteration": int(i) + 1, "positions": int(n)} for i, n in zip(found, counts, strict=True)
    ]


def outcomes(episodes: list[Episode]) -> Told:
    winners = [one.winner for one in episodes]
    return {
        "first_wins": winners.count(0),
        "second_wins": winners.count(1),
        "draws": winners.count(DRAWN),
    }


def lengths(episodes: list[Episode]) -> Told:
    plies = np.array([one.length for one in episodes])
    spread = {str(p): float(np.percentile(plies, p)) for p in LENGTHS}
    return {"mean": float(plies.mean()), "percentiles": spread}


def distinct(keys: NDArray[np.uint64], sides: NDArray[np.int8]) -> float:
    """The share of positions left when equal ones count once."""
    found = sum(len(np.unique(keys[sides == side])) for side in range(2))
    return found / len(keys)


def sides_told(buffer: StoredGames) -> Told:
    """By side to move: outcomes of the positions' games, entropy of the targets, values."""
    told = {}
    spread = entropies(buffer.targets)
    for side, name in enumerate(SIDES):
        mine = buffer.sides == side
        if not mine.any():
            continue
        classes = np.bincount(buffer.wdl[mine], minlength=3) / mine.sum()
        told[name] = {
            "positions": int(mine.sum()),
            "classes": dict(zip(CLASSES, classes.tolist(), strict=True)),
            "target_entropy": float(spread[mine].mean()),
            "search_value": float(buffer.values[mine].mean()),
            "outcome": float(classes[0] - classes[2]),
        }
    return told


def entropy_by_ply(buffer: StoredGames) -> list[Told]:
    """Of the targets, at each ply, and how many positions that is of."""
    spread = entropies(buffer.targets)
    counts = np.bincount(buffer.plies)
    sums = np.bincount(buffer.plies, spread)
    return [
        {"ply": ply, "side": SIDES[ply % 2], "positions": int(n), "entropy": float(total / n)}
        for ply, (n, total) in enumerate(zip(counts, sums, strict=True))
        if n
    ]


def frequent(game: Game, buffer: StoredGames, groups: Groups, oracle: Oracle | None) -> list[Told]:
    """The positions met most often: an example, its mean target, what became of it, the truth."""
    told = []
    for group in np.argsort(-groups.members, kind="stable")[:MOST_FREQUENT]:
        rows = np.flatnonzero(groups.of == group)
        one = int(groups.first[group])
        mean = _as_in(game, buffer, one, groups.mean[group])
        order = np.argsort(-mean, kind="stable")[:MOVES_SHOWN]
        told.append(
            {
                "position": position_name(game, buffer, one),
                "side": SIDES[int(buffer.sides[one])],
                "exact": exact_result(oracle, buffer.states[one : one + 1]),
                "times": len(rows),
                "gap": float(groups.gap[group]),
                "outcome": float((buffer.wdl[rows] == 0).mean() - (buffer.wdl[rows] == 2).mean()),
                "target": {game.action_name(int(a)): round(float(mean[a]), 4) for a in order},
            }
        )
    return told


def exact_result(oracle: Oracle | None, state: States) -> str | None:
    """For the side to move, where it is known."""
    if oracle is None or not oracle.known(state)[0]:
        return None
    return RESULT_NAMES[int(oracle.results(state)[0])]


def _as_in(
    game: Game, buffer: StoredGames, row: int, mean: NDArray[np.float64]
) -> NDArray[np.float64]:
    """A mean target of the canonical position, carried back to this position's board."""
    state = buffer.states[row : row + 1]
    images = [int(keys_of(game, state, t)[0]) for t in range(game.symmetries)]
    return np.asarray(mean[game.action_image[images.index(min(images))]])


def position_name(game: Game, buffer: StoredGames, row: int) -> str:
    """In the game's notation, or as the moves that led to it."""
    if isinstance(game, DropOldest):
        return str(game.position(buffer.states[row]))
    at = row + buffer.skipped
    for episode in buffer.episodes:
        if at < episode.plies:
            played = (*episode.opening, *episode.actions[:at])
            moves = [game.action_name(int(action)) for action in played]
            return ("" if game.name == "connect4" else " ").join(moves) or "start"
        at -= episode.plies
    raise AssertionError("row beyond the games")


# ---- in words ------------------------------------------------------------------------


def text(told: Told) -> str:
    parts = [_head(told), *told["cut"], _by_side(told), _plies(told), _frequent(told)]
    there = "exact judge: " if told["truth"] else "no exact judge: "
    parts += [there + told["judge"], in_sentences(told)]
    return "\n\n".join(part for part in parts if part)


def _head(told: Told) -> str:
    held, ended, spread = told["by_iteration"], told["outcomes"], told["lengths"]
    total = sum(ended.values())
    quantiles = " ".join(f"{v:.0f}" for v in spread["percentiles"].values())
    full = "full" if told["positions"] >= told["capacity"] else "not full yet"
    counts = " ".join(f"{held[i]['iteration']}:{held[i]['positions']}" for i in evenly(len(held)))
    return "\n".join(
        [
            f"{told['run']}: {told['game']}, {told['games']:,} games with {told['positions']:,} "
            f"positions in a buffer of {told['capacity']:,} ({full})",
            f"it holds {len(held)} iterations, {held[0]['iteration']} to {held[-1]['iteration']}; "
            f"positions by iteration {counts}",
            f"outcomes: first {ended['first_wins'] / total:.1%}, second "
            f"{ended['second_wins'] / total:.1%}, draws {ended['draws'] / total:.1%}",
            f"plies of a game: mean {spread['mean']:.1f}; percentiles "
            f"{' '.join(spread['percentiles'])}: {quantiles}",
            f"distinct positions: {told['distinct']['as_played']:.1%} as played, "
            f"{told['distinct']['up_to_symmetry']:.1%} up to symmetry"
            + (
                ""
                if told["compared"] == told["positions"]
                else f", of the newest {told['compared']:,}"
            ),
        ]
    )


def _by_side(told: Told) -> str:
    sides, gaps = told["sides"], told["jensen"]
    there = [side for side in SIDES if side in sides]
    rows = [
        ["by side to move", *there],
        ["positions", *(f"{sides[s]['positions']:,}" for s in there)],
    ]
    for name in CLASSES:
        rows.append([f"games ended in {name}", *(share(sides[s]["classes"][name]) for s in there)])
    rows.append(["entropy of the targets", *(number(sides[s]["target_entropy"]) for s in there)])
    rows.append(["Jensen gap", *(number(gaps[s]["gap"], 3) for s in there)])
    rows.append(["  over positions met again", *(share(gaps[s]["repeated_share"]) for s in there)])
    rows.append(["value of the searches", *(f"{sides[s]['search_value']:+.2f}" for s in there)])
    rows.append(["outcome", *(f"{sides[s]['outcome']:+.2f}" for s in there)])
    return aligned(rows)


def _plies(told: Told) -> str:
    plies = told["entropy_by_ply"]
    shown = [plies[i] for i in evenly(len(plies), 12)]
    rows = [
        ["ply", *(str(one["ply"]) for one in shown)],
        ["positions", *(str(one["positions"]) for one in shown)],
        ["entropy of the targets", *(number(one["entropy"]) for one in shown)],
    ]
    return aligned(rows)


def _frequent(told: Told) -> str:
    rows = [["most frequent", "times", "gap", "outcome", "exact", "mean target"]]
    for one in told["frequent"]:
        target = "  ".join(f"{move} {100 * p:.0f} %" for move, p in one["target"].items())
        rows.append(
            [
                one["position"],
                str(one["times"]),
                number(one["gap"], 3),
                f"{one['outcome']:+.2f}",
                one["exact"] or "-",
                target,
            ]
        )
    return aligned(rows)
