"""Scores of Connect Four positions that took long to find, kept on disk.

    answers = AnswerFile(Path("data") / ANSWERS)
    solver = Connect4Solver(answers=answers)    # asks it first, and tells it what it finds

The file is a SQLite database of at most ``MOST_ANSWERS`` rows; when it is full, the answers that
took least work go first. Each has a checksum, because SQLite has none: a damaged one is forgotten.
The file may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import zlib
from pathlib import Path
from typing import Self

from solver.connect4.keys import key_of
from solver.errors import CorruptTableError, InputError

ANSWERS = "connect4_answers.sqlite"

MOST_ANSWERS = 500_000  # about 12 MB
SHARE_DROPPED = 10  # of a full file, a tenth goes at once

# The file's absolute limit, whatever it holds: twice what the answers take.
PAGE_BYTES, MOST_PAGES = 4096, 6_000

# Nodes from which an answer is worth keeping: it takes longer to find than to look up.
FEWEST_NODES = 20_000

# SQLite's field for the kind of a file, and the version of the table in it. The first version had
# no checksums; such a file is begun anew.
APPLICATION, VERSION, WITHOUT_CHECKSUMS = 0x66616466, 2, 1

HIGHEST_SCORE = 18


def checksum_of(key: int, score: int) -> int:
    return zlib.crc32(f"{key} {score}".encode())


class AnswerFile:
    """Known scores by position. For any number of threads; a file that cannot be written to any
    longer (a full disk, a folder that is gone) still answers."""

    def __init__(self, path: Path, most: int = MOST_ANSWERS) -> None:
        """Raises InputError if there can be no such file, CorruptTableError if it is another."""
        self._path, self._most, self._lock = path, most, threading.Lock()
        try:
            self._database = sqlite3.connect(
                path, timeout=1.0, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise InputError(f"cannot keep answers in '{path}': {error}") from None
        try:
            self._count = self._prepare()
        except BaseException:
            self._database.close()
            raise

    def _prepare(self) -> int:
        """Makes a new file, or checks what is there; the number of answers."""
        try:
            is_new = not self._number("SELECT count(*) FROM sqlite_master")
            is_ours = self._number("PRAGMA application_id") == APPLICATION
            version = self._number("PRAGMA user_version")
            if is_new or (is_ours and version == WITHOUT_CHECKSUMS):
                self._begin(older="" if is_new else "DROP TABLE answers;")
                is_ours, version = True, VERSION
            is_ours = is_ours and version == VERSION
            whole = self._database.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
            if not is_ours or not whole:
                raise sqlite3.DatabaseError("it is damaged, or another kind of file")
            self._database.execute(f"PRAGMA max_page_count = {MOST_PAGES}")
            self._database.execute("PRAGMA synchronous = OFF")  # a crash may cost the file
            return self._number("SELECT count(*) FROM answers")
        except sqlite3.OperationalError as error:  # it may be whole, but cannot be used
            raise InputError(f"cannot keep answers in '{self._path}': {error}") from None
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            reason = "its tables are damaged" if isinstance(error, ValueError) else error
            raise CorruptTableError(f"'{self._path}' ({reason}): remove it") from None

    def _begin(self, older: str) -> None:
        """All of it or nothing, and nothing if another process was first."""
        self._database.executescript(
            f"PRAGMA page_size = {PAGE_BYTES}; BEGIN IMMEDIATE; {older} CREATE TABLE IF NOT EXISTS "
            "answers (key INTEGER PRIMARY KEY, score INTEGER NOT NULL, nodes INTEGER NOT NULL, "
            f"checksum INTEGER NOT NULL); PRAGMA application_id = {APPLICATION}; "
            f"PRAGMA user_version = {VERSION}; COMMIT;"
        )

    def _number(self, question: str) -> int:
        return int(self._database.execute(question).fetchone()[0])

    def __len__(self) -> int:
        return self._count

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with self._lock:
            self._database.close()

    def get(self, mover: int, stones: int) -> int | None:
        """The score of a position, if it is known."""
        question, key = "SELECT score, checksum FROM answers WHERE key = ?", key_of(mover, stones)
        try:
            with self._lock:
                row = self._database.execute(question, (key,)).fetchone()
        except (sqlite3.Error, ValueError, OverflowError):
            return None
        score, checksum = row or (None, None)
        if not isinstance(score, int) or abs(score) > HIGHEST_SCORE:
            return None
        return score if checksum == checksum_of(key, score) else None

    def put(self, mover: int, stones: int, score: int, nodes: int) -> None:
        """Keeps a score, if it took enough nodes to be worth it."""
        if nodes < FEWEST_NODES:
            return
        key = key_of(mover, stones)
        row = key, score, nodes, checksum_of(key, score)
        with self._lock, contextlib.suppress(sqlite3.Error, ValueError):
            self._database.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)", row)
            self._count += 1  # a little too high if it was known: counted again below
            if self._count > self._most:
                self._drop_the_cheapest()

    def _drop_the_cheapest(self) -> None:
        self._count = self._number("SELECT count(*) FROM answers")
        too_many = self._count - self._most
        if too_many <= 0:
            return
        self._database.execute(
            "DELETE FROM answers WHERE key IN (SELECT key FROM answers ORDER BY nodes LIMIT ?)",
            (too_many + self._most // SHARE_DROPPED,),
        )
        self._count = self._number("SELECT count(*) FROM answers")
