"""Boards as pictures: the pieces, and on every legal cell what a move there is worth.

Colour-blind people can tell the colours apart (Okabe and Ito), and what a colour says is written,
too: the result and the plies on a cell, the owner and the age on a piece.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from solver.plotting import pyplot
from solver.rules import Position
from solver.values import RESULTS, MoveValue, best_first

COLOUR_OF_RESULT = dict(zip(RESULTS, ("#0072B2", "#5F6368", "#C04A00"), strict=True))

_WOOD, _LINE, _INK, _PAPER = "#F3EFE6", "#B9B2A3", "#1F2430", "#FFFFFF"

# Inches.
_CELL, _LARGEST_BOARD = 0.95, 8.0
_LEFT, _RIGHT, _BELOW, _TITLE, _LEGEND_LINE = 0.45, 0.25, 0.42, 0.5, 0.2
_NARROWEST = 4.6  # for the title and the legend


@dataclass(frozen=True)
class Piece:
    """A piece on the board."""

    owner: int
    """0 for the first player, 1 for the second."""
    label: str
    leaves: bool = False
    """Whether it leaves with its owner's next move."""


@dataclass(frozen=True)
class Mark:
    """What a move to a cell is worth to the player who makes it."""

    result: str
    """ "win", "draw" or "loss"."""
    plies: int | None
    """Not shown for a draw."""
    is_best: bool
    traps: tuple[int, int] | None = None
    """How many replies are mistakes, of how many; None if that is not known."""


@dataclass(frozen=True)
class BoardPicture:
    """What to draw. Cells are row * columns + column, row 0 at the bottom."""

    rows: int
    columns: int
    pieces: Mapping[int, Piece]
    column_names: Sequence[str]
    row_names: Sequence[str]
    """Empty if rows have no names."""
    title: str
    marks: Mapping[int, Mark] = field(default_factory=dict)
    notes: Sequence[str] = ()
    """Lines below the board: what its pieces mean."""


def picture_of(position: Position, title: str, moves: Sequence[MoveValue] = ()) -> BoardPicture:
    """A position of drop-oldest; with the values of its moves, best first, if they are given."""
    rules = position.rules
    pieces = {
        cell: Piece(owner, f"{'XY'[owner]}{age}", leaves=age == 1 and len(queue) == rules.m)
        for owner, queue in enumerate((position.x, position.y))
        for age, cell in enumerate(queue, 1)
    }
    marks = {
        move.cell: Mark(
            move.result,
            move.plies,
            best_first(move) == best_first(moves[0]),
            (move.traps, move.replies),
        )
        for move in moves
    }
    note = "1 is the oldest piece; broken ring: leaves with its owner's next move"
    return BoardPicture(
        rules.n, rules.n, pieces, letters(rules.n), numbers(rules.n), title, marks, [note]
    )


def letters(count: int) -> list[str]:
    """The names of columns, from a."""
    return [chr(ord("a") + column) for column in range(count)]


def numbers(count: int) -> list[str]:
    """The names of rows, from 1."""
    return [str(row + 1) for row in range(count)]


def draw(picture: BoardPicture) -> Any:
    """The picture as a figure of matplotlib."""
    size = min(_CELL, _LARGEST_BOARD / max(picture.rows, picture.columns))
    legend = _legend(picture)
    board_width, board_height = size * picture.columns, size * picture.rows
    width = max(_NARROWEST, _LEFT + board_width + _RIGHT)
    legend_height = _LEGEND_LINE * len(legend)
    height = _TITLE + board_height + _BELOW + legend_height
    figure = pyplot().figure(figsize=(width, height), dpi=110, facecolor=_PAPER)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(0, height)
    axes.axis("off")
    axes.text(width / 2, height - _TITLE / 2, picture.title, **_text(11))
    corner = (_LEFT + (width - _LEFT - board_width - _RIGHT) / 2, _BELOW + legend_height)
    board = _Board(axes, picture, corner, size)
    board.draw_grid()
    for cell, piece in picture.pieces.items():
        board.draw_piece(cell, piece)
    for cell, mark in picture.marks.items():
        board.draw_mark(cell, mark)
    for line, words in enumerate(reversed(legend)):
        axes.text(width / 2, (line + 0.6) * _LEGEND_LINE, words, **_text(8))
    return figure


