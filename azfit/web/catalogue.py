"""What a client may name: runs and networks by id. An id is looked up in a list, never opened."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from azfit.checkpoint_header import read_header
from azfit.loading import checkpoint_path, shipped_names
from azfit.run_listing import RunFolder, runs_in
from azfit.web.errors import ApiError
from solver.errors import FadefourError
from solver.wording import quoted


def id_of(name: str) -> str:
    """The name of a file or folder as a part of an address: itself, if it is harmless there."""
    if re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}", name):
        return name
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name)[:50].strip("-")
    return f"{plain}-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"


@dataclass(frozen=True)
class NetworkFile:
    """A checkpoint that can be asked."""

    id: str
    path: Path
    run: str | None
    about: dict[str, Any]
    """As in the checkpoint's header."""

    @property
    def game(self) -> str:
        return str(self.about["game"])

    @property
    def sha256(self) -> str:
        return str(self.about.get("sha256"))

    def to_dict(self) -> dict[str, Any]:
        parameters, step = self.about.get("parameters"), self.about.get("step")
        return {
            "id": self.id,
            "name": self.path.stem,
            "game": self.game,
            "run": self.run,
            "parameters": parameters if isinstance(parameters, int) else None,
            "step": step if isinstance(step, int) else None,
            "sha256": self.sha256,
        }


@dataclass(frozen=True)
class _Checkpoint:
    id: str
    path: Path
    run: str | None

    def read(self) -> NetworkFile | None:
        """None if it cannot be read, or holds no network."""
        try:
            header = read_header(self.path)
        except FadefourError:
            return None
        return None if header.is_state else NetworkFile(self.id, self.path, self.run, header.about)


class Catalogue:
    """The runs of a folder and their networks, as they are now."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def runs(self) -> dict[str, RunFolder]:
        return {id_of(run.path.name): run for run in runs_in(self._folder)}

    def run(self, name: str) -> RunFolder:
        run = self.runs().get(name)
        if run is None:
            raise ApiError(404, f"there is no run {quoted(name)}", "see /api/runs")
        return run

    def _checkpoints(self) -> Iterator[_Checkpoint]:
        """The networks that come with fadefour first."""
        for name in shipped_names():
            yield _Checkpoint(name, checkpoint_path(name), None)
        for name, run in self.runs().items():
            for path in run.checkpoints():
                yield _Checkpoint(f"{name}:{id_of(path.stem)}", path, name)

    def networks(self) -> list[NetworkFile]:
        """A file that cannot be read is left out."""
        read = (checkpoint.read() for checkpoint in self._checkpoints())
        return [network for network in read if network is not None]

    def network(self, name: str) -> NetworkFile:
        for checkpoint in self._checkpoints():
            if checkpoint.id == name and (network := checkpoint.read()) is not None:
                return network
        raise ApiError(404, f"there is no network {quoted(name)}", "see /api/networks")
