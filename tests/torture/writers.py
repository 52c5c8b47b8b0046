"""Commands that write, each in a folder that holds older versions of what it writes.

A writer that fails ends with one line and exit code 2; every file is the old one or the new one,
and the same command, repeated, gives what it gives undisturbed.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from command_line import VARIANT33

from torture.campaign import Verdict
from torture.contents import Contents, content, contents, differences, without_times
from torture.inputs import Inputs
from torture.judging import problems_with
from torture.kinds import CERTIFY, GRADE_FOUR, MAKE_BOOK, SELF_PLAY, SERVE, TEACH, TRAIN, TRAIN_FOUR
from torture.processes import Ended, Prepare, run
from torture.quickly import quickly


@dataclass(frozen=True)
class Writer:
    """A command that writes."""

    name: str
    command: tuple[str, ...]
    begin: Callable[[Inputs, Path], object]
    """Puts into a new folder what the command needs, and older versions of what it writes."""
    writes: tuple[str, ...]
    """How the names of what it writes begin, among them leftovers that must not be there."""
    takes_a_step_at_a_time: bool = False
    """Whether its files may be between the old and the new ones: those of a run."""
    may_give_up: bool = False
    """Whether it may warn and go on without writing: a cache."""
    reports_first: bool = False
    """Whether it prints what it has found before it says that it could not be written."""
    warns_first: str = ""
    """How the one line begins in which it may say that it goes on without a file."""
    begins: tuple[str, ...] = ()
    """Of a run that is begun: its config, and the command that goes on once that is there."""

    def run(self, here: Path, prepare: Prepare | None = None) -> Ended:
        def both() -> None:
            quickly()
            if prepare is not None:
                prepare()

        command = self.command
        if self.begins and (here / self.begins[0]).exists():
            command = self.begins[1:]
        return run(here, *command, prepare=both)


# ---- what they begin with -----------------------------------------------------------------------


def _merge(inputs: Inputs, here: Path) -> None:
    inputs.copy(["data", "older"], here)
    for path in (here / "older").glob("game_tree*"):
        path.replace(here / "data" / path.name)


def _certify(inputs: Inputs, here: Path) -> None:
    inputs.copy(["data", "net.safetensors", "line.npz"], here)
    for name in CERTIFY.leaves:
        shutil.copy(here / "line.npz", here / name)


def _grade(inputs: Inputs, here: Path) -> None:
    inputs.copy([*GRADE_FOUR.command, "half_labels"], here)
    shutil.rmtree(here / "labels")
    (here / "half_labels").rename(here / "labels")


def _beginning_with(*names: str, older: str) -> Callable[[Inputs, Path], None]:
    """These inputs, and an older file of this name."""

    def begin(inputs: Inputs, here: Path) -> None:
        inputs.copy(names, here)
        path = here / older
        path.parent.mkdir()
        path.write_bytes(b"an older file")

    return begin


def _renamed(older: str, name: str) -> Callable[[Inputs, Path], None]:
    """An input with older files under the name of the newer ones."""

    def begin(inputs: Inputs, here: Path) -> None:
        inputs.copy([older], here)
        (here / older).rename(here / name)

    return begin


def _teach(inputs: Inputs, here: Path) -> None:
    """Positions of which the last file is missing, and no run yet."""
    inputs.copy(["positions"], here)
    files = sorted((here / "positions" / "connect4_positions").iterdir())
    assert len(files) > 1
    files[-1].unlink()


PICTURE = "pictures/one.png"


def _picture(name: str, *command: str, of: str) -> Writer:
    """A command that draws."""
    words = (*command, "--png", "pictures/one.png", "--json")
    return Writer(
        name, words, _beginning_with(of, *command, older="pictures/one.png"), ("pictures",)
    )


SMALL = (*VARIANT33, "--data", "data")
EXPORT = ("export", *SMALL, "--out", "made/out", "--json")
ONNX = ("export-onnx", "net.safetensors", "--out", "made/net.onnx", "--json")
CHECKPOINTS = ("--checkpoint-minutes", "0", "--json")

WRITERS = (
    Writer("solve", ("solve", *SMALL, *CHECKPOINTS), _renamed("older", "data"), ("data",)),
    Writer("solve --results-only",
           ("solve", *VARIANT33, "--results-only", "--data", "results", *CHECKPOINTS),
           _renamed("older_results", "results"), ("results",),
           warns_first="going on without a checkpoint: "),
    Writer("merge", ("merge", *SMALL, "--json"), _merge, ("data",)),
    Writer("export", EXPORT, lambda inputs, here: inputs.copy(["data"], here), ("made",)),
    Writer("export --format parquet", (*EXPORT, "--format", "parquet"),
           lambda inputs, here: inputs.copy(["data"], here), ("made",)),
    Writer("export-onnx", ONNX, _beginning_with("net.safetensors", older="made/net.onnx"),
           ("made",)),
    Writer("train-from-oracle", TRAIN.command,
           lambda inputs, here: inputs.copy(TRAIN.command, here), ("trained",), True),
    Writer("train-from-oracle --game connect4", TEACH, _teach, ("taught", "positions"), True,
           begins=("taught/config.json", *TRAIN_FOUR.command)),
    Writer("self-play", SELF_PLAY.command,
           lambda inputs, here: inputs.copy(SELF_PLAY.command, here), ("played",), True),
    Writer("grade", GRADE_FOUR.command, _grade, ("labels",), may_give_up=True),
    Writer("certify", CERTIFY.command, _certify, (*CERTIFY.leaves, ".fadefour"),
           reports_first=True),
    Writer("book", MAKE_BOOK.command, _renamed("older_books", "books"), ("books",)),
    Writer("serve", SERVE.command, _renamed("few_answers", "answers"), ("answers",), True,
           may_give_up=True),
    _picture("plot", "plot", "played", of="played"),
    _picture("probe --png", "probe", "a1b2/c3 y", *SMALL, of="data"),
    _picture("stats --png", "stats", *SMALL, of="data"),
    _picture("diagnose --png", "diagnose", "net.safetensors", "--data", "data", "--sims", "8",
             of="data"),
)  # fmt: skip


# ---- trials -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Course:
    """A writer, the files that it begins with, and those that it ends with undisturbed."""

    writer: Writer
    inputs: Inputs
    before: Contents
    after: Contents
    code: int
    report: Any
    """What it prints, without times."""
    seconds: float
    largest: int
    """Bytes of the largest file that it writes."""

    def disturbed(self, prepare: Prepare, here: Path) -> Verdict:
        """Runs the command in a process that is prepared to fail, and then again as usual."""
        self.writer.begin(self.inputs, here)
        ended = self.writer.run(here, prepare)
        if self.writer.reports_first and ended.code == 2:
            ended = replace(ended, out="")
        first, _, rest = ended.err.partition("\n")
        if self.writer.warns_first and first.startswith(self.writer.warns_first):
            ended = replace(ended, err=rest)
        problems = problems_with(ended, (self.code, 2))
        present = contents(here, self.writer.writes)
        if not problems and ended.code != 2:
            wrong = differences(present, self.after)
            if not wrong:
                return Verdict("it succeeded")
            if not self.writer.may_give_up:
                return Verdict("it succeeded", tuple(f"success, but {what}" for what in wrong))
        problems += self._not_whole(here, present)
        again = self.writer.run(here)
        problems += problems_with(again, (self.code,))
        left = contents(here, self.writer.writes)
        problems += [f"after the repeat, {what}" for what in differences(left, self.after)]
        return Verdict("refused, then done" if ended.code == 2 else "warned, then done",
                       tuple(f"{problem} (first: {ended})" for problem in problems))  # fmt: skip

    def _not_whole(self, here: Path, present: Contents) -> list[str]:
        """Of the files that readers open, those that are neither the old ones nor the new ones."""
        if self.writer.takes_a_step_at_a_time:
            paths = [path for name in present if (path := here / name).suffix in (".json", *_WHOLE)]
            return [f"{path.name} is not whole" for path in paths if not is_whole(path)]
        return [
            f"{name} is neither the old one nor the new one"
            for name, what in present.items()
            if name in self.before | self.after and what not in self._versions(name)
        ]

    def _versions(self, name: str) -> Sequence[object]:
        return [version[name] for version in (self.before, self.after) if name in version]


_WHOLE = (".safetensors", ".npz")


def is_whole(path: Path) -> bool:
    """As far as its own structure tells."""
    if path.suffix == ".npz":
        return zipfile.is_zipfile(path)
    return not isinstance(content(path), str)  # a hash: it could not be read


def course_of(writer: Writer, inputs: Inputs, room: str) -> Course:
    """Runs the writer undisturbed, in a new folder of this name."""
    here = inputs.room(room)
    writer.begin(inputs, here)
    before = contents(here, writer.writes)
    ended = writer.run(here)
    assert not problems_with(ended, (0, 1)), ended
    after = contents(here, writer.writes)
    assert after != before, f"{writer.name} wrote nothing"
    largest = max((here / name).stat().st_size for name in after)
    shutil.rmtree(here)
    report = without_times(json.loads(ended.out))
    return Course(writer, inputs, before, after, ended.code, report, ended.seconds, largest)
