"""Verification of what is on disk: all files of a variant, against themselves and each other.

Every file is checked against its checksums and manifest, every record for order and range. The
dense table is audited as its bytes are stored (``solver.audit``); where there is none, a table is
made from the records: the game tree, or X-wins with Y-wins. Every record is then compared with
that table: with X to move, and with Y to move by the colour symmetry of the game; and a file must
list as many results of each kind as the table has, so that none is missing.

The dense table is mapped, never copied; records are read in chunks. So the memory needed is one
byte per position, whatever files there are.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.audit import Audit, audit_table
from solver.errors import CorruptTableError, InputError, MissingTableError
from solver.estimate import Estimate, estimate_verify
from solver.index import look_up_positions, node_count, position_at, slice_bases
from solver.kernels import Crew
from solver.machine import zeroed
from solver.manifest import check_whole, is_there
from solver.progress import Progress, Silent
from solver.records import (
    KINDS,
    Disagreement,
    RecordFile,
    check_records,
    claims_expected,
    data_path,
    mark_impossible,
    open_records,
    remedy_for,
)
from solver.results_audit import ResultsAudit, audit_results
from solver.results_table import KIND as RESULTS
from solver.results_table import ResultsTable, results_path
from solver.retrograde import count_values
from solver.rules import Position, Rules
from solver.table import (
    BYTES_AT_A_TIME,
    DenseTable,
    RecordTable,
    table_path,
)
from solver.table_counts import counts_of_table
from solver.values import UNDECIDED, ResultCounts, describe
from solver.wording import counted

Bytes = NDArray[np.uint8]

NOTHING = Audit(0, 0, ResultCounts(0, 0, 0, 0, 0), [])


@dataclass(frozen=True)
class Verification:
    """What was checked: of each file, in words, and of all positions. ``problems`` is what is wrong
    with either."""

    rules: Rules
    audit: Audit
    files: dict[str, str]
    problems: list[str]
    results: ResultsAudit | None = None
    """Of a file of results without plies, if there is one."""

    @property
    def ok(self) -> bool:
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        return {
            "rules": asdict(self.rules),
            "ok": self.ok,
            "nodes": self.audit.to_dict(),
            "files": self.files,
            "problems": self.problems,
            **({} if self.results is None else {"results": self.results.to_dict()}),
        }

    def __str__(self) -> str:
        lines = [f"{name}: {checked}: ok" for name, checked in self.files.items()]
        if self.audit.checked:
            lines.append(str(self.audit))
        if self.results is not None:
            lines.append(str(self.results))
        if not self.audit.checked and self.results is None:
            lines.append("no position was checked against its successors")
        lines += [f"WRONG: {problem}" for problem in self.problems]
        lines.append("verified" if self.ok else "verification FAILED")
        return "\n".join(lines)


def _files_of(folder: Path, rules: Rules) -> dict[str, Path]:
    """The files that a folder has for a variant, by kind."""
    paths = {"table": table_path(folder, rules)}
    paths |= {kind: data_path(folder, kind, rules) for kind in KINDS}
    paths[RESULTS] = results_path(folder, rules)
    files = {kind: path for kind, path in paths.items() if is_there(path)}
    if not files:
        raise MissingTableError(
            f"'{folder}' has nothing to verify for {rules.name}: "
            f"{remedy_for('table', rules, folder)}"
        )
    return files


def estimate_folder(folder: Path, rules: Rules) -> Estimate:
    """What ``verify_folder`` will take; MissingTableError if there is nothing to verify."""
    return _estimate(rules, _files_of(folder, rules))


def _estimate(rules: Rules, files: dict[str, Path]) -> Estimate:
    with_plies = any(kind != RESULTS for kind in files)
    return estimate_verify(rules, list(files.values()), with_plies)


def verify_folder(
    folder: str | Path,
    rules: Rules,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Verification:
    """Verifies all files of one variant in a folder; see the module's head.

    Damaged files and wrong results are reported. Raises MissingTableError if there is nothing to
    verify, NoRoomError if the table does not fit into memory.
    """
    with Crew(threads) as crew:
        return _Run(Path(folder), rules, crew, progress or Silent()).verify()


@dataclass
class _Run:
    """One verification, as far as it has got."""

    folder: Path
    rules: Rules
    crew: Crew
    progress: Progress
    files: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def verify(self) -> Verification:
        files = _files_of(self.folder, self.rules)
        _estimate(self.rules, files).refuse_if_too_large()
        sources = {}
        for kind in [kind for kind in KINDS if kind in files]:
            with self._reporting_damage():
                sources[kind] = open_records(files[kind], kind, self.rules)
        with contextlib.ExitStack() as opened:
            table = self._open_table(files["table"], opened) if "table" in files else None
            audit = self._audit(table, sources) if files.keys() != {RESULTS} else NOTHING
            results = self._audit_results(files[RESULTS], table) if RESULTS in files else None
        return Verification(self.rules, audit, self.files, self.problems + audit.problems, results)

    def _audit_results(self, path: Path, dense: DenseTable | None) -> ResultsAudit | None:
        with self._reporting_damage(), ResultsTable(path, self.rules) as table:
            audit = audit_results(table, self.crew, self.progress, dense)
            self.problems += audit.problems
            if not audit.problems:
                self.files[path.name] = "checksums and manifest"
            return audit
        return None

    @contextlib.contextmanager
    def _reporting_damage(self) -> Iterator[None]:
        try:
            yield
        except (CorruptTableError, InputError) as error:  # damaged, or not to be read at all
            self.problems.append(str(error))

    def _open_table(self, path: Path, opened: contextlib.ExitStack) -> DenseTable | None:
        with self._reporting_damage():
            table = opened.enter_context(DenseTable(path, self.rules))
            self.progress.begin(path.name, table.manifest.bytes, "B")
            check_whole(path, table.manifest, table.remedy, self.progress.reach)
            self.progress.end(f"{table.manifest.bytes:>14,} bytes match their checksums")
            return table
        return None

    def _audit(self, dense: DenseTable | None, sources: dict[str, RecordFile]) -> Audit:
        """Audits the table, or what records make one, and compares all records with it."""
        table: Bytes | None
        if dense is not None:
            table, name = dense.bytes, dense.path.name
        else:
            table, name = self._from_records(sources)
        if table is None:
            self._check_alone(sources)
            return NOTHING
        audit = audit_table(self.rules, table, self.crew, self.progress)
        counts = count_values(self.rules, table, self.crew)
        if dense is not None and dense.manifest.counts != counts_of_table(counts):
            self.problems.append(
                f"'{dense.path}': its manifest's counts are not those of its bytes: {dense.remedy}"
            )
        elif dense is not None:
            self.files[name] = "checksums and manifest"
        for source in sources.values():
            with self._reporting_damage():
                self._compare(source, table, counts, name)
        return audit

    def _from_records(self, sources: dict[str, RecordFile]) -> tuple[Bytes | None, str]:
        """A table made from the game tree, or from X-wins with Y-wins, and what it was made from.

        Files that turn out to be damaged leave ``sources``. Where X-wins and Y-wins claim the same
        position, the table differs from one of them, which the comparison will find.
        """
        for kinds in (("game_tree",), ("xwin", "ywin")):
            if not sources.keys() >= set(kinds):
                continue
            table = zeroed(np.uint8, node_count(self.rules))
            for kind in kinds:
                source = sources.pop(kind)
                with self._reporting_damage():
                    check_records(source, self.crew, self.progress, enter_into=table)
                    sources[kind] = source
            if sources.keys() >= set(kinds):
                mark_impossible(self.rules, table, self.crew)
                return table, " with ".join(sources[kind].path.name for kind in kinds)
        return None, ""

    def _check_alone(self, sources: dict[str, RecordFile]) -> None:
        """Checks files that do not make a table."""
        for source in sources.values():
            with self._reporting_damage():
                check_records(source, self.crew, self.progress)
                self._note_good(source)
        for kind in ("xwin", "ywin"):
            path = data_path(self.folder, kind, self.rules)
            if not path.exists():
                self.problems.append(
                    f"{path.name} is missing, so no result can be audited: "
                    f"{remedy_for(kind, self.rules, self.folder)}"
                )

    def _note_good(self, source: RecordFile) -> None:
        records = counted(source.count, "record")
        self.files[source.path.name] = f"checksums, manifest, {records} in order and range"

    def _compare(
        self, source: RecordFile, table: Bytes, counts: NDArray[np.uint64], name: str
    ) -> None:
        """Compares a file's records with the table called ``name``, which has these counts."""
        claims, differs = check_records(source, self.crew, self.progress, compare_with=table)
        self._note_good(source)
        missing = claims_expected(source, counts) - claims
        if differs is None and missing.any():
            side, byte = (int(place) for place in np.argwhere(missing > 0)[0])
            position = _first_missing(source, table, side, byte)
            differs = Disagreement(position, UNDECIDED, byte)
        if differs is not None:
            self.problems.append(_in_words(differs, source, name))


