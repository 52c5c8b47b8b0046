"""A pool on this machine or on a cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from solver.machine import available_cores
from solver.workers.pool import Pool
from solver.workers.processes import Processes
from solver.workers.worker import MakeWorker


@contextlib.contextmanager
def open_pool(
    make: MakeWorker,
    count: int | None,
    cluster: str | None = None,
    report: Callable[[str], None] = lambda line: None,
) -> Iterator[Pool]:
    """count: workers, None for as many as there are processors. cluster: ``auto``, ``local`` or the
    address of a Ray cluster; None for processes of this machine. report: gets a line when workers
    of a cluster join or leave."""
    here = count or available_cores()
    if cluster is None:
        with Pool(Processes(make, here)) as pool:
            yield pool
        return
    from solver.cluster.connection import Cluster

    with Cluster(cluster, here) as connection:
        from solver.cluster.actors import Actors

        with Pool(Actors(make, connection, count, report)) as pool:
            yield pool
