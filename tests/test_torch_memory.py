"""Memory that was freed is used again, and not fetched from the system page by page."""

from __future__ import annotations

import ctypes
import platform
import subprocess
import sys

import pytest

from azfit import torch_memory

FAULTS = """
import ctypes, resource, sys
from azfit.torch_memory import keep_freed_memory

if sys.argv[1] == "kept":
    keep_freed_memory()
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]

def use():
    # Several at once: glibc learns from a single block that is freed again and again.
    blocks = [libc.malloc(16 << 20) for _ in range(8)]
    for block in blocks:
        ctypes.memset(block, 1, 16 << 20)
    for block in blocks:
        libc.free(block)

use()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(9):
    use()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="not glibc")
def test_blocks_that_were_freed_are_used_again() -> None:
    """Counted in page faults; without it every round fetches its 128 MB anew, with huge pages at
    least 64 times."""
    faults = {
        way: int(subprocess.check_output([sys.executable, "-c", FAULTS, way], text=True))
        for way in ("kept", "returned")
    }
    assert faults["kept"] < 64 < 9 * 64 <= faults["returned"]


def test_without_such_an_option_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    torch_memory.keep_freed_memory()
