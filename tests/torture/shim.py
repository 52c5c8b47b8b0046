"""The library that makes a call fail (``failing_calls.c``): compiled, preloaded, armed."""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("failing_calls.c")
LIBRARY = Path(__file__).parents[2] / "build" / "torture" / "failing_calls.so"


def is_preloaded() -> bool:
    return hasattr(ctypes.CDLL(None), "failing_calls_arm")


def compiled() -> Path:
    """The library, compiled with the system's compiler if it is older than its source."""
    if not LIBRARY.exists() or LIBRARY.stat().st_mtime < SOURCE.stat().st_mtime:
        LIBRARY.parent.mkdir(parents=True, exist_ok=True)
        flags = ("-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC")
        fresh = LIBRARY.with_name(f"{os.getpid()}.so")
        subprocess.run(["cc", *flags, "-o", fresh, SOURCE, "-ldl"], check=True)
        fresh.replace(LIBRARY)
    return LIBRARY


class Failure:
    """Prepares a process: the n-th of its calls below a folder fails; 0: none does. ``calls`` says
    how many there were."""

    def __init__(self, below: Path, number: int, error: int, half: bool) -> None:
        self._below, self._number, self._error, self._half = below, number, error, half
        self._count = ctypes.c_long.from_buffer(mmap.mmap(-1, mmap.PAGESIZE))

    def __call__(self) -> None:
        ctypes.CDLL(None).failing_calls_arm(
            os.fsencode(self._below.resolve()),
            ctypes.c_long(self._number),
            self._error,
            int(self._half),
            ctypes.byref(self._count),
        )

    @property
    def calls(self) -> int:
        return self._count.value
