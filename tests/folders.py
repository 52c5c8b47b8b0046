"""What lies in a folder."""

from __future__ import annotations

from pathlib import Path


def names_in(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def snapshot(folder: Path) -> dict[str, bytes]:
    return {entry.name: entry.read_bytes() for entry in folder.iterdir()}
