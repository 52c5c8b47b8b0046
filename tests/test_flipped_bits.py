"""Every bit of files that vouch for others: flipped, it is noticed or changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from damaged_files import each_flip
from synthetic_runs import episode

from azfit.checkpoint import read_tensors, write_tensors
from azfit.games import game_by_name
from azfit.self_play.episode import read_episodes
from solver.errors import FadefourError
from solver.manifest import open_manifest


def misread(path: Path, read: Callable[[], Any], span: range | None = None) -> list[str]:
    """The bits that, flipped, give something else than before without an error."""
    expected, wrong = read(), []
    for flip in each_flip(path, span or range(path.stat().st_size)):
        try:
            if read() != expected:
                wrong.append(flip)
        except FadefourError:
            pass
    return wrong


@pytest.mark.parametrize("name", ["solved_3x3_m3.table", "game_tree_3x3_m3.data"])
def test_every_bit_of_a_manifest(copy33: Path, name: str) -> None:
    kind = "table" if name.endswith("table") else "game_tree"

    def read() -> Any:
        return open_manifest(copy33 / name, kind, "make it again")

    assert not misread(copy33 / f"{name}.json", read)


def test_every_bit_of_the_header_of_a_checkpoint(tmp_path: Path) -> None:
    """With a nested entry, text that must be escaped, and numbers of all kinds."""
    path = tmp_path / "resume.safetensors"
    about = {"format": "fadefour network", "version": 1, "step": 12, "seconds": 3.25}
    about |= {"line": {"elo": -1.5e-3, "pool": [[0, 0.0], [3, None]], "name": 'a "b" ü\n'}}
    tensors = {"b": torch.arange(6.0).reshape(2, 3), "a": torch.zeros(1, dtype=torch.int64)}
    write_tensors(path, tensors, about)

    def read() -> Any:
        stored, said = read_tensors(path)
        entries = {name: said.get(name) for name in about}
        return {name: tensor.tolist() for name, tensor in stored.items()}, entries

    assert not misread(path, read)


def test_every_bit_of_a_file_of_games(tmp_path: Path) -> None:
    """The last game too, which a crash may cut short but does not change."""
    path, game = tmp_path / "a.games", game_by_name("connect4")
    games = [episode(game, moves, [], -1, n) for n, moves in enumerate(([3, 3, 2], [6, 0], [1, 5]))]
    path.write_bytes(b"".join(each.to_bytes() for each in games))

    def read() -> Any:
        return [each.to_bytes() for each in read_episodes(path, game)]

    assert len(read()) == 3
    assert not misread(path, read)
