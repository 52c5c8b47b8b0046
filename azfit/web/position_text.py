"""The JSON of a drop-oldest position, written straight from what the kernel found.

``azfit.web.drop_oldest_entries`` says the same in dictionaries, for every kind of table and every
spelling. This takes a fifth of the time, so that a probe costs little more than the request that
carries it (bench/http_speed.py).
"""

from __future__ import annotations

import re

from solver.drawing import PROBE_LIMITS
from solver.exploring import WORTH_OF_MOVE, explored_by_kernel
from solver.index import symmetry_of
from solver.kernels import ffi, index_of, lib
from solver.table import DenseTable
from solver.values import FINISHED, IMPOSSIBLE, value_of_byte

# The query of an address, with a position as the program writes it; any other spelling takes the
# longer way.
_QUEUE = rb"((?:[a-e][1-5])+|-)"
_QUERY = re.compile(rb"position=" + _QUEUE + rb"(?:/|%2F|%2f)" + _QUEUE + rb"(?:%20|\+)([xy])")


def _worth(result: str, plies: int | None) -> str:
    return f'"result":"{result}","plies":{"null" if plies is None else plies}'


def _value(byte: int) -> str:
    result, plies = value_of_byte(byte)
    return _worth("over" if byte == FINISHED else result, plies)


MOVES_WORTH = [f"{_worth(*WORTH_OF_MOVE[byte])}," for byte in range(IMPOSSIBLE)]
"""By the byte of the position after the move."""

VALUES = [_value(byte) for byte in range(IMPOSSIBLE)]
"""By the byte of the position."""

TRAPS = [
    [f'"traps":{{"losing":{losing},"replies":{replies}}}}}' for replies in range(26)]
    for losing in range(26)
]
"""And the end of a move, by the replies that lose and all replies."""


def _part(name: str) -> slice:
    """Where a field of the kernel's answer is."""
    field = dict(ffi.typeof("ff_explored").fields)[name]
    return slice(field.offset, field.offset + ffi.sizeof(field.type))


_ORDER, _AFTER, _LOSING, _REPLIES, _LINE = map(
    _part, ("order", "after", "losing", "replies", "line")
)


class PositionWriter:
    """Writes positions of one table, every block of which has been checked."""

    def __init__(self, table: DenseTable) -> None:
        rules = table.rules
        self.table, self._index = table, index_of(rules)
        self._m, self._names = rules.m, rules.cell_names
        self._cells = {name.encode(): cell for cell, name in enumerate(self._names)}
        self._images = [[self._names[cell] for cell in image] for image in symmetry_of(rules).image]
        self._heads = [f'{{"cell":"{name}","position":"' for name in self._names]
        self._quoted = [f'"{name}"' for name in self._names]
        self._x_pieces, self._y_pieces = (
            [self._pieces(side, count) for count in range(rules.m + 1)] for side in "xy"
        )

    def _pieces(self, side: str, count: int) -> list[list[str]]:
        """The pieces of a side that has so many: by age, by cell."""
        return [
            [
                f'{{"cell":"{name}","side":"{side}","age":{age},'
                f'"leaves":{"true" if age == 1 and count == self._m else "false"}}}'
                for name in self._names
            ]
            for age in range(1, count + 1)
        ]

    def write(self, query: bytes) -> bytes | None:
        """The answer; None for what is not a position in the program's own spelling."""
        match = _QUERY.fullmatch(query)
        if match is None:
            return None
        x_text, y_text, to_move = match.groups()
        x, y, side = self._queue(x_text), self._queue(y_text), to_move.decode()
        if x is None or y is None:
            return None
        queues = x.ljust(self._m, b"\xff"), y.ljust(self._m, b"\xff")
        status, explored = explored_by_kernel(
            self._index, self.table.bytes, queues, side == "y", PROBE_LIMITS
        )
        if status != lib.FF_OK:
            return None
        answer, value, transform = ffi.buffer(explored)[:], explored.value, explored.transform
        image, quoted = self._images[transform], self._quoted
        canonical_x = "".join([image[cell] for cell in x]) or "-"
        canonical_y = "".join([image[cell] for cell in y]) or "-"
        pieces = [by_cell[cell] for by_cell, cell in zip(self._x_pieces[len(x)], x, strict=True)]
        pieces += [by_cell[cell] for by_cell, cell in zip(self._y_pieces[len(y)], y, strict=True)]
        winner = "null" if value != FINISHED else '"y"' if side == "x" else '"x"'
        moves = self._moves(x, y, side, answer, explored.count)
        line = ",".join([quoted[cell] for cell in answer[_LINE][: explored.plies]])
        return (
            f'{{"position":"{x_text.decode()}/{y_text.decode()} {side}",'
            f'"canonical":"{canonical_x}/{canonical_y} {side}",'
            f'"transform":{transform},"to_move":"{side}",{VALUES[value]},'
            f'"winner":{winner},"pieces":[{",".join(pieces)}],"moves":[{moves}],"line":[{line}]}}'
        ).encode()

    def _queue(self, text: bytes) -> bytes | None:
        """The cells; None if there are too many, or others than this board has."""
        if text == b"-":
            return b""
        if len(text) > 2 * self._m:
            return None
        cells = self._cells
        try:
            return bytes([cells[text[at : at + 2]] for at in range(0, len(text), 2)])
        except KeyError:
            return None

    def _moves(self, x: bytes, y: bytes, side: str, answer: bytes, count: int) -> str:
        """Every legal move, in the kernel's order."""
        heads, names, mover, other = self._heads, self._names, *((x, y) if side == "x" else (y, x))
        stays = "".join([names[cell] for cell in (mover[1:] if len(mover) == self._m else mover)])
        stands = "".join([names[cell] for cell in other]) or "-"
        before, behind = (stays, f'/{stands} y",') if side == "x" else (f"{stands}/{stays}", ' x",')
        after, losing, replies = answer[_AFTER], answer[_LOSING], answer[_REPLIES]
        return ",".join(
            [
                f"{heads[cell]}{before}{names[cell]}{behind}"
                f"{MOVES_WORTH[after[cell]]}{TRAPS[losing[cell]][replies[cell]]}"
                for cell in answer[_ORDER][:count]
            ]
        )