def _in_words(differs: Disagreement, source: RecordFile, name: str) -> str:
    position = differs.position
    claimed = f"is {describe(differs.claimed)}" if differs.claimed else "has no result"
    by_symmetry = len(position.y) == position.rules.m and position.to_move == "y"
    return (
        f"'{position}' {claimed} in {source.path.name}, but is {describe(differs.expected)} by "
        f"{name}" + (", with colours swapped" if by_symmetry else "")
    )


def _first_missing(source: RecordFile, table: Bytes, side: int, byte: int) -> Position:
    """The first position with this side to move and this table byte that the file does not list."""
    rules = source.rules
    full = slice_bases(rules)[2 * rules.m]
    with RecordTable(source) as listed:
        for first in range(0, len(table), BYTES_AT_A_TIME):
            nodes = np.flatnonzero(table[first : first + BYTES_AT_A_TIME] == byte) + first
            x, y, to_move = look_up_positions(nodes.astype(np.uint64), rules)
            if side == 1:  # a full node is listed with X to move: the colours change
                swap = nodes >= full
                x[swap], y[swap], to_move[swap] = y[swap], x[swap], 1
            results, _ = listed.probe_many(x, y, to_move)
            places = np.flatnonzero((results == 0) & (to_move == side))
            if len(places):
                return position_at(x, y, to_move, int(places[0]), rules)
    raise AssertionError("the counts differ, so a position is missing")
