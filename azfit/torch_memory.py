"""Memory that torch frees stays with the process, because the next training step needs it again.

glibc returns large blocks to the system as soon as they are freed, and a step frees hundreds of
them: the system then hands out the same pages, cleared, at every step. That took a quarter to a
third of the time of training a tower (bench/log.md).
"""

from __future__ import annotations

import ctypes

# Of <malloc.h>. Blocks up to 32 MB, the most that glibc takes, come from the heap, and the heap
# keeps up to 1 GB that is free.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_LARGEST_IN_HEAP, _KEPT = 1 << 25, 1 << 30


def keep_freed_memory() -> None:
    """For this process; without glibc it does nothing."""
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    set_option(_M_MMAP_THRESHOLD, _LARGEST_IN_HEAP)
    set_option(_M_TRIM_THRESHOLD, _KEPT)
