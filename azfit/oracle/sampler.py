"""Labelled positions at speed: batches drawn from a solved table, seen through a random symmetry.

    sampler = Sampler(table, SampleMix(uniform=0.5, critical=0.5))
    batch = sampler.batch(seed=1, number=0, size=4096)

Batch ``number`` of a seed is always the same, whatever was drawn before: a run that resumes asks
for the next number. ``csrc/sampler.h`` says how nodes are drawn, ``csrc/labels.h`` what is said
of them.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from azfit.kernels import ffi, index_of, lib, pointer
from solver.errors import FadefourError, InputError
from solver.index import check_nodes, node_count
from solver.labels import held_below
from solver.rules import Rules
from solver.table import DenseTable
from solver.values import FINISHED, IMPOSSIBLE, RESULT_OF_BYTE

PARTS = {"training": 0, "held-out": 1, "all": 2}

# A table byte held by a larger share of the nodes than this is drawn by trial; listing its nodes
# would take four bytes each.
COMMON = 0.2


@dataclass(frozen=True)
class SampleMix:
    """Shares of the sources of a batch, in any unit; ``csrc/sampler.h`` describes them."""

    uniform: float = 1.0
    balanced: float = 0.0
    critical: float = 0.0
    opening: float = 0.0
    listed: float = 0.0

    def __post_init__(self) -> None:
        for name, share in asdict(self).items():
            if not math.isfinite(share) or share < 0:
                raise InputError(f"share {name}={share}: use a number from 0 up")
        if sum(asdict(self).values()) <= 0:
            raise InputError("all shares of the sample are 0: give one of them a number above 0")

    def shares(self) -> list[float]:
        """In the kernel's order, summing to 1."""
        given = [self.uniform, self.balanced, self.critical, self.opening, self.listed]
        return [share / sum(given) for share in given]


@dataclass(frozen=True)
class Batch:
    """Labelled positions; ``cells`` is n * n, ``planes`` is 2m. Only what was asked for is there.

    nodes        uint64 [B]             the table's nodes
    transforms   uint8 [B]              canonical position -> the board shown
    pieces       uint8 [B, planes]      the cell of each plane's one piece, n * n for none
    planes       float32 [B, planes, n, n]
    legal, optimal, keeping  bool [B, cells]
    values       uint8 [B]              the table's byte
    move_values  uint8 [B, cells]       the byte of the position a move leads to, 255: no move
    policy       float32 [B, cells]     even over the optimal moves, or over the keeping ones
    """

    nodes: NDArray[np.uint64] | None = None
    transforms: NDArray[np.uint8] | None = None
    pieces: NDArray[np.uint8] | None = None
    planes: NDArray[np.float32] | None = None
    legal: NDArray[np.bool_] | None = None
    optimal: NDArray[np.bool_] | None = None
    keeping: NDArray[np.bool_] | None = None
    values: NDArray[np.uint8] | None = None
    move_values: NDArray[np.uint8] | None = None
    policy: NDArray[np.float32] | None = None

    @property
    def wdl(self) -> NDArray[np.int64]:
        """int64 [B]: 0 the mover wins, 1 draw (endless), 2 the mover loses."""
        return WDL_OF_BYTE[self._values()]

    @property
    def plies(self) -> NDArray[np.int16]:
        """int16 [B]: to the end under best play, -1 for a draw."""
        return self._values().astype(np.int16) - np.int16(1)

    def _values(self) -> NDArray[np.uint8]:
        if self.values is None:
            raise ValueError("the batch was drawn without 'values'")
        return self.values


WDL_OF_BYTE = 1 - RESULT_OF_BYTE.astype(np.int64)

ALL_FIELDS = tuple(Batch.__dataclass_fields__)
_SHAPES: dict[str, tuple[type[np.generic], str]] = {
    "nodes": (np.uint64, ""),
    "transforms": (np.uint8, ""),
    "pieces": (np.uint8, "planes"),
    "planes": (np.float32, "board"),
    "legal": (np.uint8, "cells"),
    "optimal": (np.uint8, "cells"),
    "keeping": (np.uint8, "cells"),
    "values": (np.uint8, ""),
    "move_values": (np.uint8, "cells"),
    "policy": (np.float32, "cells"),
}


