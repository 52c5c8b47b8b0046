"""Fuzzes one target in Python: python tests/fuzz/python_target.py TARGET [options of libFuzzer].

The packages of the product are instrumented as they are imported, so that atheris sees which of
their lines an input reaches. A warning counts as an exception; memory has a limit, and so has the
processor's time for an input.
"""

from __future__ import annotations

import mmap
import os
import resource
import signal
import sys
import warnings
from pathlib import Path

import atheris

sys.path[:0] = [str(Path(__file__).resolve().parents[number]) for number in (2, 1)]

MORE_BYTES = 1 << 30  # than the process has once everything is imported
SECONDS = 10  # for an input


def too_long(*_: object) -> None:
    raise TimeoutError(f"an input that takes more than {SECONDS} seconds")


def limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + MORE_BYTES
    _, most = resource.getrlimit(resource.RLIMIT_AS)  # of whoever started this, such as itself
    resource.setrlimit(resource.RLIMIT_AS, (limit, most))


def counter() -> memoryview:
    """One number, in the file that the runner reads."""
    path = os.environ.get("FUZZ_ACCEPTED")
    if path is None:
        return memoryview(bytearray(8)).cast("Q")
    with open(path, "r+b") as file:
        return memoryview(mmap.mmap(file.fileno(), 8)).cast("Q")


def main() -> None:
    name, *options = sys.argv[1:]
    with atheris.instrument_imports(include=["solver", "azfit"]):
        from fuzz.targets import BY_NAME

        check = BY_NAME[name].check()
    accepted = counter()

    def run_once(data: bytes) -> None:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        if check(data):
            accepted[0] += 1
        signal.setitimer(signal.ITIMER_PROF, 0)

    signal.signal(signal.SIGPROF, too_long)
    warnings.simplefilter("error")
    limit_memory()
    # libFuzzer starts itself again by its first word when it minimises a corpus.
    command = f"{sys.executable} {Path(__file__).resolve()} {name}"
    atheris.Setup([command, *options], run_once)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
