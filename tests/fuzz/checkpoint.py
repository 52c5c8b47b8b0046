"""Checkpoints of networks: a real one with its header, its description or its numbers changed.

What loads is a network of a game that has that name, with finite weights; saved again, it has the
same weights. No more memory is taken than the file and its network need.
"""

from __future__ import annotations

import json

import torch

from azfit.checkpoint import load_checkpoint, save_checkpoint
from azfit.checkpoint_header import game_of_checkpoint
from azfit.network import Network
from azfit.network_config import NetworkConfig
from fuzz.tensor_files import (
    AS_WRITTEN,
    CUT,
    DIGEST_FITS,
    LENGTH_OF_ITS_OWN,
    OWN,
    RAW_CHANGES,
    TensorFile,
)
from fuzz.untrusted import Input, refused, same_json, scratch_folder
from solver import FadefourError

FOLDER = scratch_folder()
PATH, AGAIN = FOLDER / "network.safetensors", FOLDER / "again.safetensors"
ANY_BYTES = 16


def smallest(**options: object) -> TensorFile:
    torch.manual_seed(0)
    config = NetworkConfig.from_dict({"width": 1, "blocks": 0, "max_plies": 1, **options})
    return TensorFile(save_checkpoint(PATH, Network(config), {"step": 3}))


FREE = {"canonical": False, "hide_leaving": False}
BASES = [smallest(game="drop-3-2-2"), smallest(game="connect4", **FREE)]


def check(data: bytes) -> bool:
    source = Input(data)
    options = source.byte()
    text = None
    if options & ANY_BYTES:
        content = source.rest()
    else:
        content, text = BASES[source.below(2)].forged(source, options)
    PATH.write_bytes(content)
    try:
        game_of_checkpoint(PATH)
        network, about = load_checkpoint(PATH)
    except FadefourError as error:
        return refused(error, PATH.name)
    if text is not None and not options & RAW_CHANGES:
        stated = json.loads(text)
        stated.pop(OWN, None)
        assert same_json(stated, about)
    assert network.game.name == network.config.game
    assert all(bool(torch.isfinite(tensor).all()) for tensor in network.state_dict().values())
    save_checkpoint(AGAIN, network)
    assert load_checkpoint(AGAIN)[1]["sha256"] == about["sha256"]
    return True


def seeds() -> list[bytes]:
    places = range(0, 60, 2)
    return [
        *(bytes([DIGEST_FITS, base, 0, 0, 0]) for base in (0, 1)),
        bytes([AS_WRITTEN, 0, 0, 0, 0]),
        bytes([AS_WRITTEN, 0, 1, 5, 9]),
        *(bytes([DIGEST_FITS, place % 2, 1, place, 40 + place]) for place in places),
        *(bytes([DIGEST_FITS, place % 2, 0, 1, place, 10 + place]) for place in places),
        *(bytes([0, 0, 0, 0, 1, 0, 9, 1]), bytes([CUT, 0, 0, 0, 0, 0, 9])),
        *(bytes([LENGTH_OF_ITS_OWN, 0, 0, 0, 0, *range(8)]), b"\x10\x80\2}."),
        *(bytes([RAW_CHANGES, 0, 0, 0, 0, 2, 1, at, 5, 0, at, 9]) for at in range(0, 250, 40)),
        *(b"\x10PK\3\4" + bytes(40), b"\x10{}", b"\x10" + (2).to_bytes(8, "little") + b"{}"),
    ]
