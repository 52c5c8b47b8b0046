"""Networks on disk: safetensors, which is numbers and text and cannot carry code.

A checkpoint ``name.safetensors`` holds the weights, and in its header, as JSON, all else: what
the network is, for which rules, the step, the metrics, a SHA-256 of the weights. It is one file,
so it appears whole or not at all (temporary name, fsync, rename, fsync of the folder). The same
JSON lies beside it as ``name.json`` for people and scripts; loading does not read that.

Pickles (.pt, .pth, .pkl) are refused unread: loading one runs what its author wrote.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from azfit.games import DropOldest, game_by_name
from azfit.network import Network, NetworkConfig
from solver.errors import CorruptTableError, InputError, MissingTableError
from solver.storage import remove_litter, write_atomically

FORMAT, VERSION = "fadefour network", 1
SUFFIX = ".safetensors"

# The header of safetensors: its length as u64, then JSON. Ours has a few KB.
LONGEST_HEADER = 10_000_000


def rules_tag(game: str) -> str:
    """What the weights were made for: the rules of drop-oldest, or the game's name."""
    found = game_by_name(game)
    return found.rules.tag if isinstance(found, DropOldest) else found.name


def tensors_sha256(tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 over names, dtypes, shapes and numbers, in the order of the names."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()


# ---- files --------------------------------------------------------------------------


def write_tensors(path: Path, tensors: Mapping[str, Tensor], about: dict[str, Any]) -> None:
    """Tensors and a JSON description as one safetensors file."""
    from safetensors.torch import save

    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    about = {**about, "sha256": tensors_sha256(plain)}
    write_atomically(path, save(plain, {"about": json.dumps(about)}))


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What ``write_tensors`` wrote, checked against its SHA-256."""
    data = _read_bytes(path)
    about = _about(path, data)
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        tensors: dict[str, Tensor] = load(data)
    except (SafetensorError, ValueError, KeyError) as error:
        raise _corrupt(path, str(error).splitlines()[0]) from None
    if tensors_sha256(tensors) != about.get("sha256"):
        raise _corrupt(path, "its numbers do not match its SHA-256")
    return tensors, about


def _read_bytes(path: Path) -> bytes:
    if not path.exists():
        raise MissingTableError(f"checkpoint '{path}' does not exist: give a {SUFFIX} file")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror}") from None
    # Zip archives (torch.save) and pickles of protocol 2 and up; the suffix tells of older ones.
    # A header of 128, 384 ... bytes begins with \x80 as well, but has its { at byte 8.
    pickled = data[:1] == b"\x80" and data[8:9] != b"{"
    if data[:4] == b"PK\x03\x04" or pickled or path.suffix in _PICKLES:
        raise InputError(
            f"'{path}' is a pickle, and loading one runs its author's code: "
            f"use a {SUFFIX} checkpoint"
        )
    return data


_PICKLES = (".pt", ".pth", ".pkl", ".pickle", ".bin", ".ckpt")


def _corrupt(path: Path, why: str) -> CorruptTableError:
    return CorruptTableError(f"checkpoint '{path}' cannot be trusted ({why}): use another one")


def _about(path: Path, data: bytes) -> dict[str, Any]:
    """The JSON description in the header."""
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or not 2 <= length <= min(LONGEST_HEADER, len(data) - 8):
        raise _corrupt(path, "it is no safetensors file, or cut short")
    try:
        header = json.loads(data[8 : 8 + length])
        metadata = header.get("__metadata__") or {}
        about = json.loads(metadata["about"]) if "about" in metadata else None
    except (ValueError, AttributeError, TypeError, RecursionError):
        raise _corrupt(path, "its header cannot be read") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise InputError(
            f"'{path}' is no checkpoint of fadefour (its header does not say so): give another"
        )
    if about.get("version") != VERSION:
        raise InputError(
            f"'{path}' has version {about.get('version')}, this fadefour reads {VERSION}: "
            "train it again, or use the fadefour that wrote it"
        )
    return about


# ---- networks -----------------------------------------------------------------------


def save_checkpoint(
    path: str | Path, network: Network, extra: dict[str, Any] | None = None
) -> Path:
    """Writes the network and what else is known of it (step, metrics ...); returns the path."""
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
    told = {**about, "sha256": tensors_sha256(weights)}
    write_atomically(path.with_suffix(".json"), (json.dumps(told, indent=1) + "\n").encode())
    return path


def game_of_checkpoint(path: str | Path) -> str:
    """The game that a checkpoint says it plays."""
    return str(_about(Path(path), _read_bytes(Path(path))).get("game"))


def load_checkpoint(path: str | Path, game: str | None = None) -> tuple[Network, dict[str, Any]]:
    """The network, in evaluation mode, and the JSON of its header.

    game: the game it must be for. One line of error for whatever is wrong; nothing is executed.
    """
    path = Path(path)
    weights, about = read_tensors(path)
    config = _config(path, about)
    if game is not None and config.game != game:
        raise InputError(
            f"checkpoint '{path}' plays {config.game}, not {game}: give that game, or another one"
        )
    if about.get("rules") != rules_tag(config.game):
        raise InputError(
            f"checkpoint '{path}' was made for the rules '{about.get('rules')}', "
            f"these are '{rules_tag(config.game)}': train it again"
        )
    network = Network(config)
    _check_weights(path, network, weights)
    network.load_state_dict(weights)
    network.eval()
    return network, about


def _config(path: Path, about: dict[str, Any]) -> NetworkConfig:
    given = about.get("network")
    if not isinstance(given, dict):
        raise _corrupt(path, "it does not say what network it is")
    try:
        return NetworkConfig.from_dict(given)
    except (InputError, TypeError) as error:
        raise InputError(f"checkpoint '{path}': {error}") from None


def _check_weights(path: Path, network: Network, weights: dict[str, Tensor]) -> None:
    wanted = network.state_dict()
    for name in sorted(set(wanted) | set(weights)):
        if name not in weights or name not in wanted:
            state = "lacks" if name in wanted else "has unknown"
            raise _corrupt(path, f"it {state} weights '{name}'")
        if weights[name].shape != wanted[name].shape or weights[name].dtype != wanted[name].dtype:
            raise _corrupt(path, f"'{name}' has the wrong shape or type")
        if not bool(torch.isfinite(weights[name]).all()):
            raise _corrupt(path, f"'{name}' has numbers that are not finite")


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
