"""Searches of Connect Four positions, on one thread or on several that share a table of bounds.

    table = BoundsTable(64)
    search = Search(table, threads=2)
    search.begin(mover, stones, -22, 22)
    while not search.advance():
        ...                             # a chance to stop, or to say how far it is

The one wrapper of ``csrc/connect4_solver.h``, which has the method.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from solver.checks import integer, integer_in
from solver.errors import InputError
from solver.kernels import check_threads, ffi, lib, pointer
from solver.machine import zeroed

MOST_MEGABYTES = 1 << 17

# Nodes between two looks at the clock, about a tenth of a second; helpers look more often, because
# the answer waits for the last of them.
SLICE = 1 << 20
HELPERS_SLICE = 1 << 15


class BoundsTable:
    """What searches have found out, for all searches that use it, at the same time or later."""

    def __init__(self, megabytes: int) -> None:
        """megabytes: rounded down to a power of two."""
        megabytes = integer_in("megabytes", megabytes, 1, MOST_MEGABYTES)
        self.bits = ((megabytes << 20) // (8 * lib.FF_C4_WAYS)).bit_length() - 1
        self.words = zeroed(np.uint64, lib.FF_C4_WAYS << self.bits)

    def forget(self) -> None:
        """For when no search is under way."""
        self.words[:] = 0


class Search:
    """One position at a time, on as many threads as it was given. Not for several callers at once.

    The calling thread searches too. The others join when it has not finished after a slice: most
    positions are solved in less time than it takes to wake a thread.
    """

    def __init__(self, table: BoundsTable, threads: int = 1, slice_nodes: int = SLICE) -> None:
        self._slice = integer_in("slice_nodes", slice_nodes, 1, 1 << 62)
        words = pointer(table.words, np.uint64, lib.FF_C4_WAYS << table.bits)
        count = check_threads(threads)
        self._marks = np.zeros(lib.FF_C4_MARKS, np.uint64)
        marks = ffi.NULL if count == 1 else pointer(self._marks, np.uint64, lib.FF_C4_MARKS)
        self._solvers: list[Any] = []
        for _ in range(count):
            solver = ffi.new("ff_connect4_solver *")
            if lib.ff_connect4_init(solver, words, table.bits, marks) != lib.FF_OK:
                raise InputError(f"a table of 2^{table.bits} buckets is refused by the kernel")
            self._solvers.append(solver)
        self._kept_alive = words, marks
        self._pool: ThreadPoolExecutor | None = None
        self._helping: list[Future[None]] = []
        self._over = threading.Event()
        self._question = (0, 0, 0, 0)
        self._finished: Any = None

    @property
    def nodes(self) -> int:
        """Opened since ``begin``, by all threads."""
        return sum(int(solver.nodes) for solver in self._solvers)

    @property
    def score(self) -> int:
        """Of the position, or the nearer bound; once ``advance`` has said that it is known."""
        return int(self._finished.low)

    def begin(self, mover: int, stones: int, low: int, high: int) -> None:
        """Takes up a position (bit = (column - 1) * 7 + row) and the bounds to search between."""
        question = integer("mover", mover), integer("stones", stones), low, high
        in_range = min(question[:2]) >= 0 and max(question[:2]) < 1 << 64
        if not in_range or lib.ff_connect4_begin(self._solvers[0], *question) != lib.FF_OK:
            raise InputError(
                f"mover={mover:#x}, stones={stones:#x} between {low} and {high}: "
                "not a Connect Four position, or bounds in the wrong order"
            )
        for helper in self._solvers[1:]:
            helper.nodes = 0
        self._question, self._finished = question, None
        self._over.clear()

    def advance(self) -> bool:
        """Searches for a tenth of a second at most; True once the score is known."""
        first = self._solvers[0]
        nodes = min(self._slice, HELPERS_SLICE) if self._helping else self._slice
        if lib.ff_connect4_run(first, nodes) == lib.FF_OK:
            self._finished = first
        elif not self._helping:
            self._call_helpers()
        if self._over.is_set() or self._finished is not None:
            self.end()
        return self._finished is not None

    def _call_helpers(self) -> None:
        if len(self._solvers) == 1:
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(len(self._solvers) - 1, "connect4")
        self._marks[:] = 0  # of the searches that were not finished
        self._helping = [self._pool.submit(self._help, solver) for solver in self._solvers[1:]]

    def _help(self, solver: Any) -> None:
        lib.ff_connect4_begin(solver, *self._question)
        while not self._over.is_set():
            if lib.ff_connect4_run(solver, HELPERS_SLICE) == lib.FF_OK:
                self._finished = solver  # of two that finish at once either has the score
                self._over.set()

    def end(self) -> None:
        """Ends the helpers, whether the score is known or not."""
        self._over.set()
        for helper in self._helping:
            helper.result()
        self._helping = []

    def close(self) -> None:
        self.end()
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
