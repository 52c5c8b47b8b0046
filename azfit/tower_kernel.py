"""Towers run by our own kernel, ``csrc/tower.h``: bfloat16 products, float32 sums.

What it says about a board depends on that board alone, bit for bit: not on the other boards of the
call, their number or the number of threads.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from azfit.kernels import checked, ffi, lib, pointer
from azfit.network import ConvolutionBody, Network, PlainHeads
from solver.errors import InputError

Floats = NDArray[np.float32]

# Waking a thread takes as long as a few boards of a small network.
WORTH_A_THREAD = 8


def is_plain_tower(network: Network) -> bool:
    """Can the kernel run it? A tower without rate_moves, canonical and hide_leaving."""
    plain_heads = isinstance(network.heads, PlainHeads)
    as_given = network.orientation is None and not network.config.hide_leaving
    return isinstance(network.body, ConvolutionBody) and plain_heads and as_given


def has_fast_path() -> bool:
    """Does this processor multiply bfloat16 (AVX512_BF16)? The plain C elsewhere is slow."""
    return bool(lib.ff_tower_fast())


class TowerKernel:
    """kernel(planes float32 [B, P, R, C]) -> policy logits [B, A], win/draw/loss
    probabilities [B, 3], expected plies [B].

    The weights are those of the moment when it is made. ``fast``: None takes the fast path if
    this processor has it.
    """

    def __init__(self, network: Network, threads: int = 1, fast: bool | None = None) -> None:
        if not is_plain_tower(network):
            raise InputError(
                "back-end kernel is for towers without rate_moves, canonical and hide_leaving: "
                "use torch"
            )
        game, config = network.game, network.config
        shape = {"rows": game.rows, "columns": game.columns, "planes": game.plane_shape[0]}
        shape |= {"seen_planes": network.seen_planes, "stone_planes": game.stone_planes}
        shape |= {"width": config.width, "blocks": config.blocks}
        shape |= {"actions": game.actions, "max_plies": config.max_plies}
        self._shape = ffi.new("ff_tower_shape *", shape)
        parameters = [*network.body.parameters(), *network.heads.parameters()]
        weights = np.concatenate([each.detach().numpy().ravel() for each in parameters])
        assert weights.size == lib.ff_tower_floats(self._shape)
        self._packed = np.empty(lib.ff_tower_packed_bytes(self._shape), np.uint8)
        lib.ff_tower_pack(self._shape, pointer(weights), pointer(self._packed))
        self._memory_bytes: int = lib.ff_tower_memory_bytes(self._shape)
        self._actions, self._plane_shape = game.actions, game.plane_shape
        self._fast = has_fast_path() if fast is None else fast
        self.threads = threads
        self._others = ThreadPoolExecutor(threads - 1) if threads > 1 else None

    def __call__(self, planes: Floats) -> tuple[Floats, Floats, Floats]:
        planes = checked(planes, np.float32, (None, *self._plane_shape), "planes")
        boards = len(planes)
        policy = np.empty((boards, self._actions), np.float32)
        wdl, steps = np.empty((boards, 3), np.float32), np.empty(boards, np.float32)
        threads = max(1, min(self.threads, boards // WORTH_A_THREAD))
        share = -(-boards // threads)
        turns = max(1, -(-share // lib.FF_TOWER_BOARDS))  # that a thread takes
        step = max(1, -(-share // turns))
        work = ffi.new("ff_work *", {"next": 0, "end": boards, "step": step})
        outputs = tuple(map(pointer, (policy, wdl, steps)))
        given = pointer(planes)
        others = []
        if self._others is not None:
            pool = self._others
            others = [pool.submit(self._take, given, work, outputs) for _ in range(threads - 1)]
        self._take(given, work, outputs)
        for other in others:
            other.result()
        return policy, wdl, steps

    def _take(self, planes: Any, work: Any, outputs: tuple[Any, ...]) -> None:
        """One thread's share of the boards."""
        memory = pointer(np.empty(self._memory_bytes, np.uint8))
        packed = pointer(self._packed)
        code = lib.ff_tower_run(self._shape, packed, memory, planes, work, self._fast, *outputs)
        if code:
            raise InputError("this processor has no fast path for towers")
