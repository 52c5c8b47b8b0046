"""``fadefour`` as a script, and what the tests of commands type often."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

SCRIPT = str(Path(__file__).parents[1] / "cli.py")
VARIANT33 = ("--n", "3", "--m", "3")
Fadefour = Callable[..., Any]


def run_script(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, SCRIPT, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def cell_number(name: str, n: int = 3) -> int:
    """The number of the cell that a command names."""
    return "abcde".index(name[0]) + n * (int(name[1]) - 1)
