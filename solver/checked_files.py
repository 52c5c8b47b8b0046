"""Files that hold a variant's results: mapped, and checked block by block when first touched."""

from __future__ import annotations

import contextlib
import mmap
from abc import abstractmethod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from solver.errors import InputError
from solver.index import Uint64Array
from solver.manifest import Manifest, check_block
from solver.probing import Table
from solver.storage import open_regular


class CheckedMap:
    """A read-only map of a file, of which blocks are checked when first touched."""

    def __init__(self, path: Path, manifest: Manifest, remedy: str) -> None:
        self._path, self._manifest, self._remedy = path, manifest, remedy
        with open_regular(path, manifest.bytes, "table", remedy) as source:
            self._map = mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ)
        self._bytes: NDArray[np.uint8] | None = np.frombuffer(self._map, np.uint8)
        self._is_checked = np.zeros(len(manifest.crc32), np.bool_)
        self.all_checked = False
        self._shift = manifest.block_bytes.bit_length() - 1

    @property
    def bytes(self) -> NDArray[np.uint8]:
        """All bytes, unchecked."""
        if self._bytes is None:
            raise InputError(f"'{self._path}' is closed: open it again")
        return self._bytes

    def check(self, offset: int) -> None:
        """Checks the block around one byte."""
        if not self._is_checked[offset >> self._shift]:
            self._check_block(offset >> self._shift)

    def check_many(self, offsets: Uint64Array) -> None:
        """Checks the blocks around many bytes."""
        if self.all_checked:
            return
        touched = np.zeros(len(self._is_checked), np.bool_)
        touched[offsets >> np.uint64(self._shift)] = True
        for block in np.flatnonzero(touched & ~self._is_checked):
            self._check_block(int(block))
        self.all_checked = bool(self._is_checked.all())

    def check_all(self) -> None:
        """Checks every block that was not touched yet."""
        for block in np.flatnonzero(~self._is_checked):
            self._check_block(int(block))
        self.all_checked = True

    def _check_block(self, block: int) -> None:
        first = block * self._manifest.block_bytes
        data = self.bytes[first : first + self._manifest.block_bytes]
        check_block(self._path, self._manifest, block, data, self._remedy)
        self._is_checked[block] = True

    def close(self) -> None:
        self._bytes = None
        # A caller's array may still look at the map, which is then freed with that array.
        with contextlib.suppress(BufferError):
            self._map.close()


class TableFile(Table):
    """A table on disk."""

    path: Path
    manifest: Manifest
    _map: CheckedMap

    @property
    def name(self) -> str:
        return f"'{self.path}'"

    @property
    def is_checked(self) -> bool:
        """Whether every block has been read and is whole: then no question has to wait."""
        return self._map.all_checked

    def check_all(self) -> None:
        """Checks every block now, rather than when it is first touched."""
        self._map.check_all()

    def close(self) -> None:
        self._map.close()


class NodeTable(TableFile):
    """A table that knows every node by its number, so that all of them can be counted, drawn from
    and labelled."""

    @abstractmethod
    def values_of(self, nodes: Uint64Array) -> NDArray[np.uint8]:
        """Table bytes of nodes, uint8 [N]."""

    @abstractmethod
    def count_bytes(self, threads: int | None = None) -> NDArray[np.uint64]:
        """How often each table byte occurs in each slice, plies included: uint64 [slices, 256]. The
        whole file is checked first."""
