"""Where a run of either kind writes its numbers, and how they are read again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl; one that a crash cut short is left out."""
    found = []
    for line in path.read_text().splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def tensorboard(folder: Path) -> Any:
    """A writer of events for TensorBoard; None where it is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder / "tensorboard"))
