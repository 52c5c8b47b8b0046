"""What the end of a command must look like, whatever was done to it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from torture.processes import Ended

ONE_LINE = re.compile(r"fadefour: [^\n]+\n")


def problems_with(ended: Ended, codes: Sequence[int] = (0, 1, 2)) -> list[str]:
    """A traceback, an exit code that is none of these, more than one line, a process left."""
    problems = []
    if "Traceback" in ended.err or "Traceback" in ended.out:
        problems.append(f"traceback: {ended.command}: {ended.err[-1500:]}")
    elif ended.code not in codes:
        problems.append(f"exit code {ended.code} is none of {tuple(codes)}: {ended}")
    elif ended.code == 2 and (ended.out or not ONE_LINE.fullmatch(ended.err)):
        problems.append(f"not one line: {ended.command}: {ended.out[-300:]!r} {ended.err!r}")
    problems += [f"left behind by {ended.command}: {process}" for process in ended.left_behind]
    return problems


def names(ended: Ended, file: str) -> bool:
    """Whether what was printed names the file, the one it vouches for, or its folder."""
    path = Path(file)
    printed = ended.out + ended.err
    return any(
        name in printed for name in (path.name, path.name.removesuffix(".json"), path.parent.name)
        if name
    )  # fmt: skip
