"""A plugin for ``make sanitize``: tables come from malloc instead of mmap.

AddressSanitizer guards both ends of what malloc gives, and knows nothing of other memory.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from solver import machine

ON_THE_HEAP = SimpleNamespace(
    mmap=lambda _file, size, flags: np.zeros(size, np.uint8), MAP_PRIVATE=0
)

machine.mmap = ON_THE_HEAP  # type: ignore[assignment]
