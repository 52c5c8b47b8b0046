"""What a file of tensors says about itself, read without torch and without its numbers.

A ``.safetensors`` file of this project describes itself in its header, as JSON: a network and its
rules, or the state of a run (``azfit.checkpoint`` writes and loads them). Pickles are refused
unread: loading one runs what its author wrote.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from azfit.games import Game, game_by_name
from azfit.network_config import NetworkConfig
from solver.errors import CorruptTableError, InputError
from solver.storage import open_regular
from solver.wording import one_line, quoted

FORMAT, VERSION = "fadefour network", 1
SUFFIX = ".safetensors"
OWN = "about_sha256"  # the entry that vouches for the others

# Limits of what is read. The networks of this project have a few MB, headers a few KB.
MOST_BYTES = 4_000_000_000
LONGEST_HEADER = 4_000_000
MOST_DIMENSIONS = 8

# u64 length of the header | header: JSON, {name: {dtype, shape, data_offsets}} | numbers


@dataclass(frozen=True)
class StoredTensor:
    """What the header says about a tensor; its bytes are ``first`` to ``end`` of the numbers."""

    dtype: str
    shape: tuple[int, ...]
    first: int
    end: int


@dataclass(frozen=True)
class Header:
    """All that is known about a file of tensors before its numbers are read."""

    about: dict[str, Any]
    tensors: dict[str, StoredTensor]
    numbers: int
    """The byte at which the numbers begin."""

    @property
    def is_state(self) -> bool:
        """Whether it is the state that a run resumes from, not a network that plays."""
        return "game" not in self.about or "kind" in self.about


def read_header(path: Path) -> Header:
    """What the file says about itself; its numbers are not read."""
    with open_regular(path, MOST_BYTES, "checkpoint", f"give a {SUFFIX} file") as source:
        return header_of(path, source)


def header_of(path: Path, source: BinaryIO) -> Header:
    """The header of a file that is open at its beginning."""
    size = os.fstat(source.fileno()).st_size
    beginning = source.read(256)
    _refuse_other_kinds(path, beginning)
    length = int.from_bytes(beginning[:8], "little")
    if len(beginning) < 8 or not 2 <= length <= size - 8:
        raise corrupt(path, "it is not a safetensors file, or it is cut short")
    if length > LONGEST_HEADER:
        raise corrupt(path, f"its header has {length:,} bytes")
    source.seek(8)
    try:
        entries = json.loads(source.read(length))
        metadata = entries.pop("__metadata__", None) or {}
        about = json.loads(metadata["about"]) if "about" in metadata else None
        is_as_written = _is_as_written(about)
    except (ValueError, AttributeError, TypeError, RecursionError):
        raise corrupt(path, "its header cannot be read") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise InputError(
            f"'{path}' is not a fadefour checkpoint (its header does not say so): give another file"
        )
    if about.get("version") != VERSION:
        raise InputError(
            f"'{path}' has version {quoted(about.get('version'))}, this fadefour reads {VERSION}: "
            "train it again, or use the fadefour that wrote it"
        )
    if not is_as_written:
        raise corrupt(path, "its header is not what was written")
    try:
        tensors = {name: _stored_tensor(name, entry) for name, entry in entries.items()}
    except (ValueError, TypeError, KeyError):
        raise corrupt(path, "its header lists impossible tensors") from None
    _check_places(path, list(tensors.values()), size - 8 - length)
    return Header(about, tensors, 8 + length)


def entries_sha256(about: Mapping[str, Any]) -> str:
    """SHA-256 over the entries of a header."""
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _is_as_written(about: Any) -> bool:
    """Takes the entry that vouches for the others from a header, if there is one, and checks it."""
    own = about.pop(OWN, None) if isinstance(about, dict) else None
    return own is None or own == entries_sha256(about)


def _check_places(path: Path, tensors: list[StoredTensor], numbers_bytes: int) -> None:
    """Checks that the tensors fill the file without overlapping."""
    end = 0
    for tensor in sorted(tensors, key=lambda tensor: (tensor.first, tensor.end)):
        if tensor.first != end:
            raise corrupt(path, "its tensors overlap or leave gaps")
        end = tensor.end
    if end != numbers_bytes:
        raise corrupt(
            path, f"it holds {numbers_bytes:,} bytes of numbers, its header lists {end:,}"
        )


def _stored_tensor(name: str, entry: dict[str, Any]) -> StoredTensor:
    """ValueError, KeyError or TypeError for an entry that makes no sense."""
    if not name.isprintable() or len(entry["shape"]) > MOST_DIMENSIONS:
        raise ValueError(f"no tensor: {entry}")
    dtype, item_bytes = _DTYPES[entry["dtype"]]
    first, end = entry["data_offsets"]
    shape = tuple(entry["shape"])
    if not all(type(number) is int and number >= 0 for number in (first, end, *shape)):
        raise ValueError(f"no sizes: {entry}")
    if end - first != math.prod(shape) * item_bytes:
        raise ValueError(f"other sizes: {entry}")
    return StoredTensor(dtype, shape, first, end)


_DTYPES = {
    "F64": ("torch.float64", 8),
    "F32": ("torch.float32", 4),
    "I64": ("torch.int64", 8),
    "I32": ("torch.int32", 4),
    "U8": ("torch.uint8", 1),
    "BOOL": ("torch.bool", 1),
}


def _refuse_other_kinds(path: Path, beginning: bytes) -> None:
    """Refuses files that are known to be something else, and says what they are."""
    if beginning[:4] == b"PK\x03\x04":  # zip: what it is shows in the name of its first member
        name_bytes = int.from_bytes(beginning[26:28], "little")
        member = beginning[30 : 30 + name_bytes].decode("latin1")
        if member == "about.npy":
            kind = "a certificate"
        elif member.endswith(".npy"):
            kind = "a NumPy archive (.npz)"
        elif ".pkl" in member or path.suffix in _PICKLES:
            _refuse_pickle(path)
        else:
            kind = "a zip archive"
        raise InputError(f"'{path}' is {kind}, not a network: give a {SUFFIX} checkpoint")
    # Pickles of protocol 2 and up begin with \x80; the suffix shows older ones. A header of
    # 128, 384 ... bytes begins with \x80 as well, but has its { at byte 8.
    if (beginning[:1] == b"\x80" and beginning[8:9] != b"{") or path.suffix in _PICKLES:
        _refuse_pickle(path)
    if beginning[:1] == b"{" and path.suffix == ".json":
        raise InputError(f"'{path}' is JSON, not a network: give the {SUFFIX} file next to it")


def _refuse_pickle(path: Path) -> NoReturn:
    raise InputError(
        f"'{path}' is a pickle, and loading one runs its author's code: use a {SUFFIX} checkpoint"
    )


_PICKLES = (".pt", ".pth", ".pkl", ".pickle", ".bin", ".ckpt")


def corrupt(path: Path, why: str) -> CorruptTableError:
    return CorruptTableError(
        f"checkpoint '{path}' cannot be trusted ({one_line(why)}): use another one"
    )


# ---- networks -----------------------------------------------------------------------


def game_of_checkpoint(path: Path) -> Game:
    """The game that a checkpoint says it plays."""
    return game_by_name(network_config(path, read_header(path)).game)


def network_config(path: Path, header: Header) -> NetworkConfig:
    """The shape of the network in a file with this header."""
    if header.is_state:
        raise InputError(
            f"'{path}' is the state of a run, not a network: give the run's best{SUFFIX}, or one "
            "of its checkpoints"
        )
    given = header.about.get("network")
    if not isinstance(given, dict):
        raise corrupt(path, "it does not say what network it is")
    try:
        return NetworkConfig.from_dict(given)
    except (InputError, TypeError) as error:
        raise InputError(f"checkpoint '{path}': {error}") from None


def checkpoints_in(folder: Path) -> list[Path]:
    """The checkpoints ``step-*`` of a run, oldest first."""
    return sorted(folder.glob(f"step-*{SUFFIX}"))