class _Buffers:
    """Arrays of a batch, and the C struct that points to them."""

    def __init__(self, rules: Rules, size: int, fields: tuple[str, ...], policy: str) -> None:
        shapes: dict[str, tuple[int, ...]] = {
            "": (size,),
            "planes": (size, 2 * rules.m),
            "cells": (size, rules.cells),
            "board": (size, 2 * rules.m, rules.n, rules.n),
        }
        self.labels = ffi.new("ff_labels *")
        self.labels.policy_keeps = policy == "keeping"
        self._arrays: dict[str, NDArray[Any]] = {}
        for field in fields:
            if field not in _SHAPES:
                raise InputError(f"field {field!r}: use {', '.join(_SHAPES)}")
            dtype, shape = _SHAPES[field]
            self._arrays[field] = np.empty(shapes[shape], dtype)
            setattr(self.labels, field, pointer(self._arrays[field]))

    def batch(self) -> Batch:
        masks = ("legal", "optimal", "keeping")
        arrays: dict[str, Any] = {
            name: array.view(np.bool_) if name in masks else array
            for name, array in self._arrays.items()
        }
        return Batch(**arrays)


def label_nodes(
    table: DenseTable,
    nodes: NDArray[np.uint64],
    fields: tuple[str, ...] = ("pieces", "values", "move_values"),
    transforms: NDArray[np.uint8] | None = None,
    policy: str = "optimal",
) -> Batch:
    """Labels of these nodes (uint64 [B]); transforms uint8 [B], None shows them as canonical."""
    nodes = check_nodes(nodes, table.rules)
    if transforms is not None and (
        transforms.dtype != np.uint8
        or transforms.shape != nodes.shape
        or (len(transforms) and int(transforms.max()) >= 8)
    ):
        raise ValueError("transforms must be uint8 [B] below 8")
    buffers = _Buffers(table.rules, len(nodes), fields, policy)
    lib.ff_label_nodes(
        index_of(table.rules),
        pointer(table.bytes),
        pointer(nodes),
        ffi.NULL if transforms is None else pointer(np.ascontiguousarray(transforms)),
        len(nodes),
        buffers.labels,
    )
    return buffers.batch()


def byte_shares(counts: NDArray[np.int64], depth_power: float) -> NDArray[np.float64]:
    """How often the balanced source draws each table byte, float64 [256].

    Every result that occurs has the same share; within it the depths stand as
    count ** depth_power: 1 as they occur, 0 all alike.
    """
    shares = np.zeros(256)
    in_play = np.ones(256, np.bool_)
    in_play[[FINISHED, IMPOSSIBLE]] = False
    for result in range(3):
        chosen = in_play & (counts > 0) & (result == WDL_OF_BYTE)
        if chosen.any():
            weights = counts[chosen].astype(np.float64) ** depth_power
            shares[chosen] = weights / weights.sum()
    shares /= shares.sum()
    return shares


