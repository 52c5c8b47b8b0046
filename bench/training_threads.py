"""Training steps per second by torch's threads and how they wait, on an idle and a busy machine.

``python bench/training_threads.py [--data DIR] [--seconds 4] [--rounds 3] [--busy 0 1 2]``

Each figure is one process of its own, since OpenMP reads its settings when torch is loaded. The
settings take turns, and the best of the rounds is printed (with the worst in brackets): other work
on the machine only ever slows a process down. ``--busy N`` adds N processes that do nothing but
spin; the share of the machine's CPU time in use, by whatever process, is printed with each.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# How a thread waits for work: spinning (OpenMP's default), asleep, or spinning for a moment.
WAITING = {
    "spinning": {},
    "passive": {"OMP_WAIT_POLICY": "PASSIVE"},
    "spin 1,000": {"GOMP_SPINCOUNT": "1000"},
    "spin 10,000": {"GOMP_SPINCOUNT": "10000"},
}
OPENMP = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "OMP_NUM_THREADS")

MEASURE = """
import sys, time, json
from pathlib import Path
sys.path.insert(0, sys.argv[1])
preset_name, data, threads, seconds = sys.argv[2], sys.argv[3], int(sys.argv[4]), float(sys.argv[5])
import torch
torch.set_num_threads(threads)
from azfit.oracle.config import preset
from azfit.oracle.run import Run
from azfit.oracle.table_teacher import TableTeacher
from solver import Rules, open_table
rules = Rules(3, 3, 3) if preset_name == "quick" else Rules(4, 4, 4)
with open_table(data, rules) as table:
    teacher = TableTeacher(table)
    run = Run(preset(preset_name, teacher), teacher, Path("unused"))
    for _ in range(5):
        run.learn(0.0)
    began, steps = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        run.learn(0.0)
        steps += 1
    print(json.dumps(steps / (time.perf_counter() - began)))
"""


def processor_time() -> tuple[float, float]:
    """Busy and total ticks of the whole machine so far."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    idle = fields[3] + fields[4]
    return sum(fields) - idle, float(sum(fields))


def steps_per_second(waiting: str, threads: int, preset: str, given: argparse.Namespace) -> float:
    environment = {name: value for name, value in os.environ.items() if name not in OPENMP}
    command = [sys.executable, "-c", MEASURE, str(ROOT), preset, str(given.data)]
    ended = subprocess.run(
        [*command, str(threads), str(given.seconds)],
        env={**environment, **WAITING[waiting]},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(json.loads(ended.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT / "build" / "bench")
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--busy", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--presets", nargs="+", default=["quick", "default"])
    given = parser.parse_args()
    settings = [
        (waiting, threads)
        for threads in given.threads
        for waiting in (WAITING if threads > 1 else ["spinning"])
    ]
    for preset in given.presets:
        for busy in given.busy:
            spinners = [
                subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)
            ]
            try:
                rates: dict[tuple[str, int], list[float]] = {setting: [] for setting in settings}
                used, total = processor_time()
                for _ in range(given.rounds):
                    for setting in settings:
                        rates[setting].append(steps_per_second(*setting, preset, given))
                now_used, now_total = processor_time()
            finally:
                for spinner in spinners:
                    spinner.kill()
                    spinner.wait()
            load = (now_used - used) / (now_total - total)
            print(f"{preset}, {busy} other processes ({load:.0%} of the machine in use):")
            for (waiting, threads), measured in rates.items():
                name = f"{threads} threads, {waiting}" if threads > 1 else "1 thread"
                print(f"  {name:<24} {max(measured):7.1f} steps/s  (worst {min(measured):.1f})")


if __name__ == "__main__":
    main()
