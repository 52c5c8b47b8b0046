"""NumPy archives (.npz) that may come from anywhere: sizes are known before anything is unpacked.

A megabyte of zip can claim, and even hold, gigabytes. So no more is read than is
needed: the archive's directory has a limit, every array states its shape in a short header of its
own, and the reader says which dtype and shape it must have. Pickles are never loaded.
"""

from __future__ import annotations

import ast
import contextlib
import errno
import json
import math
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from solver.errors import CorruptTableError, NoRoomError
from solver.storage import open_regular
from solver.wording import one_line

MOST_ARRAYS = 64
BYTES_AT_A_TIME = 1 << 20

_MOST_DIRECTORY_BYTES = 1 << 16
_END = struct.Struct("<4s4HLLH")  # the end of a zip, without a comment
_END_OF_ZIP64 = b"PK\x06\x07"
_NPY = b"\x93NUMPY"
_MOST_HEADER_BYTES = 4096


@dataclass(frozen=True)
class StoredArray:
    """What an archive says about an array before it is read."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    first: int
    """Where its numbers begin in the unpacked member."""

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


class Archive:
    """An open archive. ValueError, KeyError and the like for what is wrong with it: they become
    one line when they leave ``open_archive``."""

    def __init__(self, source: BinaryIO) -> None:
        _check_directory(source)
        self._zip = zipfile.ZipFile(source)
        self.arrays: dict[str, StoredArray] = {}
        for info in self._zip.infolist():
            name = info.filename.removesuffix(".npy")
            if name in self.arrays:
                raise ValueError(f"two arrays are called {name!r}")
            self.arrays[name] = self._described(info)

    def _described(self, info: zipfile.ZipInfo) -> StoredArray:
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{info.filename!r} is compressed in an unknown way")
        if info.flag_bits & 1:
            raise ValueError(f"{info.filename!r} is encrypted")
        with self._zip.open(info) as member:
            magic = member.read(len(_NPY) + 2)
            if magic[:-2] != _NPY:
                raise ValueError(f"{info.filename!r} is not a NumPy array")
            long = struct.Struct("<H" if magic[-2] == 1 else "<I")
            size = long.unpack(member.read(long.size))[0]
            if size > _MOST_HEADER_BYTES:
                raise ValueError(f"the header of {info.filename!r} has {size:,} bytes")
            header = ast.literal_eval(member.read(size).decode("latin1"))
        dtype, shape = np.dtype(header["descr"]), tuple(header["shape"])
        if dtype.hasobject or header["fortran_order"] is not False:
            raise ValueError(f"{info.filename!r} is not a plain array")
        if not all(isinstance(length, int) and length >= 0 for length in shape):
            raise ValueError(f"{info.filename!r} has the shape {shape}")
        stored = StoredArray(dtype, shape, len(magic) + long.size + size)
        if info.file_size != stored.first + stored.bytes:
            raise ValueError(
                f"{info.filename!r} has {info.file_size:,} bytes for {dtype} {list(shape)}"
            )
        return stored

    @contextlib.contextmanager
    def open(self, name: str, offset: int = 0) -> Iterator[Any]:
        """The numbers of an array as a file of bytes, from this byte on."""
        with self._zip.open(f"{name}.npy") as member:
            member.seek(self.arrays[name].first + offset)
            yield member

    def chunks(self, name: str) -> Iterator[bytes]:
        """The bytes of an array, a little at a time."""
        with self.open(name) as member:
            while chunk := member.read(BYTES_AT_A_TIME):
                yield chunk

    def read(self, name: str, dtype: Any, shape: tuple[int, ...]) -> NDArray[Any]:
        """An array that must have this dtype and shape."""
        stored = self.arrays[name]
        if stored.dtype != dtype or stored.shape != shape:
            raise ValueError(f"{name} is {stored.dtype} {list(stored.shape)}")
        array = np.empty(shape, dtype)
        flat, at = array.reshape(-1).view(np.uint8), 0
        for chunk in self.chunks(name):
            flat[at : at + len(chunk)] = np.frombuffer(chunk, np.uint8)
            at += len(chunk)
        return array

    def read_json(self, name: str, most_bytes: int) -> Any:
        """Text that was stored as uint8."""
        size = self.arrays[name].bytes
        if size > most_bytes:
            raise ValueError(f"{name} has {size:,} bytes, the limit is {most_bytes:,}")
        return json.loads(self.read(name, np.uint8, (size,)).tobytes())


def _check_directory(source: BinaryIO) -> None:
    """Checks that the list of members is short: reading it takes many times its size."""
    size = source.seek(0, 2)
    source.seek(max(0, size - _END.size - 20))
    end = source.read()
    if end[-_END.size :][:4] != b"PK\x05\x06" or end.startswith(_END_OF_ZIP64):
        raise ValueError("it is not a NumPy archive, or it is cut short")
    _, _, _, _, entries, directory_bytes, _, _ = _END.unpack(end[-_END.size :])
    if entries > MOST_ARRAYS or directory_bytes > _MOST_DIRECTORY_BYTES:
        raise ValueError(f"it has {entries:,} members")
    source.seek(0)


@contextlib.contextmanager
def open_archive(
    path: Path, most_bytes: int, what: str, remedy: str = "give another file"
) -> Iterator[Archive]:
    """Opens an archive; whatever is wrong with it or with its arrays is one line.

    most_bytes: of the file, packed. what, remedy: for the message, see ``open_regular``.
    """
    with open_regular(path, most_bytes, what, remedy) as source:
        try:
            yield Archive(source)
        except (CorruptTableError, NoRoomError):
            raise
        except MemoryError as error:
            raise NoRoomError(f"{what} '{path}' does not fit into memory") from error
        except (
            *(ValueError, KeyError, TypeError, OverflowError, SyntaxError, RecursionError),
            *(EOFError, struct.error, zipfile.BadZipFile, zlib.error, NotImplementedError),
            OSError,
        ) as error:
            if isinstance(error, OSError) and error.errno != errno.EINVAL:  # a place before byte 0
                raise
            reason = one_line(error) or type(error).__name__
            if isinstance(error, KeyError):
                reason = f"it has no {reason}"
            raise CorruptTableError(
                f"'{path}' is not a valid {what} ({reason}): {remedy}"
            ) from None