class Sampler:
    """Draws labelled batches from one table. Safe to use from several threads."""

    def __init__(
        self,
        table: DenseTable,
        mix: SampleMix | None = None,
        *,
        part: str = "training",
        held_out: float = 0.01,
        pieces: tuple[int, int] | None = None,
        depth_power: float = 0.5,
        policy: str = "optimal",
        listed: tuple[NDArray[np.uint64], NDArray[np.float64]] | None = None,
    ) -> None:
        """part: "training", "held-out" or "all"; held_out: the share held out.

        pieces: the fewest and most pieces on the board, for uniform, critical and opening.
        listed: nodes uint64 [N] and weights float64 [N] for the source of that name.
        """
        if part not in PARTS:
            raise InputError(f"part {part!r}: use {', '.join(PARTS)}")
        if not 0 <= held_out < 1:
            raise InputError(f"held_out={held_out}: use a share from 0 up to 1")
        if policy not in ("optimal", "keeping"):
            raise InputError(f"policy {policy!r}: use optimal or keeping")
        self.table, self.mix, self.policy = table, mix or SampleMix(), policy
        self.part, self.held_out, self.depth_power = part, held_out, depth_power
        self.pieces = pieces or (0, 2 * table.rules.m)
        if not 0 <= self.pieces[0] <= self.pieces[1] <= 2 * table.rules.m:
            raise InputError(f"pieces={self.pieces}: use 0 to {2 * table.rules.m}, fewest first")
        table.check_all()
        self._kept: list[Any] = []  # arrays that the C struct points to
        self._sampler = self._fill()
        if self.mix.balanced > 0:
            self._list_by_byte()
        if self.mix.listed > 0:
            self._take_list(listed)

    def _fill(self) -> Any:
        sampler = ffi.new("ff_sampler *")
        sampler.index = index_of(self.table.rules)
        sampler.table = pointer(self.table.bytes)
        self._kept.append(self.table.bytes)
        sampler.share = self.mix.shares()
        sampler.part = PARTS[self.part]
        sampler.held_below = held_below(self.held_out)
        sampler.fewest, sampler.most = self.pieces
        return sampler

    def _list_by_byte(self) -> None:
        nodes = node_count(self.table.rules)
        if nodes >= 2**32:
            raise InputError(f"{self.table.rules} has {nodes} nodes: too many for balanced draws")
        counts = np.bincount(self.table.bytes, minlength=256).astype(np.int64)
        shares = byte_shares(counts, self.depth_power)
        wanted = ((shares > 0) & (counts < COMMON * nodes)).astype(np.uint8)
        first = np.zeros(257, np.uint64)
        arguments = (pointer(self.table.bytes), nodes, pointer(wanted), pointer(first))
        lib.ff_sort_by_byte(*arguments, ffi.NULL)
        by_byte = np.empty(max(1, int(first[-1])), np.uint32)
        lib.ff_sort_by_byte(*arguments, pointer(by_byte))
        self._sampler.by_byte, self._sampler.byte_first = pointer(by_byte), first.tolist()
        self._sampler.byte_share = shares.tolist()
        self._kept.append(by_byte)

    def _take_list(self, listed: tuple[NDArray[np.uint64], NDArray[np.float64]] | None) -> None:
        if listed is None or len(listed[0]) == 0:
            raise InputError("the mix has a share for listed nodes, but no nodes are listed")
        nodes, weights = np.ascontiguousarray(listed[0]), np.asarray(listed[1], np.float64)
        if nodes.dtype != np.uint64 or nodes.shape != weights.shape or nodes.ndim != 1:
            raise ValueError("listed nodes must be uint64 [N] with float64 [N] weights")
        if int(nodes.max()) >= node_count(self.table.rules) or not (weights >= 0).all():
            raise InputError("listed nodes must be nodes of the table, their weights not negative")
        sums = np.cumsum(weights)
        if not sums[-1] > 0:
            raise InputError("the weights of the listed nodes are all 0")
        sums /= sums[-1]
        self._sampler.listed, self._sampler.listed_count = pointer(nodes), len(nodes)
        self._sampler.listed_sum = ffi.cast("double *", sums.ctypes.data)
        self._kept += [nodes, sums]

    def with_list(
        self, nodes: NDArray[np.uint64], weights: NDArray[np.float64], share: float
    ) -> Sampler:
        """The same sampler with a share of listed nodes added to the other sources' shares."""
        return Sampler(
            self.table,
            replace(self.mix, listed=share),
            part=self.part,
            held_out=self.held_out,
            pieces=self.pieces,
            depth_power=self.depth_power,
            policy=self.policy,
            listed=(nodes, weights),
        )

    def batch(
        self,
        seed: int,
        number: int,
        size: int,
        fields: tuple[str, ...] = ALL_FIELDS,
    ) -> Batch:
        """Batch ``number`` of this seed: a function of these numbers and nothing else."""
        if size < 1:
            raise InputError(f"batch size {size}: use at least 1")
        buffers = _Buffers(self.table.rules, size, fields, self.policy)
        status = lib.ff_sample(self._sampler, seed % 2**64, number % 2**64, 0, size, buffers.labels)
        if status == lib.FF_NOTHING_TO_DRAW:
            raise InputError(
                f"no position to draw: {self.mix} finds none in the {self.part} part "
                f"with {self.pieces[0]} to {self.pieces[1]} pieces"
            )
        if status != lib.FF_OK:
            raise FadefourError(f"the sampler kernel refuses {self.mix} (code {status})")
        return buffers.batch()
