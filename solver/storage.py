"""Plain files: written whole or not at all, read within limits, one writer per folder.

A file is written under a pending name of its own in the same folder and renamed when all of it is
on disk, so that two processes that write the same file each publish a whole one. Its writer holds
a lock on the pending file; one without a lock was left by a writer that was killed, and the next
writer in that folder removes it.

What a user names to be read can be anything: a device, a folder, a file of gigabytes. Readers here
look at its kind and size before they read it, and say in one line what is wrong with it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import secrets
import stat
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from solver.errors import (
    CorruptTableError,
    FadefourError,
    InputError,
    MissingTableError,
    NoRoomError,
)

PENDING = ".fadefour-{}.writing"
BYTES_AT_A_TIME = 1 << 20

_HELD: set[Path] = set()  # the folders in which this process is the writer


# ---- one writer per folder ----------------------------------------------------------------------


@contextlib.contextmanager
def writing_in(
    folder: Path, wait: bool = False, notice: Callable[[str], object] | None = None
) -> Iterator[None]:
    """Holds the folder for one writer at a time; makes it if necessary. The lock leaves no file.

    wait: waits for another process to finish instead of refusing; ``notice`` is called once.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        reason = "it is not a folder" if error.errno == errno.EEXIST else error.strerror
        raise InputError(f"cannot write in '{folder}': {reason}") from error
    try:
        _lock_folder(handle, folder, wait and not is_writer_in(folder), notice)
        held = folder.resolve()
        _HELD.add(held)
        try:
            remove_litter(folder)
            yield
        finally:
            _HELD.discard(held)
    finally:
        os.close(handle)


def _lock_folder(
    handle: int, folder: Path, wait: bool, notice: Callable[[str], object] | None
) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        if not wait:
            raise InputError(
                f"another fadefour is writing to '{folder}': wait for it, or use another folder"
            ) from None
        if notice is not None:
            notice(f"waiting for another fadefour that is writing to '{folder}'")
        fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError as error:
        raise InputError(f"cannot lock '{folder}': {error.strerror}") from error


def is_writer_in(folder: Path) -> bool:
    """Does this process hold the folder's lock?"""
    return folder.resolve() in _HELD


# ---- writing ------------------------------------------------------------------------------------


def sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _open_pending(folder: Path) -> tuple[int, Path]:
    while True:
        pending = folder / PENDING.format(secrets.token_hex(8))
        handle = os.open(pending, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        with contextlib.suppress(OSError):  # where there are no locks, litter stays
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return handle, pending
        os.close(handle)  # remove_litter came between open and lock


def publish(path: Path, data: bytes) -> None:
    """Writes and syncs the bytes under a pending name, then renames it; raises OSError."""
    handle, pending = _open_pending(path.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
            os.replace(pending, path)  # before the file is closed, which gives up its lock
    finally:
        pending.unlink(missing_ok=True)


def remove_litter(folder: Path) -> None:
    """Removes pending files that killed writers left; those of live writers are locked."""
    for pending in folder.glob(PENDING.format("*")):
        with contextlib.suppress(OSError):  # not ours to remove, or renamed meanwhile
            handle = os.open(pending, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                pending.unlink()
            finally:
                os.close(handle)


def write_atomically(path: Path, data: bytes) -> None:
    """A small file without a manifest: it appears whole or not at all."""
    try:
        _refuse_unless_regular(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_litter(path.parent)
        publish(path, data)
        sync_folder(path.parent)
    except OSError as error:
        refuse_to_write(path, error)


def check_writable(path: Path) -> None:
    """For a file that long work ends in: can it be written? Leaves nothing behind."""
    try:
        _refuse_unless_regular(path)
        folder = path.parent
        while not os.path.lexists(folder):
            folder = folder.parent
        for name in path.parts[len(folder.parts) :]:
            _kind(folder / name)  # raises if the name is too long
        handle, pending = _open_pending(folder)
        os.close(handle)
        pending.unlink(missing_ok=True)  # another writer may have taken it for litter
    except OSError as error:
        refuse_to_write(path, error)


def refuse_to_write(path: Path, error: OSError) -> NoReturn:
    """Turns the system's error into one line."""
    if error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
        raise NoRoomError(
            f"no room to write '{path}' ({error.strerror}): free some disk space or use another "
            "folder; nothing was overwritten"
        ) from error
    raise InputError(f"cannot write '{path}': {error.strerror}") from error


# ---- kinds of files -----------------------------------------------------------------------------

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


def _name_of_kind(mode: int) -> str:
    return next((name for is_kind, name in _KINDS if is_kind(mode)), "a device")


def _kind(path: Path) -> int | None:
    """The mode of what lies there, links not followed; None if nothing does."""
    try:
        return path.lstat().st_mode
    except FileNotFoundError:
        return None


def _refuse_unless_regular(path: Path) -> None:
    """What a rename would replace must be a regular file, or nothing."""
    mode = _kind(path)
    if mode is not None and not stat.S_ISREG(mode):
        raise InputError(f"cannot write '{path}': it is {_name_of_kind(mode)}: give another name")


# ---- reading ------------------------------------------------------------------------------------


def check_regular(path: Path, what: str) -> None:
    """For a file that exists: InputError if it is a folder, a pipe, a device or the like."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        raise InputError(f"cannot read {what} '{path}': it is {_name_of_kind(mode)}")


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # a pipe without a writer would wait for one


@contextlib.contextmanager
def open_regular(
    path: Path, most_bytes: int, what: str, remedy: str = "give another file"
) -> Iterator[BinaryIO]:
    """A regular file of at most this size, open for reading; anything else is refused in one line.

    what: the kind of file, for the message. remedy: what to do about a file that is missing or
    damaged; it is not given for one that may be whole but cannot be read.
    """
    try:
        with open(path, "rb", opener=_open_without_waiting) as source:
            about = os.fstat(source.fileno())
            if not stat.S_ISREG(about.st_mode):
                kind = _name_of_kind(about.st_mode)
                raise InputError(f"cannot read {what} '{path}': it is {kind}")
            if about.st_size > most_bytes:
                raise CorruptTableError(
                    f"{what} '{path}' is too large ({about.st_size:,} bytes, the limit is "
                    f"{most_bytes:,}): {remedy}"
                )
            yield source
    except FadefourError:
        raise
    except FileNotFoundError:
        raise MissingTableError(f"{what} '{path}' does not exist: {remedy}") from None
    except IsADirectoryError:
        raise InputError(f"cannot read {what} '{path}': it is a folder") from None
    except OSError as error:
        raise InputError(f"cannot read {what} '{path}': {error.strerror}") from error


def read_bytes(path: Path, most_bytes: int, what: str, remedy: str = "give another file") -> bytes:
    """All of a file; see ``open_regular``."""
    data = bytearray()
    with open_regular(path, most_bytes, what, remedy) as source:
        while chunk := source.read(BYTES_AT_A_TIME):
            data += chunk
            if len(data) > most_bytes:  # it grew, or its system gives no sizes, as in /proc
                raise CorruptTableError(
                    f"{what} '{path}' is too large (the limit is {most_bytes:,} bytes): {remedy}"
                )
    return bytes(data)


def read_text_file(
    path: Path, most_bytes: int, what: str, remedy: str = "give another file"
) -> str:
    """The text of a file in UTF-8; see ``open_regular``."""
    try:
        return read_bytes(path, most_bytes, what, remedy).decode()
    except UnicodeDecodeError as error:
        raise CorruptTableError(
            f"{what} '{path}' is not text (byte {error.start} is not UTF-8): {remedy}"
        ) from None


def read_json(path: Path, most_bytes: int, what: str, remedy: str = "give another file") -> Any:
    """What a file says in JSON; see ``open_regular``."""
    return _parsed(path, most_bytes, what, remedy, "JSON", json.loads)


def read_toml(
    path: Path, most_bytes: int, what: str, remedy: str = "give another file"
) -> dict[str, Any]:
    """What a file says in TOML; see ``open_regular``."""
    settings: dict[str, Any] = _parsed(path, most_bytes, what, remedy, "TOML", tomllib.loads)
    return settings


def _parsed(
    path: Path,
    most_bytes: int,
    what: str,
    remedy: str,
    language: str,
    parse: Callable[[str], Any],
) -> Any:
    text = read_text_file(path, most_bytes, what, remedy)
    try:
        return parse(text)
    except RecursionError:
        raise CorruptTableError(f"{what} '{path}' is nested too deeply: {remedy}") from None
    except ValueError as error:  # JSONDecodeError, TOMLDecodeError, a number of 5,000 digits
        reason = " ".join(str(error).split())
        raise CorruptTableError(
            f"{what} '{path}' is not valid {language} ({reason}): {remedy}"
        ) from None
