"""Training data: every position in play with its exact labels, in shards.

One row for each canonical position that is neither finished nor impossible (a full one is given
with X to move; with Y to move it is the same position with the colours swapped).
``solver.dataset_card`` lists the columns; ``solver.labels`` says what they mean, and which
positions belong to the validation part.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from solver.checked_files import NodeTable
from solver.dataset_card import CARD, COLUMNS, dataset_card
from solver.errors import InputError
from solver.export_report import PARTS, ExportOptions, ExportReport, PartCounts, Shard
from solver.extras import need
from solver.in_play import drawn_in_play, nodes_in_play
from solver.index import Uint64Array, look_up_codes, node_count
from solver.labels import Labels, is_validation, labelled
from solver.progress import Progress, Silent
from solver.storage import check_writable, refuse_to_write, sync_folder

Columns = dict[str, NDArray[Any]]

NODES_AT_A_TIME = 1 << 20
MOST_SHARDS = 100_000  # their names have five digits

PARTIAL = "fadefour-export-{}.partial"


def columns_of(labels: Labels) -> Columns:
    """The columns, by name."""
    return {column.name: getattr(labels, column.name) for column in COLUMNS}


def _in_play(table: NodeTable) -> Iterator[Uint64Array]:
    """The nodes that are neither finished nor impossible, in rising order, in batches."""
    total = node_count(table.rules)
    for first in range(0, total, NODES_AT_A_TIME):
        yield nodes_in_play(table, first, min(first + NODES_AT_A_TIME, total))


def _chosen_nodes(table: NodeTable, options: ExportOptions) -> Iterator[Uint64Array]:
    """The nodes to export: all in play, or a uniform sample of them, by their number."""
    if options.sample is None:
        yield from _in_play(table)
        return
    if not table.has_plies:  # too many nodes to look at all of them
        nodes = drawn_in_play(table, options.sample, options.seed)
        for first in range(0, len(nodes), NODES_AT_A_TIME):
            yield nodes[first : first + NODES_AT_A_TIME]
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
        self._results = np.zeros(3, np.int64)  # lost, drawn, won
        self.written: list[Shard] = []

    def add(self, rows: Columns) -> None:
        self._rows.append(rows)
        self._waiting += len(rows["to_move"])
        self._results += np.bincount(rows["result"].astype(np.int64) + 1, minlength=3)
        while self._waiting >= self._options.shard:
            self.flush()

    @property
    def counts(self) -> PartCounts:
        loss, draw, win = self._results.tolist()
        return PartCounts(win, draw, loss)

    def flush(self) -> None:
        """Writes one shard of what is waiting, if anything is."""
        if not self._waiting:
            return
        joined = {
            name: np.concatenate([rows[name] for rows in self._rows]) for name in self._rows[0]
        }
        size = min(self._waiting, self._options.shard)
        name = f"{self._part}/{len(self.written):05d}.{self._options.format}"
        (self._folder / self._part).mkdir(exist_ok=True)
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


def _write_text(path: Path, text: str) -> None:
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
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
    table: NodeTable, out: Path, options: ExportOptions, progress: Progress | None = None
) -> ExportReport:
    """Writes the shards, ``export.json`` and the dataset card into a new folder, which appears when
    all is done."""
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
        parts = _write_parts(table, partial, options, progress, out.name)
        report = ExportReport(
            table.rules,
            options,
            table.manifest.sha256,
            {part: shards.counts for part, shards in parts.items()},
            [shard for shards in parts.values() for shard in shards.written],
        )
        text = json.dumps(report.to_dict(), indent=1) + "\n"
        _write_text(partial / "export.json", text)
        _write_text(partial / CARD, dataset_card(report))
        for part, shards in parts.items():
            if shards.written:
                sync_folder(partial / part)
    progress.end(f"{report.positions:>14,} positions")
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
            try:
                sync_folder(out.parent)
            except OSError:  # a name that may be lost with the power is taken back
                os.rename(out, partial)
                raise
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
    except OSError as error:
        refuse_to_write(out, error)


def _write_parts(
    table: NodeTable, folder: Path, options: ExportOptions, progress: Progress, label: str
) -> dict[str, _Shards]:
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
    return parts
