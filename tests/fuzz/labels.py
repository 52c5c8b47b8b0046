"""Archives of labelled Connect Four positions: those that a network is taught from, and those that
it is graded by; real ones with their numbers, headers of arrays or any bytes changed.

What is read are positions in play that plain rules have too, each with a score that it can have
and moves that are legal; a teacher makes lessons of it.
"""

from __future__ import annotations

import hashlib
import random
from typing import Any

import numpy as np

from azfit.grading.connect4.labels import CACHE, LabelFile
from azfit.oracle.connect4.dataset import Dataset
from azfit.oracle.connect4.labelling import DTYPES, Rows, Source
from azfit.oracle.connect4.report import DatasetReport
from azfit.oracle.connect4.teacher import Connect4Teacher
from fuzz.forged_archives import archive, changed
from fuzz.untrusted import Input, refused, scratch_folder
from solver import FadefourError
from solver.connect4 import CELLS, COLUMNS, ROWS, Connect4Position, Connect4Solver
from solver.connect4.labels import label

FOLDER = scratch_folder()
TAUGHT, GRADED = FOLDER / "positions-000000.npz", FOLDER / CACHE
DIGEST_FITS, HEADER_OF_ARRAY, RAW_CHANGES, PACKED, ANY_BYTES = 1, 2, 4, 8, 16


def late_positions(count: int) -> list[Connect4Position]:
    """That are solved at once."""
    draw, chosen = random.Random(7), list[Connect4Position]()
    while len(chosen) < count:
        position, plies = Connect4Position(), draw.randint(30, 41)
        while position.plies < plies and not position.is_over:
            position = position.play(draw.choice(position.legal_moves()))
        if not position.is_over:
            chosen.append(position)
    return chosen


def taught(positions: list[Connect4Position]) -> dict[str, Any]:
    with Connect4Solver() as solver:
        scores, keeping, optimal = zip(*(label(p, solver) for p in positions), strict=True)
    known = {"movers": [p.mover for p in positions], "stones": [p.stones for p in positions]}
    known |= {"scores": scores, "keeping": keeping, "optimal": optimal}
    zeros = [0] * len(positions)
    return {name: np.array(known.get(name, zeros), dtype) for name, dtype in DTYPES.items()}


def graded(positions: list[Connect4Position]) -> dict[str, Any]:
    with Connect4Solver() as solver:
        labels = [label(position, solver) for position in positions]
    texts = [str(position) for position in positions]
    return {"positions": np.array(texts, f"S{CELLS}"), "labels": np.array(labels, np.int16)}


POSITIONS = late_positions(3)
BASES = [taught(POSITIONS), graded(POSITIONS)]


def forged(base: dict[str, Any], source: Input, options: int) -> bytes:
    names = list(base)
    arrays = dict(base)
    for _ in range(1 + source.byte() % 3):
        chosen = names[source.below(len(names))]
        content = changed(arrays[chosen].tobytes(), source)
        arrays[chosen] = np.frombuffer(content, base[chosen].dtype).reshape(base[chosen].shape)
    if source.byte() & 1:  # some of the positions
        count = source.below(3)
        arrays = {name: array[:count] for name, array in arrays.items()}
    digest = hashlib.sha256(b"".join(array.tobytes() for array in arrays.values())).digest()
    if not options & DIGEST_FITS:
        digest = changed(digest, source)
    arrays["sha256"] = np.frombuffer(digest, np.uint8)
    headed = [*names, "sha256"][source.below(len(names) + 1)]
    headers = {headed: source.piece()} if options & HEADER_OF_ARRAY else {}
    return archive(arrays, headers, packed=bool(options & PACKED))


def check(data: bytes) -> bool:
    source = Input(data)
    options, kind = source.byte(), source.byte() & 1
    content = source.rest() if options & ANY_BYTES else forged(BASES[kind], source, options)
    if options & RAW_CHANGES:
        content = changed(content, source)
    (GRADED if kind else TAUGHT).write_bytes(content)
    return check_graded() if kind else check_taught()


