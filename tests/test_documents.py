"""What the documents show is what the program does."""

from __future__ import annotations

import doctest
import re
import textwrap
from pathlib import Path

import click
import pytest
from conftest import run_cli

import solver
from azfit.main import add_commands, cli
from azfit.self_play.config import options

ROOT = Path(__file__).resolve().parent.parent


def test_the_examples_of_the_python_page() -> None:
    results = doctest.testfile(
        str(ROOT / "docs" / "python.md"),
        module_relative=False,
        optionflags=doctest.IGNORE_EXCEPTION_DETAIL,
    )
    assert results.attempted > 20
    assert results.failed == 0


def test_the_readme_shows_how_make_solve_ends(solved44: Path) -> None:
    ended = run_cli("summary", "--data", solved44)
    readme = (ROOT / "README.md").read_text()
    sample = readme.split("`make solve` ends like this:\n\n")[1].split("\n\nfollowed by")[0]
    assert ended.out.startswith(textwrap.dedent(sample))


def test_every_command_is_on_the_page_of_commands() -> None:
    add_commands()
    page = (ROOT / "docs" / "commands.md").read_text()
    assert set(cli.list_commands(click.Context(cli))) <= set(re.findall(r"`([a-z-]+)[ `]", page))


PAGES = [*sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("*.md"))]


def anchors(page: Path) -> set[str]:
    """The names by which the headings of a page can be linked to, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text()
    for target, anchor in re.findall(r"\]\((?!https:)([^)#\s]*)(?:#([^)\s]+))?\)", text):
        linked = page.parent / target if target else page
        assert linked.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor in anchors(linked), f"{page.name} links to {target}#{anchor}"
    for module in re.findall(r"`((?:solver|azfit|csrc|bench|tests)/[\w/]+\.(?:py|[ch]|md))`", text):
        assert (ROOT / module).exists(), f"{page.name} names {module}"


def makefile_targets() -> set[str]:
    lists = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.M)
    return {target for line in lists for target in line.split()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_targets_that_a_page_names_are_in_the_makefile(page: Path) -> None:
    targets = makefile_targets()
    code = re.findall(r"`(make [^`]+)`|^    (make .*)$", page.read_text(), re.M)
    for command in (inline or block for inline, block in code):
        target = command.split()[1]
        assert target in targets, f"{page.name} says '{command}'"


def test_the_workflow_runs_what_must_hold_before_a_change_lands() -> None:
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    checked = set(re.findall(r"- run: make ([\w-]+)(?: [A-Z]+=\S+)?$", workflow, re.M))
    for listed in re.findall(r"^ +target: \[(.*)\]$", workflow, re.M):
        checked |= set(listed.split(", "))
    landing = re.findall(r"^make ([\w-]+)", (ROOT / ".ci" / "run").read_text(), re.M)
    assert set(landing) <= checked <= makefile_targets()
    commands = re.findall(r"- run: (.*)$", workflow, re.M)
    assert all(command.startswith("make ") for command in commands)


def test_every_option_of_self_play_is_on_its_page() -> None:
    page = (ROOT / "docs" / "self_play.md").read_text()
    names = ["--" + declared.name.replace("_", "-") for declared in options()]
    assert [name for name in names if f"`{name}`" not in page and name != "--game"] == []


def test_the_version_is_the_same_everywhere() -> None:
    cited = re.findall(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.M)
    assert cited == [solver.__version__]
    assert f" {solver.__version__}" in (ROOT / "CHANGELOG.md").read_text()