def _legend(picture: BoardPicture) -> list[str]:
    lines = []
    if picture.marks:
        lines.append("result and plies to the end for the side to move; filled: the best moves")
    if any(mark.traps and mark.traps[0] for mark in picture.marks.values()):
        lines.append("below them: how many of the replies are mistakes")
    return [*lines, *picture.notes]


def _text(points: float, colour: str = _INK, **more: Any) -> dict[str, Any]:
    return {"ha": "center", "va": "center", "fontsize": points, "color": colour, **more}


class _Board:
    """The board itself: its lower left corner and the size of a cell, in inches."""

    def __init__(
        self, axes: Any, picture: BoardPicture, corner: tuple[float, float], size: float
    ) -> None:
        from matplotlib import patches

        self._axes, self._picture, self._corner, self._size = axes, picture, corner, size
        self._patches = patches

    def _centre(self, cell: int) -> tuple[float, float]:
        row, column = divmod(cell, self._picture.columns)
        left, bottom = self._corner
        return left + (column + 0.5) * self._size, bottom + (row + 0.5) * self._size

    def draw_grid(self) -> None:
        rows, columns, size = self._picture.rows, self._picture.columns, self._size
        (left, bottom), width, height = self._corner, columns * size, rows * size
        self._axes.add_patch(
            self._patches.Rectangle(self._corner, width, height, facecolor=_WOOD, edgecolor="none")
        )
        for row in range(rows + 1):
            at = bottom + row * size
            self._axes.plot([left, left + width], [at, at], color=_LINE, linewidth=1)
        for column in range(columns + 1):
            at = left + column * size
            self._axes.plot([at, at], [bottom, bottom + height], color=_LINE, linewidth=1)
        for column, name in enumerate(self._picture.column_names):
            self._axes.text(left + (column + 0.5) * size, bottom - 0.2, name, **_text(10))
        for row, name in enumerate(self._picture.row_names):
            self._axes.text(left - 0.22, bottom + (row + 0.5) * size, name, **_text(10))

    def draw_piece(self, cell: int, piece: Piece) -> None:
        """The first player's pieces are dark, the second's light."""
        centre, size = self._centre(cell), self._size
        dark = piece.owner == 0
        self._axes.add_patch(
            self._patches.Circle(
                centre,
                0.38 * size,
                facecolor=_INK if dark else _PAPER,
                edgecolor=_INK,
                linewidth=2 * size,
            )
        )
        if piece.leaves:
            self._axes.add_patch(
                self._patches.Circle(
                    centre,
                    0.45 * size,
                    facecolor="none",
                    edgecolor=_INK,
                    linewidth=1.5,
                    linestyle=(0, (3, 3)),
                )
            )
        ink = _PAPER if dark else _INK
        self._axes.text(*centre, piece.label, **_text(14 * size, ink, fontweight="bold"))

    def draw_mark(self, cell: int, mark: Mark) -> None:
        """A coloured field, with a frame if no move is better."""
        (x, y), size, colour = self._centre(cell), self._size, COLOUR_OF_RESULT[mark.result]
        half = 0.4 * size
        self._axes.add_patch(
            self._patches.FancyBboxPatch(
                (x - half, y - half),
                2 * half,
                2 * half,
                boxstyle=f"round,pad=0,rounding_size={0.1 * size}",
                facecolor=colour if mark.is_best else _PAPER,
                edgecolor=colour,
                linewidth=2 * size,
            )
        )
        ink = _PAPER if mark.is_best else colour
        lines = [(mark.result, 13, "bold")]
        if mark.plies is not None:
            lines.append((str(mark.plies), 13, "bold"))
        if mark.traps and mark.traps[0]:
            lines.append((f"{mark.traps[0]} of {mark.traps[1]}", 10, "normal"))
        for number, (words, points, weight) in enumerate(lines):
            above = 0.23 * size * ((len(lines) - 1) / 2 - number)
            self._axes.text(x, y + above, words, **_text(points * size, ink, fontweight=weight))
