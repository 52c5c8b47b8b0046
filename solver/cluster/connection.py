"""The connection to a Ray cluster: found or started, and refused in one line if it cannot be used.

Ray has no password: a cluster belongs on a network that nobody else can reach. One that is started
here (``local``) listens on the loopback address only.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import platform
import socket
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import solver
from solver.errors import FadefourError, InputError
from solver.extras import need

LOCAL, AUTO = "local", "auto"

# For one that is started here: networks are a few megabytes, and games come back in messages.
OBJECT_STORE_BYTES = 200 << 20

REACH_SECONDS = 5.0
"""In which an address must answer."""

ANSWER_SECONDS = 60.0
"""In which a machine must say what it runs; to start a process takes a busy one some seconds."""

# What Ray reads when it is imported or started.
QUIET = {"RAY_USAGE_STATS_ENABLED": "0"}
# For a cluster that is started here. It would listen on the address by which other machines know
# this one; the first is its switch for systems on which it is for one machine only. What is left of
# it after a kill -9 would look for the rest for a minute. Its workers would run at a low priority,
# and starve while this process trains.
ON_THIS_MACHINE = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_gcs_rpc_server_reconnect_timeout_s": "10",
    "RAY_worker_niceness": "0",
}


class ClusterLostError(FadefourError):
    """The cluster went away while it was used."""


@dataclass(frozen=True)
class Versions:
    """What has to be the same on every machine."""

    fadefour: str
    python: str
    ray: str

    @classmethod
    def here(cls) -> Versions:
        import ray

        return cls(solver.__version__, platform.python_version(), ray.__version__)

    def difference(self, other: Versions, where: str) -> str | None:
        """In words, what differs on the machine ``where``; None if nothing does."""
        for name in ("fadefour", "python", "ray"):
            ours, theirs = getattr(self, name), getattr(other, name)
            if ours != theirs:
                title = name if name == "fadefour" else name.capitalize()
                return (
                    f"{title} {ours} runs here and {title} {theirs} on {where}: install the same "
                    "version on all machines of the cluster"
                )
        return None


@dataclass(frozen=True)
class Machine:
    """One of a cluster: Ray's name for it, its address, and the processors that Ray may use."""

    node: str
    address: str
    cpus: int


