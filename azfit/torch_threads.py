"""How many threads torch should run on: measured, for it depends on the work and on the machine.

    choice = choose_threads(lambda: evaluator(planes), most=available_cores())
    print(choice.describe("calls"))         # 2 threads: 14.5 calls/s (1 thread: 9.2)

A small network is slower on many threads than on one, and on a machine that does other work every
thread waits for the slowest. (How the threads wait is set in ``azfit/__init__.py``.)
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from solver.wording import counted

# Another thread has to pay off: of the counts about as fast as the fastest, take the least.
WORTH_A_THREAD = 1.1

MEASURED_SECONDS = 0.5


@dataclass(frozen=True)
class ThreadChoice:
    """The number of threads chosen, and how often the work was done per second by each count."""

    threads: int
    rates: dict[int, float]

    def describe(self, unit: str) -> str:
        """In words: ``2 threads: 14.5 steps/s (1 thread: 9.2)``."""
        chosen = counted(self.threads, "thread")
        if not self.rates:
            return chosen
        others = ", ".join(
            f"{counted(threads, 'thread')}: {rate:.3g}"
            for threads, rate in self.rates.items()
            if threads != self.threads
        )
        return f"{chosen}: {self.rates[self.threads]:.3g} {unit}/s ({others})"


def choose_threads(
    work: Callable[[], object], most: int, seconds: float = MEASURED_SECONDS
) -> ThreadChoice:
    """Times ``work`` on 1, 2, 4 ... and ``most`` threads, in turn, and leaves torch on the number
    that is fastest. Takes about ``seconds``, or the time to do the work twice on each number."""
    import torch

    counts = sorted({min(2**i, most) for i in range(most.bit_length() + 1)})
    if len(counts) == 1:
        torch.set_num_threads(1)
        return ThreadChoice(1, {})
    times: dict[int, list[float]] = {threads: [] for threads in counts}
    began = time.perf_counter()
    while not times[most] or time.perf_counter() - began < seconds:
        for threads in counts:
            torch.set_num_threads(threads)
            if not times[threads]:
                work()  # threads are started, memory is taken
            started = time.perf_counter()
            work()
            times[threads].append(time.perf_counter() - started)
    choice = pick_threads({count: 1 / statistics.median(taken) for count, taken in times.items()})
    torch.set_num_threads(choice.threads)
    return choice


def pick_threads(rates: dict[int, float]) -> ThreadChoice:
    """The fewest threads that do about as much per second as any other number."""
    best = max(rates.values())
    return ThreadChoice(min(n for n, rate in rates.items() if WORTH_A_THREAD * rate >= best), rates)


# ---- a run that becomes slow -----------------------------------------------------------------


class Pace:
    """Notices that steps have become much slower than they were at their best."""

    WINDOW_SECONDS = 5.0
    COLLAPSE = 0.25

    def __init__(self) -> None:
        self.best = self.latest = 0.0
        self._steps, self._seconds = 0, 0.0

    def took(self, seconds: float) -> bool:
        """Counts a step; True if it ends a window in which steps were slow."""
        self._steps += 1
        self._seconds += seconds
        if self._seconds < self.WINDOW_SECONDS:
            return False
        self.latest = self._steps / self._seconds
        self.best = max(self.best, self.latest)
        self._steps, self._seconds = 0, 0.0
        return self.latest < self.COLLAPSE * self.best
