"""One target with its folder under build/fuzz: compiled, fuzzed for a while, its corpus minimised.

Targets in C are built with clang and its sanitizers, targets in Python run under atheris; both
are libFuzzer.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from fuzz.figures import Round
from fuzz.targets import CSRC, HERE, ROOT, Target

BUILD = ROOT / "build" / "fuzz"
MEGABYTES = 2048
HANGING_SECONDS = 1200
"""By the clock, for an input that waits for something. The processor's time has a limit of its own
(``c/fuzz.h``, ``python_target.py``), since a process that others do not let work is not hanging."""
FLAGS = [
    *("-g", "-O2", "-march=native", "-std=gnu11", "-Wall", "-Wextra", "-Werror"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all", f"-I{CSRC}"),
]


class Fuzzer:
    def __init__(self, target: Target) -> None:
        self.target, self.folder = target, BUILD / target.name
        self.inputs, self._findings = self.folder / "inputs", self.folder / "findings"
        self.log, self._accepted = self.folder / "log.txt", self.folder / "accepted"
        self._process: subprocess.Popen[bytes] | None = None
        self._is_stopping = False
        for folder in (self.inputs, self._findings):
            folder.mkdir(parents=True, exist_ok=True)

    @property
    def findings(self) -> list[Path]:
        """Inputs that broke the target, until someone removes them."""
        return sorted(self._findings.iterdir())

    def command(self) -> list[str]:
        if self.target.is_c:
            return [str(self.folder / self.target.name)]
        return [sys.executable, str(HERE / "python_target.py"), self.target.name]

    def prepare(self) -> None:
        """Compiles a target in C, if something it may be made of is newer; and puts what is known
        to be worth trying among the inputs."""
        for number, data in enumerate([*self.target.seeds(), *self.target.corpus()]):
            (self.inputs / f"kept-{number:04d}").write_bytes(data)
        if not self.target.is_c:
            return
        program = self.folder / self.target.name
        sources = [*CSRC.glob("*.[ch]"), *(HERE / "c").glob("*.[ch]"), Path(__file__)]
        newest = max(source.stat().st_mtime for source in sources)
        if not program.exists() or program.stat().st_mtime < newest:
            self._compile(program)

    def _compile(self, program: Path) -> None:
        """Coverage is that of the kernels: to follow the plain twins as well would take more than
        half of the time, and lead nowhere."""
        objects = []
        for number, source in enumerate(self.target.sources()):
            objects.append(self.folder / f"{number}-{source.stem}.o")
            coverage = ["-fsanitize=fuzzer-no-link"] if number else []
            subprocess.run(
                ["clang", *FLAGS, *coverage, "-c", source, "-o", objects[-1]], check=True
            )
        subprocess.run(["clang", *FLAGS, "-fsanitize=fuzzer", *objects, "-o", program], check=True)

    def _run(self, *options: str) -> int:
        self._accepted.write_bytes(bytes(8))
        environment = os.environ | {
            "FUZZ_ACCEPTED": str(self._accepted),
            "OMP_NUM_THREADS": "1",
            "ASAN_OPTIONS": "detect_leaks=0",
        }
        with open(self.log, "wb") as log:
            self._process = subprocess.Popen(
                [*self.command(), *options],
                stdout=log,
                stderr=log,
                env=environment,
                cwd=self.folder,
            )
            if self._is_stopping:
                self.stop()
            return self._process.wait()

    def stop(self) -> None:
        """Lets a round end after its current input, so that its runs are counted."""
        self._is_stopping = True
        if self._process is not None:
            self._process.send_signal(signal.SIGUSR1)

    def fuzz(self, runs: int, seconds: int, seed: int) -> Round:
        """Until that many runs are done or that much time is up, whatever comes first."""
        self.prepare()
        began = time.monotonic()
        code = self._run(
            *(f"-runs={runs}", f"-max_total_time={seconds}", f"-seed={seed}"),
            *(f"-max_len={self.target.longest}", f"-timeout={HANGING_SECONDS}"),
            *(f"-report_slow_units={HANGING_SECONDS}", f"-rss_limit_mb={MEGABYTES}"),
            "-print_final_stats=1",
            *(f"-artifact_prefix={self._findings}/", str(self.inputs)),
        )
        text = self.log.read_text(errors="replace")
        executed = re.findall(r"stat::number_of_executed_units: *(\d+)", text)
        coverage = [int(number) for number in re.findall(r" cov: (\d+)", text)] or [0]
        first = re.search(r"INITED cov: (\d+)", text)
        return Round(
            runs=int(executed[-1]) if executed else 0,
            accepted=int.from_bytes(self._accepted.read_bytes(), sys.byteorder),
            seconds=time.monotonic() - began,
            inputs=len(list(self.inputs.iterdir())),
            first_coverage=int(first[1]) if first else 0,
            coverage=max(coverage),
            failed=code != 0,
        )

    def minimise(self) -> None:
        """Keeps the fewest inputs that reach everything that any input reaches."""
        self.prepare()
        least = self.folder / "least"
        shutil.rmtree(least, ignore_errors=True)
        least.mkdir()
        code = self._run(
            "-merge=1", f"-max_len={self.target.longest}", str(least), str(self.inputs)
        )
        inputs = [path.read_bytes() for path in least.iterdir()]
        if code or not inputs:
            raise SystemExit(f"{self.target.name} could not be minimised: see {self.log}")
        self.target.write_corpus(inputs)
