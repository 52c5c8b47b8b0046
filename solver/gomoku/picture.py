"""Gomoku positions as pictures."""

from __future__ import annotations

from solver.board_picture import BoardPicture, Mark, Piece, letters, numbers
from solver.gomoku.text import STONES, GomokuReport


def picture_of(report: GomokuReport) -> BoardPicture:
    """The stones by the number of their move; of a forced win, the first move."""
    position = report.position
    size, title = position.size, report.headline.partition(": ")[2]
    pieces = {
        cell: Piece(ply % 2, f"{STONES[ply % 2]}{ply + 1}")
        for ply, cell in enumerate(position.moves)
    }
    marks = {}
    if report.mover is not None and report.mover.line:
        names = {position.name_of(cell): cell for cell in position.legal_moves()}
        marks[names[report.mover.line[0]]] = Mark("win", report.mover.plies, True)
    return BoardPicture(size, size, pieces, letters(size), numbers(size), title, marks)
