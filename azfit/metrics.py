"""metrics.jsonl and TensorBoard events, which runs of both kinds write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solver.errors import CorruptTableError, MissingTableError
from solver.storage import read_bytes

if TYPE_CHECKING:
    from azfit.event_file import EventFile

MOST_BYTES = 1 << 28  # a line has a few KB, a run a few thousand lines


def numbered_metrics(path: Path) -> list[tuple[int, dict[str, Any]]]:
    """The lines of a metrics.jsonl with their numbers from 1; none if there is no such file. A last
    line that a crash cut short is left out; any other damaged line is a CorruptTableError."""
    try:
        lines = read_bytes(path, MOST_BYTES, "metrics").split(b"\n")
    except MissingTableError:
        return []
    metrics = []
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            entries = json.loads(line.decode())
            if not isinstance(entries, dict):
                raise ValueError("it is not an object")
        except (ValueError, RecursionError) as error:
            if number == len(lines):  # without a line break: cut short
                break
            reason = str(error).splitlines()[0]
            raise CorruptTableError(
                f"line {number} of '{path}' is damaged ({reason}): restore or remove that line"
            ) from None
        metrics.append((number, entries))
    return metrics


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The lines of a metrics.jsonl."""
    return [entries for _, entries in numbered_metrics(path)]


def tensorboard(folder: Path, hide_from: int | None = None) -> EventFile | None:
    """A file of events for TensorBoard; None where it is not installed.

    hide_from: events of this step and later ones, written before, are hidden.
    """
    try:
        from azfit.event_file import EventFile
    except ImportError:
        return None
    return EventFile(folder / "tensorboard", hide_from)
