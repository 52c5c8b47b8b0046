"""Dense tables: the bytes of a solved one with some changed, under checksums that fit or not; and
the checkpoint of a solve, which is the table of its full slice.

``verify`` finds nothing wrong exactly if the table is the solved one. A table that is wrong still
answers every question about a position, or says in one line that it cannot. A solve that resumes
from any checkpoint ends.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fuzz.forged_files import changed, forge
from fuzz.untrusted import Input, refused, scratch_folder
from solver import DenseTable, FadefourError, Rules, solve, verify_folder
from solver.checkpoint import CheckpointFile
from solver.index import find_node, node_count, position_of
from solver.retrograde import Solution
from solver.table import table_path
from solver.table_counts import counts_of_table
from solver.values import IMPOSSIBLE, value_of_byte

RULES = Rules(3, 2, 2)
SOLVED = solve(RULES, threads=1)
COUNTS = counts_of_table(SOLVED.counts)
FOLDER = scratch_folder()
PATH = table_path(FOLDER, RULES)
FITTING_SUMS, RIGHT_COUNTS, FROM_CHECKPOINT, UNVERIFIED = 1, 2, 4, 8


def check(data: bytes) -> bool:
    source = Input(data)
    options = source.byte()
    if options & FROM_CHECKPOINT:
        return check_resuming(source)
    content = changed(SOLVED.table.tobytes(), source)
    counts = COUNTS
    if options & RIGHT_COUNTS and len(content) == len(SOLVED.table):
        counts = counts_of_table(histogram(content))
    forge(PATH, content, "table", RULES, counts)
    if not options & FITTING_SUMS:
        PATH.write_bytes(content := changed(content, source))
    if not options & UNVERIFIED:
        verification = verify_folder(FOLDER, RULES, threads=1)
        assert all(problem.isprintable() for problem in verification.problems)
        assert verification.ok == (content == SOLVED.table.tobytes())
    try:
        with DenseTable(PATH, RULES) as table:
            return check_probing(table, content, source)
    except FadefourError as error:
        return refused(error, PATH.name)


def histogram(content: bytes) -> np.ndarray[tuple[int, int], np.dtype[np.uint64]]:
    """uint64 [slices, 256]."""
    values, counts = np.frombuffer(content, np.uint8), np.zeros_like(SOLVED.counts)
    first = 0
    for pieces, size in enumerate(SOLVED.counts.sum(axis=1).tolist()):
        counts[pieces] = np.bincount(values[first : first + size], minlength=256)
        first += size
    return counts


def check_probing(table: DenseTable, content: bytes, source: Input) -> bool:
    answers = 0
    for _ in range(4):
        position = position_of(source.below(node_count(RULES)), RULES)
        if position.is_impossible:
            continue
        byte = content[find_node(position)[0]]
        try:
            value = table.probe(position)
            assert byte != IMPOSSIBLE and value == value_of_byte(byte)
            moves = table.moves(position)
            assert sorted(move.cell for move in moves) == position.legal_moves()
            assert len(table.line(position)) <= 64
            answers += 1
        except FadefourError as error:
            refused(error, PATH.name)
    return answers > 0


class Forged(CheckpointFile):
    """Leaves its file alone."""

    def save_if_due(self, full: object, depth: int) -> None:
        pass


def full_slice() -> bytes:
    """What a solve of the variant would save at its end."""
    saved: list[bytes] = []

    class Kept(Forged):
        def save_if_due(self, full: np.ndarray[tuple[int], np.dtype[np.uint8]], depth: int) -> None:
            saved.append(full.tobytes())

    solve(RULES, threads=1, checkpoints=Kept(Path("/nowhere"), RULES, 0))
    return saved[-1]


FULL_SLICE = full_slice()


def check_resuming(source: Input) -> bool:
    checkpoints = Forged(FOLDER, RULES, 0)
    content = changed(FULL_SLICE, source)
    values = np.frombuffer(content, np.uint8)
    depth = int(values[values != IMPOSSIBLE].max(initial=0)) - 1
    forge(checkpoints.path, content, "checkpoint", RULES, {"depth": depth - source.below(2)})
    try:
        solution: Solution = solve(RULES, threads=1, checkpoints=checkpoints)
    except FadefourError as error:
        return refused(error)
    assert len(solution.table) == node_count(RULES)
    assert content != FULL_SLICE or solution.table.tobytes() == SOLVED.table.tobytes()
    return True


def seeds() -> list[bytes]:
    return [
        *(bytes([FITTING_SUMS, 0, 0, 1, 7, 2, 200]), bytes([0, 0, 0, 0, 0, 1, 9])),
        bytes([FITTING_SUMS | UNVERIFIED, 3, 1, 9, 255, 0, 70, 4, 1, 30, 7, 0, 1, 9, 0, 70]),
        bytes([FITTING_SUMS | RIGHT_COUNTS, 2, 0, 9, 5, 1, 30, 255, 0, 0, 9, 1, 30]),
        *(bytes([FITTING_SUMS, 0, length, 0, 3]) for length in (245, 255)),
        *(bytes([FROM_CHECKPOINT, 0, 0, 0]), bytes([FROM_CHECKPOINT, 1, 0, 5, 9, 0, 0])),
        bytes([FROM_CHECKPOINT, 1, 1, 5, 200, 0, 0]),
    ]
