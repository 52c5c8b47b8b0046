"""The solved tables of a folder, opened when they are first asked for and kept open while they are
the same files."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from azfit.web.errors import ApiError
from solver.checked_files import NodeTable, TableFile
from solver.errors import CorruptTableError, FadefourError, InputError, MissingTableError
from solver.manifest import is_there
from solver.records import data_path, remedy_for
from solver.results_table import results_path
from solver.rules import LARGEST_M, LARGEST_N, SMALLEST_N, Rules
from solver.statistics import Statistics
from solver.table import open_table, table_path
from solver.values import Value

MOST_READ_AHEAD = 1 << 30
"""Bytes: a second or so; a larger table is read where it is asked."""


@dataclass(frozen=True)
class Variant:
    """A variant that is solved in the folder."""

    table: TableFile
    start: Value

    def to_dict(self) -> dict[str, Any]:
        rules, table = self.table.rules, self.table
        return {
            "n": rules.n,
            "m": rules.m,
            "k": rules.k,
            "name": rules.name,
            "game": f"drop-{rules.n}-{rules.m}-{rules.k}",
            "file": table.path.name,
            "start": self.start._asdict(),
            "plies": table.has_plies,
            "stats": isinstance(table, NodeTable),
        }


@dataclass
class _Opened:
    """A table that is open, and what is known of it."""

    table: TableFile
    files: Files
    statistics: Statistics | None = None


Files = tuple[tuple[int, ...] | None, ...]
"""Tell the files of a variant from others that take their place."""


def _file(path: Path) -> tuple[int, ...] | None:
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return stat.st_dev, stat.st_ino, stat.st_mtime_ns, stat.st_size


class Tables:
    """All variants of one folder. A variant that is solved while the server runs is found, and one
    that is solved again is opened again. A table that is no longer used is not closed: a question
    to it may be under way, and it is freed after that."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[Rules, _Opened] = {}
        self._rules: dict[tuple[str, str, str], Rules] = {}
        self._opening, self._counting = threading.Lock(), threading.Lock()

    def rules(self, n: str, m: str, k: str) -> Rules:
        """The rules that an address names."""
        known = self._rules.get((n, m, k))
        if known is None:
            if not all(re.fullmatch("[0-9]", number) for number in (n, m, k)):
                what = f"'{n[:10]}/{m[:10]}/{k[:10]}' is not a variant"
                raise ApiError(400, what, "give n, m and k as figures, as in /api/drop/4/4/4")
            known = self._rules[n, m, k] = Rules(int(n), int(m), int(k))
        return known

    def at_hand(self, rules: Rules) -> TableFile | None:
        """The table, if it answers at once: it is open, and was read as a whole."""
        opened = self._open.get(rules)
        if opened is None or not opened.table.is_checked or opened.files != self._files(rules):
            return None
        return opened.table

    def _paths(self, rules: Rules) -> tuple[Path, ...]:
        """Where the values of a variant may be."""
        return (
            table_path(self._folder, rules),
            data_path(self._folder, "game_tree", rules),
            results_path(self._folder, rules),
        )

    def _files(self, rules: Rules) -> Files:
        return tuple(map(_file, self._paths(rules)))

    def table(self, rules: Rules) -> TableFile:
        """The table of a variant; 404 names the command that makes it."""
        return self._opened(rules).table

    def _opened(self, rules: Rules) -> _Opened:
        with self._opening:
            opened, files = self._open.get(rules), self._files(rules)
            if opened is None or opened.files != files:
                self._open.pop(rules, None)
                try:
                    opened = self._open[rules] = _Opened(open_table(self._folder, rules), files)
                except MissingTableError:
                    remedy = remedy_for("table", rules, self._folder)
                    raise ApiError(404, f"{rules.name} is not solved here", remedy) from None
                self._read_ahead(opened.table)
            return opened

    def _read_ahead(self, table: TableFile) -> None:
        """Reads a table of moderate size once, so that later questions need not wait for it."""
        if table.path.stat().st_size > MOST_READ_AHEAD:
            return

        def read() -> None:
            with contextlib.suppress(FadefourError):  # a probe that meets the damage will tell
                table.check_all()

        threading.Thread(target=read, name=f"reading {table.path.name}", daemon=True).start()

    def statistics(self, rules: Rules) -> Statistics:
        """Counted once: it reads the whole table."""
        opened, table = self._opened(rules), self.countable(rules)
        with self._counting:
            if opened.statistics is None:
                opened.statistics = Statistics.of_table(table, threads=1)
            return opened.statistics

    def countable(self, rules: Rules) -> NodeTable:
        table = self.table(rules)
        if not isinstance(table, NodeTable):
            remedy = remedy_for("table", rules, self._folder, "--table-only")
            raise ApiError(404, f"{rules.name} has no table to count", remedy)
        return table

    def variants(self) -> list[Variant]:
        """What is solved now, the smallest first; what cannot be opened is left out."""
        variants = []
        for rules in every_variant():
            if any(is_there(path) for path in self._paths(rules)):
                try:
                    table = self.table(rules)
                    variants.append(Variant(table, table.probe(rules.start())))
                except (ApiError, CorruptTableError, InputError):
                    continue
        return variants

    def close(self) -> None:
        for opened in self._open.values():
            opened.table.close()


def every_variant() -> list[Rules]:
    """All rules there are, by the size of the board, the pieces and the line."""
    variants = []
    for n in range(SMALLEST_N, LARGEST_N + 1):
        for m in range(2, min(LARGEST_M, (n * n - 1) // 2) + 1):
            variants += [Rules(n, m, k) for k in range(2, n + 1)]
    return variants
