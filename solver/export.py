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

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.errors import InputError, NoRoomError
from solver.index import Uint64Array, look_up_codes, node_count
from solver.labels import Labels, is_validation, labelled
from solver.progress import Progress, Silent
from solver.table import DenseTable
from solver.values import FINISHED, IMPOSSIBLE

Columns = dict[str, NDArray[Any]]

NODES_AT_A_TIME = 1 << 20


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
        if self.shard < 1:
            raise InputError(f"shard={self.shard}: use at least 1 position in a shard")
        if not 0 <= self.validation < 1:
            raise InputError(f"validation={self.validation}: use a share from 0 up to 1")
        if self.sample is not None and self.sample < 1:
            raise InputError(f"sample={self.sample}: use at least 1 position")
        if self.seed < 0:
            raise InputError(f"seed={self.seed}: use 0 or more")


def _in_play(table: DenseTable) -> Iterator[Uint64Array]:
    """The nodes that are neither finished nor impossible, in rising order, some at a time."""
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
    """Collects rows of one part and writes them out shard by shard."""

    def __init__(self, folder: Path, part: str, options: ExportOptions) -> None:
        self._folder, self._part, self._options = folder, part, options
        self._rows: list[Columns] = []
        self._waiting = 0
        self.files: list[dict[str, Any]] = []

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
        name = f"{self._part}-{len(self.files):05d}.{self._options.format}"
        _write_shard(self._folder / name, {key: column[:size] for key, column in joined.items()})
        self.files.append({"file": name, "part": self._part, "positions": size})
        self._rows = [{key: column[size:] for key, column in joined.items()}]
        self._waiting -= size


def _write_shard(path: Path, columns: Columns) -> None:
    if path.suffix == ".npz":
        np.savez(path, **columns)  # type: ignore[arg-type] # stubs mistake columns for a flag
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = {
        name: pa.FixedSizeListArray.from_arrays(pa.array(column.ravel()), column.shape[1])
        if column.ndim == 2
        else pa.array(column)
        for name, column in columns.items()
    }
    pq.write_table(pa.table(arrays), path, compression="zstd")


def _check_parquet() -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise InputError(
            "--format parquet needs pyarrow: run 'pip install -c constraints.txt pyarrow', "
            "or use --format npz"
        ) from None


def export(
    table: DenseTable, out: Path, options: ExportOptions, progress: Progress | None = None
) -> dict[str, Any]:
    """Writes the shards and ``export.json`` into a new folder, which appears when all is done."""
    report = progress or Silent()
    if options.format == "parquet":
        _check_parquet()
    if out.exists():
        raise InputError(f"'{out}' exists already: remove it or choose another --out")
    table.check_all()
    partial = out.with_name(out.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
        parts = {name: _Shards(partial, name, options) for name in ("train", "validation")}
        report.begin(out.name, node_count(table.rules), "node")
        for number, nodes in enumerate(_chosen_nodes(table, options)):
            rows = columns_of(labelled(table, nodes))
            held = is_validation(look_up_codes(nodes, table.rules), options.validation)
            for part, mask in (("train", ~held), ("validation", held)):
                parts[part].add({name: column[mask] for name, column in rows.items()})
            report.reach((number + 1) * NODES_AT_A_TIME)
        for shards in parts.values():
            shards.flush()
        told: dict[str, Any] = {
            "rules": {**asdict(table.rules), "tag": table.rules.tag},
            "options": asdict(options),
            "table_sha256": table.manifest.sha256,
            "positions": {
                part: sum(file["positions"] for file in shards.files)
                for part, shards in parts.items()
            },
            "shards": [file for shards in parts.values() for file in shards.files],
        }
        (partial / "export.json").write_text(json.dumps(told, indent=1) + "\n")
        os.replace(partial, out)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise NoRoomError(f"cannot write '{out}': {error.strerror}; nothing was kept") from error
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    report.end(f"{sum(told['positions'].values()):>14,} positions")
    return told
