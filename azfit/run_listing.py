"""The runs in a folder of runs, and the networks that they have saved; torch is not needed.

for run in runs_in(Path("runs")):
    print(run.path.name, run.kind, run.game, [path.stem for path in run.checkpoints()])
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from azfit.checkpoint_header import checkpoints_in
from azfit.games import game_by_name
from azfit.loading import BEST
from azfit.self_play.game_files import files_of_games
from solver.errors import FadefourError
from solver.storage import read_json

SELF_PLAY, ORACLE = "self-play", "oracle"

MOST_CONFIG_BYTES = 1 << 20


@dataclass(frozen=True)
class RunFolder:
    """The folder of a run, by its config.json."""

    path: Path
    kind: str
    """"self-play", or "oracle" for train-from-oracle."""
    game: str

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    def checkpoints(self) -> list[Path]:
        """The best network first, then those saved on the way, oldest first."""
        best = self.path / BEST
        saved = checkpoints_in(self.path / "checkpoints")
        return [*([best] if best.is_file() else []), *saved]

    def games(self) -> dict[int, Path]:
        """The files of games that are still there, by iteration; only self-play has any."""
        return {
            int(path.stem): path
            for path in files_of_games(self.path / "games")
            if path.stem.isdecimal()
        }


def runs_in(folder: Path) -> list[RunFolder]:
    """In order of name; a folder that is not a run, or whose config is damaged, is left out."""
    try:
        paths = sorted(path for path in folder.iterdir() if path.is_dir())
    except OSError:
        return []
    return [run for run in map(_run_at, paths) if run is not None]


def _run_at(path: Path) -> RunFolder | None:
    try:
        config = read_json(path / "config.json", MOST_CONFIG_BYTES, "config")
        game, kind = _game_and_kind(config)
        game_by_name(game)
    except (FadefourError, TypeError):
        return None
    return RunFolder(path, kind, game)


def _game_and_kind(config: Any) -> tuple[str, str]:
    """A run of self-play names its game; one that learns from the table has it in its network."""
    if not isinstance(config, dict):
        return "", ""
    if "game" in config:
        return str(config["game"]), SELF_PLAY
    network = config.get("network")
    return (str(network.get("game", "")), ORACLE) if isinstance(network, dict) else ("", "")
