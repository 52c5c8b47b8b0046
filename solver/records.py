"""The interchange files: sorted 14-byte records, written, read and checked as streams.

``u64 count``, then records ``u64 state_code | i8 dp0 | i8 dp1 | u16 depth0 | u16 depth1``, little
endian, packed, sorted by state code, no duplicates (``csrc/records.h`` draws the record). Kinds:

==========  ==============================================================================
xwin        the positions that X wins, with X to move (dp0 = +1) or Y to move (dp1 = +1)
ywin        the same for Y, -1
game_tree   both, merged; complete if every undecided position is listed too
==========  ==============================================================================
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.errors import CorruptTableError
from solver.index import node_count, position_of, slice_sizes
from solver.kernels import Crew, ffi, index_of, lib, pointer
from solver.machine import zeroed
from solver.manifest import Manifest, NewFile, checked_blocks, open_manifest
from solver.progress import Progress, Silent
from solver.rules import Position, Rules
from solver.storage import open_regular
from solver.values import IMPOSSIBLE, UNDECIDED
from solver.wording import counted

Bytes = NDArray[np.uint8]

RECORD_BYTES, HEADER_BYTES = 14, 8
NO_CODE = 2**64 - 1
NODES_AT_A_TIME = 1 << 18
CHUNK_BYTES = 1 << 20
BOTH: int = lib.FF_X_WINS | lib.FF_Y_WINS
WANTED: dict[str, int] = {"xwin": lib.FF_X_WINS, "ywin": lib.FF_Y_WINS, "game_tree": BOTH}
KINDS = tuple(WANTED)
MADE_BY = {
    "table": "solve",
    "xwin": "solve --player x",
    "ywin": "solve --player y",
    "game_tree": "merge",
    "results": "solve --results-only",
}
SIDES = ("x_to_move", "y_to_move")


def data_path(folder: str | Path, kind: str, rules: Rules) -> Path:
    return Path(folder) / f"{kind}_{rules.name}.data"


def remedy_for(kind: str, rules: Rules, folder: Path, option: str = "") -> str:
    """What to run for a file of this kind, or the dense table ("table"), in this folder."""
    variant = f"--n {rules.n} --m {rules.m} --k {rules.k}"
    return f"run 'fadefour {MADE_BY[kind]} {variant} --data {folder}{option and ' ' + option}'"


# ---- table to records ---------------------------------------------------------------------------


def swap_colours(rules: Rules, table: Bytes, crew: Crew) -> Bytes:
    """The full slice seen by the other side: uint8, one byte for each full position (x; y)."""
    groups, full = slice_sizes(rules)[2 * rules.m - 2], slice_sizes(rules)[2 * rules.m]
    swapped = zeroed(np.uint8, full)
    index, values = index_of(rules), pointer(table, np.uint8, node_count(rules))
    out = pointer(swapped, np.uint8, full)
    if 2 * rules.m - 2 > rules.n:  # no group has a symmetry
        crew.share(groups, lambda work: lib.ff_swap_groups(index, values, out, work))
    else:
        crew.share(
            full,
            lambda work: lib.ff_swap_nodes(index, values, out, work),
            step=NODES_AT_A_TIME,
        )
    return swapped


def ranges(end: int, step: int) -> Iterator[tuple[int, int]]:
    for first in range(0, end, step):
        yield first, min(first + step, end)


def write_wins(
    folder: Path,
    kind: str,
    rules: Rules,
    table: Bytes,
    swapped: Bytes,
    crew: Crew,
    progress: Progress | None = None,
) -> Manifest:
    """Writes ``xwin`` or ``ywin`` from a solved table and its colour swap."""
    progress, path = progress or Silent(), data_path(folder, kind, rules)
    nodes = node_count(rules)
    source = (
        index_of(rules),
        pointer(table, np.uint8, nodes),
        pointer(swapped, np.uint8, slice_sizes(rules)[2 * rules.m]),
        WANTED[kind],
    )

    def records_in(span: tuple[int, int]) -> int:
        return int(lib.ff_count_records(*source, *span))

    def records_of(span: tuple[int, int], records: int) -> tuple[Bytes, NDArray[np.uint64]]:
        room = records * RECORD_BYTES
        out, counts = np.empty(room, np.uint8), np.zeros(512, np.uint64)
        lib.ff_write_records(
            *source, *span, pointer(out, np.uint8, room), pointer(counts, np.uint64, 512)
        )
        return out, counts

    spans = list(ranges(nodes, NODES_AT_A_TIME))
    sizes = list(crew.map(records_in, spans))
    count, counts = sum(sizes), np.zeros(512, np.uint64)
    progress.begin(path.name, nodes, "node")
    with NewFile(path, kind, rules, HEADER_BYTES + count * RECORD_BYTES) as new:
        new.write(struct.pack("<Q", count))
        parts = crew.map(lambda part: records_of(*part), zip(spans, sizes, strict=True))
        for span, (records, claims) in zip(spans, parts, strict=True):
            new.write(records)
            counts += claims
            progress.reach(span[1])
        manifest = new.commit({"records": count, **_counts_by_depth(counts)})
    progress.end(counted(count, "record", width=14))
    return manifest


def _counts_by_depth(counts: NDArray[np.uint64]) -> dict[str, Any]:
    """Counts [2 * 256] by side to move and table byte, as the manifest shows them."""
    shown: dict[str, Any] = {}
    for side, name in enumerate(SIDES):
        for value in np.flatnonzero(counts[side * 256 : side * 256 + 256]):
            winner = "x_wins" if (value % 2 == 0) == (side == 0) else "y_wins"
            depths = shown.setdefault(name, {}).setdefault(winner, {})
            depths[str(value - 1)] = int(counts[side * 256 + value])
    return shown


# ---- reading ------------------------------------------------------------------------------------


class Chunk(NamedTuple):
    """Records of a file, uint8 [14 * N], the first one's number and the code before it."""

    number: int
    before: int
    records: Bytes

    @property
    def size(self) -> int:
        return len(self.records) // RECORD_BYTES


