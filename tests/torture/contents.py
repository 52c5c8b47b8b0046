"""What is in a folder, without what the clock decides: two runs of the same work compare equal.

Read with the standard library alone, not with the readers that are put to the test.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import sqlite3
import tempfile
import zipfile
from pathlib import Path
from typing import Any

TIMES = frozenset(
    (
        *("seconds", "phase_seconds", "positions_per_second", "seconds_for_all"),
        *("mean_ms", "search_seconds", "about_sha256"),
    )
)
OF_THE_CLOCK = ("seconds.npy", "sha256.npy")
DRAWN = frozenset(("curves.png", "tensorboard"))  # for people; nothing reads them back

Contents = dict[str, Any]


def without_times(entries: Any) -> Any:
    """JSON without entries that say how long something took."""
    if isinstance(entries, dict):
        kept = {name: value for name, value in entries.items() if name not in TIMES}
        return {name: without_times(value) for name, value in kept.items()}
    if isinstance(entries, list):
        return [without_times(entry) for entry in entries]
    return entries


def content(path: Path) -> Any:
    """Something that is equal for files that say the same."""
    data = path.read_bytes()
    try:
        if path.suffix == ".safetensors":
            return _tensors(data)
        if path.suffix == ".jsonl":
            return [without_times(json.loads(line)) for line in data.splitlines()]
        if path.suffix == ".json":
            return without_times(json.loads(data))
        if path.suffix == ".sqlite":
            return _answers(path)
        if path.name.startswith("positions-"):
            return _positions(data)
    except (ValueError, KeyError, sqlite3.Error, zipfile.BadZipFile):
        pass
    return hashlib.sha256(data).hexdigest()


def _tensors(data: bytes) -> Any:
    """What a safetensors file says, and a hash of its numbers."""
    numbers = 8 + int.from_bytes(data[:8], "little")
    entries = json.loads(data[8:numbers])
    about = without_times(json.loads(entries.pop("__metadata__")["about"]))
    return about, entries, hashlib.sha256(data[numbers:]).hexdigest()


def _positions(data: bytes) -> Any:
    """Labelled positions, without the time that each took and the checksum of all."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = (name for name in archive.namelist() if name not in OF_THE_CLOCK)
        return {name: archive.read(name) for name in members}


def _answers(path: Path) -> Any:
    """Scores by position, without the work that each took. What a killed process has left undone is
    undone in a copy: looking changes nothing."""
    with tempfile.TemporaryDirectory() as folder:
        for part in path.parent.glob(f"{path.name}*"):
            shutil.copy(part, folder)
        database = sqlite3.connect(Path(folder, path.name))
        try:
            return sorted(database.execute("SELECT key, score, checksum FROM answers"))
        finally:
            database.close()


def contents(folder: Path, beginnings: tuple[str, ...] = ("",)) -> Contents:
    """Of all files below a folder whose names begin like this, by name."""
    present = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and str(name).startswith(beginnings) and not DRAWN & set(name.parts):
            present[str(name)] = content(path)
    return present


def differences(present: Contents, wanted: Contents) -> list[str]:
    """In words: what is missing, what is too much, what differs."""
    problems = [f"{name} is missing" for name in wanted.keys() - present.keys()]
    problems += [f"{name} should not be there" for name in present.keys() - wanted.keys()]
    both = present.keys() & wanted.keys()
    return problems + [f"{name} differs" for name in both if present[name] != wanted[name]]
