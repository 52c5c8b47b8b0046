"""A Ray cluster of several nodes on this machine, all on 127.0.0.1, for tests; nothing of it is
left afterwards."""

from __future__ import annotations

import contextlib
import os
import signal
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Read when Ray is imported: loopback addresses are kept, nothing is reported, the dead are noticed,
# and workers neither wait for all else that the machine does nor are killed for the memory it uses.
SETTINGS = {
    "RAY_worker_niceness": "0",
    "RAY_memory_monitor_refresh_ms": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_health_check_initial_delay_ms": "500",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_failure_threshold": "10",
}
os.environ.update(SETTINGS)

MARK = "FADEFOUR_TEST_MARK"
"""In the environment of every process that a test starts."""

STORE = 80 << 20

STARTS = 3  # tries: Ray gives a node half a minute, too little on a very busy machine


AGENTS = (b"ray::DashboardAgent", b"ray::RuntimeEnvAgent")
"""Of each node. When it dies they may try for a minute to tell a head that is gone as well."""


def marked(mark: str, but: tuple[bytes, ...] = ()) -> list[int]:
    """The processes that carry this mark, zombies left out, and those of these names."""
    pids = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            with contextlib.suppress(OSError):
                environment = (folder / "environ").read_bytes().split(b"\0")
                is_marked = f"{MARK}={mark}".encode() in environment
                if is_marked and not (folder / "cmdline").read_bytes().startswith(but):
                    pids.append(int(folder.name))
    return pids


def wait_until_gone(mark: str, seconds: float, but: tuple[bytes, ...] = ()) -> list[int]:
    """The marked processes that are still there after this time, without those of these names."""
    until = time.monotonic() + seconds
    while (left := marked(mark, but)) and time.monotonic() < until:
        time.sleep(0.1)
    return left


class Nodes:
    """A head without processors, and nodes that come and go."""

    def __init__(self, head_cpus: int = 0) -> None:
        from ray.cluster_utils import Cluster

        self.mark = uuid.uuid4().hex
        self._cluster = self._marked(
            lambda: Cluster(initialize_head=True, head_node_args=self._options(head_cpus))
        )
        self.address: str = self._cluster.address
        self.nodes: list[Any] = []

    def _marked(self, start: Any) -> Any:
        os.environ[MARK] = self.mark
        try:
            for _ in range(STARTS - 1):
                with contextlib.suppress(Exception):
                    return start()
            return start()
        finally:
            del os.environ[MARK]

    @staticmethod
    def _options(cpus: int) -> dict[str, Any]:
        return {
            "num_cpus": cpus,
            "object_store_memory": STORE,
            "node_ip_address": "127.0.0.1",
            "include_dashboard": False,
        }

    def add(self, cpus: int = 1, **more: Any) -> Any:
        options = self._options(cpus) | more
        self.nodes.append(self._marked(lambda: self._cluster.add_node(**options)))
        return self.nodes[-1]

    def kill(self, node: Any) -> None:
        """As if its plug were pulled."""
        self.nodes.remove(node)
        self._cluster.remove_node(node, allow_graceful=False)

    def take_out(self, node: Any) -> None:
        """It leaves, and the head knows at once: a node that is killed is waited for by whoever
        comes next, for the seconds in which the head has not noticed."""
        self.nodes.remove(node)
        self._cluster.remove_node(node, allow_graceful=True)

    def kill_head(self) -> None:
        self._cluster.head_node.kill_all_processes(check_alive=False, allow_graceful=False)

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._cluster.shutdown()
        for pid in wait_until_gone(self.mark, 5):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def ray_nodes(head_cpus: int = 0) -> Iterator[Nodes]:
    nodes = Nodes(head_cpus)
    try:
        yield nodes
    finally:
        nodes.close()
