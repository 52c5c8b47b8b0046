"""How often each table byte occurs, as a file's manifest states it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.errors import CorruptTableError
from solver.index import slice_sizes
from solver.manifest import Manifest
from solver.rules import Rules


def counts_of_table(counts: NDArray[np.uint64]) -> dict[str, Any]:
    """Counts [slices, 256] of table bytes as the manifest states them."""
    by_slice = {
        str(pieces): {str(byte): int(row[byte]) for byte in np.flatnonzero(row)}
        for pieces, row in enumerate(counts)
    }
    return {"nodes": int(counts.sum()), "bytes_by_slice": by_slice}


def counts_in_manifest(
    rules: Rules, manifest: Manifest, path: Path, remedy: str
) -> NDArray[np.uint64]:
    """The counts [slices, 256] that a manifest states, if they are those of a whole table."""
    sizes = slice_sizes(rules)
    counts = np.zeros((len(sizes), 256), np.uint64)
    try:
        for pieces, row in manifest.counts["bytes_by_slice"].items():
            for byte, count in row.items():
                counts[int(pieces), int(byte)] = count
        is_whole = counts.sum(axis=1).tolist() == sizes
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError):
        is_whole = False
    if not is_whole or manifest.counts != counts_of_table(counts):
        raise CorruptTableError(
            f"the manifest of '{path}' does not count every position of {rules.name} once: {remedy}"
        )
    return counts
