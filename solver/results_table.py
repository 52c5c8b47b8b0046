"""Results without plies, packed: ``results_4x4_m6.bits``, written and looked up.

A full position is read off one group of columns, or two; what has fewer pieces than 2m - 1 has two
bits of its own (``csrc/results_file.h``). Table bytes of such a file say who wins and not when: 2
is a win and 3 a loss, in however many plies; 1 is a finished game and 255 impossible, as ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from solver.checked_files import CheckedMap, NodeTable
from solver.errors import CorruptTableError
from solver.index import Int8Array, Uint64Array, find_node, find_nodes, slice_sizes
from solver.kernels import Crew, ffi, index_of, lib, pointer
from solver.manifest import Manifest, NewFile, open_manifest
from solver.progress import Progress, Silent
from solver.records import remedy_for
from solver.results import ResultsKernel, ResultsSolution
from solver.rules import Position, Rules
from solver.table_counts import counts_in_manifest, counts_of_table

KIND = "results"
GROUPS_AT_A_TIME = 1 << 20  # a multiple of 8
SMALL_AT_A_TIME = 1 << 22  # a multiple of 4


def results_path(folder: str | Path, rules: Rules) -> Path:
    return Path(folder) / f"results_{rules.name}.bits"


def results_bytes(rules: Rules) -> int:
    """The size of the file."""
    return PackedResults(rules).bytes


class PackedResults:
    """How the results of a variant are packed, and, once ``data`` is given, what they are."""

    def __init__(self, rules: Rules, data: NDArray[np.uint8] | None = None) -> None:
        self.rules, self._format = rules, ffi.new("ff_results_file *")
        self._data = ffi.NULL if data is None else ffi.from_buffer("uint8_t[]", data)
        lib.ff_results_file_init(self._format, index_of(rules), self._data)
        self.bytes, self.columns_bytes = int(self._format.bytes), int(self._format.columns_bytes)

    @classmethod
    def of(cls, solution: ResultsSolution) -> PackedResults:
        """In memory."""
        with Crew(1) as crew:
            return cls(solution.rules, np.concatenate(list(packed(solution, crew))))

    def values(self, nodes: Uint64Array) -> tuple[NDArray[np.uint8], Uint64Array]:
        """Table bytes of nodes, uint8 [N], and the places of the bytes that they rest on, uint64
        [N, 4]; 0 where there are fewer."""
        values = np.empty(len(nodes), np.uint8)
        read = np.empty((len(nodes), 4), np.uint64)
        lib.ff_results_values(
            self._format,
            pointer(nodes, np.uint64, 0),
            len(nodes),
            pointer(values, np.uint8, 0),
            pointer(read, np.uint64, 0),
        )
        return values, read


def packed(solution: ResultsSolution, crew: Crew) -> Iterator[NDArray[np.uint8]]:
    """The bytes of the file, in order."""
    kernel = ResultsKernel(solution.rules, solution.states, solution.small)
    groups = slice_sizes(solution.rules)[2 * solution.rules.m - 2]
    columns = solution.rules.cells - 2 * solution.rules.m + 2

    def pack_groups(first: int) -> NDArray[np.uint8]:
        end = min(first + GROUPS_AT_A_TIME, groups)
        room = np.empty((end - first) * columns + 8, np.uint8)  # a column has less than 8 bits
        size = lib.ff_results_pack(kernel.solve, first, end, pointer(room, np.uint8, 0))
        return room[:size]

    def pack_small(first: int) -> NDArray[np.uint8]:
        values = solution.small[first : first + SMALL_AT_A_TIME]
        room = np.empty(-(-len(values) // 4), np.uint8)
        lib.ff_results_pack_small(
            pointer(values, np.uint8, 0), len(values), pointer(room, np.uint8, 0)
        )
        return room

    yield from crew.map(pack_groups, range(0, groups, GROUPS_AT_A_TIME))
    yield from crew.map(pack_small, range(0, len(solution.small), SMALL_AT_A_TIME))


def write_results(
    folder: str | Path, solution: ResultsSolution, crew: Crew, progress: Progress | None = None
) -> Manifest:
    """Writes the packed results of a solved variant."""
    progress, rules = progress or Silent(), solution.rules
    path, total, done = results_path(folder, rules), results_bytes(rules), 0
    progress.begin(path.name, total, "B")
    with NewFile(path, KIND, rules, total) as new:
        for part in packed(solution, crew):
            new.write(part)
            done += len(part)
            progress.reach(done)
        manifest = new.commit(counts_of_table(solution.counts))
    progress.end(f"{total:>14,} bytes")
    return manifest


class ResultsTable(NodeTable):
    """Results without plies."""

    has_plies = False

    def __init__(self, path: Path, rules: Rules | None = None) -> None:
        self.path = path
        remedy = remedy_for(KIND, rules or Rules(), path.parent)
        self.manifest = open_manifest(path, KIND, remedy, rules)
        self.rules = self.manifest.rules
        self.remedy = f"{remedy_for(KIND, self.rules, path.parent)} again"
        if self.manifest.bytes != results_bytes(self.rules):
            raise CorruptTableError(
                f"'{path}' has {self.manifest.bytes} bytes, the results of {self.rules} take "
                f"{results_bytes(self.rules)}: {self.remedy}"
            )
        self.counts = counts_in_manifest(self.rules, self.manifest, path, self.remedy)
        """uint64 [slices, 256]: how often each table byte occurs, plies included. This is what the
        solve counted and the manifest says."""
        self._map = CheckedMap(path, self.manifest, self.remedy)

    def values_of(self, nodes: Uint64Array) -> NDArray[np.uint8]:
        """Table bytes of nodes, uint8 [N]."""
        values, read = PackedResults(self.rules, self._map.bytes).values(nodes)
        self._map.check_many(read.ravel())
        return values

    def count_bytes(self, threads: int | None = None) -> NDArray[np.uint64]:
        del threads  # the solve has counted
        self.check_all()
        return self.counts

    @property
    def packed(self) -> NDArray[np.uint8]:
        """The whole file, uint8, read-only, unchecked."""
        return self._map.bytes

    def _byte(self, position: Position) -> int:
        node, _ = find_node(position)
        return int(self.values_of(np.array([node], np.uint64))[0])

    def _bytes(self, x: Int8Array, y: Int8Array, to_move: Int8Array) -> NDArray[np.uint8]:
        return self.values_of(find_nodes(x, y, to_move, self.rules)[0])
