"""One good file of every kind, made when a campaign needs it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from command_line import VARIANT33
from fixed_players import perfect
from plain_connect4 import POSITIONS
from small_networks import save_small_network
from tiny_self_play import TINY
from tiny_training import tiny

from azfit.drop_oldest_players import TablePlayer
from azfit.grading.certificate import write_certificate
from azfit.grading.certify import certify
from azfit.loading import checkpoint_path
from solver import DenseTable, Rules, merge, solve, swap_colours, write_table, write_wins
from solver.checkpoint import CheckpointFile, ResultsCheckpointFile
from solver.connect4 import Connect4Position, Connect4Solver
from solver.connect4.answers import ANSWERS, FEWEST_NODES, AnswerFile
from solver.connect4.book import BOOK, SHIPPED, Book
from solver.connect4.keys import bitboards_of, key_of
from solver.kernels import Crew
from solver.results import solve_results
from solver.results_table import write_results
from solver.retrograde import count_values
from torture.judging import problems_with
from torture.kinds import COMPACT, GRADE_FOUR, SERVE, SETS, TEACH, VARIANT43
from torture.processes import apart, run
from torture.quickly import quickly
from torture.readers import Reader, Result, result_of

STEPS, ITERATIONS = 20, 2
OLDER_NODE = 5000  # of 3×3: where the table of an older version differs
OLDER_SMALL_NODE = 300  # the same of its results; a position with few pieces, won or lost
STOP_AT_DEPTH = 5  # of a solve that is killed
FOUR_FURTHER = "12345671234567"  # Connect Four, ply 14: what a book knows beyond the shipped one
FEWEST_PLY = 13  # of further positions that an older book lacks; they are soon found


class Inputs:
    """A folder of good files, each under a name at its top that is made once, and what commands
    make of them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._rooms = folder / "inputs", folder
        self.folder.mkdir(parents=True)
        self.expected: dict[Reader, Result] = {}

    def room(self, name: str) -> Path:
        """A new folder, for what a campaign needs besides."""
        room = self._rooms / name
        room.mkdir()
        return room

    def file(self, name: str) -> Path:
        """A good file; it is made if it is not there yet."""
        self.need(_names_in([name]))
        return self.folder / name

    def need(self, names: Iterable[str]) -> None:
        """Makes what is not there yet."""
        for name in names:
            if not (self.folder / name).exists():
                MAKERS[name](self)

    def must(self, *command: str) -> None:
        """Runs a command that succeeds, or proves that a network can be beaten."""
        ended = run(self.folder, *command, prepare=quickly)
        assert ended.code in (0, 1) and not problems_with(ended), ended

    def copy(self, words: Iterable[str], here: Path) -> None:
        """Copies the good files that these words name, to be damaged: as links where writers only
        ever put a new file in place."""
        names = _names_in(words)
        self.need(names)
        here.mkdir(exist_ok=True, parents=True)
        for entry in map(self.folder.joinpath, sorted(names)):
            is_written_to = (entry / "metrics.jsonl").exists() or (entry / ANSWERS).exists()
            copy: Callable[..., object] = shutil.copy2 if is_written_to else os.link
            if entry.is_dir():
                shutil.copytree(entry, here / entry.name, copy_function=copy)
            else:
                os.link(entry, here / entry.name)

    def expect(self, reader: Reader) -> None:
        """Notes what the reader makes of good files, and that it makes the same of them again."""
        if reader in self.expected:
            return
        results = []
        for repeat in ("once", "again"):
            here = self._rooms / "expected" / str(len(self.expected)) / repeat
            self.copy(reader.command, here)
            ended = reader.run(here)
            assert not problems_with(ended, (0, 1)), ended
            results.append(result_of(reader, here, ended))
            shutil.rmtree(here)
        assert results[0] == results[1], f"{reader.name} is not the same twice: {results}"
        self.expected[reader] = results[0]


def _names_in(words: Iterable[str]) -> set[str]:
    """The inputs that a command or the name of a file mentions."""
    return {word.partition("/")[0] for word in words} & MAKERS.keys()


# ---- tables -------------------------------------------------------------------------------------


def _solved(inputs: Inputs, data: str, variant: tuple[str, ...], *more: str) -> None:
    inputs.must("solve", *variant, "--data", data, "--json")
    inputs.must("merge", *variant, "--data", data, *more, "--json")


