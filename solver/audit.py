"""Verification of what is on disk: does every stored result follow from its successors?

``audit_table`` re-derives a table forwards, node by node, with C code that shares nothing with
the solver but the rules (``csrc/audit.h``). ``verify_folder`` applies it to everything a folder
has for a variant: files against their checksums and manifests, records for order and range, the
X-to-move and Y-to-move halves against each other by colour symmetry, all files against each other.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.errors import CorruptTableError, FadefourError, MissingTableError
from solver.index import look_up_positions, node_count, position_at, slice_sizes
from solver.kernels import Crew, ffi, lib, pointer
from solver.progress import Progress, Silent
from solver.records import (
    RecordFile,
    data_path,
    mark_impossible,
    open_records,
    read_into_tables,
    swap_colours,
)
from solver.retrograde import FINISHED, IMPOSSIBLE, UNDECIDED, zeroed
from solver.rules import Rules
from solver.storage import check_whole
from solver.table import DenseTable, solve_command, table_path, value_of_byte

Bytes = NDArray[np.uint8]

SHOWN = 10
COUNTED = ("checked", "finished", "impossible", "wins", "losses", "draws", "wrong")


@dataclass
class Audit:
    """What was checked, and what was found wrong (the first ``SHOWN`` of each kind in words)."""

    rules: Rules
    nodes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTED, 0))
    files: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        return {
            "rules": asdict(self.rules),
            "ok": self.ok,
            "nodes": self.nodes,
            "files": self.files,
            "problems": self.problems,
        }


def describe(byte: int) -> str:
    """A table byte in words."""
    if byte == IMPOSSIBLE:
        return "impossible"
    result, plies = value_of_byte(byte)
    return result if plies is None else f"{result} in {plies}"


def audit_table(rules: Rules, table: Bytes, crew: Crew, progress: Progress | None = None) -> Audit:
    """Checks every node of a table, uint8 [nodes], against its successors."""
    report, audit = progress or Silent(), Audit(rules)
    values = pointer(table, np.uint8, node_count(rules))
    wrong: list[tuple[int, int]] = []
    for pieces in range(2 * rules.m + 1):
        checker = ffi.new("ff_audit *")
        if lib.ff_audit_init(checker, rules.n, rules.m, rules.k, pieces) != lib.FF_OK:
            raise FadefourError(f"{rules}: the audit has no room for these rules")
        counts: list[Any] = []

        def check(work: Any, checker: Any = checker, counts: list[Any] = counts) -> None:
            count = ffi.new("ff_audit_count *")
            counts.append(count)
            lib.ff_audit_slice(checker, values, work, count)

        report.begin(f"audit {pieces} pieces", checker.items, "beginning")
        crew.share(checker.items, check, step=1, report=report.reach)
        right = np.zeros(256, np.int64)
        for count in counts:
            right += np.array(ffi.unpack(count.right, 256), np.int64)
        checked = int(right.sum()) + sum(int(count.wrong) for count in counts)
        for name, some in {
            "checked": checked,
            "finished": right[FINISHED],
            "impossible": right[IMPOSSIBLE],
            "wins": right[2:IMPOSSIBLE:2].sum(),
            "losses": right[3:IMPOSSIBLE:2].sum(),
            "draws": right[UNDECIDED],
            "wrong": checked - int(right.sum()),
        }.items():
            audit.nodes[name] += int(some)
        for count in counts:
            shown = min(int(count.wrong), lib.FF_AUDIT_SHOWN)
            wrong += [(int(count.wrong_node[i]), int(count.expected[i])) for i in range(shown)]
        report.end(f"{checked:>14,} nodes")
    if audit.nodes["checked"] != node_count(rules):
        audit.problems.append(
            f"{audit.nodes['checked']:,} nodes were checked, there are {node_count(rules):,}"
        )
    audit.problems += _offenders(rules, table, sorted(wrong)[:SHOWN])
    return audit


def _offenders(rules: Rules, table: Bytes, wrong: list[tuple[int, int]]) -> list[str]:
    nodes = np.array([node for node, _ in wrong], np.uint64)
    arrays = look_up_positions(nodes, rules)
    return [
        f"'{position_at(*arrays, row, rules)}' is stored as {describe(int(table[node]))}, "
        f"its successors make it {describe(expected)}"
        for row, (node, expected) in enumerate(wrong)
    ]


def verify_folder(
    folder: Path,
    rules: Rules,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Verifies all files of one variant in a folder; see the module's head."""
    with Crew(threads) as crew:
        dense = table_path(folder, rules)
        sources = _record_files(folder, rules)
        if not sources and not dense.exists():
            raise MissingTableError(
                f"'{folder}' has nothing to verify for {rules.name}: "
                f"{solve_command(rules)} --data {folder}"
            )
        problems: list[str] = []
        files: dict[str, str] = {}
        table: Bytes | None = None
        if dense.exists():
            with DenseTable(dense, rules) as opened:
                check_whole(dense, opened.manifest, f"{solve_command(rules)} again")
                table = np.array(opened.bytes)
            files[dense.name] = "size, manifest and checksums"
        for group in _whole_accounts(sources):
            found = _read_records(group, crew, files, problems, progress)
            if table is None:
                table = found
            elif not np.array_equal(table, found):
                at = int(np.flatnonzero(table != found)[0])
                problems += _disagreement(rules, at, group, int(table[at]), int(found[at]))
        if table is None:
            return _partial_audit(rules, sources, files, problems, crew, progress)
        audit = audit_table(rules, table, crew, progress)
    audit.files, audit.problems = files, problems + audit.problems
    return audit