# ---- positions that are taught ------------------------------------------------------------------


def check_taught() -> bool:
    try:
        dataset = Dataset(FOLDER)
    except FadefourError as error:
        return refused(error, TAUGHT.name)
    rows = dataset.rows(len(dataset))
    assert len(rows) <= len(POSITIONS)
    for row in range(len(rows)):
        check_row(rows, row)
    assert str(DatasetReport.of("folder", rows)).replace("\n", "").isprintable()
    if not len(rows):
        return False
    teacher = Connect4Teacher(rows)
    assert (teacher.plies_left >= 1).all() and (teacher.plies_left <= CELLS - teacher.plies).all()
    assert not teacher.game.results(teacher.labelled.states).any()
    assert teacher.provenance["positions_sha256"]
    return True


def check_row(rows: Rows, row: int) -> None:
    mover, stones = int(rows.movers[row]), int(rows.stones[row])
    heights = plain_heights(mover, stones)
    assert stones.bit_count() // 2 == mover.bit_count()
    legal = {column for column in range(COLUMNS) if heights[column] < ROWS}
    check_label(int(rows.scores[row]), int(rows.keeping[row]), int(rows.optimal[row]), legal)
    assert rows.seconds[row] >= 0 and int(rows.sources[row]) in set(Source)


def plain_heights(mover: int, stones: int) -> list[int]:
    """Of the columns; stones lie on stones, on the board, and the mover's are some of them."""
    assert not mover & ~stones and not stones >> 7 * COLUMNS
    heights = []
    for column in range(COLUMNS):
        bits = [stones >> (7 * column + row) & 1 for row in range(7)]
        heights.append(sum(bits))
        assert bits == [1] * heights[-1] + [0] * (7 - heights[-1]) and heights[-1] <= ROWS
    return heights


def check_label(score: int, keeping: int, optimal: int, legal: set[int]) -> None:
    kept, best = ({c for c in range(16) if mask >> c & 1} for mask in (keeping, optimal))
    assert best and best <= kept <= legal
    assert -21 <= score <= 21


# ---- labels that networks are graded by ---------------------------------------------------------


def check_graded() -> bool:
    try:
        labels = LabelFile(GRADED, warn=lambda words: None)
    except FadefourError as error:
        return refused(error, GRADED.name)
    for (
        known
    ) in labels.known.values():  # of whatever: a text that is no position is never asked for
        check_label(*known, legal=set(range(COLUMNS)))
    return bool(labels.known)


def seeds() -> list[bytes]:
    headers = [
        b"{'descr': '<u8', 'fortran_order': False, 'shape': (3,), }\n",
        b"{'descr': 'O', 'fortran_order': False, 'shape': (3,)}",
        *(b"[" * 90, b"{'descr': [('a', '<f8', 9)], 'shape': (-1,)}", b"\\x", b"1" * 60),
    ]
    fits, both = DIGEST_FITS, (0, 1)
    return [
        *(bytes([fits | way, kind, 0, 0, 0, 0]) for way in (0, PACKED) for kind in both),
        *(bytes([fits, kind, 0, 0, 0, 1, count]) for kind in both for count in range(3)),
        *(bytes([fits, 0, 0, name, 1, at, 1]) for name in range(7) for at in range(0, 24, 5)),
        *(bytes([fits, 1, 0, name, 1, at, 1]) for name in range(2) for at in range(0, 120, 7)),
        *(bytes([0, kind, 0, 0, 0, 0, 1, 3, 9]) for kind in both),
        *(bytes([fits | 2, at % 2, 0, 0, 0, 0, at, len(h)]) + h for at, h in enumerate(headers)),
        *(
            bytes([fits | 4, kind, 0, 0, 0, 0, 2, 1, at, 3])
            for kind in both
            for at in range(0, 250, 31)
        ),
        *(bytes([ANY_BYTES, kind]) + b"PK\5\6" + bytes(18) for kind in both),
    ]
