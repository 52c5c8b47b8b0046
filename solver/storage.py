"""Plain files: they appear whole or not at all, and a folder has one writer at a time."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from solver.errors import InputError, NoRoomError

_HELD: set[Path] = set()  # the folders in which this process is the writer


@contextlib.contextmanager
def writing_in(folder: Path) -> Iterator[None]:
    """Holds the folder for one writer at a time; makes it if need be. The lock leaves no file."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise InputError(f"cannot write in '{folder}': {error.strerror}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise InputError(
            f"another fadefour is writing in '{folder}': wait for it, or use another folder"
        ) from None
    held = folder.resolve()
    _HELD.add(held)
    try:
        yield
    finally:
        _HELD.discard(held)
        os.close(handle)


def is_writer_in(folder: Path) -> bool:
    """Does this process hold the folder's lock?"""
    return folder.resolve() in _HELD


def sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_atomically(path: Path, data: bytes) -> None:
    """A small file without a manifest: it appears whole or not at all."""
    pending = path.with_name(path.name + ".writing")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(pending, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        os.replace(pending, path)
        sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            pending.unlink(missing_ok=True)
        refuse_to_write(path, error)


def refuse_to_write(path: Path, error: OSError) -> NoReturn:
    if error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
        raise NoRoomError(
            f"no room to write '{path}' ({error.strerror}): free some disk or use another --data "
            "folder; nothing was overwritten"
        ) from error
    raise InputError(f"cannot write '{path}': {error.strerror}") from error
