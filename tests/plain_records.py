"""Record files decoded and encoded with ``struct``, from the drawing of the format alone."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import brute_force
from mismatched_counting import canonical, symmetries, transform

from solver import (
    Rules,
    Solution,
    swap_colours,
    write_table,
    write_wins,
)
from solver.kernels import Crew
from solver.manifest import NewFile

RULES33 = Rules(3, 3, 3)
TABLE, XWIN, YWIN, TREE = (
    "solved_3x3_m3.table",
    "xwin_3x3_m3.data",
    "ywin_3x3_m3.data",
    "game_tree_3x3_m3.data",
)


TRUTH = dict[brute_force.Position, brute_force.Value]
Pair = tuple[brute_force.Queue, brute_force.Queue]


class Record(NamedTuple):
    """A record as DESIGN section 4 lists it."""

    code: int
    dp0: int
    dp1: int
    depth0: int
    depth1: int

    def pack(self) -> bytes:
        return struct.pack("<QbbHH", *self)


def read_records(path: Path) -> list[Record]:
    data = path.read_bytes()
    (count,) = struct.unpack_from("<Q", data)
    assert len(data) == 8 + 14 * count
    return [Record(*fields) for fields in struct.iter_unpack("<QbbHH", data[8:])]


def decode(code: int) -> Pair:
    """The queues (X's, Y's) behind a state code, from the drawing in csrc/index.h.

    Four bits of piece count, then six bits a cell: the mover's pieces but the oldest, the
    opponent's but the newest, the mover's oldest, the opponent's newest. X is the mover when the
    count is even.
    """
    bits = f"{code:064b}"
    pieces = int(bits[:4], 2)
    cells = [int(bits[4 + 6 * i : 10 + 6 * i], 2) for i in range(10)]
    assert not any(cells[pieces:])
    cells = cells[:pieces]
    movers = pieces // 2
    opponent = cells[max(0, movers - 1) : pieces - 2 if movers else 0] + cells[-1:]
    mover = ([cells[-2]] if movers else []) + cells[: max(0, movers - 1)]
    x, y = (mover, opponent) if pieces % 2 == 0 else (opponent, mover)
    return tuple(x), tuple(y)


def encode(x: Iterable[int], y: Iterable[int]) -> int:
    x, y = list(x), list(y)
    mover, opponent = (x, y) if len(x) == len(y) else (y, x)
    cells = mover[1:] + opponent[:-1] + mover[:1] + opponent[-1:]
    bits = f"{len(cells):04b}" + "".join(f"{cell:06b}" for cell in cells)
    return int(bits.ljust(64, "0"), 2)


def images(pair: Pair) -> set[Pair]:
    return {transform((*pair, 0), symmetry)[:2] for symmetry in symmetries(3)}


def least_image(pair: Pair) -> Pair:
    """The same member of its orbit for every image of a pair on the 3x3 board."""
    return canonical((*pair, 0), 3)[:2]


def sides_of(pair: Pair, m: int = 3) -> list[int]:
    """Who may be to move: 0 is X."""
    x, y = pair
    return [0, 1] if len(x) == len(y) == m else [int(len(x) > len(y))]


def claim_of(value: brute_force.Value | None, side: int) -> tuple[int, int]:
    """(dp, depth) of a brute-force value; None is a position that cannot occur."""
    if value is None or value[1] is None:
        return 0, 0
    result, plies = value
    return (result if side == 0 else -result), plies


def by_pair(records: list[Record]) -> dict[Pair, tuple[int, int, int, int]]:
    return {least_image(decode(record.code)): record[1:] for record in records}


def count_by_depth(records: list[Record]) -> dict[str, Any]:
    """The counts of a manifest: side to move, winner, depth."""
    counts: dict[str, Any] = {}
    for record in records:
        for side, dp, depth in (
            ("x_to_move", record.dp0, record.depth0),
            ("y_to_move", record.dp1, record.depth1),
        ):
            if dp:
                winner = "x_wins" if dp == 1 else "y_wins"
                depths = counts.setdefault(side, {}).setdefault(winner, {})
                depths[str(depth)] = depths.get(str(depth), 0) + 1
    return counts


def write_everything(folder: Path, solution: Solution) -> None:
    write_table(folder, solution)
    with Crew() as crew:
        swapped = swap_colours(solution.rules, solution.table, crew)
        for kind in ("xwin", "ywin"):
            write_wins(folder, kind, solution.rules, solution.table, swapped, crew)


def craft(path: Path, kind: str, records: list[Record], **counts: Any) -> None:
    """Writes any records as if they were right: count, manifest and checksums fit."""
    data = struct.pack("<Q", len(records)) + b"".join(record.pack() for record in records)
    with NewFile(path, kind, RULES33, len(data)) as new:
        new.write(data)
        new.commit({"records": len(records), **counts, **count_by_depth(records)})


def full_place(records: list[Record], wanted: Callable[[Record], bool]) -> int:
    return next(i for i, record in enumerate(records) if record.code >> 60 == 6 and wanted(record))