def _write_older(folder: Path) -> None:
    """The files of a table that differs from the solution in the depth of one position."""
    rules, node = Rules(3, 3, 3), OLDER_NODE
    solution = solve(rules)
    table = solution.table
    assert 1 < table[node] < 250, "the position is decided and not over"
    table[node] += 2
    with Crew() as crew:
        counts = count_values(rules, table, crew)
        write_table(folder, replace(solution, table=table, counts=counts))
        swapped = swap_colours(rules, table, crew)
        for kind in ("xwin", "ywin"):
            write_wins(folder, kind, rules, table, swapped, crew)
    merge(folder, rules)


def _large(inputs: Inputs) -> None:
    _solved(inputs, "large", ())
    inputs.must("solve", "--results-only", "--data", "large", "--json")


def _results(inputs: Inputs) -> None:
    for variant in (VARIANT33, VARIANT43):
        inputs.must("solve", *variant, "--results-only", "--data", "results", "--json")


def _write_older_results(folder: Path) -> None:
    """Results that differ from the solution in those of one position."""
    solution = solve_results(Rules(3, 3, 3))
    solution.small[OLDER_SMALL_NODE] = 2 + 3 - solution.small[OLDER_SMALL_NODE]
    folder.mkdir()
    with Crew(1) as crew:
        write_results(folder, solution, crew)


def _solving(inputs: Inputs, data: str, checkpoints: type[Any], *options: str) -> None:
    """A solve that was killed at some depth, after it had saved its state."""
    command = ("solve", *VARIANT43, *options, "--data", data, "--checkpoint-minutes", "0", "--json")
    ended = run(inputs.folder, *command, prepare=partial(_stop_early, checkpoints))
    assert ended.code == 0 and len(list((inputs.folder / data).iterdir())) == 2, ended


def _stop_early(checkpoints: type[Any]) -> None:
    save_if_due = checkpoints.save_if_due

    def save_and_stop(file: Any, state: Any, reached: int) -> None:
        save_if_due(file, state, reached)
        if reached >= STOP_AT_DEPTH:
            os._exit(0)

    checkpoints.save_if_due = save_and_stop


# ---- networks and certificates ------------------------------------------------------------------


def _network(game: str, inputs: Inputs, name: str) -> None:
    apart(lambda: save_small_network(inputs.folder / name, game))


def _certificates(inputs: Inputs) -> None:
    inputs.need(["data"])
    apart(lambda: _write_certificates(inputs.folder))


def _write_certificates(folder: Path) -> None:
    with DenseTable(folder / "data" / "solved_3x3_m3.table") as table:
        [symmetric] = certify(perfect(table), "x")
        [plain] = certify(TablePlayer(table), "x")
    write_certificate(folder / "nodes.npz", symmetric)
    write_certificate(folder / "list.npz", plain)


def _refutation(inputs: Inputs) -> None:
    inputs.need(["net.safetensors"])
    inputs.must("certify", "net.safetensors", "--as", "y", "--out", "line.npz", "--json")


def _compact(inputs: Inputs) -> None:
    inputs.need(["perfect"])
    inputs.must(*COMPACT)


def _perfect(inputs: Inputs) -> None:
    """A run whose network cannot be beaten as X."""
    inputs.need(["data"])
    training = ("train-from-oracle", *VARIANT33, "--data", "data", "--run", "perfect", "--json")
    inputs.must(*training, "--preset", "quick", "--steps", "400", "--threads", "1")


def _labels(inputs: Inputs) -> None:
    inputs.need(["four.safetensors", SETS])
    (inputs.folder / "labels").mkdir()
    inputs.must(*GRADE_FOUR.command)


def _half_labels(inputs: Inputs) -> None:
    """The same file when only every other position had been solved."""
    inputs.need(["four.safetensors"])
    half = inputs.folder / "half.txt"
    lines = POSITIONS.read_text().splitlines(keepends=True)
    half.write_text("".join(lines[::2]))
    (inputs.folder / "half_labels").mkdir()
    swapped = {SETS: half.name, "labels": "half_labels"}
    inputs.must(*(swapped.get(word, word) for word in GRADE_FOUR.command))


# ---- Connect Four -------------------------------------------------------------------------------


def _write_book(path: Path) -> None:
    """One that knows more than the one that comes with fadefour, and so is asked instead."""
    position = Connect4Position.parse(FOUR_FURTHER)
    with Connect4Solver(1) as solver:
        score = solver.score(position)
    shipped = SHIPPED.contents
    further = shipped.further | {key_of(position.mover, position.stones): score}
    path.parent.mkdir()
    Book(path).save(replace(shipped, further=further))


