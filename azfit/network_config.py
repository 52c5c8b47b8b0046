"""What a network is, apart from its weights. Reading a config does not import torch."""

from __future__ import annotations

import reprlib
from dataclasses import asdict, dataclass
from typing import Any

from azfit.games import DropOldest, game_by_name
from solver.errors import InputError


@dataclass(frozen=True)
class NetworkConfig:
    """The shape of a network; with the weights it determines every answer."""

    game: str = "drop-4-4-4"
    kind: str = "mlp"
    """"mlp": a residual MLP on all cells at once; "tower": residual 3 x 3 convolutions."""
    width: int = 512
    """Features of the MLP, or channels of the tower."""
    blocks: int = 2
    max_plies: int = 9
    """The steps head's last bin; bin i stands for i + 1 plies."""
    canonical: bool = True
    hide_leaving: bool = True
    rate_moves: bool = True
    threats: bool = False
    """Whether it sees the planes of threats (csrc/game.h), not only the pieces."""
    dropout: float = 0.0
    """Share of the features that a training step leaves out, before the heads."""

    def __post_init__(self) -> None:
        if not isinstance(self.game, str) or len(self.game) > 100:
            raise InputError(f"game={shown(self.game)}: use a name such as drop-4-4-4")
        game = game_by_name(self.game)
        if self.kind not in ("mlp", "tower"):
            raise InputError(f"network kind {shown(self.kind)}: use mlp or tower")
        for name, low, high in (("width", 1, 8192), ("blocks", 0, 100), ("max_plies", 1, 1000)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise InputError(f"{name}={shown(value)}: use a whole number from {low} to {high}")
        for name in ("canonical", "hide_leaving", "rate_moves", "threats"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name}={shown(getattr(self, name))}: use true or false")
        if not isinstance(self.dropout, int | float) or not 0 <= self.dropout < 1:
            raise InputError(f"dropout={shown(self.dropout)}: use a share from 0 to below 1")
        if not isinstance(game, DropOldest) and (self.canonical or self.hide_leaving):
            raise InputError(f"canonical and hide_leaving are for drop-oldest, not {self.game}")
        if self.threats and isinstance(game, DropOldest):
            raise InputError(f"threats is for Connect Four and Gomoku, not {self.game}")

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, entries: dict[str, Any]) -> NetworkConfig:
        """Refuses names it does not know, so that a config of another version is not misread."""
        unknown = sorted(set(entries) - set(cls.__dataclass_fields__))
        if unknown:
            raise InputError(f"network config has unknown entries: {shown(', '.join(unknown))}")
        return cls(**entries)


SHAPE = ("kind", "width", "blocks", "threats")
"""What a user may say about a network, and a checkpoint says about its own."""


def refuse_other_shape(init: NetworkConfig, given: dict[str, Any]) -> None:
    """Options that describe the network must agree with the network to begin with."""
    for name in SHAPE:
        stated = getattr(init, name)
        if given.get(name, stated) != stated:
            raise InputError(
                f"{name}={given[name]}: the network of --init has {stated}; leave it out"
            )


def shown(value: object) -> str:
    """A value for a message, cut short if it is long."""
    return reprlib.repr(value)
