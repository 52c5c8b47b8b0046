"""Files with a manifest whose checksums fit, whatever the file holds."""

from __future__ import annotations

import hashlib
import json
import zlib
from pathlib import Path
from typing import Any

from fuzz.untrusted import Input
from solver import Rules
from solver.manifest import Manifest, block_size, manifest_path

MOST_CHANGES = 8


def changed(content: bytes, source: Input) -> bytes:
    """With bytes changed, and a few added or missing at the end."""
    data = bytearray(content)
    for _ in range(source.byte() % (MOST_CHANGES + 1)):
        data[source.below(len(data))] = source.byte()
    length = source.byte()
    if length >= 250:
        return bytes(data[: -(length - 249)])
    return bytes(data) + b"\1" * max(0, length - 244)


def manifest_of(data: bytes, kind: str, rules: Rules, counts: dict[str, Any]) -> Manifest:
    size = block_size(len(data))
    blocks = [data[first : first + size] for first in range(0, len(data), size)]
    sums = [f"{zlib.crc32(block):08x}" for block in blocks]
    return Manifest(kind, rules, len(data), counts, size, sums, hashlib.sha256(data).hexdigest())


def forge(
    path: Path,
    data: bytes,
    kind: str,
    rules: Rules,
    counts: dict[str, Any],
    counts_text: str | None = None,
) -> None:
    """Writes file and manifest in place: nothing here has to survive a crash.

    counts_text: what stands for the counts, whatever it is; the manifest then lacks its own
    checksum, as older ones do.
    """
    path.write_bytes(data)
    text = manifest_of(data, kind, rules, counts).to_json()
    if counts_text is not None:
        body = json.loads(text) | {"counts": "@"}
        del body["checksums"]["manifest"]
        text = json.dumps(body).replace('"@"', counts_text)
    manifest_path(path).write_bytes(text.encode("utf-8", "surrogatepass"))
