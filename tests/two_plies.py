"""An opening book of two plies, whatever the one that comes with fadefour has."""

from __future__ import annotations

from pathlib import Path

from solver.connect4.book import SHIPPED, Book, BookScores

PLIES = 2


def book_of_two_plies(folder: Path) -> Book:
    contents = BookScores.unknown(PLIES)
    for ply, part in enumerate(contents.scores):
        part[:] = SHIPPED.contents.scores[ply]
    book = Book(folder / "two_plies.book")
    book.save(contents)
    return book
