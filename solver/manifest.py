"""Files that appear whole or not at all, each with a manifest that vouches for it.

``name`` is accompanied by ``name.json``: what the file is, for which rules, how many bytes, and
its checksums (CRC-32 of every block, SHA-256 of the whole, as ``sha256sum`` prints it, and a
SHA-256 of what the manifest itself says).

A new version is written beside the old one and takes its place in this order::

    1  name.new            all bytes, fsync
    2  name.json.new       the new manifest, fsync, appears by rename  <- the decision
    3  name.new  -> name
    4  name.json.new -> name.json

Before 2 nothing has changed, and ``name.new`` is litter that the next writer removes. From 2 on
the new version is what counts, and whoever opens the file next completes 3 and 4 (unless its
writer, who holds the folder's lock, is still busy). So a crash at any moment leaves the old file
or the new one, with the manifest that belongs to it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from solver.errors import CorruptTableError, MissingTableError
from solver.rules import Rules
from solver.storage import (
    check_regular,
    is_writer_in,
    publish,
    read_json,
    refuse_to_write,
    remove_litter,
    sync_folder,
    writing_in,
)
from solver.wording import quoted

Kind = TypeVar("Kind")

FORMAT, VERSION = "fadefour", 1
OWN = "manifest"  # among the checksums: that of the manifest itself; older ones lack it

SMALLEST_BLOCK = 1 << 16
MOST_BLOCKS = 4096  # keeps the manifest of a table of gigabytes small
MOST_MANIFEST_BYTES = 1 << 24  # the largest has about 70 KB


@dataclass(frozen=True)
class Manifest:
    """What a file's manifest says. ``counts`` is free for each kind of file."""

    kind: str
    rules: Rules
    bytes: int
    counts: dict[str, Any]
    block_bytes: int
    crc32: list[str]
    sha256: str

    def to_json(self) -> str:
        body: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "kind": self.kind,
            "rules": {**asdict(self.rules), "tag": self.rules.tag},
            "bytes": self.bytes,
            "counts": self.counts,
            "checksums": {
                "sha256": self.sha256,
                "block_bytes": self.block_bytes,
                "crc32": self.crc32,
            },
        }
        body["checksums"][OWN] = _own_sha256(body)
        return json.dumps(body, indent=1) + "\n"


def _own_sha256(body: dict[str, Any]) -> str:
    """Of all that a manifest says but this."""
    sums = {name: value for name, value in body["checksums"].items() if name != OWN}
    return hashlib.sha256(
        json.dumps({**body, "checksums": sums}, sort_keys=True).encode()
    ).hexdigest()


