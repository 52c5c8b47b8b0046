"""Every 64 KiB of the table, the game tree and the results of 4×4: a flipped bit, and a probe of a
position that stands there. A small share of it is of the files of 3×3, which have one block or two.
"""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from plain_records import decode

from solver import Position, Rules
from solver.index import node_count, position_of
from solver.results_table import PackedResults
from solver.values import IMPOSSIBLE
from torture.campaign import Setting, Trial, Verdict
from torture.inputs import Inputs
from torture.judging import names, problems_with
from torture.processes import run

BLOCK, HEADER, RECORD = 1 << 16, 8, 14
BLOCKS_AT_A_TIME = 50
NODES = 20_000  # that are looked up to find one in a block


@dataclass(frozen=True)
class Subject:
    """A variant whose files are damaged."""

    name: str
    rules: Rules
    files: tuple[str, ...]


LARGE = Subject(
    "4×4",
    Rules(4, 4, 4),
    ("large/solved_4x4_m4.table", "large/game_tree_4x4_m4.data", "large/results_4x4_m4.bits"),
)
SMALL = Subject(
    "3×3",
    Rules(3, 3, 3),
    ("data/solved_3x3_m3.table", "data/game_tree_3x3_m3.data", "results/results_3x3_m3.bits"),
)


def trials(setting: Setting, inputs: Inputs) -> Iterator[Trial]:
    # 4×4 takes seconds to solve and most of a gigabyte.
    subject = SMALL if setting.scale < 0.02 else LARGE
    for file in subject.files:
        size = inputs.file(file).stat().st_size
        blocks = setting.share_of(range(0, size, BLOCK), "blocks", file)
        for first in range(0, len(blocks), BLOCKS_AT_A_TIME):
            batch = blocks[first : first + BLOCKS_AT_A_TIME]
            yield Trial(
                f"flipped bit, every block of {subject.name}",
                f"{file}, bytes {batch[0]} to {batch[-1] + BLOCK}",
                lambda here, name=file, at=batch: _probed(
                    setting, inputs, subject.rules, name, at, here
                ),
                len(batch),
            )


def _probed(
    setting: Setting, inputs: Inputs, rules: Rules, file: str, blocks: list[int], here: Path
) -> Verdict:
    good = inputs.file(file)
    path = here / good.name
    shutil.copy(good, path)
    os.link(f"{good}.json", f"{path}.json")
    problems: list[str] = []
    with open(path, "r+b", buffering=0) as opened:
        for first in blocks:
            draw = setting.random("block", file, first)
            place = draw.randrange(first, min(first + BLOCK, good.stat().st_size))
            byte = os.pread(opened.fileno(), 1, place)[0]
            position = _position_at(opened.fileno(), rules, path, place)
            os.pwrite(opened.fileno(), bytes([byte ^ 1 << draw.randrange(8)]), place)
            ended = run(here, "probe", str(position), "--table", path.name, "--json")
            os.pwrite(opened.fileno(), bytes([byte]), place)
            wrong = problems_with(ended, (2,))
            if not wrong and not names(ended, path.name):
                wrong.append(f"the damaged file is not named: {ended}")
            problems += [f"byte {place}: {problem}" for problem in wrong]
    return Verdict("refused", tuple(problems), len(blocks))


def _position_at(handle: int, rules: Rules, path: Path, place: int) -> Position:
    """A position that can occur and whose value stands in the same block."""
    if path.suffix == ".table":
        return _in_table(handle, rules, place)
    if path.suffix == ".bits":
        return _in_results(path, rules, place)
    last = place // BLOCK * BLOCK + BLOCK
    number = max(0, min(place, last - RECORD) - HEADER) // RECORD
    code, dp0 = struct.unpack("<Qb", os.pread(handle, 9, HEADER + number * RECORD))
    x, y = decode(code)
    is_full = len(x) == len(y) == rules.m
    to_move = ("x" if dp0 else "y") if is_full else ("x" if len(x) == len(y) else "y")
    return Position(x, y, to_move, rules)


def _in_table(handle: int, rules: Rules, place: int) -> Position:
    start = place // BLOCK * BLOCK
    values = os.pread(handle, BLOCK, start)
    node = next(
        node for node in (*range(place, start + len(values)), *range(start, place))
        if values[node - start] != IMPOSSIBLE
    )  # fmt: skip
    return position_of(node, rules)


def _in_results(path: Path, rules: Rules, place: int) -> Position:
    nodes = np.unique(np.linspace(0, node_count(rules) - 1, NODES).astype(np.uint64))
    values, read = PackedResults(rules, np.fromfile(path, np.uint8)).values(nodes)
    is_there = (values != IMPOSSIBLE) & (read // BLOCK == place // BLOCK).any(axis=1)
    is_there &= (read // BLOCK == 0).all(axis=1) if place < BLOCK else True
    return position_of(int(nodes[np.flatnonzero(is_there)[0]]), rules)
