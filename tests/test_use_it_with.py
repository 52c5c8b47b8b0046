"""The examples of docs/use_it_with.md, run as they stand, with the real libraries."""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import run_cli
from libraries import library

import azfit
from solver import Position

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "use_it_with.md").read_text()
OPENING, *SECTIONS = PAGE.split("\n## ")
BY_TITLE = {section.partition("\n")[0]: section for section in SECTIONS}
NEEDED = {
    "OpenSpiel": ("pyspiel", "torch"),
    "PettingZoo": ("pettingzoo",),
    "ONNX": ("onnxruntime", "onnx", "torch"),
    "datasets, pandas, polars": ("datasets", "pandas", "polars", "pyarrow"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in which the commands of the page's opening have been run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    run_commands(OPENING)
    yield tmp_path


def run_commands(text: str) -> None:
    for command in re.findall(r"^    fadefour (.*)$", text, re.MULTILINE):
        ended = run_cli(*shlex.split(command))
        assert ended.code == 0, ended.err


def test_every_section_is_run() -> None:
    assert set(BY_TITLE) == set(NEEDED)
    assert "    fadefour solve" in OPENING


@pytest.mark.parametrize("title", [title for title in NEEDED if title != "ONNX"])
@pytest.mark.usefixtures("folder")
def test_the_examples_of(title: str) -> None:
    for name in NEEDED[title]:
        library(name)
    run_commands(BY_TITLE[title])
    example = doctest.DocTestParser().get_doctest(BY_TITLE[title], {}, title, "use_it_with.md", 0)
    runner = doctest.DocTestRunner()
    results = runner.run(example)
    assert results.attempted >= 8 and results.failed == 0


WITHOUT = """
import sys
for name in ("torch", "azfit", "solver", "fadefour"):
    sys.modules[name] = None
"""


def test_the_onnx_example_needs_neither_torch_nor_fadefour(folder: Path) -> None:
    for name in NEEDED["ONNX"]:
        library(name)
    section = BY_TITLE["ONNX"]
    run_commands(section)
    (program,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    lines = [line for line in program.splitlines() if line]
    assert len(lines) <= 20
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT + program],
        capture_output=True, text=True, check=False, cwd=folder,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    (promised,) = re.findall(r"prints `(.*?)`", section)
    assert ended.stdout.strip() == promised
    position = Position.parse("a1b2/c3 y")
    player = azfit.load_player("shipped", threads=1)
    assert promised.split()[1] == position.rules.cell_name(player.move(position))
