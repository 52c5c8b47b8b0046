"""What the Python targets share: input taken piece by piece, odd JSON, and the law of refusals."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import tempfile
from copy import deepcopy
from pathlib import Path
from typing import Any

from solver.errors import FadefourError

# A message repeats a value of the input at most in part.
LONGEST_MESSAGE = 1200


class Input:
    """Bytes, read from the front; past the end there are zeros."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    @property
    def is_empty(self) -> bool:
        return self._at >= len(self._data)

    def take(self, size: int) -> bytes:
        """At most so many bytes."""
        taken = self._data[self._at : self._at + size]
        self._at += size
        return taken

    def byte(self) -> int:
        return int.from_bytes(self.take(1), "big")

    def below(self, end: int) -> int:
        return int.from_bytes(self.take((max(1, end - 1).bit_length() + 7) // 8), "big") % end

    def piece(self) -> bytes:
        """As many bytes as the next byte says."""
        return self.take(self.byte())

    def rest(self) -> bytes:
        return self.take(len(self._data))


def refused(error: FadefourError, *names: str) -> bool:
    """Checks that a refusal is one line that can be printed and that names all this. False: what
    was refused was not accepted."""
    message = str(error)
    assert message and message.isprintable(), f"not one printable line: {message!r}"
    assert len(message) <= LONGEST_MESSAGE, f"{len(message)} characters: {message[:200]!r}..."
    for name in names:
        assert name in message, f"{name!r} is not named: {message!r}"
    return False


def scratch_folder() -> Path:
    """A new folder that goes when the process ends."""
    in_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="fadefour-fuzz-", dir=in_memory))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


# ---- JSON that nobody wrote ---------------------------------------------------------------------

ODD_VALUES = [
    *("null", "true", "false", "0", "1", "-1", "2.0", "1e308", "-0.0", "NaN", "Infinity"),
    *(
        "18446744073709551616",
        "1" + "0" * 60,
        "1" + "0" * 400,
        '""',
        '"1"',
        '"-"',
        '"two\\nlines"',
        '"\\ud800"',
    ),
    *("[]", "[0]", "[[]]", "{}", '{"": 0}', '{"a\\nb": 1}', "[1, 2]", '["x", "y"]', '"\\u0000"'),
    *("[" * 40 + "]" * 40, '"' + "long " * 400 + '"'),
]
EDITS = 4


def _places(document: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner: Any = ()
    if isinstance(document, dict):
        inner = document.items()
    elif isinstance(document, list):
        inner = enumerate(document)
    return [place, *(deeper for key, entry in inner for deeper in _places(entry, (*place, key)))]


def edited_json(document: Any, source: Input) -> str:
    """The document with up to four entries removed, renamed, or replaced by something else."""
    body: Any = {"": deepcopy(document)}
    texts: dict[str, str] = {}
    for number in range(source.byte() % (EDITS + 1)):
        places = _places(body)[1:]
        *outer, key = places[source.below(len(places))]
        parent: Any = body
        for step in outer:
            parent = parent[step]
        way = source.byte()
        if way < 8 and outer:
            del parent[key]
            continue
        text = ODD_VALUES[way % len(ODD_VALUES)] if way < 128 else source.piece().decode("latin1")
        if way % 8 == 7 and isinstance(parent, dict) and outer:
            parent[unquoted(text)] = parent.pop(key)
            continue
        mark = f"@{number}@"
        texts[json.dumps(mark)] = text
        parent[key] = mark
    whole = json.dumps(body[""])
    for quoted_mark, text in texts.items():
        whole = whole.replace(quoted_mark, text)
    return whole


def unquoted(text: str) -> str:
    """What a text in JSON says, or the text itself."""
    with contextlib.suppress(ValueError):
        return str(json.loads(text))
    return text


def same_json(left: Any, right: Any) -> bool:
    """Equal, and of the same types: 1, 1.0 and true are three things."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same_json(left[k], right[k]) for k in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same_json, left, right))
    return type(left) is type(right) and (left == right or left != left)  # noqa: PLR0124 - NaN
