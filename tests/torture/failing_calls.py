"""The n-th call that changes a file fails, for n up to 200: no room, a broken disk, half a write.

``shim.py`` makes it fail, in the process of a trial and for the files of that trial alone.
"""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from pathlib import Path

from torture.campaign import Setting, Trial, Verdict
from torture.inputs import Inputs
from torture.judging import problems_with
from torture.shim import Failure, is_preloaded
from torture.writers import WRITERS, Course, Writer, course_of

MOST, FEW = 200, 40
FAILURES = {
    "ENOSPC": (errno.ENOSPC, False),
    "EIO": (errno.EIO, False),
    "half, then ENOSPC": (errno.ENOSPC, True),
}


def trials(setting: Setting, inputs: Inputs) -> Iterator[Trial]:
    assert is_preloaded(), "the runner preloads it"
    for writer in setting.share_of(WRITERS, "failing", times=30):
        course = course_of(writer, inputs, f"without failures, {writer.name}")
        calls = _calls_of(writer, inputs)
        for number in setting.share_of(range(1, min(calls, MOST) + 1), "calls", writer.name):
            # Each call fails in one of the ways; each of a few calls fails in all of them.
            names = list(FAILURES)
            if calls > FEW:
                names = [names[number % len(names)]]
            for name in names:
                yield Trial(
                    f"failing call, {writer.name}",
                    f"call {number} of {calls}: {name}",
                    lambda here, run=course, n=number, kind=name: _failed(run, n, kind, here),
                )


def _calls_of(writer: Writer, inputs: Inputs) -> int:
    here = inputs.room(f"calls of {writer.name}")
    writer.begin(inputs, here)
    failure = Failure(here, 0, 0, False)
    ended = writer.run(here, failure)
    assert not problems_with(ended, (0, 1)) and failure.calls, ended
    shutil.rmtree(here)
    return failure.calls


def _failed(course: Course, number: int, kind: str, here: Path) -> Verdict:
    return course.disturbed(Failure(here, number, *FAILURES[kind]), here)
