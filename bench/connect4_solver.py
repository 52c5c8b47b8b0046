"""The Connect Four solver: nodes and time by set, and the empty board from a cold start.

    python bench/connect4_solver.py             # sets of FADEFOUR_CONNECT4_SETS, empty board
    python bench/connect4_solver.py --limit 50 --megabytes 256 --no-empty FILE...

Without files, and if FADEFOUR_CONNECT4_SETS is not set, the tests' own positions are used, which
are late and easy. Time is CPU time on one thread.
"""

from __future__ import annotations

import time
from pathlib import Path

import click

from solver.connect4 import MEGABYTES, Connect4Position, Connect4Solver
from solver.connect4.sets import Scored, read_set, set_files

OWN = Path(__file__).resolve().parent.parent / "tests" / "connect4_positions.txt"


def solve_all(solver: Connect4Solver, positions: list[Scored]) -> tuple[int, int, list[float]]:
    """Correct scores, nodes, and the seconds of each position."""
    correct, before, seconds = 0, solver.nodes, []
    for position, score in positions:
        began = time.process_time()
        correct += solver.score(position) == score
        seconds.append(time.process_time() - began)
    return correct, solver.nodes - before, seconds


@click.command()
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--limit", type=int, help="Use only the first N positions of each file.")
@click.option("--megabytes", default=MEGABYTES, show_default=True, help="Size of the table.")
@click.option("--empty/--no-empty", default=True, show_default=True, help="Also the empty board.")
def main(files: tuple[Path, ...], limit: int | None, megabytes: int, empty: bool) -> None:
    """Print mean nodes and time of each set, each started with an empty table."""
    print(f"table of {megabytes} MB, one thread, CPU time")
    for path in files or set_files() or [OWN]:
        positions = read_set(path)[:limit]
        with Connect4Solver(megabytes) as solver:
            solver.forget()  # touches the memory, so that the first position does not pay for it
            correct, nodes, seconds = solve_all(solver, positions)
        print(
            f"  {path.stem:<20} {correct:4} of {len(positions):4} correct"
            f" {nodes / len(positions):14,.1f} nodes"
            f" {1000 * sum(seconds) / len(positions):10.3f} ms per position;"
            f" longest {max(seconds):7.2f} s, all {sum(seconds):7.1f} s",
            flush=True,
        )
    if empty:
        with Connect4Solver(megabytes) as solver:
            began = time.process_time()
            score = solver.score(Connect4Position())
            spent = time.process_time() - began
        print(
            f"  empty board          score {score:+d} {solver.nodes:,} nodes {spent:.1f} s,"
            f" {solver.nodes / spent / 1e6:.1f} M nodes/s"
        )


if __name__ == "__main__":
    main()
