"""Networks on disk: safetensors, which is numbers and text and cannot carry code.

A checkpoint ``name.safetensors`` holds the weights, and in its header, as JSON, all else: what
the network is, for which rules, the step, the metrics, a SHA-256 of the weights. It is one file,
so it appears whole or not at all (temporary name, fsync, rename, fsync of the folder). The same
JSON is also written to ``name.json`` for easy reading; loading does not use it.

Pickles (.pt, .pth, .pkl) are refused unread: loading one runs what its author wrote.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from azfit.games import DropOldest, game_by_name
from azfit.network import Network, NetworkConfig
from solver.errors import CorruptTableError, InputError
from solver.storage import open_regular, remove_litter, write_atomically

FORMAT, VERSION = "fadefour network", 1
SUFFIX = ".safetensors"

# Limits of what is read. The networks of this project have a few MB, headers a few KB.
MOST_BYTES = 4_000_000_000
LONGEST_HEADER = 4_000_000
BYTES_AT_A_TIME = 1 << 20


def rules_tag(game: str) -> str:
    """What the weights were made for: the rules of drop-oldest, or the game's name."""
    played = game_by_name(game)
    return played.rules.tag if isinstance(played, DropOldest) else played.name


def tensors_sha256(tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 over names, dtypes, shapes and numbers, in the order of the names."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()


# ---- writing ------------------------------------------------------------------------


def write_tensors(path: Path, tensors: Mapping[str, Tensor], about: dict[str, Any]) -> None:
    """Tensors and a JSON description as one safetensors file."""
    from safetensors.torch import save

    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    about = {**about, "sha256": tensors_sha256(plain)}
    write_atomically(path, save(plain, {"about": json.dumps(about)}))


# ---- reading ------------------------------------------------------------------------
#
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


def read_tensors(
    path: Path, accept: Callable[[Header], object] | None = None
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What ``write_tensors`` wrote, checked against its SHA-256.

    accept: sees the header before any number is read, and raises if the file is not wanted.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    with open_regular(path, MOST_BYTES, "checkpoint", f"give a {SUFFIX} file") as source:
        header = _read_header(path, source)
        if accept is not None:
            accept(header)
        if _stored_sha256(source, header) != header.about.get("sha256"):
            raise _corrupt(path, "its numbers do not match its SHA-256")
        source.seek(0)
        try:
            tensors: dict[str, Tensor] = load(source.read())
        except (SafetensorError, ValueError, KeyError) as error:
            raise _corrupt(path, str(error).splitlines()[0]) from None
    return tensors, header.about


def read_header(path: Path) -> Header:
    """What the file says about itself; its numbers are not read."""
    with open_regular(path, MOST_BYTES, "checkpoint", f"give a {SUFFIX} file") as source:
        return _read_header(path, source)


def _read_header(path: Path, source: BinaryIO) -> Header:
    size = os.fstat(source.fileno()).st_size
    beginning = source.read(256)
    _refuse_other_kinds(path, beginning)
    length = int.from_bytes(beginning[:8], "little")
    if len(beginning) < 8 or not 2 <= length <= size - 8:
        raise _corrupt(path, "it is not a safetensors file, or it is cut short")
    if length > LONGEST_HEADER:
        raise _corrupt(path, f"its header has {length:,} bytes")
    source.seek(8)
    try:
        entries = json.loads(source.read(length))
        metadata = entries.pop("__metadata__", None) or {}
        about = json.loads(metadata["about"]) if "about" in metadata else None
    except (ValueError, AttributeError, TypeError, RecursionError):
        raise _corrupt(path, "its header cannot be read") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise InputError(
            f"'{path}' is not a fadefour checkpoint (its header does not say so): give another file"
        )
    if about.get("version") != VERSION:
        raise InputError(
            f"'{path}' has version {about.get('version')!r}, this fadefour reads {VERSION}: "
            "train it again, or use the fadefour that wrote it"
        )
    try:
        tensors = {name: _stored_tensor(entry) for name, entry in entries.items()}
    except (ValueError, TypeError, KeyError):
        raise _corrupt(path, "its header lists impossible tensors") from None
    _check_places(path, list(tensors.values()), size - 8 - length)
    return Header(about, tensors, 8 + length)


def _check_places(path: Path, tensors: list[StoredTensor], numbers_bytes: int) -> None:
    """Checks that the tensors fill the file without overlapping."""
    end = 0
    for tensor in sorted(tensors, key=lambda tensor: (tensor.first, tensor.end)):
        if tensor.first != end:
            raise _corrupt(path, "its tensors overlap or leave gaps")
        end = tensor.end
    if end != numbers_bytes:
        raise _corrupt(
            path, f"it holds {numbers_bytes:,} bytes of numbers, its header lists {end:,}"
        )


def _stored_tensor(entry: dict[str, Any]) -> StoredTensor:
    """ValueError, KeyError or TypeError for an entry that makes no sense."""
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


def _stored_sha256(source: BinaryIO, header: Header) -> str:
    """As ``tensors_sha256``, without holding the tensors."""
    digest = hashlib.sha256()
    for name in sorted(header.tensors):
        tensor = header.tensors[name]
        digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        source.seek(header.numbers + tensor.first)
        for at in range(tensor.first, tensor.end, BYTES_AT_A_TIME):
            digest.update(source.read(min(BYTES_AT_A_TIME, tensor.end - at)))
    return digest.hexdigest()


def _refuse_other_kinds(path: Path, beginning: bytes) -> None:
    """Says what a file is that is something else altogether."""
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


def _corrupt(path: Path, why: str) -> CorruptTableError:
    return CorruptTableError(f"checkpoint '{path}' cannot be trusted ({why}): use another one")


# ---- networks -----------------------------------------------------------------------


def save_checkpoint(
    path: str | Path, network: Network, extra: dict[str, Any] | None = None
) -> Path:
    """Writes the network and what else is known about it (step, metrics ...); returns the path."""
    path = Path(path)
    if path.suffix != SUFFIX:
        raise InputError(f"checkpoint '{path}': the name must end in {SUFFIX}")
    config = network.config
    about = {
        "format": FORMAT,
        "version": VERSION,
        "game": config.game,
        "rules": rules_tag(config.game),
        "network": config.to_dict(),
        "parameters": network.parameter_count,
        **(extra or {}),
    }
    weights = network.state_dict()
    write_tensors(path, weights, about)
    text = json.dumps({**about, "sha256": tensors_sha256(weights)}, indent=1) + "\n"
    write_atomically(path.with_suffix(".json"), text.encode())
    return path


def game_of_checkpoint(path: str | Path) -> str:
    """The game that a checkpoint says it plays."""
    return _config(Path(path), read_header(Path(path))).game


def load_checkpoint(path: str | Path, game: str | None = None) -> tuple[Network, dict[str, Any]]:
    """The network, in evaluation mode, and the JSON of its header.

    game: the game it must be for. One line of error for whatever is wrong; nothing is executed,
    and no memory is taken for weights or a network before they are known to fit each other.
    """
    path = Path(path)
    weights, about = read_tensors(path, lambda header: _check_network(path, header, game))
    for name, tensor in weights.items():
        if not bool(torch.isfinite(tensor).all()):
            raise _corrupt(path, f"'{name}' has numbers that are not finite")
    network = Network(NetworkConfig.from_dict(about["network"]))
    network.load_state_dict(weights)
    network.eval()
    return network, about


def _check_network(path: Path, header: Header, game: str | None) -> None:
    """Checks that the header is that of a network for this game, with the weights it needs."""
    config, about = _config(path, header), header.about
    if game is not None and config.game != game:
        raise InputError(
            f"checkpoint '{path}' plays {config.game}, not {game}: give a checkpoint of {game}"
        )
    if about.get("rules") != rules_tag(config.game):
        raise InputError(
            f"checkpoint '{path}' was made for the rules '{about.get('rules')}', "
            f"not '{rules_tag(config.game)}': train it again"
        )
    with torch.device("meta"), _Unfilled():
        wanted = Network(config).state_dict()
    for name in sorted(set(wanted) | set(header.tensors)):
        if name not in header.tensors or name not in wanted:
            state = "lacks" if name in wanted else "has unknown"
            raise _corrupt(path, f"it {state} weights '{name}'")
        stored = header.tensors[name]
        if stored.shape != wanted[name].shape or stored.dtype != str(wanted[name].dtype):
            raise _corrupt(path, f"'{name}' has the wrong shape or type")


class _Unfilled(TorchFunctionMode):
    """Leaves out what fills new weights with numbers: for a network of which only the shapes are
    wanted (torch takes seconds to import what it would need to fill nothing)."""

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if function.__name__ in ("kaiming_uniform_", "uniform_", "normal_"):
            return kwargs["tensor"] if kwargs and "tensor" in kwargs else args[0]
        return function(*args, **(kwargs or {}))


def _config(path: Path, header: Header) -> NetworkConfig:
    if header.is_state:
        raise InputError(
            f"'{path}' is the state of a run, not a network: give the run's best{SUFFIX}, or one "
            "of its checkpoints"
        )
    given = header.about.get("network")
    if not isinstance(given, dict):
        raise _corrupt(path, "it does not say what network it is")
    try:
        return NetworkConfig.from_dict(given)
    except (InputError, TypeError) as error:
        raise InputError(f"checkpoint '{path}': {error}") from None


# ---- a folder of checkpoints --------------------------------------------------------


def checkpoints_in(folder: Path) -> list[Path]:
    """The checkpoints ``step-*`` of a run, oldest first."""
    return sorted(folder.glob(f"step-*{SUFFIX}"))


def remove_old(folder: Path, keep: int) -> None:
    """Leaves the last ``keep`` checkpoints, each with the files that go with it.

    For the folder's one writer: what a killed one left half-written goes too.
    """
    remove_litter(folder)
    for path in checkpoints_in(folder)[:-keep]:
        for suffix in (SUFFIX, ".json"):
            path.with_suffix(suffix).unlink(missing_ok=True)
