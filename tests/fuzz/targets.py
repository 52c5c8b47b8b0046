"""The targets of ``make fuzz``: what each reads, and its share of the runs."""

from __future__ import annotations

import importlib
from ast import literal_eval
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CSRC = ROOT / "csrc"


@dataclass(frozen=True)
class Target:
    """A reader, as the file that fuzzes it knows it."""

    name: str
    reads: str
    share: float
    """Of all runs; the shares add up to 1. A slow target has a small one."""
    longest: int
    """Bytes of an input."""
    kernels: tuple[str, ...] = field(default=())
    """The C files under test; none for a target in Python."""

    @property
    def is_c(self) -> bool:
        return bool(self.kernels)

    @property
    def corpus_path(self) -> Path:
        return HERE / "corpus" / f"{self.name}.txt"

    def corpus(self) -> list[bytes]:
        """The inputs that are kept."""
        if not self.corpus_path.exists():
            return []
        return [literal_eval(line) for line in self.corpus_path.read_text().splitlines()]

    def write_corpus(self, inputs: list[bytes]) -> None:
        self.corpus_path.parent.mkdir(exist_ok=True)
        lines = [f"{data!r}\n" for data in sorted(set(inputs), key=lambda data: (len(data), data))]
        self.corpus_path.write_text("".join(lines))

    def seeds(self) -> list[bytes]:
        """Inputs to begin with; most are accepted."""
        if self.is_c:
            return [bytes([way, 7, 1, 1]) + bytes(range(0, 60, 3)) for way in range(8)]
        return list(importlib.import_module(f"fuzz.{self.name}").seeds())

    def check(self) -> Callable[[bytes], bool]:
        """The function of a target in Python: was the input accepted?"""
        function: Callable[[bytes], bool] = importlib.import_module(f"fuzz.{self.name}").check
        return function

    def sources(self) -> list[Path]:
        """What a target in C is compiled from."""
        return [HERE / "c" / f"{self.name}.c", *(CSRC / f"{name}.c" for name in self.kernels)]


NODES = ("rules", "symmetry", "work", "index", "nodes", "moves")
TARGETS = [
    Target("records", "records in C", 0.80, 160, (*NODES, "swap", "records", "read_records")),
    Target(
        *("states", "states and codes of all games in C", 0.10, 128),
        (*NODES, "game", "drop_oldest", "connect4", "gomoku"),
    ),
    Target(
        *("table", "tables and arrays of positions in C", 0.002, 96),
        (*NODES, "labels", "audit", "audit_places"),
    ),
    Target(
        *("results", "results without plies in C", 0.002, 96),
        (*NODES, "results_file", "results_audit", "audit", "audit_places"),
    ),
    Target("positions", "positions of every game as text", 0.0587, 64),
    Target("manifest", "manifests", 0.012, 700),
    Target("record_file", "record files", 0.004, 300),
    Target("table_file", "table files, checkpoints of a solve", 0.002, 64),
    Target("results_file", "files of results without plies", 0.001, 64),
    Target("book", "opening books of Connect Four", 0.006, 200),
    Target("games", "files of self-play games", 0.003, 300),
    Target("labels", "archives of labelled Connect Four positions", 0.002, 200),
    Target("certificate", "certificates", 0.002, 300),
    Target("checkpoint", "checkpoints of networks", 0.002, 200),
    Target("run_state", "states that runs resume from", 0.0003, 64),
    Target("run_files", "configs and metrics of runs", 0.003, 300),
]
BY_NAME = {target.name: target for target in TARGETS}
