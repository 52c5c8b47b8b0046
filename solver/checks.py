"""Checks of numbers that callers give: one line says what is wrong with the value."""

from __future__ import annotations

import operator
from typing import Any

from solver.errors import InputError

MOST_SEED = 2**63 - 1


def integer(name: str, value: Any) -> int:
    """The value as an int, if it is one or a numpy integer; a bool, 3.0 or '3' is refused."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise InputError(f"{name}={value!r}: give an integer") from None


def integer_in(name: str, value: Any, least: int, most: int) -> int:
    """The value as an int between these two."""
    number = integer(name, value)
    if not least <= number <= most:
        raise InputError(f"{name}={number}: use {least:,} to {most:,}")
    return number