@dataclass(frozen=True)
class RecordFile:
    """A ``.data`` file whose manifest, size and count agree."""

    path: Path
    kind: str
    manifest: Manifest
    count: int
    remedy: str

    @property
    def rules(self) -> Rules:
        return self.manifest.rules

    @property
    def is_complete(self) -> bool:
        return self.manifest.counts.get("complete", False) is True

    @property
    def wanted(self) -> int:
        return WANTED[self.kind] | (int(lib.FF_EVERYTHING) if self.is_complete else 0)

    def chunks(self, *, whole: bool = False) -> Iterator[Chunk]:
        """All records in order, about a megabyte at a time, checked against block checksums; with
        ``whole`` against the file's own checksum too, at the end."""
        number, before = 0, NO_CODE
        parts, size, skip = [b""], 0, HEADER_BYTES
        for block in checked_blocks(self.path, self.manifest, self.remedy, whole=whole):
            parts.append(block[skip:] if skip else block)
            size, skip = size + len(parts[-1]), 0
            complete = size // RECORD_BYTES
            if complete and (size >= CHUNK_BYTES or number + complete == self.count):
                data = b"".join(parts)
                records = np.frombuffer(data, np.uint8, complete * RECORD_BYTES)
                yield Chunk(number, before, records)
                number += complete
                before = int(records[-RECORD_BYTES:][:8].view(np.uint64)[0])
                parts = [data[complete * RECORD_BYTES :]]
                size = len(parts[0])

    def bad_record(self, number: int) -> CorruptTableError:
        return CorruptTableError(
            f"'{self.path}': record {number} is out of order, a duplicate, or not a {self.kind} "
            f"record: {self.remedy}"
        )


def open_records(path: Path, kind: str, rules: Rules | None = None) -> RecordFile:
    """Opens a record file, checked as far as its manifest, size and count go."""
    advice = remedy_for(kind, rules or Rules(), path.parent)
    manifest = open_manifest(path, kind, advice, rules)
    with open_regular(path, manifest.bytes, "record file", advice) as source:
        header = source.read(HEADER_BYTES)
    count = struct.unpack("<Q", header)[0] if len(header) == HEADER_BYTES else -1
    if HEADER_BYTES + count * RECORD_BYTES != manifest.bytes:
        raise CorruptTableError(
            f"'{path}' says it has {count} records, but its {manifest.bytes} bytes do not: {advice}"
        )
    if manifest.counts.get("records") != count:
        raise CorruptTableError(f"'{path}': count and manifest disagree: {advice}")
    opened = RecordFile(path, kind, manifest, count, advice)
    if opened.is_complete and count != node_count(opened.rules):
        raise CorruptTableError(
            f"'{path}' is called complete but has {count} of {node_count(opened.rules)} "
            f"positions: {advice}"
        )
    return opened


