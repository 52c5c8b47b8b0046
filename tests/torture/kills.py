"""kill -9 at random moments of ``solve`` and ``merge``; what readers see then; and once more.

Half of the trials begin in an empty folder, half in one that holds an older version of every file:
a table with another result in one place, and all that follows from it, each file whole. Then a
probe of that place says which version it read, and an answer that is neither is a finding.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from command_line import VARIANT33

from solver import Rules
from solver.index import position_of
from torture.campaign import Setting, Trial, Verdict
from torture.contents import Contents, contents, differences
from torture.inputs import OLDER_NODE, Inputs
from torture.judging import problems_with
from torture.processes import Ended, run, start

ATTEMPTS = 8  # at a kill that comes before the command ends, each earlier than the last


@dataclass(frozen=True)
class Subject:
    """A variant that is solved while it is killed."""

    name: str
    variant: tuple[str, ...]
    position: str
    fresh: bool
    """Whether its commands are new interpreters."""
    older: Path | None
    """A folder with older versions of its files."""
    newer: Contents
    answers: dict[str, str]
    """What probe says of the position: by the older files and by the newer ones."""
    seconds: tuple[float, float] = (0.0, 0.0)

    def commands(self) -> tuple[tuple[str, ...], ...]:
        solving = ("solve", *self.variant, "--checkpoint-minutes", "0", "--json")
        return solving, ("merge", *self.variant, "--json")

    def run(self, here: Path, *arguments: str) -> Ended:
        return run(here, *arguments, fresh=self.fresh)


def trials(setting: Setting, inputs: Inputs) -> Iterator[Trial]:
    small = _subject_33(inputs.file("older"), inputs.room("kills of 3x3"))
    yield from _trials_of(small, setting, 200)
    large = _subject_44(inputs.room("kills of 4x4"), setting)
    if large is not None:
        yield from _trials_of(large, setting, 20)


def _trials_of(subject: Subject, setting: Setting, count: int) -> Iterator[Trial]:
    part = f"kill -9 of solve + merge, {subject.name}"
    for number in range(setting.count(count)):
        moments = setting.random("kills", subject.name, number)
        drawn = tuple(
            moments.uniform(0, sum(subject.seconds)) / (attempt + 1) for attempt in range(ATTEMPTS)
        )
        label = f"trial {number}, after {drawn[0]:.4f} s of {sum(subject.seconds):.4f}"
        yield Trial(part, label, lambda here, n=number, at=drawn: _killed(subject, n, at, here))


def _killed(subject: Subject, number: int, moments: tuple[float, ...], here: Path) -> Verdict:
    for moment in moments:
        data = here / "data"
        shutil.rmtree(data, ignore_errors=True)
        if subject.older is not None and number % 2:
            shutil.copytree(subject.older, data)
        else:
            data.mkdir()
        problems, was_killed = _kill(subject, moment, number % 4 < 2, here)
        if was_killed or problems:
            break
    else:
        return Verdict("ended before the kill", ("every kill came too late",))
    problems += _readers_see_a_whole(subject, here)
    for command in subject.commands():
        problems += problems_with(subject.run(here, *command), (0,))
    problems += differences(contents(data), subject.newer)
    return Verdict("same bytes after a repeat", tuple(problems))


def _kill(subject: Subject, moment: float, group: bool, here: Path) -> tuple[list[str], bool]:
    """Kills the command that is running at this moment, if it does not end before."""
    for command, seconds in zip(subject.commands(), subject.seconds, strict=True):
        running = start(here, *command, fresh=subject.fresh)
        if moment < seconds:
            running.wait(moment)
            running.kill(group=group)
            ended = running.end()
            return problems_with(replace(ended, code=0)), ended.was_killed
        problems = problems_with(running.end(), (0,))
        if problems:
            return problems, False
        moment -= seconds
    return [], False


def _readers_see_a_whole(subject: Subject, here: Path) -> list[str]:
    """The old version or the new one of each file, or a refusal; never a third answer."""
    probed = subject.run(here, "probe", subject.position, *subject.variant, "--json")
    problems = problems_with(probed, (0, 2))
    if not probed.code and probed.out not in subject.answers.values():
        problems.append(f"probe gave an answer that is neither the old nor the new: {probed.out}")
    verified = subject.run(here, "verify", *subject.variant, "--json")
    problems += problems_with(verified, (0, 1, 2))
    seen = contents(here / "data")
    if not verified.code:
        final = {name: what for name, what in seen.items() if _is_final(name)}
        expected = {name: subject.newer[name] for name in final}
        problems += [f"verify found no fault, but {what}" for what in differences(final, expected)]
    return [*problems, *_files_that_are_not_whole(subject, seen)]


def _is_final(name: str) -> bool:
    return name.removesuffix(".json").endswith((".table", ".data"))


def _files_that_are_not_whole(subject: Subject, seen: Contents) -> Iterator[str]:
    """Each file must be of one version, with the manifest of that version, once readers have
    finished what was decided."""
    versions = [subject.newer, {} if subject.older is None else contents(subject.older)]
    for name in filter(_is_final, seen):
        pair = name.removesuffix(".json"), f"{name.removesuffix('.json')}.json"
        if all(
            [seen.get(part) for part in pair] != [v.get(part) for part in pair] for v in versions
        ):
            yield f"{name} is not whole after the kill: {sorted(seen)}"


# ---- the variants -------------------------------------------------------------------------------


def _measured(subject: Subject, folder: Path) -> Subject:
    """With the time that each command takes undisturbed, and what it leaves."""
    times = []
    for repeat in range(3):
        here = folder / f"undisturbed-{repeat}"
        here.mkdir(parents=True)
        ended = [subject.run(here, *command) for command in subject.commands()]
        assert not any(end.code for end in ended), ended
        times.append(tuple(end.seconds for end in ended))
        newer = contents(here / "data")
        assert not repeat or newer == subject.newer, "two undisturbed runs differ"
        probed = subject.run(here, "probe", subject.position, *subject.variant, "--json")
        subject = replace(subject, newer=newer, answers=subject.answers | {"newer": probed.out})
        shutil.rmtree(here)
    solving, merging = (sorted(column)[1] for column in zip(*times, strict=True))
    return replace(subject, seconds=(solving, merging))


def _subject_33(older: Path, folder: Path) -> Subject:
    position = str(position_of(OLDER_NODE, Rules(3, 3, 3)))
    variant = (*VARIANT33, "--data", "data")
    subject = Subject("3×3", variant, position, False, older, {}, {})
    probed = run(older.parent, "probe", position, *VARIANT33, "--data", older.name, "--json")
    assert not probed.code, probed
    subject = _measured(replace(subject, answers={"older": probed.out}), folder)
    assert len(set(subject.answers.values())) == 2, "the versions cannot be told apart"
    return subject


def _subject_44(folder: Path, setting: Setting) -> Subject | None:
    """4×4 as a user solves it; left out of campaigns that take a fiftieth of the trials or less."""
    if setting.scale < 0.02:
        return None
    return _measured(Subject("4×4", ("--data", "data"), "-/- x", True, None, {}, {}), folder)