def _write_older_book(path: Path) -> None:
    shipped = SHIPPED.contents
    further = {
        key: score
        for key, score in shipped.further.items()
        if bitboards_of(key)[1].bit_count() < FEWEST_PLY
    }
    path.parent.mkdir()
    Book(path).save(replace(shipped, further=further))


def _write_answers(folder: Path) -> None:
    """Of a position that nobody asks about."""
    folder.mkdir()
    with AnswerFile(folder / ANSWERS) as answers:
        answers.put(1, 3, 5, FEWEST_NODES)


def _answers(inputs: Inputs) -> None:
    apart(lambda: _write_answers(inputs.folder / "answers"))
    inputs.must(*SERVE.command)


def _taught(inputs: Inputs) -> None:
    """A run of training by the solver that has a few steps to go, and its positions."""
    command = list(TEACH)
    command[command.index("--steps") + 1] = "2"
    inputs.must(*command)
    folder = inputs.folder / "taught"
    config = json.loads((folder / "config.json").read_text())
    _write_config(folder, config | {"steps": 4})


# ---- runs ---------------------------------------------------------------------------------------


def _trained(inputs: Inputs) -> None:
    """A run that has a few steps to go, and a network that it might have begun with."""
    inputs.need(["data"])
    config = tiny(steps=STEPS, save_seconds=0.0, evaluate_seconds=0.0)
    config = replace(config, network=replace(config.network, width=128))
    folder = inputs.folder / "trained"
    folder.mkdir()
    _write_config(folder, config.to_dict())
    inputs.must("train-from-oracle", "--run", "trained", "--resume", "--data", "data", "--json")
    shutil.copyfile(folder / "best.safetensors", folder / "init.safetensors")
    _write_config(folder, replace(config, steps=STEPS + 4).to_dict())


def _options(inputs: Inputs) -> None:
    options = TINY | {"iterations": ITERATIONS, "max_plies": 42}
    text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in options.items())
    (inputs.folder / "options.toml").write_text(text)


def _played(inputs: Inputs) -> None:
    """A run that has an iteration to go."""
    inputs.need(["net.safetensors", "options.toml"])
    playing = ("self-play", "--run", "played", "--config", "options.toml", "--json")
    inputs.must(*playing, "--init", "net.safetensors")
    folder = inputs.folder / "played"
    config = json.loads((folder / "config.json").read_text())
    _write_config(folder, config | {"iterations": ITERATIONS + 1})


def _write_config(folder: Path, config: dict[str, Any]) -> None:
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")


MAKERS: dict[str, Callable[[Inputs], object]] = {
    "data": lambda inputs: _solved(inputs, "data", VARIANT33),
    "middle": lambda inputs: _solved(inputs, "middle", VARIANT43, "--complete"),
    "large": _large,
    "older": lambda inputs: apart(lambda: _write_older(inputs.folder / "older")),
    "solving": lambda inputs: _solving(inputs, "solving", CheckpointFile),
    "results": _results,
    "older_results": lambda inputs: apart(
        lambda: _write_older_results(inputs.folder / "older_results")
    ),
    "solving_results": lambda inputs: _solving(
        inputs, "solving_results", ResultsCheckpointFile, "--results-only"
    ),
    "books": lambda inputs: apart(lambda: _write_book(inputs.folder / "books" / BOOK)),
    "older_books": lambda inputs: apart(
        lambda: _write_older_book(inputs.folder / "older_books" / BOOK)
    ),
    "answers": _answers,
    "few_answers": lambda inputs: apart(lambda: _write_answers(inputs.folder / "few_answers")),
    "taught": _taught,
    "positions": _taught,
    "net.safetensors": lambda inputs: _network("drop-3-3-3", inputs, "net.safetensors"),
    "four.safetensors": lambda inputs: _network("connect4", inputs, "four.safetensors"),
    "shipped.safetensors": lambda inputs: shutil.copy(
        checkpoint_path("shipped"), inputs.folder / "shipped.safetensors"
    ),
    "nodes.npz": _certificates,
    "list.npz": _certificates,
    "line.npz": _refutation,
    "compact.npz": _compact,
    "perfect": _perfect,
    SETS: lambda inputs: shutil.copy(POSITIONS, inputs.folder / SETS),
    "labels": _labels,
    "half_labels": _half_labels,
    "trained": _trained,
    "options.toml": _options,
    "played": _played,
}
