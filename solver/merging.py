"""Merging the X-win and Y-win files of a folder into its game tree, as streams.

``solver.records`` has the records; a complete game tree lists every undecided position too.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from solver.errors import CorruptTableError
from solver.index import node_count
from solver.kernels import Crew, ffi, index_of, lib, pointer
from solver.manifest import Manifest, NewFile
from solver.progress import Progress, Silent
from solver.records import (
    HEADER_BYTES,
    NODES_AT_A_TIME,
    RECORD_BYTES,
    SIDES,
    Bytes,
    Chunk,
    RecordFile,
    check_chunk,
    data_path,
    open_records,
    ranges,
)
from solver.rules import Rules
from solver.wording import counted


class _Input:
    """A window on the records of one file, checked in full and refilled as they are used."""

    def __init__(self, source: RecordFile, crew: Crew) -> None:
        def checked(chunk: Chunk) -> Bytes:
            check_chunk(source, chunk)
            return chunk.records

        self._chunks = crew.map(checked, source.chunks())
        self.window: Bytes = np.empty(0, np.uint8)
        self.ended = False

    @property
    def count(self) -> int:
        return len(self.window) // RECORD_BYTES

    def use(self, records: int) -> None:
        self.window = self.window[records * RECORD_BYTES :]

    def refill(self) -> None:
        if self.ended or self.count:
            return
        chunk = next(self._chunks, None)
        if chunk is None:
            self.ended = True
        else:
            self.window = chunk


def merged_chunks(left: RecordFile, right: RecordFile, crew: Crew) -> Iterator[Bytes]:
    """The records of two files in order, two pointers and a few buffers; constant memory."""
    a, b = _Input(left, crew), _Input(right, crew)
    used_a, used_b = ffi.new("uint64_t *"), ffi.new("uint64_t *")
    while True:
        a.refill()
        b.refill()
        room = a.count + b.count
        if not room:
            return
        out = np.empty(room * RECORD_BYTES, np.uint8)
        written = lib.ff_merge_records(
            *(pointer(a.window, np.uint8, 0), a.count, a.ended),
            *(pointer(b.window, np.uint8, 0), b.count, b.ended),
            *(pointer(out, np.uint8, len(out)), room, used_a, used_b),
        )
        if written < 0:
            raise CorruptTableError(
                f"'{left.path}' and '{right.path}' both claim a result for the same position: "
                "run 'fadefour solve' again"
            )
        a.use(used_a[0])
        b.use(used_b[0])
        if written:
            yield out[: written * RECORD_BYTES]


def count_merged(left: RecordFile, right: RecordFile) -> int:
    """How many records the merge will have, by the codes alone. It trusts the files, which the
    merge itself does not: a wrong count ends in an error there."""
    common = 0
    if left.count and right.count:
        maps = [np.memmap(source.path, np.uint8, "r", HEADER_BYTES) for source in (left, right)]
        common = lib.ff_count_common(
            *(pointer(maps[0], np.uint8, left.count * RECORD_BYTES), left.count),
            *(pointer(maps[1], np.uint8, right.count * RECORD_BYTES), right.count),
        )
    return left.count + right.count - int(common)


def completed_chunks(rules: Rules, decided: Iterable[Bytes]) -> Iterator[Bytes]:
    """The records of every position, from those of the decided ones; constant memory."""
    source, window = iter(decided), np.empty(0, np.uint8)
    ended = False
    for first, end in ranges(node_count(rules), NODES_AT_A_TIME):
        while not ended and len(window) < (end - first) * RECORD_BYTES:
            chunk = next(source, None)
            if chunk is None:
                ended = True
            else:
                window = np.concatenate([window, chunk])
        out = np.empty((end - first) * RECORD_BYTES, np.uint8)
        used = lib.ff_complete_records(
            *(index_of(rules), first, end),
            *(pointer(window, np.uint8, 0), len(window) // RECORD_BYTES),
            pointer(out, np.uint8, len(out)),
        )
        window = window[used * RECORD_BYTES :]
        yield out
    if len(window):
        code = int(window[:8].view(np.uint64)[0])
        raise CorruptTableError(f"state code {code:#018x} is not a canonical position of {rules}")


def merge(
    folder: str | Path,
    rules: Rules,
    *,
    complete: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Manifest:
    """Merges the X-win and Y-win files of a folder into its game tree."""
    progress = progress or Silent()
    wins = [open_records(data_path(folder, kind, rules), kind, rules) for kind in ("xwin", "ywin")]
    count = node_count(rules) if complete else count_merged(*wins)
    path = data_path(folder, "game_tree", rules)
    progress.begin(path.name, count, "record")
    done = 0
    with (
        Crew(threads) as checkers,
        NewFile(path, "game_tree", rules, HEADER_BYTES + count * RECORD_BYTES) as new,
        Crew(1) as reader,  # merges while this thread checksums and writes
    ):
        chunks = merged_chunks(wins[0], wins[1], checkers)
        new.write(struct.pack("<Q", count))
        for chunk in reader.ahead(completed_chunks(rules, chunks) if complete else chunks):
            new.write(chunk)
            done += len(chunk) // RECORD_BYTES
            progress.reach(done)
        manifest = new.commit({"records": count, "complete": complete, **_joined_counts(wins)})
    progress.end(counted(count, "record", width=14))
    return manifest


def _joined_counts(wins: list[RecordFile]) -> dict[str, Any]:
    joined: dict[str, Any] = {}
    for source in wins:
        for side in SIDES:
            joined.setdefault(side, {}).update(source.manifest.counts.get(side, {}))
    return joined
