"""The games once more, as plainly as Python allows: what tests hold the C games against.

A state is a tuple that shows the board as people see it; nothing is incremental, and every line
of the board is looked at after every move. Nothing here is imported from the product.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Protocol

import numpy as np
from brute_force import has_line
from numpy.typing import NDArray

GOING_ON, MOVER_WON, DRAWN = 0, 1, 2


class PlainGame(Protocol):
    """What tests ask of a plain game; a state is any hashable value."""

    name: str

    def start(self) -> Any: ...
    def to_move(self, state: Any) -> int: ...
    def result(self, state: Any) -> int: ...
    def legal(self, state: Any) -> list[int]: ...
    def play(self, state: Any, action: int) -> Any: ...
    def planes(self, state: Any) -> NDArray[np.float32]: ...
    def code(self, state: Any) -> list[int]: ...


class PlainDrop:
    """State: (X queue, Y queue, side to move), oldest first."""

    def __init__(self, n: int, m: int, k: int) -> None:
        self.n, self.m, self.k = n, m, k
        self.name = f"drop-{n}-{m}-{k}"

    def start(self) -> Any:
        return ((), (), 0)

    def to_move(self, state: Any) -> int:
        return int(state[2])

    def result(self, state: Any) -> int:
        return MOVER_WON if has_line(state[1 - state[2]], self.n, self.k) else GOING_ON

    def legal(self, state: Any) -> list[int]:
        if self.result(state) != GOING_ON:
            return []
        return [cell for cell in range(self.n**2) if cell not in state[0] + state[1]]

    def play(self, state: Any, action: int) -> Any:
        queues = [state[0], state[1]]
        queues[state[2]] = (*queues[state[2]], action)[-self.m :]
        return (queues[0], queues[1], 1 - state[2])

    def planes(self, state: Any) -> NDArray[np.float32]:
        planes = np.zeros((2 * self.m, self.n, self.n), dtype=np.float32)
        for whose, queue in enumerate((state[state[2]], state[1 - state[2]])):
            for after, cell in enumerate(reversed(queue)):  # the newest is the last to leave
                plane = whose * self.m + self.m - 1 - after
                planes[plane, cell // self.n, cell % self.n] = 1
        return planes

    def code(self, state: Any) -> list[int]:
        padded = [list(queue) + [-1] * (self.m - len(queue)) for queue in state[:2]]
        return [*padded[0], *padded[1], state[2]]


@cache
def windows(rows: int, columns: int, length: int) -> tuple[tuple[int, ...], ...]:
    """Every row of `length` neighbouring cells, in the four directions."""
    lines = []
    for row in range(rows):
        for column in range(columns):
            for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                cells = [(row + down * i, column + right * i) for i in range(length)]
                if all(0 <= r < rows and 0 <= c < columns for r, c in cells):
                    lines.append(tuple(r * columns + c for r, c in cells))
    return tuple(lines)


class PlainBoard:
    """Pieces that stay where they are placed. State: a tuple of 0, +1, -1 by cell."""

    rows: int
    columns: int
    length: int
    missing: tuple[int, ...] = (1,)
    """Planes of threats: for each number, the empty cells of lines that lack as many pieces."""

    def start(self) -> Any:
        return (0,) * (self.rows * self.columns)

    def to_move(self, state: Any) -> int:
        return sum(1 for piece in state if piece) % 2

    def result(self, state: Any) -> int:
        for cells in windows(self.rows, self.columns, self.length):
            if abs(sum(state[cell] for cell in cells)) == self.length:
                return MOVER_WON
        return GOING_ON if 0 in state else DRAWN

    def planes(self, state: Any) -> NDArray[np.float32]:
        board = np.array(state).reshape(self.rows, self.columns)
        mover = 1 if self.to_move(state) == 0 else -1
        shown = [board == mover, board == -mover]
        for missing in self.missing:
            shown += [self._threats(state, owner, missing) for owner in (mover, -mover)]
        return np.stack(shown).astype(np.float32)

    def _threats(self, state: Any, owner: int, missing: int) -> NDArray[np.bool_]:
        """Empty cells of lines in which only the owner has pieces, with this many missing."""
        cells = np.zeros(self.rows * self.columns, dtype=bool)
        for line in windows(self.rows, self.columns, self.length):
            pieces = [state[cell] for cell in line]
            if pieces.count(0) == missing and pieces.count(owner) == self.length - missing:
                cells[[cell for cell in line if state[cell] == 0]] = True
        return cells.reshape(self.rows, self.columns)

    def code(self, state: Any) -> list[int]:
        return [*state, self.to_move(state)]

    def _place(self, state: Any, cell: int) -> Any:
        return (*state[:cell], 1 if self.to_move(state) == 0 else -1, *state[cell + 1 :])


class PlainConnect4(PlainBoard):
    rows, columns, length = 6, 7, 4
    name = "connect4"

    def legal(self, state: Any) -> list[int]:
        if self.result(state) != GOING_ON:
            return []
        return [column for column in range(7) if state[5 * 7 + column] == 0]

    def play(self, state: Any, action: int) -> Any:
        row = next(row for row in range(6) if state[row * 7 + action] == 0)
        return self._place(state, row * 7 + action)


class PlainGomoku(PlainBoard):
    length = 5
    missing = (1, 2)

    def __init__(self, size: int) -> None:
        self.rows = self.columns = size
        self.name = f"gomoku-{size}"

    def legal(self, state: Any) -> list[int]:
        if self.result(state) != GOING_ON:
            return []
        return [cell for cell, piece in enumerate(state) if piece == 0]

    def play(self, state: Any, action: int) -> Any:
        return self._place(state, action)
