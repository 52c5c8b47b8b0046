"""Two processes in one folder at once: one is refused clearly, or both do what they do alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from command_line import VARIANT33

from solver import Rules
from solver.index import position_of
from torture.campaign import Setting, Trial, Verdict
from torture.contents import contents, differences, without_times
from torture.inputs import OLDER_NODE, OLDER_SMALL_NODE, Inputs
from torture.judging import problems_with
from torture.kinds import PROBE_BOOK, RESULTS, VERIFY_RESULTS
from torture.processes import Ended, run, start
from torture.quickly import quickly
from torture.writers import WRITERS, Course, Writer, course_of

TRIALS = 3  # of each pair
BY_NAME = {writer.name: writer for writer in WRITERS}
SMALL = (*VARIANT33, "--data", "data", "--json")
RULES = Rules(3, 3, 3)
PROBE = ("probe", str(position_of(OLDER_NODE, RULES)), *SMALL)
PROBE_RESULTS = ("probe", str(position_of(OLDER_SMALL_NODE, RULES)), *RESULTS)
LOOKING = (
    ("diagnose", "played", "--json"),
    ("inspect-buffer", "played", "--json"),
    ("plot", "played", "--png", "curves.png", "--json"),
    ("match", "played", "random", "--games", "2", "--sims", "2", "--json"),
)


@dataclass(frozen=True)
class Pair:
    """A writer, and a command that is started while it works."""

    writer: Writer
    second: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.writer.name} + {self.second[0]}"

    @property
    def are_alike(self) -> bool:
        return self.second == self.writer.command


PAIRS = (
    *(Pair(writer, writer.command) for writer in WRITERS),
    Pair(BY_NAME["solve"], BY_NAME["merge"].command),
    Pair(BY_NAME["solve"], PROBE),
    Pair(BY_NAME["solve"], ("verify", *SMALL)),
    Pair(BY_NAME["merge"], ("verify", *SMALL)),
    Pair(BY_NAME["merge"], PROBE),
    Pair(BY_NAME["solve --results-only"], PROBE_RESULTS),
    Pair(BY_NAME["solve --results-only"], VERIFY_RESULTS.command),
    Pair(BY_NAME["book"], PROBE_BOOK.command),
    Pair(BY_NAME["train-from-oracle"], ("grade", "trained", "--data", "data", "--json")),
    Pair(BY_NAME["train-from-oracle"], ("plot", "trained", "--png", "curves.png", "--json")),
    *(Pair(BY_NAME["self-play"], command) for command in LOOKING),
)


def trials(setting: Setting, inputs: Inputs) -> Iterator[Trial]:
    courses: dict[str, Course] = {}
    for pair in setting.share_of(PAIRS, "pairs", times=30):
        name = pair.writer.name
        if name not in courses:
            courses[name] = course_of(pair.writer, inputs, f"alone, {name}")
        answers = _answers_of(pair, inputs) if pair.second[0] == "probe" else []
        for number in range(setting.count(TRIALS)):
            delay = setting.random("pairs", pair.name, number).uniform(0, courses[name].seconds)
            yield Trial(
                "two at once",
                f"{pair.name}, the second after {delay:.3f} s",
                lambda here, two=pair, wait=delay, right=answers: _at_once(
                    two, courses[two.writer.name], wait, right, here
                ),
            )


def _answers_of(pair: Pair, inputs: Inputs) -> list[Any]:
    """What a probe says by the older files and by the newer ones."""
    here = inputs.room(f"answers, {pair.name}")
    pair.writer.begin(inputs, here)
    older = run(here, *pair.second, prepare=quickly)
    assert not problems_with(pair.writer.run(here), (0,))
    newer = run(here, *pair.second, prepare=quickly)
    return [_report(ended) for ended in (older, newer)]


def _at_once(pair: Pair, course: Course, delay: float, answers: list[Any], here: Path) -> Verdict:
    pair.writer.begin(course.inputs, here)
    first = start(here, *pair.writer.command, prepare=quickly)
    first.wait(delay)
    second = start(here, *pair.second, prepare=quickly)
    ended = first.end(), second.end()
    if pair.are_alike:
        return _of_two_alike(course, ended, here)
    problems = _without_notices(ended[0], (course.code, 2))
    problems += _without_notices(ended[1], (0, 1, 2))
    problems += _misread(pair, answers, ended[1])
    present = contents(here, pair.writer.writes)
    if pair.second[0] == "merge":  # of the older wins, or of the newer ones
        present = {name: what for name, what in present.items() if "game_tree" not in name}
    wanted = {name: what for name, what in course.after.items() if name in present}
    problems += differences(present, wanted)
    return Verdict("both succeeded" if ended[1].code != 2 else "one was refused", tuple(problems))


def _of_two_alike(course: Course, ended: Sequence[Ended], here: Path) -> Verdict:
    problems = [problem for end in ended for problem in _without_notices(end, (course.code, 2))]
    done = [end for end in ended if end.code == course.code]
    if not done:
        problems.append(f"both were refused: {ended[0]} and {ended[1]}")
    problems += [f"another report: {end}" for end in done if _report(end) != course.report]
    problems += differences(contents(here, course.writer.writes), course.after)
    return Verdict("both succeeded" if len(done) == 2 else "one was refused", tuple(problems))


def _without_notices(ended: Ended, codes: Sequence[int]) -> list[str]:
    """As ``problems_with``; that it waits for the other one is worth a line of its own."""
    return problems_with(ended.without("waiting for another fadefour"), codes)


def _report(ended: Ended) -> Any:
    return without_times(json.loads(ended.out))


def _misread(pair: Pair, answers: list[Any], ended: Ended) -> list[str]:
    """A reader must see the older files or the newer ones."""
    if ended.code == 2:
        return []
    if pair.second[0] == "probe":
        return [] if _report(ended) in answers else [f"an answer of neither version: {ended}"]
    if pair.name == "merge + verify" and ended.code:
        # The tree that is replaced is of an older version, which verify may still meet.
        wrong = _report(ended)["problems"]
        return [f"{ended}" for problem in wrong if "game_tree" not in problem]
    if pair.second[0] not in ("verify", "merge") and ended.code:
        return [f"exit code 1: {ended}"]
    return []
