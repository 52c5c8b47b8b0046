"""Small pieces of English that several messages share."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """``1 piece``, ``2,000 pieces``; an irregular plural is given."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def counted_plies(number: int) -> str:
    return counted(number, "ply", "plies")
