"""Record files: any bytes, or records under a header, a manifest and checksums that fit.

A file is accepted exactly if a plain reader accepts every record; it then lists what the plain
reader lists, probes as it says, and gives its own bytes back whatever the size of its chunks.
"""

from __future__ import annotations

import struct
from itertools import permutations
from typing import Any

import brute_force
from plain_records import Record, count_by_depth, decode, encode, least_image

import solver.records
from fuzz.forged_files import forge
from fuzz.untrusted import Input, edited_json, refused, scratch_folder
from solver import FadefourError, Rules, open_table
from solver.kernels import Crew
from solver.records import CHUNK_BYTES, KINDS, check_records, open_records
from solver.rules import Position

RULES = Rules(3, 2, 2)
FOLDER = scratch_folder()
CREW = Crew(1)
MOST_RECORDS = 40
WINNERS = {"xwin": {1}, "ywin": {-1}, "game_tree": {1, -1}}


def canonical_codes() -> list[int]:
    """Rising: one code, the least, for every pair of queues up to symmetry."""
    codes: dict[Any, int] = {}
    for pieces in range(2 * RULES.m + 1):
        for cells in permutations(range(RULES.cells), pieces):
            pair = (cells[: pieces - pieces // 2], cells[pieces - pieces // 2 :])
            least, code = least_image(pair), encode(*pair)
            codes[least] = min(code, codes.get(least, code))
    return sorted(codes.values())


CODES = canonical_codes()
IS_CANONICAL = frozenset(CODES)


def is_good(record: Record, kind: str, complete: bool) -> bool:
    """Would some solve write this record? From the drawing of the format and the rules alone."""
    if record.code not in IS_CANONICAL:
        return False
    queues = decode(record.code)
    full, on_move = len(queues[0]) == len(queues[1]) == RULES.m, len(queues[0]) > len(queues[1])
    lines = [brute_force.has_line(queue, RULES.n, RULES.k) for queue in queues]
    for side, (result, depth) in enumerate(
        ((record.dp0, record.depth0), (record.dp1, record.depth1))
    ):
        if (result, depth) == (0, 0):
            continue
        mover_wins = result == (1, -1)[side]
        if (
            result not in WINNERS[kind]
            or not (full or side == on_move)
            or depth > 253
            or depth % 2 != mover_wins
            or lines[side]
            or lines[1 - side] != (depth == 0)
        ):
            return False
    return complete or record.dp0 != 0 or record.dp1 != 0


def records_from(source: Input) -> list[Record]:
    """Fields as they come, or the codes of canonical pairs."""
    records, count, by_number = [], source.below(MOST_RECORDS), source.byte() & 1
    for _ in range(count):
        if by_number:
            code, claims = CODES[source.below(len(CODES))], source.byte()
            results = [(claims & 3) - 1, (claims >> 2 & 3) - 1]
            depths = [source.byte() if result else 0 for result in results]
            if claims & 64:
                code ^= 1 << source.below(64)
            records.append(Record(code, *results, *depths))
        else:
            records.append(Record(*struct.unpack("<QbbHH", source.take(14).ljust(14, b"\0"))))
    return records


FORGED, SORTED, COMPLETE, EDITED, SMALL_CHUNKS = 1, 2, 4, 8, 16


def check(data: bytes) -> bool:
    source = Input(data)
    kind, options = KINDS[source.below(3)], source.byte()
    path = FOLDER / f"{kind}_{RULES.name}.data"
    counts: dict[str, Any] = {"complete": bool(options & COMPLETE)}
    if options & FORGED:
        records = records_from(source)
        if options & SORTED:
            records.sort()
        content = struct.pack("<Q", len(records)) + b"".join(record.pack() for record in records)
        counts |= {"records": len(records), **count_by_depth(records)}
    else:
        content = source.take(8 + 14 * MOST_RECORDS)
        counts["records"] = (len(content) - 8) // 14
    text = edited_json(counts, source) if options & EDITED else None
    forge(path, content, kind, RULES, counts, text)
    solver.records.CHUNK_BYTES = 1 if options & SMALL_CHUNKS else CHUNK_BYTES
    try:
        return check_file(path, kind, content)
    finally:
        solver.records.CHUNK_BYTES = CHUNK_BYTES


def check_file(path: Any, kind: str, content: bytes) -> bool:
    try:
        opened = open_records(path, kind, RULES)
        checked = check_records(opened, CREW)
    except FadefourError as error:
        return refused(error, path.name)
    listed = [Record(*fields) for fields in struct.iter_unpack("<QbbHH", content[8:])]
    assert struct.unpack_from("<Q", content)[0] == len(listed) == opened.count
    assert [record.code for record in listed] == sorted({record.code for record in listed})
    for record in listed:
        assert is_good(record, kind, opened.is_complete), f"accepted: {record}"
    assert b"".join(chunk.records.tobytes() for chunk in opened.chunks()) == content[8:]
    assert int(checked.claims.sum()) == sum((r.dp0 != 0) + (r.dp1 != 0) for r in listed)
    if kind == "game_tree":
        check_probing(path, {record.code: record for record in listed})
    return True


def check_probing(path: Any, listed: dict[int, Record]) -> None:
    with open_table(path, RULES) as table:
        for code in [*list(listed)[:4], *CODES[:: len(CODES) // 4]]:
            x, y = decode(code)
            position = Position(x, y, "y" if len(x) > len(y) else "x", RULES)
            if position.is_impossible:
                continue
            record = listed.get(code, Record(code, 0, 0, 0, 0))
            side = position.to_move == "y"
            result, depth = (record.dp1, record.depth1) if side else (record.dp0, record.depth0)
            value = table.probe(position)
            words = {0: "draw", 1: "loss" if side else "win", -1: "win" if side else "loss"}
            assert value == (words[result], depth if result else None), (record, value)


def seeds() -> list[bytes]:
    inputs = []
    for number, kind in enumerate(KINDS):
        claims = [(0, 0, 0, 0), (1, 0, 1, 0), (0, 1, 0, 2), (-1, 0, 2, 0), (0, -1, 0, 3)]
        records = [Record(code, *claim) for code in CODES[::30] for claim in claims]
        by_code = {r.code: r for r in records if is_good(r, kind, complete=False)}
        listed = b"".join(record.pack() for record in by_code.values())
        header = bytes([len(by_code), 0])
        inputs += [bytes([number, FORGED]) + header + listed]
        inputs += [bytes([number, FORGED | SMALL_CHUNKS]) + header + listed]
        inputs += [bytes([number, 0]) + struct.pack("<Q", len(by_code)) + listed]
        inputs += [bytes([number, FORGED | SORTED, 12, 1]) + bytes(range(0, 250, 7))]
        inputs += [bytes([number, FORGED | EDITED]) + header + listed + bytes([1, 2, 40])]
        inputs += [bytes([number, FORGED, 0])]
    every = b"".join(struct.pack(">HB", place, 5) for place in range(len(CODES)))
    return [*inputs, bytes([2, FORGED | COMPLETE, 20, 1]) + every[:60]]
