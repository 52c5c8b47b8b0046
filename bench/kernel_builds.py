"""The builds of the kernels against each other, interleaved within one run.

    FADEFOUR_BUILDS="native x86-64-v2 x86-64-v3" python csrc/build.py
    python bench/kernel_builds.py native x86-64-v2 x86-64-v3

A process for each build loads it once. In every round each process does each piece of work in
turn, on one thread; the best CPU time of all rounds counts, compared with the first build's.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable


def works() -> dict[str, Callable[[], object]]:
    """What is measured, with everything that is needed for it prepared."""
    from search_speed import random_states

    from azfit import Search, SearchConfig, game_by_name
    from solver import Rules, audit_table, solve
    from solver.connect4.position import Connect4Position
    from solver.connect4.solver import Connect4Solver
    from solver.kernels import Crew

    rules, position = Rules(), Connect4Position.parse("444333")
    table, crew = solve(rules).table, Crew(1)
    measured: dict[str, Callable[[], object]] = {
        "solve 4x4 m=4": lambda: solve(rules, threads=1),
        "audit 4x4 m=4": lambda: audit_table(rules, table, crew),
        "Connect Four 444333": lambda: Connect4Solver().score(position),
    }
    for name, trees in {"drop-4-4-4": 3000, "connect4": 3000, "gomoku-15": 300}.items():
        game = game_by_name(name)
        search = Search(game, trees, SearchConfig(sims=200, noise_eps=0.0, reuse=False))
        states = random_states(game, trees, 10)

        def run(search: Search = search, states: object = states) -> None:
            search.reset(states)
            search.run_constant()

        measured[f"search {name}"] = run
    return measured


def answer_requests() -> None:
    """The process of one build: for each name of a work, its CPU time."""
    measured = works()
    print(*measured, sep="\t", flush=True)
    for line in sys.stdin:
        began = time.process_time()
        measured[line.strip()]()
        print(time.process_time() - began, flush=True)


def start(build: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, __file__, "--answer"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"FADEFOUR_KERNELS": build},
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("builds", nargs="*", default=["native"])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.answer:
        answer_requests()
        return
    processes = {build: start(build) for build in options.builds}
    for process in processes.values():
        names = process.stdout.readline().strip().split("\t")  # the same from all
    best = {(build, name): float("inf") for build in processes for name in names}
    for _ in range(options.rounds):
        for name in names:
            for build, process in processes.items():
                print(name, file=process.stdin, flush=True)
                best[build, name] = min(best[build, name], float(process.stdout.readline()))
    for process in processes.values():
        process.communicate()
    print(f"{'':<20}" + "".join(f"{build:>20}" for build in processes))
    for name in names:
        first = best[options.builds[0], name]
        cells = [
            f"{best[build, name]:.3f} s ({best[build, name] / first:.2f})" for build in processes
        ]
        print(f"{name:<20}" + "".join(f"{cell:>20}" for cell in cells))


if __name__ == "__main__":
    main()
