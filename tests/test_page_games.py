"""Connect Four and Gomoku on the page; games as text, read or refused; counts of a variant."""

from __future__ import annotations

from typing import Any

import pytest
from browser import GAME, Held, at, browser, click, page, record, show, tab
from libraries import library

for package in ("starlette", "uvicorn", "playwright"):
    library(package)

__all__ = ["browser", "page", "tab"]  # fixtures


def load(page: Any, text: str) -> None:
    if page.is_hidden("#text-form"):
        page.click("#show-text")
    page.fill("#game-text", text)
    page.click("#text-form [type=submit]")


READABLE = {
    "game: connect4\nstart: 44\nmoves: 3 3\n": ("4433", "4 4 3 3"),
    "game: connect4\nmoves: 4 4 3": ("443", "4 4 3"),
    "game: gomoku-9\nstart: e5 d5\nmoves: e6": ("e5 d5 e6", "e5 d5 e6"),
    "Game: gomoku-15\n\nMoves: h8  g7": ("h8 g7", "h8 g7"),
    "game: drop-3-3-3\nstart: a1/b2 x\nmoves: c3": ("a1c3/b2 y", "c3"),
    "game: connect4\nstart: 44\n": ("44", "4 4"),
}


@pytest.mark.parametrize("text", READABLE)
def test_a_text_is_the_game_that_it_says(page: Any, text: str) -> None:
    position, moves = READABLE[text]
    show(page, "-", "connect4" if "gomoku" in text else "gomoku-9")
    load(page, text)
    at(page, position)
    assert record(page) == moves.split()
    if moves != "c3":  # a drop-oldest game keeps its start
        written = page.input_value("#game-text")
        assert written.splitlines()[1:] == ["start: -", f"moves: {moves}"]


