"""Verifying results without plies: every column and every position, against what can follow.

``audit_results`` derives them again with C code that shares nothing with the solver but the rules
(``csrc/results_audit.h``, which says what that proves). Wins could still rest on each other in a
circle; so where the folder has the dense table as well, whose depths rule that out, every position
is compared with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.errors import FadefourError
from solver.index import node_count, position_of, slice_sizes
from solver.kernels import Crew, ffi, lib, pointer
from solver.manifest import check_whole
from solver.progress import Progress, Silent
from solver.results_table import PackedResults, ResultsTable
from solver.rules import Rules
from solver.table import DenseTable
from solver.values import IMPOSSIBLE, RESULT_OF_BYTE, ResultCounts, result_of_byte
from solver.wording import counted

SHOWN = 10
NODES_AT_A_TIME = 1 << 20

RESULTS = ("drawn", "lost", "won", "impossible")  # csrc/results_audit.h


@dataclass(frozen=True)
class ResultsAudit:
    """``columns`` and ``positions`` were derived again from what can follow; ``wrong`` of them
    differ from the file. ``compared``: positions compared with the dense table."""

    columns: int
    positions: int
    wrong: int
    compared: int
    problems: list[str]

    def to_dict(self) -> dict[str, int]:
        return {
            "columns": self.columns,
            "positions": self.positions,
            "wrong": self.wrong,
            "compared": self.compared,
        }

    def __str__(self) -> str:
        derived = (
            f"results without plies: {self.columns:,} columns and {self.positions:,} smaller "
            f"positions derived again from what can follow, {self.wrong:,} wrong; by slice they "
            "are as many as the solve counted"
        )
        if self.compared:
            return f"{derived}; {self.compared:,} positions compared with the dense table"
        return (
            f"{derived}. This shows that no result contradicts another. That no win rests on "
            "itself in a circle is not shown: it follows from the depths, which the solve kept "
            "apart and the file does not hold"
        )


def audit_results(
    table: ResultsTable,
    crew: Crew,
    progress: Progress | None = None,
    dense: DenseTable | None = None,
) -> ResultsAudit:
    """Checks a whole file; ``dense``: the table of the same variant, if there is one."""
    run = _Run(table, crew, progress or Silent())
    run.check_bytes()
    run.derive()
    run.compare_counts()
    compared = run.compare(dense) if dense is not None else 0
    return ResultsAudit(run.columns, run.positions, run.wrong, compared, run.problems[:SHOWN])


class _Run:
    """One audit, as far as it has got."""

    def __init__(self, table: ResultsTable, crew: Crew, progress: Progress) -> None:
        self.table, self.rules, self._crew, self._progress = table, table.rules, crew, progress
        self._file = pointer(table.packed, np.uint8, table.manifest.bytes)
        self._groups = _audit_of(self.rules, 2 * self.rules.m - 2)
        self._derived: NDArray[np.uint64] = np.zeros((13, 4), np.uint64)
        self.columns = self.positions = self.wrong = 0
        self.problems: list[str] = []

    def check_bytes(self) -> None:
        manifest = self.table.manifest
        self._progress.begin(self.table.path.name, manifest.bytes, "B")
        check_whole(self.table.path, manifest, self.table.remedy, self._progress.reach)
        self._progress.end(f"{manifest.bytes:>14,} bytes match their checksums")

    def derive(self) -> None:
        """Every column, and every position with fewer pieces than those."""
        checked, groups = self._audit(
            "audit, columns",
            self._groups,
            partial(lib.ff_results_audit_groups, self._groups, self._file),
        )
        self.columns += checked
        self.problems += [f"group {group:,} of '{self.table.path}' is wrong" for group in groups]
        start = PackedResults(self.rules).columns_bytes
        for pieces in range(2 * self.rules.m - 1):
            checker = _audit_of(self.rules, pieces)
            checked, nodes = self._audit(
                f"audit, {counted(pieces, 'piece')}",
                checker,
                partial(lib.ff_results_audit_small, checker, self._groups, self._file, start),
            )
            self.positions += checked
            self.problems += [
                f"'{position_of(node, self.rules)}' does not follow from its successors"
                for node in nodes
            ]

    def _audit(
        self, label: str, checker: Any, kernel: Callable[[Any, Any], None]
    ) -> tuple[int, list[int]]:
        """How many were checked, and the first that are wrong."""
        counts: list[Any] = []

        def check(work: Any) -> None:
            count = ffi.new("ff_results_audit_count *")
            counts.append(count)
            kernel(work, count)

        self._progress.begin(label, checker.items, "part")
        self._crew.share(checker.items, check, step=1, report=self._progress.reach)
        places: list[int] = []
        for count in counts:
            self._derived += np.array(
                [[count.results[s][r] for r in range(4)] for s in range(13)], np.uint64
            )
            self.wrong += count.wrong
            shown = min(int(count.wrong), lib.FF_AUDIT_SHOWN)
            places += [int(count.wrong_place[i]) for i in range(shown)]
        checked = sum(int(count.checked) for count in counts)
        self._progress.end(f"{checked:>14,} checked")
        return checked, sorted(set(places))[:SHOWN]

    def compare_counts(self) -> None:
        """What was derived, with what the manifest says that the solve counted."""
        for pieces, (row, size) in enumerate(
            zip(self.table.counts, slice_sizes(self.rules), strict=True)
        ):
            stated = ResultCounts.of(row)
            expected = [stated.draw, stated.lost, stated.win, stated.impossible]
            derived = self._derived[pieces].tolist()
            if derived != expected and not self.wrong:
                self.problems.append(
                    f"of {size:,} positions with {counted(pieces, 'piece')}, "
                    + ", ".join(
                        f"{number:,} are {result}"
                        for number, result in zip(derived, RESULTS, strict=True)
                    )
                    + f"; the manifest of '{self.table.path}' says otherwise: {self.table.remedy}"
                )

    def compare(self, dense: DenseTable) -> int:
        """Every position with the dense table; returns how many there are."""
        total = node_count(self.rules)
        starts = range(0, total, NODES_AT_A_TIME)
        self._progress.begin("compared with the table", total, "node")

        def differing(first: int) -> tuple[int, NDArray[np.int64]]:
            nodes = np.arange(first, min(first + NODES_AT_A_TIME, total), dtype=np.uint64)
            ours, theirs = self.table.values_of(nodes), dense.bytes[first : first + len(nodes)]
            differ = RESULT_OF_BYTE[ours] != RESULT_OF_BYTE[theirs]
            differ |= (ours == IMPOSSIBLE) != (theirs == IMPOSSIBLE)
            return first + len(nodes), np.flatnonzero(differ) + first

        for done, nodes in self._crew.map(differing, starts):
            self._progress.reach(done)
            self.wrong += len(nodes)
            for node in nodes[:SHOWN].tolist():
                value = int(self.table.values_of(np.array([node], np.uint64))[0])
                stored = "impossible" if value == IMPOSSIBLE else result_of_byte(value).result
                self.problems.append(
                    f"'{position_of(node, self.rules)}' is {stored} in '{self.table.path}', which "
                    f"differs from {dense.name}"
                )
        self._progress.end(f"{total:>14,} nodes")
        return total


def _audit_of(rules: Rules, pieces: int) -> Any:
    checker = ffi.new("ff_audit *")
    if lib.ff_audit_init(checker, rules.n, rules.m, rules.k, pieces) != lib.FF_OK:
        raise FadefourError(f"{rules}: the audit has no room for these rules")
    return checker
