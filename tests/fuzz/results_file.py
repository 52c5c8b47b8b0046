"""Results without plies: the bytes of solved ones with some changed, under checksums that fit or
not, and any counts in their manifest.

``verify`` accepts the solved file and no other, because the dense table lies beside it. Without
that table it may accept another one that contradicts itself nowhere. A file that is wrong still
answers every question about a position, or says in one line that it cannot; what it answers is a
result without plies.
"""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from fuzz.forged_files import changed, forge
from fuzz.untrusted import Input, edited_json, refused, scratch_folder
from solver import FadefourError, Rules, open_table, solve, verify_folder, write_table
from solver.index import node_count, position_of
from solver.kernels import Crew
from solver.results import ResultsSolution, solve_results
from solver.results_table import ResultsTable, packed, results_path
from solver.table_counts import counts_of_table
from solver.values import RESULT_OF_BYTE

FITTING_SUMS, BESIDE_TABLE, UNVERIFIED, EDITED_COUNTS = 1, 2, 4, 8


class Variant:
    """A solved variant, with a folder for its results alone and one that has the table too."""

    def __init__(self, rules: Rules) -> None:
        solution: ResultsSolution = solve_results(rules, threads=1)
        with Crew(1) as crew:
            self.right = b"".join(part.tobytes() for part in packed(solution, crew))
        self.rules, self.counts = rules, counts_of_table(solution.counts)
        self.alone, self.beside = scratch_folder(), scratch_folder()
        solved = solve(rules, threads=1)
        write_table(self.beside, solved)
        self.results = RESULT_OF_BYTE[solved.table]


VARIANTS = [Variant(Rules(3, 2, 2)), Variant(Rules(3, 2, 3)), Variant(Rules(3, 3, 3))]


def check(data: bytes) -> bool:
    source = Input(data)
    options, variant = source.byte(), VARIANTS[source.below(len(VARIANTS))]
    folder = variant.beside if options & BESIDE_TABLE else variant.alone
    path = results_path(folder, variant.rules)
    content = summed = changed(variant.right, source)
    text = edited_json(variant.counts, source) if options & EDITED_COUNTS else None
    forge(path, content, "results", variant.rules, variant.counts, text)
    if not options & FITTING_SUMS:
        path.write_bytes(content := changed(content, source))
    if not options & UNVERIFIED:
        verification = verify_folder(folder, variant.rules, threads=1)
        assert all(problem.isprintable() for problem in verification.problems)
        assert not verification.ok or text is not None or consistent(variant, content, options)
        # A second change may undo the first, under the checksums of the first.
        if content == summed == variant.right and text is None:
            assert verification.ok, verification.problems
    try:
        with ResultsTable(path, variant.rules) as table:
            return check_probing(table, variant, content, source)
    except FadefourError as error:
        return refused(error, path.name)


def consistent(variant: Variant, content: bytes, options: int) -> bool:
    """Whether verify may accept this content."""
    return content == variant.right or not options & BESIDE_TABLE


def check_probing(table: ResultsTable, variant: Variant, content: bytes, source: Input) -> bool:
    answers = 0
    for _ in range(4):
        position = position_of(source.below(node_count(variant.rules)), variant.rules)
        if position.is_impossible:
            continue
        try:
            value = table.probe(position)
            assert value.plies in (None, 0) and value.result in ("win", "draw", "loss")
            assert (value.plies == 0) == position.is_over
            moves = table.moves(position)
            assert sorted(move.cell for move in moves) == position.legal_moves()
            assert len(table.line(position)) <= 64
            answers += 1
        except FadefourError as error:
            refused(error)
    if content == variant.right:
        nodes = np.arange(node_count(variant.rules), dtype=np.uint64)
        assert (RESULT_OF_BYTE[table.values_of(nodes)] == variant.results).all()
        with open_table(table.path, variant.rules) as again:
            assert not again.has_plies
    return answers > 0


def seeds() -> list[bytes]:
    whole = [FITTING_SUMS, FITTING_SUMS | BESIDE_TABLE, 0, FITTING_SUMS | UNVERIFIED]
    places = list(accumulate([3] * 12))
    return [
        *(bytes([way, number, 0, 0, 0, 7, 1, 9]) for way in whole for number in range(3)),
        *(bytes([way, 0, 1, 0, place, 255, 0, 0, 9]) for way in whole for place in places),
        *(bytes([FITTING_SUMS, number, 0, length]) for number in range(3) for length in (245, 255)),
        *(bytes([FITTING_SUMS | EDITED_COUNTS, 0, 0, 0, 1, place, 40]) for place in places),
    ]
