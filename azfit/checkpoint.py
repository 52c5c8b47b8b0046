"""Networks on disk: safetensors, which is numbers and text and cannot carry code.

A checkpoint ``name.safetensors`` holds the weights, and in its header, as JSON, all else: what
the network is, for which rules, the step, the metrics, a SHA-256 of the weights, and one of all
these entries (which headers of older versions lack). It is one file, so it appears whole or not at
all (temporary name, fsync, rename, fsync of the folder). The same JSON is also written to
``name.json`` for easy reading; loading does not use it.

Pickles (.pt, .pth, .pkl) are refused unread: loading one runs what its author wrote.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from azfit.checkpoint_header import (
    FORMAT,
    MOST_BYTES,
    OWN,
    SUFFIX,
    VERSION,
    Header,
    checkpoints_in,
    corrupt,
    entries_sha256,
    header_of,
    network_config,
)
from azfit.games import DropOldest, game_by_name
from azfit.network import Network, NetworkConfig
from solver.errors import InputError
from solver.storage import open_regular, remove_litter, write_atomically
from solver.wording import quoted

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


def write_tensors(
    path: Path, tensors: Mapping[str, Tensor], about: dict[str, Any]
) -> dict[str, Any]:
    """Tensors and a JSON description as one safetensors file; returns the description with the
    checksums that it got."""
    from safetensors.torch import save

    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    about = {**about, "sha256": tensors_sha256(plain)}
    about[OWN] = entries_sha256(about)
    write_atomically(path, save(plain, {"about": json.dumps(about)}))
    return about


# ---- reading ------------------------------------------------------------------------


def read_tensors(
    path: Path, accept: Callable[[Header], object] | None = None
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What ``write_tensors`` wrote, checked against its SHA-256.

    accept: sees the header before any number is read, and raises if the file is not wanted.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    with open_regular(path, MOST_BYTES, "checkpoint", f"give a {SUFFIX} file") as source:
        header = header_of(path, source)
        if accept is not None:
            accept(header)
        if _stored_sha256(source, header) != header.about.get("sha256"):
            raise corrupt(path, "its numbers do not match its SHA-256")
        source.seek(0)
        try:
            tensors: dict[str, Tensor] = load(source.read())
        except (SafetensorError, ValueError, KeyError) as error:
            raise corrupt(path, str(error)) from None
    return tensors, header.about


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
    about = write_tensors(path, network.state_dict(), about)
    text = json.dumps(about, indent=1) + "\n"
    write_atomically(path.with_suffix(".json"), text.encode())
    return path


def load_checkpoint(path: str | Path, game: str | None = None) -> tuple[Network, dict[str, Any]]:
    """The network, in evaluation mode, and the JSON of its header.

    game: the game it must be for. One line of error for whatever is wrong; nothing is executed,
    and no memory is taken for weights or a network before they are known to fit each other.
    """
    path = Path(path)
    weights, about = read_tensors(path, lambda header: _check_network(path, header, game))
    for name, tensor in weights.items():
        if not bool(torch.isfinite(tensor).all()):
            raise corrupt(path, f"'{name}' has numbers that are not finite")
    network = Network(NetworkConfig.from_dict(about["network"]))
    network.load_state_dict(weights)
    network.eval()
    return network, about


def _check_network(path: Path, header: Header, game: str | None) -> None:
    """Checks that the header is that of a network for this game, with the weights it needs."""
    config, about = network_config(path, header), header.about
    if game is not None and config.game != game:
        raise InputError(
            f"checkpoint '{path}' plays {config.game}, not {game}: give a checkpoint of {game}"
        )
    if about.get("rules") != rules_tag(config.game):
        raise InputError(
            f"checkpoint '{path}' was made for the rules {quoted(about.get('rules'))}, "
            f"not '{rules_tag(config.game)}': train it again"
        )
    with torch.device("meta"), _Unfilled():
        wanted = Network(config).state_dict()
    for name in sorted(set(wanted) | set(header.tensors)):
        if name not in header.tensors or name not in wanted:
            state = "lacks" if name in wanted else "has unknown"
            raise corrupt(path, f"it {state} weights '{name}'")
        stored = header.tensors[name]
        if stored.shape != wanted[name].shape or stored.dtype != str(wanted[name].dtype):
            raise corrupt(path, f"'{name}' has the wrong shape or type")


class _Unfilled(TorchFunctionMode):
    """Leaves out what fills new weights with numbers: for a network of which only the shapes are
    wanted (torch takes seconds to import what it would need to fill nothing)."""

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if function.__name__ in ("kaiming_uniform_", "uniform_", "normal_"):
            return kwargs["tensor"] if kwargs and "tensor" in kwargs else args[0]
        return function(*args, **(kwargs or {}))


# ---- the folder of a run ------------------------------------------------------------


def init_path(folder: Path) -> Path:
    """The network that the run began with, if one was given."""
    return folder / f"init{SUFFIX}"


def remove_old(folder: Path, keep: int) -> None:
    """Leaves the last ``keep`` checkpoints, each with the files that go with it.

    For the folder's one writer: what a killed one left half-written goes too.
    """
    remove_litter(folder)
    for path in checkpoints_in(folder)[:-keep]:
        for suffix in (".json", SUFFIX):  # the network last: as long as it is there, it is found
            path.with_suffix(suffix).unlink(missing_ok=True)