def check_chunk(source: RecordFile, chunk: Chunk, table: Bytes | None = None) -> NDArray[np.uint64]:
    """Checks records in full: order, canonical codes, results, depths, lines on the board.

    Enters their results into ``table`` if there is one (see ``check_records``). Returns counts
    uint64 [512] by side to move and table byte.
    """
    counts = np.zeros(512, np.uint64)
    good = lib.ff_read_records(
        index_of(source.rules),
        pointer(chunk.records, np.uint8, len(chunk.records)),
        chunk.size,
        source.wanted,
        ffi.new("uint64_t *", chunk.before),
        pointer(counts, np.uint64, 512),
        ffi.NULL if table is None else pointer(table, np.uint8, node_count(source.rules)),
    )
    if good < chunk.size:
        raise source.bad_record(chunk.number + good)
    return counts


@dataclass(frozen=True)
class Disagreement:
    """A record that does not say what a table has, both as table bytes; 0 where it says nothing."""

    position: Position
    claimed: int
    expected: int


class CheckedRecords(NamedTuple):
    """How many results a file lists, by side to move and table byte, uint64 [2, 256], and its first
    disagreement with a table, if it was compared with one."""

    claims: NDArray[np.uint64]
    disagreement: Disagreement | None


def _first_disagreement(source: RecordFile, chunk: Chunk, table: Bytes) -> Disagreement | None:
    """Compares records, which have been checked, with a table; see ``csrc/read_records.h``."""
    first = ffi.new("ff_disagreement *")
    agreeing = lib.ff_compare_records(
        index_of(source.rules),
        pointer(chunk.records, np.uint8, len(chunk.records)),
        chunk.size,
        source.wanted,
        pointer(table, np.uint8, node_count(source.rules)),
        first,
    )
    if agreeing == chunk.size:
        return None
    listed = position_of(first.node, source.rules)
    position = replace(listed, to_move="y" if first.side else "x")
    return Disagreement(position, int(first.claimed), int(first.expected))


def check_records(
    source: RecordFile,
    crew: Crew,
    progress: Progress | None = None,
    *,
    enter_into: Bytes | None = None,
    compare_with: Bytes | None = None,
) -> CheckedRecords:
    """Reads a file once and checks everything: checksums, every record in full, counts.

    ``enter_into``: a table, uint8 [nodes], that takes the results of the side to move, which is X
    in the full slice. ``compare_with``: a table that the results, with X and with Y to move,
    should be those of. Raises CorruptTableError for damage of any kind.
    """
    progress = progress or Silent()
    counts, done = np.zeros(512, np.uint64), 0
    disagreement: Disagreement | None = None

    def check(chunk: Chunk) -> tuple[int, NDArray[np.uint64], Disagreement | None]:
        claims = check_chunk(source, chunk, enter_into)
        differs = compare_with is not None and _first_disagreement(source, chunk, compare_with)
        return chunk.size, claims, differs or None

    progress.begin(source.path.name, source.count, "record")
    for size, claims, differs in crew.map(check, source.chunks(whole=True)):
        counts += claims
        done += size
        disagreement = disagreement or differs
        progress.reach(done)
    by_depth = _counts_by_depth(counts)
    for side in SIDES:
        if source.manifest.counts.get(side, {}) != by_depth.get(side, {}):
            raise CorruptTableError(
                f"'{source.path}': its manifest's counts are not those of its records: "
                f"{source.remedy}"
            )
    progress.end(f"{counted(done, 'record', width=14)} checked")
    return CheckedRecords(counts.reshape(2, 256), disagreement)


def claims_expected(source: RecordFile, counts: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """How many results of each kind the file should list, by side to move and table byte, uint64
    [2, 256], if a table has ``counts`` uint64 [slices, 256]."""
    claims = np.zeros((2, 256), np.uint64)
    byte = np.arange(256)
    for side, winner_of_even in enumerate((lib.FF_X_WINS, lib.FF_Y_WINS)):
        winner = np.where(byte % 2 == 0, winner_of_even, BOTH - winner_of_even)
        listed = (winner & source.wanted != 0) & (byte != UNDECIDED) & (byte != IMPOSSIBLE)
        for pieces, by_byte in enumerate(counts):
            if pieces == 2 * source.rules.m or pieces % 2 == side:
                claims[side] += np.where(listed, by_byte, 0).astype(np.uint64)
    return claims


def mark_impossible(rules: Rules, table: Bytes, crew: Crew) -> None:
    """Marks the positions without a value in a table that was made from records."""
    start = pointer(table, np.uint8, node_count(rules))
    spans = ranges(node_count(rules), NODES_AT_A_TIME)
    for _ in crew.map(lambda span: lib.ff_mark_impossible(index_of(rules), start, *span), spans):
        pass
