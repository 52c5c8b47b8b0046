"""A solve for results in parts: the groups of the full slice dealt over several memories.

The passes of ``solver.results``, taken apart for whoever keeps the groups in several processes or
machines. A ``GroupPart`` holds the groups of a range of blocks; a ``SmallPart`` holds the positions
with 2m - 2 pieces, of which there is one. A pass of depth d = 2, 4, ... is::

    for part in parts:                          # any order, at the same time if you like
        for messages in part.settle():          # uint64 arrays, see csrc/results.h
            small.apply(d, positions_of(messages))
            for other in parts:
                other.apply(d, other.own(messages))
    fresh = sum(part.commit(d) for part in parts)   # a barrier before and after it

until ``fresh`` is 0; ``begin`` and ``commit(0)`` come first. A message may arrive twice, and in any
order within its pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from solver.errors import FadefourError
from solver.index import Uint64Array, slice_sizes
from solver.kernels import ffi, lib, pointer
from solver.machine import zeroed
from solver.results import GROUP_ROOM, ResultsKernel, group_bytes
from solver.rules import Rules

MESSAGES_AT_A_TIME = 1 << 20


def _kernel(
    rules: Rules,
    states: NDArray[np.uint8] | None = None,
    before: NDArray[np.uint8] | None = None,
    first_block: int = 0,
) -> ResultsKernel:
    nothing = np.zeros(GROUP_ROOM, np.uint8)
    return ResultsKernel(
        rules,
        nothing if states is None else states,
        nothing if before is None else before,
        first_block,
    )


def _targets_position(messages: Uint64Array) -> NDArray[np.bool_]:
    column = messages & np.uint64(0xFF00)
    return np.asarray(column == np.uint64(lib.FF_MESSAGE_POSITION << 8))


def positions_of(messages: Uint64Array) -> Uint64Array:
    """Those for the ``SmallPart``."""
    return messages[_targets_position(messages)]


def first_groups(rules: Rules, blocks: Sequence[int]) -> Uint64Array:
    """The first group of each of these blocks; of the one behind the last, the number of groups."""
    kernel = _kernel(rules)
    groups = [lib.ff_results_first_group(kernel.solve, block) for block in blocks]
    return np.array(groups, np.uint64)


def dealt(messages: Uint64Array, bounds: Uint64Array) -> list[Uint64Array]:
    """The messages for each part, and last those for the ``SmallPart``; bounds: the first group of
    each part, rising, and behind the last."""
    to_position = _targets_position(messages)
    positions = messages[to_position]
    # Sorting takes as long for many parts as for two, and neighbours are applied one after another.
    messages = np.sort(messages[~to_position] if len(positions) else messages)
    ends = bounds[1:-1] << np.uint64(16)  # above the other fields of a message
    return [*np.split(messages, np.searchsorted(messages, ends)), positions]


class GroupPart:
    """The groups of the blocks ``first`` .. ``end`` - 1. ``states`` and ``counts`` are all that it
    knows between two passes."""

    def __init__(self, rules: Rules, first: int, end: int) -> None:
        self.rules, self.first, self.end = rules, first, end
        groups = _kernel(rules)
        self.first_group, self.end_group = (
            int(lib.ff_results_first_group(groups.solve, block)) for block in (first, end)
        )
        size = (self.end_group - self.first_group) * group_bytes(rules)
        memory = zeroed(np.uint8, size + GROUP_ROOM)
        self.states: NDArray[np.uint8] = memory[:size]
        """As in ``ResultsSolution``, of these groups."""
        self.counts: NDArray[np.uint64] = np.zeros((2, 256), np.uint64)
        """How many positions of slices 2m - 1 and 2m have each table byte, as far as decided; the
        sum over all parts counts."""
        self._kernel = _kernel(rules, memory, None, first)
        self._counts = ffi.cast("ff_results_counts *", pointer(self.counts, np.uint64, 512))

    def begin(self) -> None:
        """What the rules alone say; ``commit(0)`` follows."""
        lib.ff_results_begin(self._kernel.solve, self._counts, self._work())

    def take_up(self) -> None:
        """``states`` and ``counts`` have been filled with what another part knew; ``settle``
        follows."""
        self._kernel.settle_every_block()

    def settle(self, room: int = MESSAGES_AT_A_TIME) -> Iterator[Uint64Array]:
        """What follows from these groups in this pass, in arrays of about ``room`` messages."""
        most = int(lib.ff_results_most(self._kernel.solve))
        block, count = self.first, ffi.new("uint64_t *")
        while block < self.end:
            messages = np.empty(max(room, most), np.uint64)
            block = lib.ff_results_list(
                self._kernel.solve,
                block,
                self.end,
                pointer(messages, np.uint64, 0),
                len(messages),
                count,
            )
            if count[0]:
                yield messages[: count[0]]

    def own(self, messages: Uint64Array) -> Uint64Array:
        """Those that are for this part."""
        group = messages >> np.uint64(16)
        here = (group >= np.uint64(self.first_group)) & (group < np.uint64(self.end_group))
        return messages[here & ~_targets_position(messages)]

    def apply(self, depth: int, messages: Uint64Array) -> None:
        """Takes in messages, all of them its own."""
        if not len(messages):
            return
        groups = int(messages.min()) >> 16, int(messages.max()) >> 16
        is_here = self.first_group <= groups[0] and groups[1] < self.end_group
        if not is_here or _targets_position(messages).any():
            raise ValueError("a message is for another part")
        lib.ff_results_apply(
            self._kernel.solve, depth, pointer(messages, np.uint64, 0), len(messages)
        )

    def commit(self, depth: int) -> int:
        """Ends the pass of this depth, once all messages of all parts are applied; how many of
        these groups there are to settle in the next."""
        fresh = lib.ff_results_commit(self._kernel.solve, depth, self._counts, self._work())
        if fresh < 0:
            raise FadefourError(f"{self.rules}: a forced win is too long to be counted")
        return int(fresh)

    def _work(self) -> object:
        return ffi.new("ff_work *", {"next": self.first, "end": self.end, "step": 1})


class SmallPart:
    """The positions with 2m - 2 pieces: ``before`` uint8, their table bytes in node order."""

    def __init__(self, rules: Rules, before: NDArray[np.uint8]) -> None:
        self.rules, self.before = rules, before
        self._kernel = _kernel(rules, None, before)

    @classmethod
    def begun(cls, rules: Rules) -> SmallPart:
        """With what the rules alone say, in memory of its own."""
        part = cls(rules, zeroed(np.uint8, slice_sizes(rules)[2 * rules.m - 2]))
        part.begin()
        return part

    def begin(self) -> None:
        """What the rules alone say, whatever was there before."""
        self.before[:] = 0
        work = ffi.new("ff_work *", {"next": 0, "end": len(self.before), "step": 1 << 16})
        lib.ff_results_begin_before(self._kernel.solve, work)

    def apply(self, depth: int, messages: Uint64Array) -> None:
        """Takes in messages, all of them for positions."""
        if not _targets_position(messages).all():
            raise ValueError("a message is for a group")
        lib.ff_results_apply(
            self._kernel.solve, depth, pointer(messages, np.uint64, 0), len(messages)
        )
