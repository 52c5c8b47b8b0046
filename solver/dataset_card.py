"""The README.md beside exported positions: what they are, for people and for dataset hubs.

It opens with YAML that the Hugging Face hub and ``datasets`` read: the licence, the splits and
their files. The columns are read from the files.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from solver import __version__
from solver.export_report import PARTS, ExportReport
from solver.rules import Rules

CARD = "README.md"
LICENCE = "mit"


@dataclass(frozen=True)
class Column:
    """A column of the data; one that is a queue has m numbers in each row."""

    name: str
    dtype: str
    meaning: str
    is_queue: bool = False


COLUMNS = (
    Column("x", "int8", "X's pieces as cells, oldest first, -1 for no piece", is_queue=True),
    Column("y", "int8", "Y's pieces, the same way", is_queue=True),
    Column("to_move", "int8", "0: X is to move, 1: Y"),
    Column("result", "int8", "for the side to move: 1 win, 0 draw (endless), -1 loss"),
    Column("plies", "int16", "plies to the end under best play, -1 for a draw"),
    Column(
        "optimal",
        "uint32",
        "bit c: placing a piece on cell c is a best move (soonest win, draw, latest loss)",
    ),
    Column("keeping", "uint32", "bit c: placing a piece on cell c keeps the result"),
)


def dataset_card(report: ExportReport) -> str:
    """The card of an export."""
    return "\n".join([*_front_matter(report), "", *_text(report)]) + "\n"


def _title(rules: Rules) -> str:
    return (
        f"Drop-oldest tic-tac-toe {rules.n}×{rules.n}, {rules.m} pieces each, {rules.k} in a row, "
        "exact values"
    )


def _parts(report: ExportReport) -> list[str]:
    """The parts that have any positions."""
    return [part for part in PARTS if report.counts[part].positions]


# ---- YAML ---------------------------------------------------------------------------------------


def _front_matter(report: ExportReport) -> list[str]:
    lines = [
        "---",
        f"license: {LICENCE}",
        f"pretty_name: {json.dumps(_title(report.rules), ensure_ascii=False)}",
        "task_categories:",
        "- tabular-classification",
        "- reinforcement-learning",
        "tags:",
        *(f"- {tag}" for tag in ("board-games", "tic-tac-toe", "tablebase", "exact-values")),
        "size_categories:",
        f"- {_size_category(report.positions)}",
    ]
    if report.options.format == "parquet":  # what datasets reads as it is
        lines += ["configs:", "- config_name: default", "  data_files:"]
        for part in _parts(report):
            lines += [f"  - split: {part}", f"    path: {part}/*.parquet"]
        lines += ["dataset_info:", "  splits:"]
        for part in _parts(report):
            lines.append(f"  - name: {part}")
            positions = report.counts[part].positions
            lines.append(f"    num_examples: {positions}")
            lines.append(f"    num_bytes: {positions * _row_bytes(report.rules)}")
    return [*lines, "---"]


def _row_bytes(rules: Rules) -> int:
    """Bytes of a position in memory."""
    return sum(
        np.dtype(column.dtype).itemsize * (rules.m if column.is_queue else 1) for column in COLUMNS
    )


def _size_category(positions: int) -> str:
    """The hub's name for the size: ``1K<n<10K``."""
    names = ("1K", "10K", "100K", "1M", "10M", "100M", "1B", "10B", "100B", "1T")
    for power, name in enumerate(names, 3):
        if positions < 10**power:
            return f"n<{name}" if power == 3 else f"{names[power - 4]}<n<{name}"
    return f"n>{names[-1]}"


# ---- text ---------------------------------------------------------------------------------------


def _text(report: ExportReport) -> list[str]:
    rules, options = report.rules, report.options
    chosen = "Every position" if options.sample is None else "Positions drawn at random"
    sampled = "" if options.sample is None else f" --sample {options.sample} --seed {options.seed}"
    command = (
        f"fadefour export --n {rules.n} --m {rules.m} --k {rules.k} --format {options.format} "
        f"--shard {options.shard} --validation {options.validation}{sampled} --out DIR"
    )
    return [
        f"# {_title(rules)}",
        "",
        f"A board of {rules.n}×{rules.n} cells; X and Y place a piece each in turn, on an empty "
        f"cell. With more than {rules.m} pieces a player's oldest one leaves the board, in the "
        f"same move. {rules.k} in a row win; play that never ends is a draw. {chosen} in play, up "
        "to symmetry, with the exact result, the plies to the end and all best moves, found by "
        "retrograde analysis.",
        "",
        "## Columns",
        "",
        "| column | type | meaning |",
        "|---|---|---|",
        *(
            f"| `{column.name}` | {column.dtype}{f' [{rules.m}]' if column.is_queue else ''} | "
            f"{column.meaning} |"
            for column in COLUMNS
        ),
        "",
        f"A cell is row × {rules.n} + column: a1 is 0, b1 is 1, a2 is {rules.n}. A row stands for "
        f"its eight symmetric images, and with {rules.m} pieces each for the position with the "
        "colours exchanged, too.",
        "",
        "## Splits and counts",
        "",
        "| split | positions | won | drawn | lost |",
        "|---|---|---|---|---|",
        *(
            f"| {part} | {counts.positions:,} | {counts.win:,} | {counts.draw:,} | "
            f"{counts.loss:,} |"
            for part, counts in report.counts.items()
        ),
        "",
        "Won, drawn and lost are for the side to move. A position's split depends on a hash of the "
        "position alone: symmetric images are never in different splits. Rows are in a fixed "
        "order: shuffle them before training.",
        "",
        "## Reading it",
        "",
        *_reading(options.format),
        "",
        "## Source and licence",
        "",
        f"Made by fadefour {__version__}: `{command}`",
        "",
        f"Rules: {rules.tag}. SHA-256 of the table: `{report.table_sha256}`. `export.json` lists "
        "the files.",
        "",
        "MIT, as fadefour itself.",
    ]


def _reading(file_format: str) -> list[str]:
    if file_format == "npz":
        return ['    shard = numpy.load("train/00000.npz")  # shard["x"], shard["result"], …']
    return [
        '    datasets.load_dataset("DIR")           # Hugging Face datasets: both splits',
        '    pandas.read_parquet("DIR/train")       # one split, all its files',
        '    polars.read_parquet("DIR/train")',
    ]
