"""Files of tensors (safetensors) with a header of one's own, whose SHA-256 fits."""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path
from typing import Any

from fuzz.untrusted import Input, edited_json

TYPES = {"F32": "torch.float32", "I64": "torch.int64", "F64": "torch.float64"}
MOST_CHANGES = 4
DIGEST_FITS, CUT, RAW_CHANGES, LENGTH_OF_ITS_OWN, AS_WRITTEN = 1, 2, 4, 8, 32
OWN = "about_sha256"  # the checksum of the description, which older files lack


class TensorFile:
    """A file that the product wrote, as header and numbers."""

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        length = int.from_bytes(data[:8], "little")
        self.entries: dict[str, Any] = json.loads(data[8 : 8 + length])
        self.as_written: dict[str, Any] = json.loads(self.entries.pop("__metadata__")["about"])
        self.about = {key: entry for key, entry in self.as_written.items() if key != OWN}
        self.numbers = data[8 + length :]

    def forged(self, source: Input, options: int) -> tuple[bytes, str]:
        """The file with what the header says changed, and the text of its description."""
        about = edited_json(self.as_written if options & AS_WRITTEN else self.about, source)
        entries_text = edited_json(self.entries, source)
        numbers = bytearray(self.numbers)
        for _ in range(source.byte() % (MOST_CHANGES + 1)):
            numbers[source.below(len(numbers))] = source.byte()
        if options & CUT:
            numbers = numbers[: source.below(len(numbers))]
        if options & DIGEST_FITS:
            with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError):
                sha256 = stored_sha256(json.loads(entries_text), bytes(numbers))
                about = about.replace(self.about["sha256"], sha256)
        metadata = json.dumps({"about": about})
        header = f'{{"__metadata__": {metadata}, {entries_text.strip()[1:]}'
        if entries_text.strip() == "{}":
            header = f'{{"__metadata__": {metadata}}}'
        encoded = header.encode("utf-8", "surrogatepass")
        length = source.below(1 << 64) if options & LENGTH_OF_ITS_OWN else len(encoded)
        data = bytearray(length.to_bytes(8, "little") + encoded + numbers)
        for _ in range(source.byte() % (MOST_CHANGES + 1) if options & RAW_CHANGES else 0):
            data[source.below(len(data))] ^= source.byte()
        return bytes(data), about


def stored_sha256(entries: dict[str, Any], numbers: bytes) -> str:
    """As the format has it: names, dtypes, shapes and numbers, in the order of the names."""
    digest = hashlib.sha256()
    for name in sorted(entries):
        entry = entries[name]
        first, end = entry["data_offsets"]
        head = f"{name} {TYPES[entry['dtype']]} {list(entry['shape'])}\n"
        digest.update(head.encode("utf-8", "surrogatepass"))
        digest.update(numbers[first:end])
    return digest.hexdigest()
