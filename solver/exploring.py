"""A position, its moves and best play from it.

A kernel finds them where the table is in dense bytes, a hundred times as fast as probing one
position after another, which serves every other kind of table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.errors import CorruptTableError
from solver.index import find_node
from solver.kernels import ffi, index_of, lib
from solver.playout import Positions, join, successors
from solver.rules import Position, Rules
from solver.values import (
    FOR_THE_OPPONENT,
    IMPOSSIBLE,
    PLIES_OF_BYTE,
    RESULT_OF_BYTE,
    MoveValue,
    Value,
    best_and_hardest_first,
    result_of_byte,
    value_of_byte,
    worth_of,
)

if TYPE_CHECKING:
    from solver.probing import Table

LONGEST_LINE: int = lib.FF_LONGEST_LINE
"""Longer than any forced win that a byte can hold."""


class Exploration(NamedTuple):
    """What a table says about a position."""

    transform: int
    """Makes the position canonical (``solver.index``)."""
    value: Value
    moves: list[MoveValue]
    """Every legal move, in the order of ``Table.moves``."""
    line: list[int]
    """Best play by both sides, as ``Table.line`` gives it."""


class Limits(NamedTuple):
    """Plies of the line: of a position that is won or lost, and of a drawn one."""

    decided: int
    drawn: int


Worth = tuple[str, int | None]
"""Result and plies of a move to the player who makes it."""


def _worth(after: Value) -> Worth:
    """after: the value of the position that the move leads to."""
    result, plies = after
    return FOR_THE_OPPONENT[result], None if plies is None else plies + 1


WORTH_OF_MOVE = [_worth(value_of_byte(byte)) for byte in range(IMPOSSIBLE)]
"""By table byte."""

WORTH_WITHOUT_PLIES = [_worth(result_of_byte(byte)) for byte in range(IMPOSSIBLE)]
"""The same of a table without plies: that a move ends the game is known all the same."""


def move_value(
    cell: int, byte: int, traps: int, replies: int, worth: list[Worth] = WORTH_OF_MOVE
) -> MoveValue:
    """byte: of the position after the move, in which the opponent is to move."""
    return MoveValue(cell, *worth[byte], traps, replies)


# ---- dense bytes --------------------------------------------------------------------------------


class KernelAnswer(NamedTuple):
    """What the kernel found."""

    status: int
    explored: Any
    """An ``ff_explored`` (csrc/explore.h)."""


def explored_by_kernel(
    index: Any,
    table: NDArray[np.uint8],
    queues: tuple[bytes, bytes],
    to_move: int,
    limits: Limits,
    read: NDArray[np.uint64] | None = None,
) -> KernelAnswer:
    """The kernel's own answer about a position.

    index: of the rules (``index_of``). table: dense, uint8 [nodes]. queues: of X and Y, as
    ``bytes_of_queue`` gives them. to_move: 0 for X. read: filled with the nodes whose bytes were
    used, uint64 [FF_MOST_READ].
    """
    explored = ffi.new("ff_explored *")
    if read is not None:
        explored.read = ffi.from_buffer("uint64_t[]", read)
    bytes_of_table = ffi.from_buffer("uint8_t[]", table)
    status = lib.ff_explore(index, bytes_of_table, *queues, to_move, *limits, explored)
    return KernelAnswer(status, explored)


def explore_bytes(
    position: Position,
    limits: Limits,
    table: NDArray[np.uint8],
    name: str,
    check: Callable[[NDArray[np.uint64]], object] = lambda nodes: None,
) -> Exploration:
    """From a dense table, uint8 [nodes], of a position of its rules that can occur.

    name: what messages call the table. check: given the nodes whose bytes were read, uint64 [N];
    raises if they cannot be trusted, before anything that they say is believed.
    """
    rules, read = position.rules, np.empty(lib.FF_MOST_READ, np.uint64)
    queues = bytes_of_queue(position.x, rules), bytes_of_queue(position.y, rules)
    side = "xy".index(position.to_move)
    status, explored = explored_by_kernel(index_of(rules), table, queues, side, limits, read)
    check(read[: explored.reads])
    if status != lib.FF_OK:
        raise CorruptTableError(
            f"{name} has no value for '{position}' or for one that follows it: solve it again"
        )
    order = ffi.buffer(explored.order, explored.count)[:]
    after, losing, replies = (
        ffi.buffer(column)[:] for column in (explored.after, explored.losing, explored.replies)
    )
    moves = [move_value(cell, after[cell], losing[cell], replies[cell]) for cell in order]
    line = list(ffi.buffer(explored.line, explored.plies)[:])
    return Exploration(explored.transform, value_of_byte(explored.value), moves, line)


def bytes_of_queue(queue: tuple[int, ...], rules: Rules) -> bytes:
    """As the kernels read it: m cells, -1 for no piece."""
    return bytes(queue) + b"\xff" * (rules.m - len(queue))


# ---- by probing ---------------------------------------------------------------------------------


def explore_by_probing(table: Table, position: Position, limits: Limits) -> Exploration:
    """The same by ``probe_many`` alone, for a table of any kind."""
    value = table.probe(position)
    longest = limits.drawn if value.result == "draw" else limits.decided
    line: list[int] = []
    reached = position
    moves = _moves(table, position)
    if not table.has_plies and value.result != "draw":
        longest = min(longest, 1) if moves and moves[0].plies == 1 else 0
    while len(line) < longest and (cell := _lowest_best(table, reached)) is not None:
        line.append(cell)
        reached = reached.play(cell)
    return Exploration(find_node(position)[1], value, moves, line)


def _moves(table: Table, position: Position) -> list[MoveValue]:
    after = successors(Positions.of([position], table.rules))
    replies = successors(after.positions)
    values = table.bytes_of(*join([after.positions, replies.positions]).arrays)
    theirs, ours = values[: len(after.cell)], values[len(after.cell) :]
    losing = -RESULT_OF_BYTE[ours] < RESULT_OF_BYTE[theirs][replies.parent]
    traps = np.bincount(replies.parent[losing], minlength=len(theirs))
    counts = np.bincount(replies.parent, minlength=len(theirs))
    columns = (after.cell.tolist(), theirs.tolist(), traps.tolist(), counts.tolist())
    worth = WORTH_OF_MOVE if table.has_plies else WORTH_WITHOUT_PLIES
    moves = [move_value(*entries, worth) for entries in zip(*columns, strict=True)]
    return sorted(moves, key=best_and_hardest_first)


def _lowest_best(table: Table, position: Position) -> int | None:
    """The lowest of the best moves; None once the game is over."""
    after = successors(Positions.of([position], table.rules))
    if not len(after.cell):
        return None
    values = table.bytes_of(*after.positions.arrays)
    worth = worth_of(RESULT_OF_BYTE[values], PLIES_OF_BYTE[values])  # to the opponent
    return int(after.cell[worth.argmin()])