class Cluster:
    """A connection to Ray, as long as the ``with`` block."""

    def __init__(self, address: str, cpus: int) -> None:
        """cpus: for the workers of a cluster that is started here."""
        need("ray", "--cluster")
        self.address, self._cpus = address, cpus
        self._gcs: tuple[str, int] | None = None
        self._differences: dict[str, str | None] = {}
        """By node: what differs there, of those that have been asked."""
        self.is_lost = False

    def __enter__(self) -> Cluster:
        os.environ.update(QUIET)
        if self.address == LOCAL:
            os.environ.update(ON_THIS_MACHINE)
        elif self.address != AUTO:
            check_reachable(self.address)
        elif "RAY_ADDRESS" in os.environ:
            check_reachable(os.environ["RAY_ADDRESS"])
        import ray

        try:
            self._connect(ray)
            self._gcs = host_and_port(ray.get_runtime_context().gcs_address)
            self.check_versions()
        except BaseException:
            ray.shutdown()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        import ray

        if self.is_lost:
            atexit.register(_leave_at_once)
        else:
            ray.shutdown()

    def _connect(self, ray: Any) -> None:
        options: dict[str, Any] = {"logging_level": logging.FATAL, "log_to_driver": False}
        if self.address == LOCAL:
            options |= {
                "address": LOCAL,
                "num_cpus": self._cpus,
                "include_dashboard": False,
                "object_store_memory": OBJECT_STORE_BYTES,
                "_node_ip_address": "127.0.0.1",
            }
        else:
            options["address"] = self.address
        # Ray prints the log of a machine that died; the pool says what is to be said.
        if hasattr(ray._private.worker, "print_to_stdstream"):
            ray._private.worker.print_to_stdstream = lambda *_, **__: None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ray.init(**options)
        except Exception as error:  # Ray's own are plain ones, as if it takes too long to start
            raise InputError(self._refusal(str(error))) from None

    def _refusal(self, reason: str) -> str:
        lines = " ".join(reason.split())
        if "ersion mismatch" in lines:
            return f"--cluster {self.address}: {lines}; install the same versions on all machines"
        if "AuthToken" in lines or "authentication token" in lines.lower():
            return (
                f"--cluster {self.address}: the cluster asks for its token: copy the file "
                "~/.ray/auth_token of its head to this machine, and set RAY_AUTH_MODE=token"
            )
        if self.address == AUTO:
            return (
                "--cluster auto: Ray does not run on this machine: start it with 'ray start', or "
                "use --cluster local"
            )
        return f"--cluster {self.address}: Ray cannot be used ({lines[:300]})"

    # ---- what it consists of ------------------------------------------------------

    def check_there(self) -> None:
        """Its head must answer. Ray itself would wait a minute, then end this process."""
        assert self._gcs is not None
        try:
            reach(*self._gcs)
        except OSError as error:
            self.is_lost = True
            raise ClusterLostError(
                f"the Ray cluster '{self.address}' is gone ({error.strerror or error}): what was "
                "finished is kept; start the cluster again, or use another one"
            ) from None

    def cpus(self) -> int:
        """Of all machines that are in it now."""
        import ray

        self.check_there()
        return int(ray.cluster_resources().get("CPU", 0))

    def machines(self, report: Callable[[str], None] = lambda line: None) -> list[Machine]:
        """Those that are in it now and run what this one does. report: gets a line for each other
        one, once: what differs there."""
        import ray

        self.check_there()
        machines = [
            Machine(
                node["NodeID"], node["NodeManagerAddress"], int(node["Resources"].get("CPU", 0))
            )
            for node in ray.nodes()
            if node["Alive"]
        ]
        new = [machine for machine in machines if machine.node not in self._differences]
        for machine, difference in self._asked(new).items():
            self._differences[machine.node] = difference
            if difference is not None:
                report(difference)
        return [m for m in machines if self._differences.get(m.node, "gone") is None]

    def check_versions(self) -> None:
        """Refuses a cluster one of whose machines does not run what this one does."""

        def refuse(difference: str) -> None:
            raise InputError(f"--cluster {self.address}: {difference}")

        self.machines(refuse)

    @staticmethod
    def _asked(machines: list[Machine]) -> dict[Machine, str | None]:
        """What differs on each of these machines; those that have just left are missing."""
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        calls = {}
        for machine in machines:
            strategy = NodeAffinitySchedulingStrategy(machine.node, soft=False)
            ask = ray.remote(num_cpus=0, max_retries=0, scheduling_strategy=strategy)
            calls[ask(_versions).remote()] = machine
        if not calls:
            return {}
        ready, late = ray.wait(list(calls), num_returns=len(calls), timeout=ANSWER_SECONDS)
        ours, differences = Versions.here(), dict[Machine, str | None]()
        for call in [*ready, *late]:
            where = calls[call].address
            try:
                theirs = Versions(*ray.get(call, timeout=0))
            except (ray.exceptions.TaskUnschedulableError, ray.exceptions.WorkerCrashedError):
                continue  # it has just left, and nobody has noticed yet
            except Exception as error:  # fadefour is missing there, or the machine hangs
                reason = (str(error).strip().splitlines() or ["no answer"])[-1]
                differences[calls[call]] = (
                    f"fadefour does not run on {where} ({reason}): install it there, in the same "
                    "version"
                )
            else:
                differences[calls[call]] = ours.difference(theirs, where)
        return differences


def _leave_at_once() -> None:
    """How a process ends whose cluster is gone: Ray's own ending waits for the cluster for a
    minute, and crashes the interpreter if it is left out."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(2)


def _versions() -> tuple[str, str, str]:
    """Runs on each machine."""
    versions = Versions.here()
    return versions.fadefour, versions.python, versions.ray


# ---- addresses -----------------------------------------------------------------------


def host_and_port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdigit() or not 0 < int(port) < 1 << 16:
        raise InputError(
            f"--cluster {address}: use auto, local, or HOST:PORT of a Ray cluster that this "
            "machine belongs to"
        )
    return host, int(port)


def reach(host: str, port: int) -> None:
    """OSError if nothing answers there."""
    socket.create_connection((host, port), REACH_SECONDS).close()


def check_reachable(address: str) -> None:
    """Ray itself takes two minutes to give up."""
    try:
        reach(*host_and_port(address))
    except OSError as error:
        raise InputError(
            f"--cluster {address}: nothing answers there ({error.strerror or error}): start Ray "
            "with 'ray start --head' on that machine, or use --cluster local"
        ) from None
