"""A disk that is full after so many bytes: RLIMIT_FSIZE at many sizes, for every writer."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from functools import partial

from torture.campaign import Setting, Trial
from torture.inputs import Inputs
from torture.writers import WRITERS, course_of

SIZES = 50


def trials(setting: Setting, inputs: Inputs) -> Iterator[Trial]:
    for writer in setting.share_of(WRITERS, "writers", times=30):
        course = course_of(writer, inputs, f"without limits, {writer.name}")
        draw = setting.random("limits", writer.name)
        for _ in range(setting.count(SIZES)):
            # Small files and large ones alike: every number of digits is as likely.
            limit = int(course.largest ** draw.uniform(0, 1.02)) - draw.randrange(2)
            yield Trial(
                f"RLIMIT_FSIZE, {writer.name}",
                f"at most {limit} bytes in a file",
                lambda here, run=course, most=limit: run.disturbed(partial(_limit, most), here),
            )


def _limit(most: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
