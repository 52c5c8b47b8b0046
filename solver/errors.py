"""Everything that can go wrong, as named errors with one-line messages.

A message names the value or file that was wrong and says what to do about it.
"""

from __future__ import annotations


class FadefourError(Exception):
    """Base of all errors that a user can cause or meet."""


class InputError(FadefourError, ValueError):
    """A value that cannot be used: a rule, a position, an option."""


class MissingTableError(FadefourError, FileNotFoundError):
    """A file that is needed is not there."""

    def __str__(self) -> str:  # OSError would print its errno tuple
        return str(self.args[0])


class CorruptTableError(FadefourError):
    """A file is there but cannot be trusted."""


class NoRoomError(FadefourError):
    """There is not enough memory or disk; nothing was overwritten."""
