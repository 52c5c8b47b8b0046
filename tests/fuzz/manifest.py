"""The manifest of a file: any text, or the manifest of a real file with entries changed.

What is accepted says of the file what is true, and says it in JSON of the right types.
"""

from __future__ import annotations

import json

from fuzz.untrusted import Input, edited_json, refused, same_json, scratch_folder
from solver import FadefourError, Rules
from solver.manifest import Manifest, block_size, manifest_path, open_manifest

RULES = Rules(3, 2, 2)
FILE = scratch_folder() / "solved_3x3_m2_k2.table"
FILE.write_bytes(bytes(460))
RIGHT = Manifest(
    *("table", RULES, 460, {"nodes": 460, "bytes_by_slice": {"0": {"4": 1}}}),
    *(block_size(460), ["5f8b5b0c"], "ab" * 32),
)


WRITTEN = json.loads(RIGHT.to_json())
OLDER = json.loads(RIGHT.to_json())
del OLDER["checksums"]["manifest"]  # its own checksum, which fits no other manifest

EDITED, WITH_RULES, WITH_OWN_CHECKSUM = 1, 2, 4


def check(data: bytes) -> bool:
    source = Input(data)
    options = source.byte()
    if options & EDITED:
        document = WRITTEN if options & WITH_OWN_CHECKSUM else OLDER
        text = edited_json(document, source).encode("utf-8", "surrogatepass")
    else:
        text = source.rest()
    manifest_path(FILE).write_bytes(text)
    try:
        manifest = open_manifest(
            FILE, "table", "make it again", RULES if options & WITH_RULES else None
        )
    except FadefourError as error:
        return refused(error, FILE.name)
    body, stated = json.loads(text), json.loads(manifest.to_json())
    for document in (body, stated):
        document["checksums"].pop("manifest", None)
    for part in ((), ("rules",), ("checksums",)):
        says, means = body, stated
        for key in part:
            says, means = says[key], means[key]
        plain = {key: entry for key, entry in means.items() if not isinstance(entry, dict)}
        assert same_json({key: says[key] for key in plain}, plain), part
    assert same_json(body["counts"], stated["counts"])
    assert manifest.bytes == FILE.stat().st_size and len(manifest.crc32) == 1
    assert open_manifest(FILE, "table", "make it again", manifest.rules) == manifest
    return True


def seeds() -> list[bytes]:
    edits = [bytes([1, 1, place, way]) for place in range(24) for way in (5, 40 + place)]
    return [b"\0" + RIGHT.to_json().encode(), b"\1\0", b"\7\0", b"\7\1\5\5", *edits]
