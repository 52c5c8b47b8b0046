"""The solver of forced wins in Gomoku: nodes and time per position, by question.

    python bench/gomoku_solver.py                       # 300 positions of random play, 15 lines
    python bench/gomoku_solver.py --size 9 --plies 7 --plies 9
    python bench/gomoku_solver.py --run runs/gomoku     # positions of a self-play run's games

Random play is that of ``fadefour grade``: stones at random close to others, 8 to 60 plies. Time is
processor time; every question begins with an empty table.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np

from azfit.games import Gomoku, States, game_by_name
from azfit.grading.gomoku.positions import random_positions
from solver.errors import InputError
from solver.gomoku import Cells, ForcedPlay, GomokuTactics
from solver.gomoku.judge import GomokuJudge

Ask = Callable[[Cells, int], object]


def played(run: Path, count: int, seed: int) -> tuple[Gomoku, States]:
    """Positions of a run's games, drawn at random."""
    from azfit.diagnosis.stored_games import read_games
    from azfit.self_play.config_sources import read_config

    game = game_by_name(read_config(run).game)
    if not isinstance(game, Gomoku):
        raise InputError(f"'{run}' plays {game.name}: give a run of Gomoku")
    states = read_games(run, game).newest(10**6).states
    return game, states[np.random.default_rng(seed).permutation(len(states))[:count]]


def measure(name: str, boards: list[tuple[Cells, int]], ask: Ask, nodes: Callable[[], int]) -> None:
    seconds, before, answers = [], nodes(), Counter[str]()
    for cells, side in boards:
        began = time.process_time()
        answers[str(ask(cells, side))] += 1
        seconds.append(time.process_time() - began)
    spent, tried, milliseconds = sum(seconds), nodes() - before, 1000 * np.array(seconds)
    print(
        f"{name:<28} {milliseconds.mean():9.3f} ms mean {np.median(milliseconds):8.3f} median "
        f"{milliseconds.max():10.1f} max {tried / len(boards):11.1f} nodes "
        f"{tried / spent:11,.0f} nodes/s  {dict(sorted(answers.items()))}",
        flush=True,
    )


@click.command()
@click.option("--run", type=click.Path(path_type=Path), help="Positions of this run's games.")
@click.option("--size", default=15, show_default=True, help="Lines of the board.")
@click.option("--positions", default=300, show_default=True)
@click.option("--plies", multiple=True, type=int, default=[7, 9, 11], show_default=True)
@click.option("--nodes", default=1_000_000, show_default=True, help="Limit of each question.")
@click.option("--seed", default=1, show_default=True)
def main(
    run: Path | None, size: int, positions: int, plies: tuple[int, ...], nodes: int, seed: int
) -> None:
    game = Gomoku(size)
    states = random_positions(game, positions, seed).states
    if run is not None:
        game, states = played(run, positions, seed)
    boards = [(np.ascontiguousarray(code[:-1]), int(code[-1])) for code in game.encode(states)]
    print(f"{len(boards)} positions of {game.name}")
    with GomokuTactics(game.rows) as tactics:
        measure(
            "fours",
            boards,
            lambda cells, side: tactics.fours(cells, side, most_nodes=nodes).answer,
            lambda: tactics.nodes,
        )
    for bound in plies:
        with GomokuTactics(game.rows) as tactics:
            play = ForcedPlay(tactics, threes=True, plies=bound, most_nodes=nodes)
            measure(
                f"fours and threes, {bound} plies",
                boards,
                lambda cells, side, play=play: play.attack(cells, side).answer,  # type: ignore[misc]
                lambda tactics=tactics: tactics.nodes,  # type: ignore[misc]
            )
    with GomokuJudge(game.rows) as judge:
        measure(
            "what is at stake",
            boards,
            lambda cells, side: judge.stake(cells, side).task or "nothing",
            lambda: judge.nodes,
        )


if __name__ == "__main__":
    main()
