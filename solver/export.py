"""Training data: every position in play with its exact labels, in shards.

Columns, one row for each canonical position that is neither finished nor impossible (a full one
is given with X to move; with Y to move it is the same position with the colours swapped):

=========  =======  =====================================================================
x, y       int8     [N, m] queues, oldest first, -1 for no piece
to_move    int8     0 for X, 1 for Y
result     int8     for the side to move: +1 win, 0 draw (endless), -1 loss
plies      int16    to the end under best play, -1 for a draw
optimal    uint32   bit c: placing on cell c is a best move (soonest win, draw, latest loss)
keeping    uint32   bit c: placing on cell c keeps the result
=========  =======  =====================================================================

``solver.labels`` says what they mean, and which positions belong to the validation part.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from solver.errors import InputError
from solver.extras import need
from solver.index import Uint64Array, look_up_codes, node_count
from solver.labels import Labels, is_validation, labelled
from solver.progress import Progress, Silent
from solver.rules import Rules
from solver.storage import check_writable, refuse_to_write, sync_folder
from solver.table import DenseTable
from solver.values import FINISHED, IMPOSSIBLE
from solver.wording import counted

Columns = dict[str, NDArray[Any]]

NODES_AT_A_TIME = 1 << 20
MOST_IN_A_SHARD = 100_000_000  # a shard is put together in memory
MOST_SHARDS = 100_000  # their names have five digits

PARTS = ("train", "validation")
PARTIAL = "fadefour-export-{}.partial"


def columns_of(labels: Labels) -> Columns:
    """The columns above, by name."""
    names = ("x", "y", "to_move", "result", "plies", "optimal", "keeping")
    return {name: getattr(labels, name) for name in names}


@dataclass(frozen=True)
class ExportOptions:
    """What to export and how; ``sample`` None takes every position in play."""

    format: str = "npz"
    shard: int = 4_000_000
    validation: float = 0.05
    sample: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.format not in ("npz", "parquet"):
            raise InputError(f"format {self.format!r}: use npz or parquet")
        if not 1 <= self.shard <= MOST_IN_A_SHARD:
            raise InputError(f"shard={self.shard}: use 1 to {MOST_IN_A_SHARD:,} positions")
        if not 0 <= self.validation < 1:
            raise InputError(f"validation={self.validation}: use a share from 0 up to 1")
        if self.sample is not None and self.sample < 1:
            raise InputError(f"sample={self.sample}: use at least 1 position")
        if self.seed < 0:
            raise InputError(f"seed={self.seed}: use 0 or more")


@dataclass(frozen=True)
class Shard:
    """A file of an export."""

    file: str
    part: str
    positions: int


@dataclass(frozen=True)
class ExportReport:
    """What was exported; ``export.json`` says the same."""

    rules: Rules
    options: ExportOptions
    table_sha256: str
    shards: list[Shard]

    def positions(self, part: str) -> int:
        return sum(shard.positions for shard in self.shards if shard.part == part)

    def to_dict(self) -> dict[str, Any]:
        return {
            "rules": {**asdict(self.rules), "tag": self.rules.tag},
            "options": asdict(self.options),
            "table_sha256": self.table_sha256,
            "positions": {part: self.positions(part) for part in PARTS},
            "shards": [asdict(shard) for shard in self.shards],
        }

    def __str__(self) -> str:
        train, validation = (f"{self.positions(part):,}" for part in PARTS)
        return (
            f"{train} training and {validation} validation positions in "
            f"{counted(len(self.shards), 'shard')}"
        )


def _in_play(table: DenseTable) -> Iterator[Uint64Array]:
    """The nodes that are neither finished nor impossible, in rising order, in batches."""
    total = node_count(table.rules)
    for first in range(0, total, NODES_AT_A_TIME):
        values = table.bytes[first : min(first + NODES_AT_A_TIME, total)]
        in_play = np.flatnonzero((values != FINISHED) & (values != IMPOSSIBLE))
        yield (in_play + first).astype(np.uint64)


def _chosen_nodes(table: DenseTable, options: ExportOptions) -> Iterator[Uint64Array]:
    """The nodes to export: all in play, or a uniform sample of them, by their number."""
    if options.sample is None:
        yield from _in_play(table)
        return
    playable = sum(len(nodes) for nodes in _in_play(table))
    size = min(options.sample, playable)
    random = np.random.default_rng(options.seed)
    chosen = np.sort(random.choice(playable, size, replace=False, shuffle=False))
    seen = 0
    for nodes in _in_play(table):
        low, high = np.searchsorted(chosen, [seen, seen + len(nodes)])
        yield nodes[chosen[low:high] - seen]
        seen += len(nodes)


class _Shards:
    """Collects the rows of one part and writes them out shard by shard."""

    def __init__(self, folder: Path, part: str, options: ExportOptions) -> None:
        self._folder, self._part, self._options = folder, part, options
        self._rows: list[Columns] = []
        self._waiting = 0
        self.written: list[Shard] = []

    def add(self, rows: Columns) -> None:
        self._rows.append(rows)
        self._waiting += len(rows["to_move"])
        while self._waiting >= self._options.shard:
            self.flush()

    def flush(self) -> None:
        """Writes one shard of what is waiting, if anything is."""
        if not self._waiting:
            return
        joined = {
            name: np.concatenate([rows[name] for rows in self._rows]) for name in self._rows[0]
        }
        size = min(self._waiting, self._options.shard)
        name = f"{self._part}-{len(self.written):05d}.{self._options.format}"
        _write_shard(self._folder / name, {key: column[:size] for key, column in joined.items()})
        self.written.append(Shard(name, self._part, size))
        self._rows = [{key: column[size:] for key, column in joined.items()}]
        self._waiting -= size


def _write_shard(path: Path, columns: Columns) -> None:
    with open(path, "wb") as out:
        if path.suffix == ".npz":
            np.savez(out, **columns)  # type: ignore[arg-type] # stubs mistake columns for a flag
        else:
            _write_parquet(out, columns)
        out.flush()
        os.fsync(out.fileno())


def _write_parquet(out: BinaryIO, columns: Columns) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = {
        name: pa.FixedSizeListArray.from_arrays(pa.array(column.ravel()), column.shape[1])
        if column.ndim == 2
        else pa.array(column)
        for name, column in columns.items()
    }
    pq.write_table(pa.table(arrays), out, compression="zstd")


def export(
    table: DenseTable, out: Path, options: ExportOptions, progress: Progress | None = None
) -> ExportReport:
    """Writes the shards and ``export.json`` into a new folder, which appears when all is done."""
    progress = progress or Silent()
    if options.format == "parquet":
        need("pyarrow", "--format parquet", "use --format npz")
    most = min(options.sample or node_count(table.rules), node_count(table.rules))
    if most > MOST_SHARDS * options.shard:
        raise InputError(
            f"shard={options.shard}: {most:,} positions would be more than {MOST_SHARDS:,} shards; "
            f"use at least {-(-most // MOST_SHARDS)}"
        )
    if os.path.lexists(out):
        raise InputError(f"'{out}' already exists: remove it or choose another --out")
    check_writable(out)
    table.check_all()
    with _new_folder(out) as partial:
        shards = _write_parts(table, partial, options, progress, out.name)
        report = ExportReport(table.rules, options, table.manifest.sha256, shards)
        text = json.dumps(report.to_dict(), indent=1) + "\n"
        (partial / "export.json").write_text(text)
    progress.end(f"{sum(map(report.positions, PARTS)):>14,} positions")
    return report


@contextlib.contextmanager
def _new_folder(out: Path) -> Iterator[Path]:
    """A folder under a name of its own, renamed at the end; nothing is left of it on an error."""
    partial = out.with_name(PARTIAL.format(secrets.token_hex(8)))
    try:
        partial.mkdir(parents=True)
        try:
            yield partial
            sync_folder(partial)
            os.rename(partial, out)
            sync_folder(out.parent)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
    except OSError as error:
        refuse_to_write(out, error)


def _write_parts(
    table: DenseTable, folder: Path, options: ExportOptions, progress: Progress, label: str
) -> list[Shard]:
    parts = {part: _Shards(folder, part, options) for part in PARTS}
    progress.begin(label, node_count(table.rules), "node")
    for number, nodes in enumerate(_chosen_nodes(table, options)):
        rows = columns_of(labelled(table, nodes))
        held_out = is_validation(look_up_codes(nodes, table.rules), options.validation)
        for part, mask in zip(PARTS, (~held_out, held_out), strict=True):
            parts[part].add({name: column[mask] for name, column in rows.items()})
        progress.reach(min((number + 1) * NODES_AT_A_TIME, node_count(table.rules)))
    for shards in parts.values():
        shards.flush()
    return [shard for shards in parts.values() for shard in shards.written]
