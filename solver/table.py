"""Looking positions up: tables on disk, opened read-only and trusted only as far as checked.

``open_table(path)`` opens the dense table (one byte per node) or a ``.data`` file, both by
mapping them: opening reads the manifest and nothing else. A block of the file is checked against
its checksum when it is first touched. Probing from several threads is safe: the maps are
read-only, and "this block is checked" only ever turns from no to yes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from solver.checked_files import CheckedMap, NodeTable, TableFile
from solver.errors import CorruptTableError, InputError, MissingTableError
from solver.exploring import Exploration, Limits, explore_bytes
from solver.index import (
    Int8Array,
    Uint64Array,
    find_node,
    find_nodes,
    impossible_message,
    node_count,
)
from solver.kernels import Crew, index_of, lib, pointer
from solver.manifest import Manifest, NewFile, is_there, open_manifest
from solver.records import (
    HEADER_BYTES,
    KINDS,
    RECORD_BYTES,
    RecordFile,
    data_path,
    open_records,
    remedy_for,
)
from solver.results_table import ResultsTable, results_path
from solver.retrograde import Solution, count_values
from solver.rules import Position, Rules
from solver.table_counts import counts_of_table

BYTES_AT_A_TIME = 1 << 22

RECORD = np.dtype([("code", "<u8"), ("dp", "i1", 2), ("depth", "<u2", 2)])


def table_path(folder: str | Path, rules: Rules) -> Path:
    return Path(folder) / f"solved_{rules.name}.table"


def write_table(folder: str | Path, solution: Solution) -> Manifest:
    """Writes the dense table of a solved variant."""
    table, path = solution.table, table_path(folder, solution.rules)
    with NewFile(path, "table", solution.rules, len(table)) as new:
        for first in range(0, len(table), BYTES_AT_A_TIME):
            new.write(table[first : first + BYTES_AT_A_TIME])
        return new.commit(counts_of_table(solution.counts))


class DenseTable(NodeTable):
    """One byte per node, found by rank: the native store."""

    def __init__(self, path: Path, rules: Rules | None = None) -> None:
        self.path = path
        remedy = remedy_for("table", rules or Rules(), path.parent)
        self.manifest = open_manifest(path, "table", remedy, rules)
        self.rules = self.manifest.rules
        self.remedy = f"{remedy_for('table', self.rules, path.parent)} again"
        if self.manifest.bytes != node_count(self.rules):
            raise CorruptTableError(
                f"'{path}' has {self.manifest.bytes} bytes, {self.rules} has "
                f"{node_count(self.rules)} nodes: {self.remedy}"
            )
        self._map = CheckedMap(path, self.manifest, self.remedy)

    @property
    def bytes(self) -> NDArray[np.uint8]:
        """The whole table, uint8 [nodes], read-only, unchecked."""
        return self._map.bytes

    def values_of(self, nodes: Uint64Array) -> NDArray[np.uint8]:
        """Table bytes of nodes, uint8 [N]."""
        self._map.check_many(nodes)
        return self._map.bytes[nodes]

    def count_bytes(self, threads: int | None = None) -> NDArray[np.uint64]:
        """How often each table byte occurs in each slice: uint64 [slices, 256]."""
        self.check_all()
        with Crew(threads) as crew:
            return count_values(self.rules, self.bytes, crew)

    def _byte(self, position: Position) -> int:
        node, _ = find_node(position)
        self._map.check(node)
        return int(self._map.bytes[node])

    def _bytes(self, x: Int8Array, y: Int8Array, to_move: Int8Array) -> NDArray[np.uint8]:
        return self.values_of(find_nodes(x, y, to_move, self.rules)[0])

    def _explore(self, position: Position, limits: Limits) -> Exploration:
        return explore_bytes(position, limits, self.bytes, self.name, self._map.check_many)


class RecordTable(TableFile):
    """A sorted game tree, searched: what it does not list, or lists as 0, is a draw."""

    def __init__(self, source: RecordFile) -> None:
        self.path, self.rules, self._source = source.path, source.rules, source
        self._map = CheckedMap(source.path, source.manifest, source.remedy)

    def _byte(self, position: Position) -> int:
        x, y = np.full((1, self.rules.m), -1, np.int8), np.full((1, self.rules.m), -1, np.int8)
        x[0, : len(position.x)], y[0, : len(position.y)] = position.x, position.y
        if position.is_impossible:
            raise InputError(impossible_message(position))
        return int(self._bytes(x, y, np.array([position.to_move == "y"], np.int8))[0])

    def _bytes(self, x: Int8Array, y: Int8Array, to_move: Int8Array) -> NDArray[np.uint8]:
        find_nodes(x, y, to_move, self.rules)  # refuses what is not a position
        codes = np.empty(len(to_move), np.uint64)
        lib.ff_record_codes(
            index_of(self.rules),
            *(pointer(np.ascontiguousarray(queue), np.int8, 0) for queue in (x, y)),
            len(codes),
            pointer(codes, np.uint64, len(codes)),
        )
        if not self._source.count:
            return np.zeros(len(codes), np.uint8)
        places = np.empty(len(codes), np.uint64)
        lib.ff_find_records(
            pointer(self._map.bytes[HEADER_BYTES:], np.uint8, self._source.count * RECORD_BYTES),
            self._source.count,
            pointer(codes, np.uint64, len(codes)),
            len(codes),
            pointer(places, np.uint64, len(codes)),
        )
        return self._values_at(places, codes, to_move)

    def _values_at(
        self, places: Uint64Array, codes: Uint64Array, to_move: Int8Array
    ) -> NDArray[np.uint8]:
        """Table bytes from the records at these places, 0 where another code stands there.

        The search read codes unchecked. Once the record at a place and the one before it are
        checked, their order proves that a code between them is absent.
        """
        last = np.uint64(self._source.count - 1)
        records = []
        for near in (np.minimum(places, last), np.maximum(places, 1) - np.uint64(1)):
            offsets = np.uint64(HEADER_BYTES) + near * np.uint64(RECORD_BYTES)
            self._map.check_many(offsets)
            self._map.check_many(offsets + np.uint64(RECORD_BYTES - 1))
            columns = np.arange(RECORD_BYTES, dtype=np.uint64)
            records.append(self._map.bytes[offsets[:, None] + columns].view(RECORD)[:, 0])
        at, before = records
        listed = at["code"] == codes
        if ((before["code"] >= codes) & (places > 0)).any() or (
            (at["code"] < codes) & (places <= last)
        ).any():
            raise CorruptTableError(f"'{self.path}' is not sorted: {self._source.remedy}")
        result = np.where(to_move, at["dp"][:, 1], at["dp"][:, 0])
        depth = np.where(to_move, at["depth"][:, 1], at["depth"][:, 0])
        mover_wins = (result == 1) != (to_move != 0)
        decided = listed & (result != 0)
        if (decided & ((np.abs(result) != 1) | (depth % 2 != mover_wins) | (depth > 253))).any():
            raise CorruptTableError(
                f"'{self.path}' has a depth that does not fit its result: {self._source.remedy}"
            )
        return np.where(decided, depth + 1, 0).astype(np.uint8)


def open_table(path: str | Path = "data", rules: Rules | None = None) -> TableFile:
    """Opens a solved table: a ``.table``, ``.data`` or ``.bits`` file, or a folder that has one.

    In a folder the dense table of the variant (4, 4, 4 by default) is looked for first, then
    the game tree, then the results without plies.
    """
    path = Path(path)
    if path.suffix == ".data" and not path.is_dir():
        if path.name.startswith(("xwin", "ywin")):
            raise InputError(
                f"'{path}' has one player's wins only: run 'fadefour merge' and open the game tree"
            )
        return RecordTable(open_records(path, "game_tree", rules))
    if path.suffix == ".bits" and not path.is_dir():
        return ResultsTable(path, rules)
    if path.suffix == ".table" or (path.exists() and not path.is_dir()):
        return DenseTable(path, rules)
    wanted = rules or Rules()
    if is_there(table_path(path, wanted)):
        return DenseTable(table_path(path, wanted), wanted)
    tree = data_path(path, "game_tree", wanted)
    if is_there(tree):
        return RecordTable(open_records(tree, "game_tree", wanted))
    if is_there(results_path(path, wanted)):
        return ResultsTable(results_path(path, wanted), wanted)
    wins = [data_path(path, kind, wanted) for kind in ("xwin", "ywin")]
    if all(map(is_there, wins)):
        raise MissingTableError(
            f"'{path}' has {wins[0].name} and {wins[1].name}, but no table and no game tree: "
            f"{remedy_for('game_tree', wanted, path)}"
        )
    raise MissingTableError(
        f"'{path}' has no table for {wanted.name}: {remedy_for('table', wanted, path)}"
    )


def open_by_node(folder: Path, rules: Rules) -> NodeTable:
    """Opens the dense table of a folder, or the results without plies, for what needs every
    position but not its plies."""
    if not is_there(table_path(folder, rules)) and is_there(results_path(folder, rules)):
        return ResultsTable(results_path(folder, rules), rules)
    return open_dense(folder, rules)


def open_dense(folder: Path, rules: Rules) -> DenseTable:
    """Opens the dense table of a folder, for what needs every position at once."""
    path = table_path(folder, rules)
    records = [data_path(folder, kind, rules) for kind in KINDS]
    listed = [record.name for record in records if is_there(record)]
    if listed and not is_there(path):
        raise MissingTableError(
            f"'{folder}' has {', '.join(listed)}, but this needs the dense table {path.name}: "
            f"{remedy_for('table', rules, folder, '--table-only')}"
        )
    return DenseTable(path, rules)
