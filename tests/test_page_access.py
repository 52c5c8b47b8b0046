"""The page by keys alone, for a screen reader, and on a narrow screen."""

from __future__ import annotations

from typing import Any

import pytest
from browser import (
    GAME,
    at,
    browser,
    click,
    page,
    play,
    record,
    show,
    shown_position,
    tab,
)
from libraries import library

for package in ("starlette", "uvicorn", "playwright"):
    library(package)

__all__ = ["browser", "page", "tab"]  # fixtures

FOCUSED = "document.activeElement"


def tab_to(page: Any, selector: str) -> None:
    """Presses Tab until this control has the focus: it can be reached, and is not passed over."""
    for _ in range(80):
        if page.evaluate(f"{FOCUSED}.matches({selector!r})"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not reach {selector}")


def from_the_top(page: Any) -> None:
    page.evaluate(f"{FOCUSED}.blur()")
    page.evaluate("window.getSelection().removeAllRanges()")


# ---- what can be heard --------------------------------------------------------------------------


def test_what_is_hidden_from_readers_says_so(page: Any) -> None:
    show(page, "a1b2/c3 y")
    labels = page.locator(".board .label")
    assert labels.count() == 6
    for i in range(6):
        assert labels.nth(i).get_attribute("aria-hidden") == "true"


def test_the_page_has_one_heading_of_the_first_level(page: Any) -> None:
    for address in (f"/?game={GAME}&position=-/- x", "/?run=small"):
        page.goto(address)
        page.wait_for_selector(".cell, .panel svg")
        assert page.locator("h1:visible").all_inner_texts() == ["fadefour"]


def test_every_control_has_a_name(page: Any) -> None:
    show(page, "-/- x")
    play(page, "b2", "a1", "b1", "c1", "b3")
    page.wait_for_selector(".mistakes li")
    page.click("#show-text")
    for part in ("network-part", "stats-part"):
        page.click(f"#{part} summary")
    unnamed = page.evaluate("""[...document.querySelectorAll('button, select, input, textarea, a')]
        .filter(c => c.checkVisibility())
        .filter(c => !(c.ariaLabel || c.innerText.trim() || c.labels?.length))
        .map(c => c.outerHTML)""")
    assert unnamed == []


# ---- keys ---------------------------------------------------------------------------------------


def test_a_game_by_keys_alone(page: Any) -> None:
    """From the game's choice to its review, without a mouse."""
    page.goto("/")
    page.wait_for_selector(".cell .value")
    page.keyboard.press("Tab")
    assert page.evaluate(f"{FOCUSED}.id") == "skip"
    tab_to(page, "#game")
    page.keyboard.type("Drop-oldest 3")
    at(page, "-/- x")
    tab_to(page, ".cell")
    for cell in ("b2", "a1", "b1", "c1", "b3"):
        go_to(page, cell)
        page.keyboard.press("Enter")
        page.wait_for_selector(f".cell.last[data-cell={cell}]")
    page.wait_for_selector(".mistakes li")
    tab_to(page, ".mistakes button")
    ply = page.evaluate(f"{FOCUSED}.innerText")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('#record [aria-current]')")
    page.wait_for_timeout(200)
    assert page.evaluate(f"{FOCUSED}.innerText") == ply, "the focus stays on the mistake"
    from_the_top(page)
    tab_to(page, "#record button")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    at(page, "b2/a1 x")
    assert page.evaluate(f"{FOCUSED}.firstChild.textContent") == "a1"


def go_to(page: Any, cell: str) -> None:
    """Walks on the board with the arrows."""
    for axis, keys in ((0, ("ArrowLeft", "ArrowRight")), (1, ("ArrowDown", "ArrowUp"))):
        while (now := page.evaluate(f"{FOCUSED}.dataset.cell"))[axis] != cell[axis]:
            page.keyboard.press(keys[now[axis] < cell[axis]])


def test_the_controls_of_the_position_by_keys_alone(page: Any) -> None:
    show(page, "a1b2c2/c3a3b1 x")
    tab_to(page, "#turn")
    page.keyboard.press("Enter")
    page.wait_for_function("p => !document.title.startsWith(p)", arg="a1b2c2/c3a3b1 x")
    tab_to(page, "#mirror")
    before = shown_position(page)
    page.keyboard.press("Space")
    page.wait_for_function("p => !document.title.startsWith(p)", arg=before)
    tab_to(page, "#show-values")
    page.keyboard.press("Space")
    page.wait_for_selector(".cell .value", state="detached")
    page.keyboard.press("Space")
    page.wait_for_selector(".cell .value")
    tab_to(page, "#position")
    page.keyboard.press("Control+a")
    page.keyboard.type("a1/b1 x")
    page.keyboard.press("Enter")
    at(page, "a1/b1 x")


def test_the_panels_by_keys_alone(page: Any) -> None:
    show(page, "a1/b1 x")
    tab_to(page, "#moves button")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelectorAll('#record button').length === 1")
    tab_to(page, "#line button")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelectorAll('#record button').length === 2")
    tab_to(page, "#network-part summary")
    page.keyboard.press("Enter")
    tab_to(page, "#network")
    page.keyboard.type("small")
    page.wait_for_selector("#opinion .wdl")
    tab_to(page, "#next-blunder")
    page.keyboard.press("Enter")
    page.wait_for_selector(".cell.chosen.errs")
    assert page.evaluate(f"{FOCUSED}.id") == "next-blunder"
    tab_to(page, "#stats-part summary")
    page.keyboard.press("Enter")
    page.wait_for_selector(".depths rect")
    from_the_top(page)
    tab_to(page, "#new")
    page.keyboard.press("Enter")
    at(page, "-/- x")
    play(page, "b2")
    tab_to(page, "#draw")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.getElementById('verdict').innerText.includes('drawn')")
    tab_to(page, "#show-text")
    page.keyboard.press("Enter")
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(f"game: {GAME}\nmoves: a1 b1")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    at(page, "a1/b1 x")


def test_an_opponent_is_chosen_by_keys(page: Any) -> None:
    show(page, "-/- x")
    tab_to(page, "#player-x")
    page.keyboard.type("the table")
    page.wait_for_function("() => document.querySelectorAll('#record button').length === 1")
    page.keyboard.press("Tab")
    assert page.evaluate(f"{FOCUSED}.id") == "mistakes-x"


def test_runs_by_keys_alone(page: Any) -> None:
    show(page, "-/- x")
    tab_to(page, "#to-runs")
    page.keyboard.press("Enter")
    page.wait_for_selector(".panel svg")
    tab_to(page, "#run-list button")
    page.keyboard.press("Enter")
    page.wait_for_selector(".games li")
    assert page.evaluate(f"{FOCUSED}.matches('#run-list button')"), "the focus stays in the list"
    tab_to(page, ".games button")
    page.keyboard.press("Enter")
    page.wait_for_selector(".game-chart")


def test_the_skip_link_goes_to_the_board_and_keeps_the_game(page: Any) -> None:
    show(page, "-/- x")
    play(page, "b2", "a1", "c3")
    from_the_top(page)
    page.evaluate("document.getElementById('skip').focus()")
    page.keyboard.press("Enter")
    assert page.evaluate(f"{FOCUSED}.classList.contains('cell')")
    assert record(page) == ["b2", "a1", "c3"]
    page.keyboard.press("u")
    at(page, "b2/a1 x")
    page.keyboard.press("r")
    at(page, "b2c3/a1 y")


def test_every_shortcut_is_described_on_the_page(page: Any) -> None:
    show(page, "-/- x")
    words = page.text_content(".keys").split()
    for key in ("u", "r", "v", "n", "t", "Home", "End"):
        assert key in words, key


# ---- a phone ------------------------------------------------------------------------------------

PLACES = [
    f"/?game={GAME}&position=a1b2/c3 y",
    "/?game=connect4&position=7416563243132332411221725155443557",
    "/?game=gomoku-15&position=h8 g7",
    "/?run=small",
]


@pytest.mark.parametrize("address", PLACES)
def test_a_narrow_screen_needs_no_sideways_scrolling(page: Any, address: str) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(address)
    page.wait_for_selector(".cell .value, .cell .piece, .panel svg")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


LEAST_TARGET = 24
"""Pixels of the side of what a finger can hit: WCAG 2.2, criterion 2.5.8."""


@pytest.mark.parametrize(("game", "corner"), [("gomoku-15", "o15"), ("connect4", "g6")])
def test_every_cell_can_be_hit_on_a_narrow_screen(page: Any, game: str, corner: str) -> None:
    """A board that is wider than the screen scrolls in its own frame, and follows the game."""
    page.set_viewport_size({"width": 360, "height": 740})
    show(page, "-", game)
    sizes = page.evaluate("""[...document.querySelectorAll('.cell')].map(
        c => Math.min(c.getBoundingClientRect().width, c.getBoundingClientRect().height))""")
    assert min(sizes) >= LEAST_TARGET
    click(page, corner)
    page.wait_for_selector(".cell.last")
    click(page, "a1")
    page.wait_for_function("() => document.querySelectorAll('.piece').length === 2")
    visible = page.evaluate("""() => {
        const cell = document.querySelector('.cell.last').getBoundingClientRect();
        return cell.left >= 0 && cell.right <= innerWidth; }""")
    assert visible
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


OVERLAPS = """() => {
    const rect = node => {
        const range = document.createRange();
        range.selectNodeContents(node);
        return range.getBoundingClientRect();
    };
    const apart = (a, b) => a.right <= b.left + 1 || b.right <= a.left + 1
        || a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
    const found = [];
    for (const cell of document.querySelectorAll('.cell')) {
        const words = [...cell.querySelectorAll('.value, .traps, .thought')].map(rect);
        const shown = words.filter(word => word.width > 0), box = cell.getBoundingClientRect();
        const isOut = word => word.left < box.left - 1 || word.right > box.right + 1;
        if (shown.some(isOut)
            || shown.some((one, i) => shown.slice(i + 1).some(other => !apart(one, other)))) {
            found.push(cell.dataset.cell + ': ' + cell.innerText);
        }
    }
    return found;
}"""


@pytest.mark.parametrize("width", [360, 1180])
@pytest.mark.parametrize(
    ("game", "position", "network"),
    [
        ("connect4", "7416563243132332", None),
        ("drop-4-4-4", "d4b1b3a3/c2c1c4b2 x", "shipped"),
        (GAME, "a1b2c2/c3a3b1 x", "small:best"),
        ("gomoku-15", "h8 i9 h7 h9 g8 g9 f8", None),
    ],
)
def test_words_on_a_cell_do_not_overlap(
    page: Any, width: int, game: str, position: str, network: str | None
) -> None:
    page.set_viewport_size({"width": width, "height": 740})
    show(page, position, game)
    page.wait_for_selector("#moves tbody tr")
    if network:
        page.click("#network-part summary")
        page.select_option("#network", network)
        page.wait_for_selector("#opinion .wdl")
    assert page.evaluate(OVERLAPS) == []
