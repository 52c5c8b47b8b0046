"""A solve for results on Ray against the plain one, on the same cores, in turn.

``python bench/sharded_solve.py [--m 5] [--shards 2]``: 4 x 4; prints the seconds of each (without
the start of Ray) and their processor time, the ratios, and what went from shard to shard.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from solver.cluster.connection import Cluster
from solver.results import solve_results
from solver.rules import Rules


class ShardSeconds:
    """The processor time of all shards between the first pass and the end of the last."""

    def __init__(self, passes: Any) -> None:
        self.passes, self.seconds, self._began = passes, 0.0, 0.0
        settle = passes._settle

        def settle_and_note(shards: Any, *more: Any) -> None:
            self._began = self._began or self._used(shards)
            settle(shards, *more)
            self.seconds = self._used(shards) - self._began

        passes._settle = settle_and_note

    @staticmethod
    def _used(shards: Any) -> float:
        asked = [
            actor.__ray_call__.remote(lambda _: time.process_time()) for actor in shards.actors
        ]
        return float(sum(shards.answer(call) for call in asked))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--m", type=int, default=5)
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--cluster", default="local")
    given = parser.parse_args()
    rules = Rules(4, given.m, 4)
    with Cluster(given.cluster, given.shards) as cluster:
        from solver.cluster.sharded_solve import ShardedPasses

        small = Rules(3, 3, 3)
        solve_results(small, passes=ShardedPasses(small, cluster))  # Ray has started processes
        began, used = time.perf_counter(), time.process_time()
        whole = solve_results(rules, threads=given.shards)
        plain, plain_cpu = time.perf_counter() - began, time.process_time() - used
        theirs = ShardSeconds(ShardedPasses(rules, cluster, given.shards))
        began, used = time.perf_counter(), time.process_time()
        solution = solve_results(rules, threads=given.shards, passes=theirs.passes)
        sharded = time.perf_counter() - began
        sharded_cpu = time.process_time() - used + theirs.seconds
    assert np.array_equal(solution.states, whole.states)
    assert np.array_equal(solution.small, whole.small)
    positions, sent = int(whole.counts.sum()), theirs.passes.traffic.sent
    print(
        f"{rules.name}: plain {plain:.1f} s, {plain_cpu:.1f} s CPU; {given.shards} shards "
        f"{sharded:.1f} s, {sharded_cpu:.1f} s CPU; ratio {sharded / plain:.2f}, of CPU "
        f"{sharded_cpu / plain_cpu:.2f}; {sent:,} messages of 8 bytes sent, "
        f"{8 * sent / positions:.3f} bytes per position ({positions:,})"
    )


if __name__ == "__main__":
    main()
