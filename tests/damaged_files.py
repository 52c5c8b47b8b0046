"""Ways to damage a file with a manifest."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from solver import (
    Rules,
)
from solver.manifest import NewFile


def edit_manifest(path: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    """As someone who wants it to be believed: without its own checksum, as older ones are."""
    manifest = path.with_name(path.name + ".json")
    body = json.loads(manifest.read_text())
    body["checksums"].pop("manifest", None)
    edit(body)
    manifest.write_text(json.dumps(body))


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def lengthen(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flip_bit(path: Path, offset: int = 5000, bit: int = 3) -> None:
    data = bytearray(path.read_bytes())
    data[offset] ^= 1 << bit
    path.write_bytes(data)


def each_flip(path: Path, span: range) -> Iterator[str]:
    """Flips every bit of these bytes of a file in turn, and back; yields which one it is."""
    good = path.read_bytes()
    with open(path, "r+b", buffering=0) as file:
        for place in span:
            for bit in range(8):
                os.pwrite(file.fileno(), bytes([good[place] ^ 1 << bit]), place)
                yield f"bit {bit} of byte {place}"
            os.pwrite(file.fileno(), good[place : place + 1], place)


def take_manifest_of_other_variant(path: Path) -> None:
    """The same kind of file for k = 2, manifest and all, under this file's name."""
    folder = path.parent / "other"
    rules = Rules(3, 3, 2)
    folder.mkdir()
    data = path.read_bytes()
    with NewFile(folder / path.name, path.name.split("_3x3")[0], rules, len(data)) as new:
        new.write(data)
        new.commit({"records": len(data) // 14})
    kind = "table" if path.suffix == ".table" else path.name.split("_3x3")[0]
    edit_manifest(folder / path.name, lambda body: body.update(kind=kind))
    for name in (path.name, f"{path.name}.json"):
        (folder / name).rename(path.parent / name)
    folder.rmdir()


DAMAGE: dict[str, Callable[[Path], object]] = {
    "truncated": truncate,
    "longer": lengthen,
    "empty": empty,
    "bit flipped": flip_bit,
    "last bit flipped": lambda path: flip_bit(path, path.stat().st_size - 1, 0),
    "wrong format": lambda path: edit_manifest(path, lambda body: body.update(format="other")),
    "wrong version": lambda path: edit_manifest(path, lambda body: body.update(version=2)),
    "wrong kind": lambda path: edit_manifest(path, lambda body: body.update(kind="ywin")),
    "wrong rules tag": lambda path: edit_manifest(
        path, lambda body: body["rules"].update(tag=body["rules"]["tag"].replace("empty", "any"))
    ),
    "rules without tag": lambda path: edit_manifest(path, lambda body: body["rules"].pop("tag")),
    "impossible rules": lambda path: edit_manifest(path, lambda body: body["rules"].update(n=99)),
    "other variant": take_manifest_of_other_variant,
    "no manifest": lambda path: path.with_name(path.name + ".json").unlink(),
    "empty manifest": lambda path: path.with_name(path.name + ".json").write_text(""),
    "half a manifest": lambda path: (
        truncate(path.with_name(path.name + ".json"))
        or truncate(path.with_name(path.name + ".json"))
    ),
    "manifest of garbage": lambda path: path.with_name(path.name + ".json").write_bytes(
        bytes(range(256))
    ),
    "manifest of one long number": lambda path: path.with_name(path.name + ".json").write_text(
        "9" * 5000
    ),
    "manifest of brackets": lambda path: path.with_name(path.name + ".json").write_text(
        "[" * 100_000
    ),
    "manifest is a list": lambda path: path.with_name(path.name + ".json").write_text("[1, 2]"),
    "checksum missing": lambda path: edit_manifest(
        path, lambda body: body["checksums"]["crc32"].pop()
    ),
}
