"""The Connect Four solver: nodes and time by set, and the empty board from a cold start.

    python bench/connect4_solver.py             # sets of FADEFOUR_CONNECT4_SETS, empty board
    python bench/connect4_solver.py --limit 50 --megabytes 256 --no-empty FILE...

Without files, and if FADEFOUR_CONNECT4_SETS is not set, the tests' own positions are used, which
are late and easy. Time is CPU time, of all threads together.

    python bench/connect4_solver.py --together 4444 --together 71235 --threads 1 --threads 2

solves each of these positions on threads that search it together. Nodes per thread say what the
threads save, whatever else the machine is doing.
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


def solve_together(text: str, threads: int, megabytes: int) -> None:
    """One position from a cold start."""
    with Connect4Solver(megabytes, threads=threads, book=None) as solver:
        solver.forget()
        began = time.perf_counter()
        score = solver.score(Connect4Position.parse(text))
        spent = time.perf_counter() - began
    print(
        f"  {text:<12} {threads} threads: score {score:+d}, {solver.nodes / 1e6:7.1f} M nodes,"
        f" {solver.nodes / threads / 1e6:7.1f} M per thread, {spent:6.1f} s passed",
        flush=True,
    )


@click.command()
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--limit", type=int, help="Use only the first N positions of each file.")
@click.option("--megabytes", default=MEGABYTES, show_default=True, help="Size of the table.")
@click.option("--empty/--no-empty", default=True, show_default=True, help="Also the empty board.")
@click.option("--together", multiple=True, help="Only this position, on --threads; repeatable.")
@click.option("--threads", type=int, multiple=True, default=[1], help="For --together; repeatable.")
def main(
    files: tuple[Path, ...],
    limit: int | None,
    megabytes: int,
    empty: bool,
    together: tuple[str, ...],
    threads: tuple[int, ...],
) -> None:
    """Print mean nodes and time of each set, each started with an empty table."""
    for text in together:
        for count in threads:
            solve_together(text, count, megabytes)
    if together:
        return
    print(f"table of {megabytes} MB, one thread, CPU time")
    for path in files or set_files() or [OWN]:
        positions = read_set(path)[:limit]
        with Connect4Solver(megabytes, book=None) as solver:
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
        with Connect4Solver(megabytes, book=None) as solver:
            began = time.process_time()
            score = solver.score(Connect4Position())
            spent = time.process_time() - began
        print(
            f"  empty board          score {score:+d} {solver.nodes:,} nodes {spent:.1f} s,"
            f" {solver.nodes / spent / 1e6:.1f} M nodes/s"
        )


if __name__ == "__main__":
    main()
