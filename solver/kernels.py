"""The compiled kernels, and what every wrapper of one needs: buffers, threads, error codes."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from solver.errors import InputError
from solver.kernel_builds import load_kernels
from solver.machine import available_cores
from solver.rules import Rules

_kernels = load_kernels("solver")
ffi, lib = _kernels.ffi, _kernels.lib

Item = TypeVar("Item")
Result = TypeVar("Result")

# Ranges that threads take from a pass: small enough to share evenly, large enough that taking
# them costs nothing.
STEP = 1024


def check_threads(threads: int | None) -> int:
    if threads is None:
        return available_cores()
    if not 1 <= threads <= 1024:
        raise InputError(f"threads={threads}: use 1 to 1024")
    return threads


@cache
def index_of(rules: Rules) -> Any:
    """The C index of a variant; immutable, so it is made once and shared by all threads."""
    return new_index(rules, ffi, lib)


def new_index(rules: Rules, ffi: Any, lib: Any) -> Any:
    """An index for the kernels of one extension module; those of another do not take it."""
    index = ffi.new("ff_index *")
    status = lib.ff_index_init(index, rules.n, rules.m, rules.k)
    if status != lib.FF_OK:
        raise InputError(f"{rules}: the kernels refuse these rules (code {status})")
    return index


def pointer(array: NDArray[Any], dtype: type[np.generic], count: int) -> Any:
    """A C pointer to a contiguous array of exactly this type with at least ``count`` elements."""
    if array.dtype != np.dtype(dtype):
        raise TypeError(f"array of {array.dtype}, expected {np.dtype(dtype)}")
    if not array.flags.c_contiguous:
        raise ValueError("array is not C-contiguous: pass np.ascontiguousarray(array)")
    if array.size < count:
        raise ValueError(f"array has {array.size} elements, expected at least {count}")
    names: dict[type[np.generic], str] = {
        np.int64: "int64_t",
        np.uint8: "uint8_t",
        np.int8: "int8_t",
        np.int16: "int16_t",
        np.uint16: "uint16_t",
        np.uint32: "uint32_t",
        np.uint64: "uint64_t",
    }
    # from_buffer, unlike a cast of the address, keeps the array alive as long as the pointer
    return ffi.from_buffer(f"{names[dtype]}[]", array)


class Crew:
    """Threads that run one kernel pass after another.

    A pass is a C call that takes ranges from a shared ``ff_work`` until none is left; cffi
    releases the interpreter lock around it. The calling thread only waits, so that it can report
    progress and be interrupted.
    """

    def __init__(self, threads: int | None = None) -> None:
        self.threads = check_threads(threads)
        self._pool = ThreadPoolExecutor(self.threads)

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    def share(
        self,
        items: int,
        kernel: Callable[[Any], Any],
        step: int = STEP,
        report: Callable[[int], None] | None = None,
    ) -> list[Any]:
        """Runs ``kernel(work)`` on every thread, over ``items`` items; returns what each gave.

        ``report`` is called now and then with the number of items taken so far.
        """
        work = ffi.new("ff_work *", {"next": 0, "end": items, "step": step})
        try:
            runs = [self._pool.submit(kernel, work) for _ in range(self.threads)]
            while report is not None and wait(runs, timeout=0.1).not_done:
                report(lib.ff_work_taken(work))
            return [run.result() for run in runs]
        except BaseException:
            lib.ff_work_stop(work)
            raise

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """``function`` of every item, in order, a few items ahead of the reader."""
        ahead: deque[Future[Result]] = deque()
        for item in items:
            ahead.append(self._pool.submit(function, item))
            if len(ahead) > 2 * self.threads:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()

    def ahead(self, items: Iterator[Item]) -> Iterator[Item]:
        """The same items, made on this crew's one thread while earlier ones are used."""
        if self.threads != 1:
            raise ValueError("an iterator can be read by one thread only: use Crew(1)")
        none_left: Any = object()
        for item in self.map(lambda _: next(items, none_left), itertools.repeat(None)):
            if item is none_left:
                return
            yield item