def manifest_path(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def _new(path: Path) -> Path:
    return path.with_name(path.name + ".new")


def finish_interrupted(path: Path) -> None:
    """Completes a replacement that was decided but not finished, unless its writer is busy."""
    if not _new(manifest_path(path)).exists():
        return
    if is_writer_in(path.parent):
        _finish(path)
        return
    with contextlib.suppress(OSError):  # a folder that cannot be written to stays as it is
        handle = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _finish(path)
        finally:
            os.close(handle)


def _finish(path: Path) -> None:
    """The last two steps; for the one writer of the folder."""
    decided = _new(manifest_path(path))
    if not decided.exists():
        return
    for source, target in ((_new(path), path), (decided, manifest_path(path))):
        with contextlib.suppress(FileNotFoundError):  # done before the interruption
            os.replace(source, target)
    sync_folder(path.parent)


def is_there(path: Path) -> bool:
    """Does the file exist, once what was decided is done?"""
    finish_interrupted(path)
    return path.exists()


def block_size(total_bytes: int) -> int:
    size = SMALLEST_BLOCK
    while size * MOST_BLOCKS < total_bytes:
        size *= 2
    return size


class NewFile:
    """A file in the making: ``write`` its bytes in order, then ``commit``.

    Leaving the ``with`` block without a commit removes what was written.
    """

    def __init__(self, path: Path, kind: str, rules: Rules, total_bytes: int) -> None:
        self._lock = contextlib.ExitStack()
        if not is_writer_in(path.parent):
            self._lock.enter_context(writing_in(path.parent))
        self.path, self._kind, self._rules = path, kind, rules
        self._block = block_size(total_bytes)
        self._crc32: list[str] = []
        self._running, self._in_block, self._written = 0, 0, 0
        self._sha256 = hashlib.sha256()
        self._total = total_bytes
        try:
            _finish(path)
            self._file = open(_new(path), "wb", buffering=0)  # noqa: SIM115 - closed by __exit__
        except OSError as error:
            self._lock.close()
            refuse_to_write(path, error)

    def __enter__(self) -> NewFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            self._file.close()
            if not _new(manifest_path(self.path)).exists():
                _new(self.path).unlink(missing_ok=True)

    def write(self, data: Any) -> None:
        """Appends the bytes of any contiguous buffer."""
        view = memoryview(data).cast("B")
        self._sha256.update(view)
        at = 0
        while at < len(view):
            part = view[at : at + self._block - self._in_block]
            self._running = zlib.crc32(part, self._running)
            self._in_block += len(part)
            at += len(part)
            if self._in_block == self._block:
                self._end_block()
        try:
            while len(view):
                view = view[self._file.write(view) :]
        except OSError as error:
            refuse_to_write(self.path, error)
        self._written += at

    def _end_block(self) -> None:
        self._crc32.append(f"{self._running:08x}")
        self._running = self._in_block = 0

    def commit(self, counts: dict[str, Any]) -> Manifest:
        """Makes the file the one that counts, in place of any older one."""
        if self._written != self._total:
            raise RuntimeError(f"{self.path}: {self._written} of {self._total} bytes written")
        if self._in_block:
            self._end_block()
        manifest = Manifest(
            self._kind,
            self._rules,
            self._written,
            counts,
            self._block,
            self._crc32,
            self._sha256.hexdigest(),
        )
        try:
            os.fsync(self._file.fileno())
            publish(_new(manifest_path(self.path)), manifest.to_json().encode())
            sync_folder(self.path.parent)
            _finish(self.path)
        except OSError as error:
            refuse_to_write(self.path, error)
        return manifest


def remove(path: Path) -> None:
    """Removes a file, its manifest, and what an interrupted write left of either.

    The file goes before its manifest: a manifest without a file counts for nothing, but a file
    without a manifest is a damaged one.
    """
    _finish(path)
    for litter in (path, manifest_path(path), _new(path)):
        litter.unlink(missing_ok=True)
    remove_litter(path.parent)


def open_manifest(path: Path, kind: str, remedy: str, rules: Rules | None = None) -> Manifest:
    """The manifest of an existing file, checked against the file's size and what is expected."""
    if not is_there(path):
        raise MissingTableError(f"'{path}' does not exist: {remedy}")
    check_regular(path, kind)
    manifest = _read_manifest(path, remedy)
    if manifest.kind != kind:
        raise CorruptTableError(
            f"'{path}' is a file of kind {quoted(manifest.kind)}, not {kind!r}: {remedy}"
        )
    if rules is not None and manifest.rules != rules:
        raise CorruptTableError(
            f"'{path}' was made for {manifest.rules.tag.split(';')[0]}, not for "
            f"{rules.tag.split(';')[0]}: {remedy}"
        )
    size = path.stat().st_size
    if size != manifest.bytes:
        raise CorruptTableError(
            f"'{path}' has {size} bytes, its manifest says {manifest.bytes}: {remedy}"
        )
    return manifest


def _read_manifest(path: Path, remedy: str) -> Manifest:
    source = manifest_path(path)
    try:
        body = read_json(source, MOST_MANIFEST_BYTES, "manifest", remedy)
    except MissingTableError:
        raise CorruptTableError(f"'{path}' has no manifest '{source.name}': {remedy}") from None
    try:
        if body["format"] != FORMAT or _typed(int, body["version"]) != VERSION:
            raise CorruptTableError(
                f"'{source}' has format {quoted(body['format'])} version "
                f"{quoted(body['version'])}, this program reads {FORMAT!r} version {VERSION}: "
                f"{remedy}"
            )
        sums = body["checksums"]
        if OWN in sums and sums[OWN] != _own_sha256(body):
            raise CorruptTableError(f"'{source}' is damaged: it is not what was written: {remedy}")
        rules = Rules(*(_typed(int, body["rules"][name]) for name in "nmk"))
        if body["rules"]["tag"] != rules.tag:
            raise CorruptTableError(
                f"'{source}' was made for other rules ({quoted(body['rules']['tag'])}): {remedy}"
            )
        manifest = Manifest(
            _typed(str, body["kind"]),
            rules,
            _typed(int, body["bytes"]),
            _typed(dict, body["counts"]),
            _typed(int, sums["block_bytes"]),
            [_typed(str, crc) for crc in _typed(list, sums["crc32"])],
            _typed(str, sums["sha256"]),
        )
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise CorruptTableError(
            f"'{source}' is not a manifest ({quoted(error, 200)}): {remedy}"
        ) from error
    if manifest.block_bytes != block_size(manifest.bytes):
        raise CorruptTableError(
            f"'{source}' has blocks of {manifest.block_bytes} bytes, expected "
            f"{block_size(manifest.bytes)}: {remedy}"
        )
    blocks = -(-manifest.bytes // manifest.block_bytes)
    if blocks != len(manifest.crc32):
        raise CorruptTableError(
            f"'{source}' lists {len(manifest.crc32)} block checksums for {blocks} blocks: {remedy}"
        )
    return manifest


def _typed(kind: type[Kind], value: Any) -> Kind:
    """The value, if JSON gave just this type: true and 1.0 are not the number 1."""
    if type(value) is not kind:
        raise TypeError(f"{quoted(value)} is not of type {kind.__name__}")
    return value


def check_block(path: Path, manifest: Manifest, block: int, data: Any, remedy: str) -> None:
    """Raises CorruptTableError unless ``data`` is block number ``block`` as it was written."""
    if f"{zlib.crc32(data):08x}" != manifest.crc32[block]:
        first = block * manifest.block_bytes
        raise CorruptTableError(
            f"'{path}' is damaged: bytes {first} to {first + len(data) - 1} do not match their "
            f"checksum: {remedy}"
        )


def checked_blocks(
    path: Path, manifest: Manifest, remedy: str, *, whole: bool = False
) -> Iterator[bytes]:
    """Reads a file block by block, each checked; constant memory.

    With ``whole`` the checksum of the whole file is checked too, after the last block.
    """
    sha256 = hashlib.sha256()
    with open(path, "rb") as source:
        for block in range(len(manifest.crc32)):
            data = source.read(manifest.block_bytes)
            check_block(path, manifest, block, data, remedy)
            if whole:
                sha256.update(data)
            yield data
    if whole and sha256.hexdigest() != manifest.sha256:
        raise CorruptTableError(f"'{path}' does not match its SHA-256: {remedy}")


def check_whole(
    path: Path, manifest: Manifest, remedy: str, reach: Callable[[int], None] | None = None
) -> None:
    """Checks all block checksums and the whole one; ``reach`` gets the bytes read so far."""
    done = 0
    for data in checked_blocks(path, manifest, remedy, whole=True):
        done += len(data)
        if reach is not None:
            reach(done)
