"""Verification of what is on disk: does every stored result follow from its successors?

``audit_table`` re-derives a table forwards, node by node, with C code that shares nothing with
the solver but the rules (``csrc/audit.h``). ``verify_folder`` applies it to everything a folder
has for a variant: files against their checksums and manifests, records for order and range, the
X-to-move and Y-to-move halves against each other by colour symmetry, all files against each other.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.errors import CorruptTableError, FadefourError, MissingTableError
from solver.index import (
    look_up_positions,
    node_count,
    position_at,
    position_of,
    slice_bases,
    slice_sizes,
)
from solver.kernels import Crew, ffi, lib, pointer
from solver.machine import zeroed
from solver.manifest import check_whole, is_there
from solver.progress import Progress, Silent
from solver.records import (
    RecordFile,
    data_path,
    mark_impossible,
    open_records,
    read_into_tables,
    swap_colours,
)
from solver.retrograde import count_values
from solver.rules import Rules
from solver.table import DenseTable, counts_of_table, solve_command, table_path
from solver.values import IMPOSSIBLE, ResultCounts, describe

Bytes = NDArray[np.uint8]

SHOWN = 10

NOTHING = ResultCounts(0, 0, 0, 0, 0)


@dataclass(frozen=True)
class Audit:
    """What was checked, and what is wrong.

    ``checked`` nodes were compared with their successors, ``wrong`` of them differ; ``right``
    counts the others. ``files`` says of each file what was checked, ``problems`` what is wrong,
    in words: the first ``SHOWN`` nodes, and what is wrong with the files.
    """

    rules: Rules
    checked: int = 0
    wrong: int = 0
    right: ResultCounts = NOTHING
    files: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        return {
            "rules": asdict(self.rules),
            "ok": self.ok,
            "nodes": {
                "checked": self.checked,
                "finished": self.right.finished,
                "impossible": self.right.impossible,
                "wins": self.right.win,
                "losses": self.right.loss,
                "draws": self.right.draw,
                "wrong": self.wrong,
            },
            "files": self.files,
            "problems": self.problems,
        }

    def __str__(self) -> str:
        lines = [f"{name}: {checked}: ok" for name, checked in self.files.items()]
        lines.append(
            f"{self.checked:,} positions checked forwards: {self.right.win:,} won, "
            f"{self.right.loss:,} lost, {self.right.finished:,} over, {self.right.draw:,} drawn, "
            f"{self.right.impossible:,} cannot occur, {self.wrong:,} wrong"
        )
        lines += [f"WRONG: {problem}" for problem in self.problems]
        lines.append("verified" if self.ok else "verification FAILED")
        return "\n".join(lines)


def audit_table(rules: Rules, table: Bytes, crew: Crew, progress: Progress | None = None) -> Audit:
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

        progress.begin(f"audit {pieces} pieces", checker.items, "beginning")
        crew.share(checker.items, check, step=1, report=progress.reach)
        before = checked
        for count in counts:
            right += np.array(ffi.unpack(count.right, 256), np.int64)
            checked += sum(count.right) + count.wrong
            shown = min(int(count.wrong), lib.FF_AUDIT_SHOWN)
            offenders += [(int(count.wrong_node[i]), int(count.expected[i])) for i in range(shown)]
        progress.end(f"{checked - before:>14,} nodes")
    problems = _in_words(rules, table, sorted(offenders)[:SHOWN])
    if checked != node_count(rules):
        problems.insert(0, f"{checked:,} nodes were checked, there are {node_count(rules):,}")
    wrong = checked - int(right.sum())
    return Audit(rules, checked, wrong, ResultCounts.of(right), problems=problems)


def _in_words(rules: Rules, table: Bytes, offenders: list[tuple[int, int]]) -> list[str]:
    """Nodes whose byte is not the expected one."""
    nodes = np.array([node for node, _ in offenders], np.uint64)
    arrays = look_up_positions(nodes, rules)
    return [
        f"'{position_at(*arrays, row, rules)}' is stored as {describe(int(table[node]))}, "
        f"its successors make it {describe(expected)}"
        for row, (node, expected) in enumerate(offenders)
    ]


class _Account(NamedTuple):
    """What some files say of all positions: ``table`` uint8 [nodes] for the side to move (X in
    the full slice), ``swapped`` uint8 [full nodes] for Y to move in the full slice."""

    names: str
    table: Bytes
    swapped: Bytes


def verify_folder(
    folder: Path,
    rules: Rules,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Verifies all files of one variant in a folder; see the module's head.

    Damaged files raise CorruptTableError; wrong results are reported.
    """
    with Crew(threads) as crew:
        dense = table_path(folder, rules)
        sources = _record_files(folder, rules)
        has_table = is_there(dense)
        if not sources and not has_table:
            raise MissingTableError(
                f"'{folder}' has nothing to verify for {rules.name}: {solve_command(rules, folder)}"
            )
        told = {kind: _read(source, crew, progress) for kind, source in sources.items()}
        reference = _dense_account(dense, rules, crew) if has_table else _whole_account(told)
        files = {
            source.path.name: f"checksums, manifest, {source.count:,} records in order and range"
            for source in sources.values()
        }
        if has_table:
            files[dense.name] = "checksums and manifest"
        if reference is None:
            missing = next(kind for kind in ("xwin", "ywin") if kind not in sources)
            problem = (
                f"{data_path(Path(), missing, rules)} is missing, so no result can be audited: "
                f"run 'fadefour solve --player {missing[0]}'"
            )
            return Audit(rules, files=files, problems=[problem])
        problems = _colour_asymmetry(rules, reference, crew)
        for kind, account in told.items():
            problems += _disagreements(rules, kind, account, reference)
        audit = audit_table(rules, reference.table, crew, progress)
    return replace(audit, files=files, problems=problems + audit.problems)


