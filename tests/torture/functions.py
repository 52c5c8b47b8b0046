"""Files, and the functions that commands read them with.

A file that is read in microseconds can be damaged in every way there is.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from azfit.checkpoint import read_tensors
from azfit.games import game_by_name
from azfit.grading.certificate import read_certificate
from azfit.grading.connect4.labels import _read as read_labels
from azfit.oracle.config import read_config as read_training_config
from azfit.oracle.connect4.dataset import _read as read_positions
from azfit.self_play.config_sources import read_config as read_playing_config
from azfit.self_play.config_sources import read_toml
from azfit.self_play.episode import read_episodes
from azfit.self_play.iteration import read_iterations
from solver.checkpoint import CheckpointFile, ResultsCheckpointFile
from solver.connect4.answers import ANSWERS, AnswerFile
from solver.connect4.book import Book
from solver.connect4.keys import bitboards_of
from solver.connect4.sets import read_set
from solver.manifest import open_manifest
from solver.records import open_records
from solver.results import SolveState, solve_results
from solver.results_table import ResultsTable
from solver.rules import Rules
from solver.table import DenseTable
from torture.kinds import FOUR_POSITIONS, RESULTS_CHECKPOINT, SETS
from torture.readers import APPENDED, CHECKED, TEXT

RULES43 = Rules(4, 3, 3)


@dataclass(frozen=True)
class Read:
    """A file, and the function that reads it."""

    name: str
    file: str
    read: Callable[[Path], Any]
    promise: str = CHECKED
    header_only: bool = False
    """Whether only the bits of its header are flipped one by one."""
    is_large: bool = False
    """Too large for every bit."""


def _kind_of(data: Path) -> str:
    word = data.name.partition("_")[0]
    names = {"solved": "table", "solving": "checkpoint", "game": "game_tree"}
    return names.get(word, word)


def _manifest(path: Path) -> Any:
    data = path.with_suffix("")
    return open_manifest(data, _kind_of(data), "make it again")


def _table(path: Path) -> Any:
    with DenseTable(path) as table:
        table.check_all()
        return table.bytes.tobytes()


def _results(path: Path) -> Any:
    with ResultsTable(path) as table:
        table.check_all()
        return table.packed.tobytes(), table.counts.tobytes()


def _checkpoint(path: Path) -> Any:
    """As a solve reads it that goes on from there."""
    full = np.zeros(open_manifest(path, "checkpoint", "make it again").bytes, np.uint8)
    depth = CheckpointFile(path.parent, RULES43, 0.0).load(full)
    return depth, full.tobytes()


class _Stopped(Exception):  # noqa: N818 - an ending, no error
    """A solve that has read its checkpoint, and goes no further."""


@dataclass
class _LoadAndStop:
    """The checkpoints of a solve for results: what it has read ends it."""

    file: ResultsCheckpointFile
    state: Any = None

    def load(self, state: SolveState) -> int | None:
        depth = self.file.load(state)
        self.state = (depth, *(part.tobytes() for part in vars(state).values()))
        raise _Stopped

    def save_if_due(self, state: SolveState, depth: int) -> None: ...


def _results_checkpoint(path: Path) -> Any:
    loading = _LoadAndStop(ResultsCheckpointFile(path.parent, RULES43, 0.0))
    with contextlib.suppress(_Stopped):
        solve_results(RULES43, threads=1, checkpoints=loading)
    return loading.state


def _records(path: Path) -> Any:
    chunks = open_records(path, _kind_of(path)).chunks(whole=True)
    return b"".join(chunk.records.tobytes() for chunk in chunks)


class Entries(dict[str, Any]):
    """Of the header of a checkpoint: equal if this has all that the other one has. An entry of an
    unknown name, which the name of a checksum can turn into, is read by nobody."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, dict) and all(
            name in self and self[name] == entry for name, entry in other.items()
        )

    __hash__ = None  # type: ignore[assignment]


def _tensors(path: Path) -> Any:
    tensors, about = read_tensors(path)
    return {name: tensor.numpy().tobytes() for name, tensor in tensors.items()}, Entries(about)


