"""What the documents show is what the program does."""

from __future__ import annotations

import doctest
import re
import textwrap
from pathlib import Path

import click
import pytest
from conftest import run_cli

from cli import add_commands, cli
from solver import Solution, write_table

ROOT = Path(__file__).resolve().parent.parent


def test_the_examples_of_the_python_page() -> None:
    results = doctest.testfile(
        str(ROOT / "docs" / "python.md"),
        module_relative=False,
        optionflags=doctest.IGNORE_EXCEPTION_DETAIL,
    )
    assert results.attempted > 20
    assert results.failed == 0


def test_the_readme_shows_how_make_solve_ends(solution44: Solution, tmp_path: Path) -> None:
    write_table(tmp_path, solution44)
    ended = run_cli("summary", "--data", tmp_path)
    readme = (ROOT / "README.md").read_text()
    sample = readme.split("`make solve` ends like this:\n\n")[1].split("\n\nfollowed by")[0]
    assert ended.out.startswith(textwrap.dedent(sample))


def test_every_command_is_on_the_page_of_commands() -> None:
    add_commands()
    page = (ROOT / "docs" / "commands.md").read_text()
    assert set(cli.list_commands(click.Context(cli))) <= set(re.findall(r"`([a-z-]+)[ `]", page))


PAGES = [*sorted(ROOT.glob("docs/*.md")), ROOT / "README.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text()
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
    for module in re.findall(r"`((?:solver|azfit|csrc|bench|tests)/[\w/]+\.(?:py|[ch]|md))`", text):
        assert (ROOT / module).exists(), f"{page.name} names {module}"
