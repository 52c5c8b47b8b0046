"""Fuzzes every target and prints a table: ``make fuzz``, or python tests/fuzz/run.py --help.

Targets take turns of some minutes, always the one that is furthest behind its share of the runs.
So what has been run when --minutes are over, or when it is interrupted, is a sample of the whole;
with --figures the counts are kept, and the same command goes on from there. What a target printed
last, what it added to its inputs, and the inputs that broke it are under build/fuzz. Exits with 1
if something was found.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[number]) for number in (2, 1)]

from fuzz.figures import Figures, table  # noqa: E402
from fuzz.fuzzer import Fuzzer  # noqa: E402
from fuzz.targets import BY_NAME, TARGETS, Target  # noqa: E402

RUNS = 10_000_000
ROUND_SECONDS = 600  # a target in Python takes up to 20 seconds of a processor to begin


def missing(targets: Sequence[Target]) -> list[str]:
    """What these targets need and this machine lacks, and how to get it."""
    problems = []
    if any(target.is_c for target in targets) and not can_compile():
        problems.append(
            "clang with libFuzzer is missing (on Debian: apt-get install clang libclang-rt-dev)"
        )
    if not all(target.is_c for target in targets) and find_spec("atheris") is None:
        python = min(sys.executable, os.path.relpath(sys.executable), key=len)
        problems.append(f"atheris is missing: {python} -m pip install atheris")
    return problems


def can_compile() -> bool:
    if shutil.which("clang") is None:
        return False
    compiled = subprocess.run(
        ["clang", "-fsanitize=fuzzer,address,undefined", "-x", "c", "-", "-o", os.devnull],
        input="int LLVMFuzzerTestOneInput(const char *d, long s) { return !d && s; }",
        text=True,
        capture_output=True,
        check=False,
    )
    return compiled.returncode == 0


class Campaign:
    """Rounds of all targets until each has its share of the runs. For several threads."""

    def __init__(
        self, targets: Sequence[Target], runs: int, seed: int, figures: Figures, until: float
    ) -> None:
        self.figures, self._seed, self._until = figures, seed, until
        shares = sum(target.share for target in targets)
        self._wanted = {t: max(1, round(runs * t.share / shares)) for t in targets}
        self.fuzzers = {target: Fuzzer(target) for target in targets}
        self._waiting = list(targets)
        self.failed: list[Target] = []
        self._lock = threading.Lock()

    def left(self, target: Target) -> int:
        return self._wanted[target] - self.figures.of(target).runs

    def stop(self) -> None:
        """Ends the rounds that run, and begins no others."""
        self._until = -math.inf
        for target, fuzzer in self.fuzzers.items():
            if target not in self._waiting and target not in self.failed:
                fuzzer.stop()

    def work(self) -> None:
        """Until no target that waits has runs left, or the time is up."""
        while time.monotonic() < self._until:
            with self._lock:
                behind = [target for target in self._waiting if self.left(target) > 0]
                if not behind:
                    return
                target = max(behind, key=lambda t: self.left(t) / self._wanted[t])
                self._waiting.remove(target)
            self._fuzz(target)

    def _fuzz(self, target: Target) -> None:
        tally = self.figures.of(target)
        done = self.fuzzers[target].fuzz(
            self.left(target), ROUND_SECONDS, self._seed + tally.rounds * len(TARGETS)
        )
        with self._lock:
            tally.add(done)
            self.figures.save()
            if (done.failed or not done.runs) and time.monotonic() < self._until:
                self.failed.append(target)  # for someone to look at before it goes on
            else:
                self._waiting.append(target)
        print(f"{target.name}: {tally.runs:,} runs in {tally.seconds:,.0f} s", flush=True)


def options_from(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Fuzzes everything that reads untrusted bytes.")
    add = parser.add_argument
    add("--runs", type=int, default=RUNS, help="of all targets together")
    add("--seed", type=int, default=1)
    add("--jobs", type=int, default=2, help="targets at a time")
    add("--figures", type=Path, metavar="FILE", help="go on from these counts, and keep them")
    add("--minutes", type=float, default=math.inf, help="begin no round after these minutes")
    add("--minimise", action="store_true", help="write the inputs that reach most as the corpus")
    add("targets", nargs="*", choices=[[], *BY_NAME], metavar="TARGET")
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> int:
    options = options_from(words)
    targets = [BY_NAME[name] for name in options.targets] or TARGETS
    if problems := missing(targets):
        for problem in problems:
            print(f"fuzz: {problem}", file=sys.stderr)
        return 2
    if options.minimise:
        for target in targets:
            Fuzzer(target).minimise()
        return 0
    until = time.monotonic() + 60 * options.minutes
    campaign = Campaign(targets, options.runs, options.seed, Figures(options.figures), until)
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: campaign.stop())
    with ThreadPoolExecutor(options.jobs) as pool:
        for thread in [pool.submit(campaign.work) for _ in range(options.jobs)]:
            thread.result()
    findings = {target: fuzzer.findings for target, fuzzer in campaign.fuzzers.items()}
    print(table(campaign.figures, findings))
    for target, fuzzer in campaign.fuzzers.items():
        for path in fuzzer.findings:
            print(f"found: {path}: see {fuzzer.log}")
        if target in campaign.failed and not fuzzer.findings:
            print(f"failed: {target.name}: see {fuzzer.log}")
    if any(campaign.left(target) > 0 for target in targets) and not campaign.failed:
        print("not all runs were made; the same command goes on if it has --figures")
    return int(bool(campaign.failed) or any(findings.values()))


if __name__ == "__main__":
    sys.exit(main())