def _record_files(folder: Path, rules: Rules) -> dict[str, RecordFile]:
    kinds = [
        kind for kind in ("xwin", "ywin", "game_tree") if is_there(data_path(folder, kind, rules))
    ]
    return {kind: open_records(data_path(folder, kind, rules), kind, rules) for kind in kinds}


def _read(source: RecordFile, crew: Crew, progress: Progress | None) -> _Account:
    rules = source.rules
    table = zeroed(np.uint8, node_count(rules))
    swapped = zeroed(np.uint8, slice_sizes(rules)[2 * rules.m])
    check_whole(source.path, source.manifest, source.remedy)
    read_into_tables(source, table, swapped, crew, progress)
    return _Account(source.path.name, table, swapped)


def _dense_account(path: Path, rules: Rules, crew: Crew) -> _Account:
    with DenseTable(path, rules) as opened:
        check_whole(path, opened.manifest, f"{solve_command(rules)} again")
        table = np.array(opened.bytes)
        if opened.manifest.counts != counts_of_table(count_values(rules, table, crew)):
            raise CorruptTableError(
                f"'{path}': its manifest's counts are not those of its bytes: "
                f"{solve_command(rules)} again"
            )
    swapped = swap_colours(rules, table, crew)
    swapped[swapped == IMPOSSIBLE] = 0  # as records say it
    return _Account(path.name, table, swapped)


def _whole_account(told: dict[str, _Account]) -> _Account | None:
    """All results from records alone: the game tree, or X-wins with Y-wins."""
    if "game_tree" in told:
        return told["game_tree"]
    if "xwin" not in told or "ywin" not in told:
        return None
    x, y = told["xwin"], told["ywin"]
    # A position that both files claim differs from one of them in the comparison that follows.
    joined = (np.maximum(x.table, y.table), np.maximum(x.swapped, y.swapped))
    return _Account(f"{x.names} with {y.names}", *joined)


def _colour_asymmetry(rules: Rules, account: _Account, crew: Crew) -> list[str]:
    """Marks impossible positions; says where Y to move is not X to move with colours swapped."""
    mark_impossible(rules, account.table, crew)
    other = swap_colours(rules, account.table, crew)
    other[other == IMPOSSIBLE] = 0
    if np.array_equal(other, account.swapped):
        return []
    rank = int(np.flatnonzero(other != account.swapped)[0])
    position = position_of(slice_bases(rules)[2 * rules.m] + rank, rules)
    return [
        f"'{position}', with Y to move instead, is {describe(int(account.swapped[rank]))} in "
        f"{account.names}, but with colours swapped {describe(int(other[rank]))}"
    ]


def _part_of(rules: Rules, kind: str, account: _Account) -> _Account:
    """What a file of this kind should say, if the account is right."""
    table, swapped = account.table.copy(), account.swapped.copy()
    table[table == IMPOSSIBLE] = 0
    if kind != "game_tree":
        bases, even_wins = slice_bases(rules), kind == "xwin"
        for pieces in range(2 * rules.m + 1):  # X to move: an even byte is an X-win
            part = table[bases[pieces] : bases[pieces + 1]]
            x_to_move = pieces == 2 * rules.m or pieces % 2 == 0
            part[part % 2 == (x_to_move == even_wins)] = 0
        swapped[swapped % 2 == (not even_wins)] = 0
    return _Account(account.names, table, swapped)


def _disagreements(rules: Rules, kind: str, account: _Account, reference: _Account) -> list[str]:
    if account is reference:
        return []
    expected = _part_of(rules, kind, reference)
    says = np.where(account.table == IMPOSSIBLE, 0, account.table)
    for found, wanted, base in (
        (says, expected.table, 0),
        (account.swapped, expected.swapped, slice_bases(rules)[2 * rules.m]),
    ):
        if not np.array_equal(found, wanted):
            at = int(np.flatnonzero(found != wanted)[0])
            side = " with Y to move instead" if base else ""
            return [
                f"'{position_of(base + at, rules)}'{side} is {describe(int(found[at]))} in "
                f"{account.names}, {describe(int(wanted[at]))} by {reference.names}"
            ]
    return []