def _record_files(folder: Path, rules: Rules) -> dict[str, RecordFile]:
    kinds = [
        kind for kind in ("xwin", "ywin", "game_tree") if data_path(folder, kind, rules).exists()
    ]
    return {kind: open_records(data_path(folder, kind, rules), kind, rules) for kind in kinds}


def _whole_accounts(sources: dict[str, RecordFile]) -> list[list[RecordFile]]:
    """The sets of files that each tell all results: the game tree, and X-wins with Y-wins."""
    accounts = [[sources["game_tree"]]] if "game_tree" in sources else []
    if "xwin" in sources and "ywin" in sources:
        accounts.append([sources["xwin"], sources["ywin"]])
    return accounts


def _read_records(
    group: list[RecordFile],
    crew: Crew,
    files: dict[str, str],
    problems: list[str],
    progress: Progress | None,
) -> Bytes:
    """Enters one account of all results into a table; checks it by colour symmetry."""
    rules = group[0].rules
    table = zeroed(np.uint8, node_count(rules))
    swapped = zeroed(np.uint8, slice_sizes(rules)[2 * rules.m])
    for source in group:
        check_whole(source.path, source.manifest, source.remedy)
        partial = table if len(group) == 1 else zeroed(np.uint8, len(table))
        partial_swapped = swapped if len(group) == 1 else zeroed(np.uint8, len(swapped))
        read_into_tables(source, partial, partial_swapped, progress)
        files[source.path.name] = (
            f"size, manifest, checksums, and {source.count:,} records in order and range"
        )
        if len(group) > 1:
            _add(table, partial, source, group)
            _add(swapped, partial_swapped, source, group)
    mark_impossible(rules, table, crew)
    other = swap_colours(rules, table, crew)
    other[other == IMPOSSIBLE] = 0  # records say nothing of impossible positions
    if not np.array_equal(other, swapped):
        rank = int(np.flatnonzero(other != swapped)[0])
        node = node_count(rules) - len(swapped) + rank
        position = position_at(*look_up_positions(np.array([node], np.uint64), rules), 0, rules)
        problems.append(
            f"'{position}' with Y to move instead is stored as {describe(int(swapped[rank]))}, "
            f"with the colours swapped as {describe(int(other[rank]))} ({group[0].path.name})"
        )
    return table


def _add(into: Bytes, more: Bytes, source: RecordFile, group: list[RecordFile]) -> None:
    if np.any((into != 0) & (more != 0)):
        names = " and ".join(f"'{one.path.name}'" for one in group)
        raise CorruptTableError(f"{names} both claim a position: {source.remedy}")
    np.maximum(into, more, out=into)


def _disagreement(
    rules: Rules, node: int, group: list[RecordFile], table: int, records: int
) -> list[str]:
    position = position_at(*look_up_positions(np.array([node], np.uint64), rules), 0, rules)
    names = " with ".join(source.path.name for source in group)
    return [f"'{position}' is {describe(records)} in {names}, {describe(table)} in the other files"]


def _partial_audit(
    rules: Rules,
    sources: dict[str, RecordFile],
    files: dict[str, str],
    problems: list[str],
    crew: Crew,
    progress: Progress | None,
) -> Audit:
    """One side's wins alone: nothing to audit against, so say which file is missing."""
    missing = next(kind for kind in ("xwin", "ywin") if kind not in sources)
    for source in sources.values():
        check_whole(source.path, source.manifest, source.remedy)
        swapped = zeroed(np.uint8, slice_sizes(rules)[2 * rules.m])
        read_into_tables(source, zeroed(np.uint8, node_count(rules)), swapped, progress)
        files[source.path.name] = f"checksums, and {source.count:,} records in order and range"
    problems.append(
        f"{data_path(Path(), missing, rules)} is missing, so no result can be audited: "
        f"run 'fadefour solve --player {missing[0]}'"
    )
    return Audit(rules, files=files, problems=problems)
