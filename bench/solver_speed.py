"""``make bench``: the solver's speed, as ratios within one run.

Prints, for 4x4 m=4 k=4: the textbook X-win solve (bench/textbook.c, one thread), our solve of both
players on all slices, the audit, writing the files compared with plainly writing and checksumming
the same bytes, and probing. If the textbook's records do not equal ours byte for byte, the exit
code is 1. ``--m5`` adds 4x4 m=5 (5 GB of memory, about a minute). Short runs are repeated and the
median is shown. A solve for results alone is compared with the solve in turn, also by processor
time, which a busy machine distorts least.
"""

from __future__ import annotations

import argparse
import filecmp
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from solver import (
    Position,
    Rules,
    audit_table,
    open_table,
    solve,
    solve_results,
    write_table,
)
from solver.index import look_up_positions, node_count
from solver.kernels import Crew
from solver.machine import available_cores
from solver.merging import merge
from solver.records import data_path, swap_colours, write_wins

BENCH = Path(__file__).resolve().parent


def seconds(work: Callable[[], object], repeat: int = 1) -> float:
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def show(what: str, figure: str) -> None:
    print(f"{what:<58} {figure}", flush=True)


def textbook(folder: Path) -> tuple[float, Path]:
    program, records = folder / "textbook", folder / "textbook_xwin.data"
    flags = ["-O3", "-march=native", "-std=c11", "-Wall", "-Wextra"]
    subprocess.run(["gcc", *flags, str(BENCH / "textbook.c"), "-o", str(program)], check=True)
    out = subprocess.run(
        [str(program), "4", "4", "4", "--records", str(records)],
        check=True,
        capture_output=True,
        text=True,
    )
    return float(json.loads(out.stdout)["seconds"]["total"]), records


def plain_write(source: Path, target: Path) -> float:
    """Seconds to write and checksum the same bytes from memory, and nothing else."""
    data = memoryview(source.read_bytes())

    def write() -> None:
        whole = hashlib.sha256()
        with open(target, "wb", buffering=0) as out:
            for first in range(0, len(data), 1 << 20):
                part = data[first : first + (1 << 20)]
                whole.update(part)
                zlib.crc32(part)
                out.write(part)
            os.fsync(out.fileno())

    return seconds(write)


def bench_files(folder: Path, table: np.ndarray, rules: Rules) -> None:
    def wins() -> None:
        with Crew() as crew:
            swapped = swap_colours(rules, table, crew)
            for kind in ("xwin", "ywin"):
                write_wins(folder, kind, rules, table, swapped, crew)

    ours = seconds(wins)
    plain = sum(
        plain_write(data_path(folder, kind, rules), folder / "plain") for kind in ("xwin", "ywin")
    )
    show("X-win and Y-win files / plain write and checksum", f"{ours / plain:.2f} x the time")
    for complete in (False, True):
        ours = seconds(lambda c=complete: merge(folder, rules, complete=c))
        plain = plain_write(data_path(folder, "game_tree", rules), folder / "plain")
        name = "complete merge" if complete else "merge"
        show(f"{name} / plain write and checksum", f"{ours / plain:.2f} x the time")


def bench_probing(folder: Path, rules: Rules) -> None:
    with open_table(folder, rules) as table:
        nodes = np.random.default_rng(1).integers(0, node_count(rules), 1_000_000)
        arrays = look_up_positions(nodes.astype(np.uint64), rules)
        possible = table.bytes[nodes] != 255
        arrays = tuple(np.ascontiguousarray(array[possible]) for array in arrays)
        table.check_all()
        many = seconds(lambda: table.probe_many(*arrays), 5)
        show("probe_many, one thread, random positions", f"{possible.sum() / many / 1e6:.1f} M/s")
        position = Position.parse("a1b2c3d1/a2a3b4 y")
        single = seconds(lambda: [table.probe(position) for _ in range(10_000)], 5)
        show("probe, single", f"{single * 100:.1f} us")


def bench_results(rules: Rules, repeat: int) -> None:
    """A solve for results compared with the solve, one after the other."""
    works = (lambda: solve_results(rules), lambda: solve(rules))
    wall: list[list[float]] = [[], []]
    processor: list[list[float]] = [[], []]
    for _ in range(repeat):
        for place, work in enumerate(works):
            began = time.process_time()
            wall[place].append(seconds(work))
            processor[place].append(time.process_time() - began)
    (ours, theirs), (ours_cpu, theirs_cpu) = (
        map(statistics.median, times) for times in (wall, processor)
    )
    show(f"solve {rules.name} for results", f"{ours:.3f} s, {ours_cpu:.3f} s of processor time")
    show(
        "  / solve with plies",
        f"{ours / theirs:.2f} x the time, {ours_cpu / theirs_cpu:.2f} x the processor time",
    )


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--m5", action="store_true", help="also solve 4x4 m=5")
    options.add_argument("--no-textbook", action="store_true", help="skip the slow textbook")
    asked = options.parse_args()
    rules = Rules()
    show("threads", str(available_cores()))
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name)
        solution = solve(rules)
        kernel = seconds(lambda: solve(rules), 5)
        show("solve 4x4 m=4, both players, all slices", f"{kernel:.3f} s")
        show("  on one thread", f"{seconds(lambda: solve(rules, threads=1), 3):.3f} s")
        with Crew() as crew:
            audit = seconds(lambda: audit_table(rules, solution.table, crew), 3)
        show("full audit / solve", f"{audit / kernel:.2f} x the time")
        write_table(folder, solution)
        bench_files(folder, solution.table, rules)
        bench_probing(folder, rules)
        bench_results(rules, 5)
        if asked.m5:
            larger = seconds(lambda: solve(Rules(4, 5, 4)))
            show("solve 4x4 m=5 (4.2 billion nodes)", f"{larger:.1f} s")
            show("  / solve 4x4 m=4", f"{larger / kernel:.0f} x the time")
            bench_results(Rules(4, 5, 4), 1)
        if not asked.no_textbook:
            slow, records = textbook(folder)
            show("textbook X-win solve, one thread", f"{slow:.1f} s")
            show("  / our solve of both players", f"{slow / kernel:.0f} x the time")
            same = filecmp.cmp(records, data_path(folder, "xwin", rules), shallow=False)
            show("textbook records equal ours", "yes, byte for byte" if same else "NO")
            return 0 if same else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
