"""The forward audit: does every stored result follow from the results of its successors?

``audit_table`` derives a table again, node by node, with C code that shares nothing with the solver
but the rules (``csrc/audit.h``). It judges the bytes as they are stored, those of positions that
cannot occur included, and needs no memory beyond the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.errors import FadefourError
from solver.index import look_up_positions, node_count, position_at
from solver.kernels import Crew, ffi, lib, pointer
from solver.progress import Progress, Silent
from solver.rules import Rules
from solver.values import ResultCounts, describe
from solver.wording import counted

SHOWN = 10


@dataclass(frozen=True)
class Audit:
    """``checked`` nodes were compared with their successors: ``wrong`` of them differ, ``right``
    counts the others. ``problems`` names the first ``SHOWN`` wrong nodes."""

    checked: int
    wrong: int
    right: ResultCounts
    problems: list[str]

    @property
    def ok(self) -> bool:
        return not self.problems

    def to_dict(self) -> dict[str, int]:
        return {
            "checked": self.checked,
            "finished": self.right.finished,
            "impossible": self.right.impossible,
            "wins": self.right.win,
            "losses": self.right.loss,
            "draws": self.right.draw,
            "wrong": self.wrong,
        }

    def __str__(self) -> str:
        return (
            f"{self.checked:,} positions checked against their successors: {self.right.win:,} won, "
            f"{self.right.loss:,} lost, {self.right.finished:,} over, {self.right.draw:,} drawn, "
            f"{self.right.impossible:,} cannot occur, {self.wrong:,} wrong"
        )


def audit_table(
    rules: Rules, table: NDArray[np.uint8], crew: Crew, progress: Progress | None = None
) -> Audit:
    """Checks every node of a table, uint8 [nodes], against its successors."""
    progress = progress or Silent()
    values = pointer(table, np.uint8, node_count(rules))
    right, checked = np.zeros(256, np.int64), 0
    offenders: list[tuple[int, int]] = []
    for pieces in range(2 * rules.m + 1):
        checker = ffi.new("ff_audit *")
        if lib.ff_audit_init(checker, rules.n, rules.m, rules.k, pieces) != lib.FF_OK:
            raise FadefourError(f"{rules}: the audit has no room for these rules")
        counts: list[Any] = []

        def check(work: Any, checker: Any = checker, counts: list[Any] = counts) -> None:
            count = ffi.new("ff_audit_count *")
            counts.append(count)
            lib.ff_audit_slice(checker, values, work, count)

        progress.begin(f"audit, {counted(pieces, 'piece')}", checker.items, "part")
        crew.share(checker.items, check, step=1, report=progress.reach)
        before = checked
        for count in counts:
            right += np.array(ffi.unpack(count.right, 256), np.int64)
            checked += sum(count.right) + count.wrong
            shown = min(int(count.wrong), lib.FF_AUDIT_SHOWN)
            offenders += [(int(count.wrong_node[i]), int(count.expected[i])) for i in range(shown)]
        progress.end(counted(checked - before, "node", width=14))
    problems = _in_words(rules, table, sorted(offenders)[:SHOWN])
    if checked != node_count(rules):
        problems.insert(0, f"{checked:,} nodes were checked, there are {node_count(rules):,}")
    return Audit(checked, checked - int(right.sum()), ResultCounts.of(right), problems)


def _in_words(
    rules: Rules, table: NDArray[np.uint8], offenders: list[tuple[int, int]]
) -> list[str]:
    """Nodes whose byte is not the expected one."""
    nodes = np.array([node for node, _ in offenders], np.uint64)
    arrays = look_up_positions(nodes, rules)
    return [
        f"'{position_at(*arrays, row, rules)}' is stored as {describe(int(table[node]))}, "
        f"its successors make it {describe(expected)}"
        for row, (node, expected) in enumerate(offenders)
    ]
