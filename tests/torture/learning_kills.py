"""kill -9 at random moments of training and of self-play; resumed, they come to the same end.

Every other kill is of the process alone, so that the workers of self-play lose their master; the
others are of the whole group.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from command_line import VARIANT33
from tiny_self_play import TINY
from tiny_training import tiny

from torture.campaign import Setting, Trial, Verdict
from torture.contents import Contents, contents, differences
from torture.inputs import Inputs
from torture.judging import problems_with
from torture.processes import run, start

ATTEMPTS = 8  # at a kill that comes before the command ends, each earlier than the last
LOOKED_AT = 5

# Evaluated and saved after every step, so that the clock decides nothing and most kills hit files.
TRAINING = tiny(steps=12, save_seconds=0.0, evaluate_seconds=0.0).to_dict()
PLAYING = TINY | {"iterations": 3}


@dataclass(frozen=True)
class Subject:
    """A run that is killed while it learns."""

    name: str
    config: dict[str, object]
    command: tuple[str, ...]
    readers: tuple[tuple[str, ...], ...]
    """Commands that people run beside it, with the exit codes 0 and 2. They take longer than the
    run, and so are tried after every ``LOOKED_AT``-th kill."""
    whole: Contents
    seconds: float = 0.0

    def begin(self, here: Path, data: Path) -> None:
        """A run that was killed before its first state: its config is all there is."""
        (here / "run").mkdir(parents=True)
        (here / "run" / "config.json").write_text(json.dumps(self.config, indent=1) + "\n")
        (here / "data").symlink_to(data)


def trials(setting: Setting, inputs: Inputs) -> Iterator[Trial]:
    data = inputs.room("kills of learning") / "data"
    assert not run(data.parent, "solve", *VARIANT33, "--data", "data", "--json").code
    training = ("train-from-oracle", "--run", "run", "--data", "data", "--resume", "--json")
    playing = ("self-play", "--run", "run", "--resume", "--json")
    looking = (("plot", "run", "--json"), ("diagnose", "run", "--data", "data", "--json"))
    for subject in (
        Subject("training", TRAINING, training, looking, {}),
        Subject("self-play", PLAYING, playing, looking, {}),
    ):
        yield from _trials_of(_measured(subject, data, setting), data, setting)


def _trials_of(subject: Subject, data: Path, setting: Setting) -> Iterator[Trial]:
    for number in range(setting.count(50)):
        moments = setting.random("kills", subject.name, number)
        drawn = tuple(
            moments.uniform(0, subject.seconds) / (attempt + 1) for attempt in range(ATTEMPTS)
        )
        label = f"trial {number}, after {drawn[0]:.3f} s of {subject.seconds:.3f}"
        yield Trial(
            f"kill -9 of {subject.name}",
            label,
            lambda here, n=number, at=drawn: _killed(subject, data, n, at, here),
        )


def _killed(
    subject: Subject, data: Path, number: int, moments: tuple[float, ...], here: Path
) -> Verdict:
    for attempt, moment in enumerate(moments):
        place = here / str(attempt)
        subject.begin(place, data)
        running = start(place, *subject.command)
        running.wait(moment)
        running.kill(group=number % 2 == 0)
        ended = running.end()
        if ended.was_killed:
            break
        shutil.rmtree(place)
    else:
        return Verdict("ended before the kill", ("every kill came too late",))
    problems = problems_with(replace(ended, code=0))
    for reader in subject.readers if number % LOOKED_AT == LOOKED_AT - 1 else ():
        problems += problems_with(run(place, *reader), (0, 2))
    problems += problems_with(run(place, *subject.command), (0,))
    problems += differences(contents(place / "run"), subject.whole)
    return Verdict("same run after a resume", tuple(problems))


def _measured(subject: Subject, data: Path, setting: Setting) -> Subject:
    """With the time that it takes undisturbed, and what it leaves; three times, or once for a
    small share of the trials."""
    times = []
    for repeat in range(3 if setting.scale > 0.01 else 1):
        here = data.parent / f"{subject.name}-{repeat}"
        subject.begin(here, data)
        ended = run(here, *subject.command)
        assert not ended.code, ended
        times.append(ended.seconds)
        whole = contents(here / "run")
        if repeat:
            assert whole == subject.whole, "two undisturbed runs differ: " + ", ".join(
                differences(whole, subject.whole)
            )
        subject = replace(subject, whole=whole)
    return replace(subject, seconds=sorted(times)[len(times) // 2])