REFUSED = {
    "game: connect4\nmoves: 44433": "'44433' is no move: write the columns, 1 to 7, with a space",
    "game: connect4\nmoves: 4 8": "'8' is no move",
    "game: connect4\nmoves: 4 4 4 4 4 4 4": "column 4 is full",
    "game: connect4\nstart: 4x\nmoves: 4": "the start '4x' cannot be read",
    "game: connect4\nmoves: 1 2 1 2 1 2 1 2": "continues after the end",
    "game: gomoku-9\nmoves: e5 e5": "e5",
    "game: gomoku-9\nmoves: e5 k9": "k9",
    "game: gomoku-9\nmoves: e5d5": "'e5d5' is no move",
    "game: gomoku-9\nstart: hello\nmoves: e5": "the start 'hello' cannot be read",
    "game: drop-3-3-3\nmove: a1": "line 2 cannot be read",
    "game: drop-3-3-3\nmoves: a1\nmoves: b1": "line 3 gives 'moves:' a second time",
    "moves: a1": "the text names no game",
    "game: chess\nmoves: e4": "the text names no game",
    "game: drop-3-3-3\nmoves: a1\nresult: won": "the result 'won' cannot be read",
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_text_that_is_no_game_is_refused_in_one_line(page: Any, text: str) -> None:
    show(page, "e5", "gomoku-9")
    load(page, text)
    page.wait_for_selector("#problem:visible")
    problem = page.inner_text("#problem")
    assert REFUSED[text] in problem and "\n" not in problem, problem
    assert record(page) == ["e5"]  # nothing has changed
    assert page.input_value("#game-text") == text, "what was typed can be corrected"


def test_an_address_that_is_no_game_has_no_moves(page: Any) -> None:
    page.goto("/?game=connect4&position=4hello4")
    page.wait_for_selector("#problem:visible")
    assert "hello" in page.inner_text("#problem") or "'h'" in page.inner_text("#problem")
    assert record(page) == []


# ---- Gomoku: what is proved ---------------------------------------------------------------------


def values(page: Any) -> dict[str, str]:
    """What the cells say."""
    written: dict[str, str] = page.evaluate("""Object.fromEntries(
        [...document.querySelectorAll('.cell')].filter(c => c.querySelector('.value'))
        .map(c => [c.dataset.cell, c.querySelector('.value').innerText]))""")
    return written


def test_proved_wins_stand_on_the_cells_and_in_words(page: Any) -> None:
    """X has an open three: an open four at either end wins, and of the rest nothing is known."""
    show(page, "c5 a1 d5 a9 e5 i1", "gomoku-9")
    assert page.inner_text("#verdict") == "X to move: win in 3 plies with best play."
    assert values(page) == {"b5": "win 3", "f5": "win 3"}
    assert page.locator(".cell.win.best").count() == 2
    assert page.locator("#moves tbody tr").all_inner_texts() == [
        "b5\twin in 3 plies",
        "f5\twin in 3 plies",
    ]
    assert "win in 3 plies" in page.get_attribute("[data-cell=b5]", "aria-label")
    page.click("#line button >> nth=2")
    at(page, "c5 a1 d5 a9 e5 i1 b5 a5 f5")
    assert page.inner_text("#verdict") == "X has won."
    assert page.locator(".in-line").count() == 5


def test_a_threat_and_what_stops_it(page: Any) -> None:
    show(page, "c5 a1 d5 a9 e5", "gomoku-9")
    assert page.inner_text("#verdict") == "O to move."
    words = page.inner_text("#threat")
    assert words == "X threatens to win with b5, in 3 plies; b5, f5 stop it."
    written = values(page)
    assert [cell for cell, value in written.items() if value == "stop"] == ["b5", "f5"]
    assert sum(value == "loss 4" for value in written.values()) == 74
    assert page.locator("#moves tbody tr").all_inner_texts() == ["74 moves\tloss in 4 plies"]
    assert "stops the threat" in page.get_attribute("[data-cell=f5]", "aria-label")
    page.uncheck("#show-values")
    page.wait_for_selector(".cell .value", state="detached")
    assert page.inner_text("#threat") == "" and page.locator(".stops").count() == 0
    assert "stops" not in page.get_attribute("[data-cell=f5]", "aria-label")


def test_where_nothing_is_proved_nothing_is_said(page: Any) -> None:
    show(page, "e5 d5", "gomoku-9")
    assert page.inner_text("#verdict") == "X to move." and page.inner_text("#threat") == ""
    assert values(page) == {} and page.is_hidden("#moves-part")
    assert "nothing is proved" in page.inner_text("#proofs-legend")


# ---- counts and networks ------------------------------------------------------------------------


def test_counts_belong_to_the_variant_that_is_shown(page: Any) -> None:
    """A variant that was left while its positions were counted."""
    show(page, "-/- x")
    held = Held(page, "**/api/drop/3/3/3/stats")
    page.click("#stats-part summary")
    held.wait()
    page.select_option("#game", "drop-4-4-4")
    at(page, "-/- x")
    page.wait_for_function("() => document.querySelectorAll('.cell').length === 16")
    held.release()
    page.wait_for_timeout(300)
    assert page.text_content("#stats") == ""
    page.click("#stats-part summary")
    page.wait_for_selector(".depths rect")
    assert "72,864,169 positions" in page.inner_text("#stats")


def test_a_late_opinion_does_not_appear_under_another_network(page: Any) -> None:
    show(page, "-/- x", "drop-4-4-4")
    page.click("#network-part summary")
    held = Held(page, "**/api/networks/shipped/evaluate*")
    page.select_option("#network", "shipped")
    held.wait()
    page.select_option("#network", "")
    held.release()
    page.wait_for_timeout(500)
    assert page.locator("#opinion .wdl, .cell .policy").count() == 0


def test_where_torch_is_missing_the_page_says_what_to_do(page: Any) -> None:
    answer = {"networks": [], "remedy": "install torch with 'make learn'"}
    page.route("**/api/networks", lambda route: route.fulfill(json=answer))
    show(page, "a1b2/c3 y")
    page.click("#network-part summary")
    words = page.inner_text("#network-remedy")
    assert words == "Networks cannot be asked here: install torch with 'make learn'"


def test_no_network_is_a_choice_that_is_remembered(page: Any) -> None:
    show(page, "a1b2/c3 y")
    page.click("#network-part summary")
    page.select_option("#network", "small:best")
    page.wait_for_selector("#opinion .wdl")
    page.reload()
    page.wait_for_selector(".cell .policy")  # so is a network
    page.click("#network-part summary")
    page.select_option("#network", "")
    page.wait_for_selector(".cell .policy", state="detached")
    page.reload()
    page.wait_for_selector(".cell .value")
    page.wait_for_timeout(300)
    assert page.input_value("#network") == "" and page.locator(".policy").count() == 0


def test_the_search_for_blunders_says_what_it_does(page: Any) -> None:
    show(page, "a1b2/c3 y")
    page.click("#network-part summary")
    page.select_option("#network", "small:best")
    page.wait_for_selector("#opinion .wdl")
    held = Held(page, "**/blunders")
    page.click("#next-blunder")
    held.wait()
    page.wait_for_function("() => / 1 s$/.test(document.getElementById('opinion').innerText)")
    assert "Looking for its blunders" in page.inner_text("#opinion")
    assert page.get_attribute("#next-blunder", "aria-busy") == "true"
    held.release()
    page.wait_for_selector(".cell.chosen.errs")
    assert "Blunder 1 of" in page.inner_text("#opinion")
    page.uncheck("#show-values")
    page.check("#show-values")
    assert "Blunder 1 of" in page.inner_text("#opinion")
    page.click("#next-blunder")
    page.wait_for_function(
        "() => document.getElementById('opinion').innerText.includes('Blunder 2 of')"
    )


def test_the_first_network_that_is_asked_may_take_long(page: Any) -> None:
    """Moves can be made meanwhile; the opinion is of the position that is shown."""
    show(page, "a1b2/c3 y")
    page.click("#network-part summary")
    held = Held(page, "**/evaluate*")
    page.select_option("#network", "small:best")
    held.wait()
    click(page, "a2")
    at(page, "a1b2/c3a2 x")
    held.wait(2)
    held.release()
    page.wait_for_selector("#opinion .wdl")
    assert page.locator(".cell .policy").count() == page.locator(".cell.legal").count() == 5
    assert GAME in page.url