def _certificate(path: Path) -> Any:
    certificate = read_certificate(path)
    return certificate.to_dict(), certificate.queues.tolist(), certificate.moves.tolist()


def _book(path: Path) -> Any:
    book = Book(path).contents
    return [part.tolist() for part in book.scores], book.further


class Known(dict[int, int | None]):
    """Scores from a file of answers: equal to the right ones if each is right or forgotten."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, dict) and all(
            score in (None, other[key]) for key, score in self.items()
        )

    __hash__ = None  # type: ignore[assignment]


def _answers(path: Path) -> Any:
    """Of all positions that the good file has. Of a copy: it is a file that is written to."""
    copy = path.with_suffix(".copy")
    shutil.copy(path, copy)
    keys = _keys_of_answers(path.parent.parent)
    try:
        with AnswerFile(copy) as answers:
            return Known({key: answers.get(*bitboards_of(key)) for key in keys})
    finally:
        copy.unlink()


@cache
def _keys_of_answers(folder: Path) -> tuple[int, ...]:
    """Asked first of the whole file."""
    database = sqlite3.connect(folder / "answers" / ANSWERS)
    keys = tuple(key for (key,) in database.execute("SELECT key FROM answers"))
    database.close()
    return keys


def _positions(path: Path) -> Any:
    return [column.tobytes() for column in vars(read_positions(path)).values()]


def _games(path: Path) -> Any:
    return [episode.to_bytes() for episode in read_episodes(path, game_by_name("drop-3-3-3"))]


def _playing_config(path: Path) -> Any:
    return read_playing_config(path.parent)


def _training_config(path: Path) -> Any:
    return read_training_config(path.parent)


def _iterations(path: Path) -> Any:
    return read_iterations(path.parent)


READS = (
    Read("table", "data/solved_3x3_m3.table", _table),
    Read("records", "data/xwin_3x3_m3.data", _records, is_large=True),
    Read("game tree", "data/game_tree_3x3_m3.data", _records, is_large=True),
    Read("results", "results/results_3x3_m3.bits", _results),
    Read("checkpoint", "solving/solving_4x4_m3_k3.checkpoint", _checkpoint, is_large=True),
    Read("checkpoint of results", RESULTS_CHECKPOINT, _results_checkpoint, is_large=True),
    Read("manifest of results", "results/results_3x3_m3.bits.json", _manifest),
    Read("manifest of a table", "data/solved_3x3_m3.table.json", _manifest),
    Read("manifest of records", "data/xwin_3x3_m3.data.json", _manifest),
    Read("manifest of a game tree", "middle/game_tree_4x4_m3_k3.data.json", _manifest),
    Read("manifest of a checkpoint", "solving/solving_4x4_m3_k3.checkpoint.json", _manifest),
    Read("network", "net.safetensors", _tensors),
    Read("state of training", "trained/resume.safetensors", _tensors, header_only=True),
    Read("state of self-play", "played/resume.safetensors", _tensors, header_only=True),
    Read("certificate, boards", "list.npz", _certificate),
    Read("certificate, nodes", "nodes.npz", _certificate),
    Read("certificate, a line", "line.npz", _certificate),
    Read("certificate, compact", "compact.npz", _certificate),
    Read("Connect Four book", "books/connect4.book", _book),
    Read("Connect Four answers", "answers/connect4_answers.sqlite", _answers),
    Read("Connect Four positions", FOUR_POSITIONS, _positions),
    Read("Connect Four labels", "labels/connect4_labels.npz", read_labels),
    Read("games", "played/games/000001.games", _games, APPENDED),
    Read("metrics", "played/metrics.jsonl", _iterations, TEXT),
    Read("config of self-play", "played/config.json", _playing_config, TEXT),
    Read("config of training", "trained/config.json", _training_config, TEXT),
    Read("options in TOML", "options.toml", read_toml, TEXT),
    Read("set of positions", SETS, read_set, TEXT),
)
