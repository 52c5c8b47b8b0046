"""Reads what ``make coverage`` has counted: totals by folder, and functions with lines that no test
runs.

    python tests/coverage_gaps.py

It runs where the tests ran. A line of a Python module counts once it is executed in any process; a
line of C, in any of the two modules that contain it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

OUTSIDE = "(outside of functions)"


@dataclass
class Function:
    """A function's lines: those that the tests ran, and those that they did not."""

    file: str
    name: str
    executed: set[int] = field(default_factory=set)
    missing: set[int] = field(default_factory=set)


def python_functions() -> Iterator[Function]:
    """From coverage.py's data, combined first; counts of functions include no inner ones."""
    tool = [sys.executable, "-m", "coverage"]
    # What a process counted that was killed while it wrote is left out, with a warning.
    combine = [sys.executable, "-W", "ignore", "-m", "coverage", "combine", "-q"]
    subprocess.run(combine, check=True)
    subprocess.run([*tool, "json", "-q", "-o", "python.json"], check=True)
    for file, content in json.loads(Path("python.json").read_text())["files"].items():
        for name, lines in content["functions"].items():
            yield Function(
                file, name or OUTSIDE, set(lines["executed_lines"]), set(lines["missing_lines"])
            )


def c_functions() -> Iterator[Function]:
    """From gcc's counters, which gcovr sums up."""
    tool = [sys.executable, "-m", "gcovr", "--filter", "csrc/", "--json", "c.json"]
    tool += ["--merge-mode-functions", "merge-use-line-min", "build"]
    subprocess.run(tool, check=True)
    for content in json.loads(Path("c.json").read_text())["files"]:
        functions: dict[str, Function] = {}
        for line in content["lines"]:
            name = line.get("function_name") or OUTSIDE
            function = functions.setdefault(name, Function(content["file"], name))
            (function.executed if line["count"] else function.missing).add(line["line_number"])
        yield from functions.values()


def percent(functions: Iterable[Function]) -> str:
    executed = missing = 0
    for function in functions:
        executed += len(function.executed)
        missing += len(function.missing)
    total = executed + missing
    return f"{executed:>6,} of {total:>6,} lines  {100 * executed / max(total, 1):5.1f} %"


def ranges(lines: set[int]) -> str:
    """Lines as ``3-5, 9``."""
    parts: list[list[int]] = []
    for line in sorted(lines):
        if parts and line == parts[-1][1] + 1:
            parts[-1][1] = line
        else:
            parts.append([line, line])
    return ", ".join(f"{first}-{last}" if last > first else str(first) for first, last in parts)


def main() -> None:
    functions = [*python_functions(), *c_functions()]
    by_folder: dict[str, list[Function]] = defaultdict(list)
    for function in functions:
        by_folder[str(Path(function.file).parent)].append(function)
    for folder, inside in sorted(by_folder.items()):
        print(f"{folder:<24}{percent(inside)}")
    for language, suffixes in {"Python": {".py"}, "C": {".c", ".h"}}.items():
        written = [each for each in functions if Path(each.file).suffix in suffixes]
        print(f"{language:<24}{percent(written)}")
    print("\nfunctions with lines that no test runs:")
    gaps = [function for function in functions if function.missing]
    for gap in sorted(gaps, key=lambda gap: (gap.file, min(gap.missing))):
        total = len(gap.missing) + len(gap.executed)
        share = "never called" if not gap.executed else f"{len(gap.missing)} of {total}"
        print(f"  {gap.file}  {gap.name}  {share}: {ranges(gap.missing)}")


if __name__ == "__main__":
    main()
