"""The page, in a real headless browser: as a person uses it, with mouse and with keys alone."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from browser import (
    GAME,
    RULES,
    at,
    browser,
    click,
    page,
    play,
    runs,
    server,
    show,
    shown_position,
    tab,
)
from libraries import library

from solver import Position, open_table

for package in ("starlette", "uvicorn", "playwright"):
    library(package)

__all__ = ["browser", "page", "runs", "server", "tab"]  # fixtures


# ---- the explorer -------------------------------------------------------------------------------


def test_the_first_visit_shows_the_game_and_something_true(page: Any) -> None:
    page.goto("/")
    page.wait_for_selector(".cell.legal .value")
    assert "takes the oldest off the board" in page.inner_text("#about")
    assert page.inner_text("#verdict") == "X to move: win in 7 plies with best play."
    for result in ("win", "draw", "loss"):
        assert page.locator(f".cell.{result} .value").count() > 0
    assert page.locator(".cell.best").all_inner_texts() == ["win 7"]
    page.click("#from-empty")
    at(page, "-/- x")
    assert page.is_hidden("#example")
    assert page.locator(".cell.draw").count() == 16
    assert page.locator(".cell.best").count() == 0, "no move is better than another"


def test_the_first_visit_where_nothing_is_solved(browser: Any, tmp_path: Path) -> None:
    """Connect Four needs no table; the page says how to get one."""
    from web_server import ServerProcess

    with ServerProcess(tmp_path) as process:
        page = browser.new_page()
        page.goto(process.url)
        page.wait_for_selector("#moves tbody tr")
        assert "fadefour solve" in page.inner_text("#notice")
        assert page.inner_text(".cell.best .value") == "loss 24"
        assert page.is_visible("#example")
        page.click("#to-runs")
        page.wait_for_selector("#run-list li")
        assert "No runs yet" in page.inner_text("#run-list")
        page.close()


def test_every_cell_has_the_tables_value(page: Any, solved33: Path) -> None:
    with open_table(solved33, RULES) as table:
        for text in ("-/- x", "a1/b2 x", "a1b2/c3 y", "a1b2c2/c3a3b1 x"):
            show(page, text)
            moves = table.moves(Position.parse(text, RULES))
            for move in moves:
                value = page.inner_text(f"[data-cell={RULES.cell_name(move.cell)}] .value")
                wanted = move.result if move.plies is None else f"{move.result} {move.plies}"
                assert value.split() == wanted.split(), (text, move)
            assert page.locator(".cell.legal").count() == len(moves)


def test_pieces_show_their_age_and_the_one_about_to_leave(page: Any) -> None:
    show(page, "a1b2c2/c3a3 y")
    on_board = {"a1": "X1", "b2": "X2", "c2": "X3", "c3": "Y1", "a3": "Y2"}
    for cell, words in on_board.items():
        assert page.text_content(f"[data-cell={cell}] .piece") == words
    leaving = page.locator(".cell", has=page.locator(".leaving .broken"))
    assert leaving.count() == 1, "Y has room for a third piece"
    assert leaving.get_attribute("data-cell") == "a1"
    assert "leaves with its owner's next move" in page.get_attribute("[data-cell=a1]", "aria-label")


def test_a_game_to_the_end_undone_and_redone(page: Any) -> None:
    show(page, "-/- x")
    play(page, "b2", "a1", "b1", "c1", "b3")
    assert page.inner_text("#verdict") == "X has won."
    page.wait_for_selector(".mistakes li")  # reviewed without being asked
    assert page.is_disabled("#redo") and not page.is_disabled("#undo")
    page.click("#undo")
    at(page, "b2b1/a1c1 x")
    page.keyboard.press("ArrowLeft")
    at(page, "b2b1/a1 y")
    page.keyboard.press("ArrowRight")
    at(page, "b2b1/a1c1 x")
    page.click("#redo")
    at(page, "b2b1b3/a1c1 y")
    page.keyboard.press("Home")
    at(page, "-/- x")
    page.keyboard.press("End")
    at(page, "b2b1b3/a1c1 y")


def test_every_position_has_its_address_and_the_browser_goes_back(page: Any, browser: Any) -> None:
    show(page, "-/- x")
    play(page, "b2", "a1", "c3")
    page.go_back()
    at(page, "b2/a1 x")
    page.go_back()
    at(page, "b2/- y")
    page.go_forward()
    at(page, "b2/a1 x")
    assert page.locator("#record li").count() == 3  # the game is still known
    other = browser.new_page()
    other.goto(page.url)
    other.wait_for_selector("[data-cell=b2] .piece")
    assert other.input_value("#position") == "b2/a1 x"
    other.close()


def test_values_can_be_hidden(page: Any) -> None:
    show(page, "a1b2/c3 y")
    assert page.locator(".value").count() > 0
    page.uncheck("#show-values")
    page.wait_for_selector(".value", state="detached")
    assert page.locator(".cell.win, .cell.loss, .cell.draw").count() == 0
    assert page.is_hidden("#moves-part")
    assert page.inner_text("#verdict") == "Y to move."
    assert "win" not in page.get_attribute("[data-cell=a2]", "aria-label")
    page.keyboard.press("v")
    page.wait_for_selector(".value")


def test_a_typed_position_and_one_that_is_wrong(page: Any) -> None:
    show(page, "-/- x")
    page.fill("#position", "a1b2/c3 y")
    page.press("#position", "Enter")
    at(page, "a1b2/c3 y")
    page.fill("#position", "a1b9/c3 y")
    page.press("#position", "Enter")
    page.wait_for_selector("#problem:visible")
    assert "b9" in page.inner_text("#problem")
    at(page, "a1b2/c3 y")  # nothing has changed
    assert page.locator(".cell .piece").count() == 3
    click(page, "a2")
    at(page, "a1b2/c3a2 x")
    assert page.is_hidden("#problem")
    page.goto(f"/?game={GAME}&position=a1b9/c3 y")
    page.wait_for_selector("#problem:visible")
    assert page.locator(".cell").count() == 0 and page.is_hidden("#moves-part")
    page.click("#new")
    at(page, "-/- x")
    assert page.is_hidden("#problem")


def test_turned_mirrored_and_swapped_the_value_is_the_same(page: Any) -> None:
    show(page, "a1b1c2/c3a3b2 y")
    value = page.inner_text("#verdict").removeprefix("Y")
    for button, expected in (("turn", None), ("mirror", None), ("swap", "x")):
        before = shown_position(page)
        page.click(f"#{button}")
        page.wait_for_function("p => !document.title.startsWith(p)", arg=before)
        after = Position.parse(shown_position(page), RULES)
        assert after.to_move == (expected or Position.parse(before, RULES).to_move)
        assert page.inner_text("#verdict")[1:] == value
    for _ in range(4):  # four quarter turns
        before = shown_position(page)
        page.click("#turn")
        page.wait_for_function("p => !document.title.startsWith(p)", arg=before)
    assert shown_position(page) == str(after)


def test_the_best_line_can_be_stepped_along(page: Any) -> None:
    show(page, "a1/b1 x")
    line = page.locator("#line button").all_inner_texts()
    assert len(line) > 3
    page.click("#line button >> nth=2")
    position = Position.parse("a1/b1 x", RULES)
    for cell in line[:3]:
        position = position.play(RULES.cell(cell))
    at(page, str(position))
    assert page.locator("#record li").count() == 3


def test_the_count_of_the_whole_variant(page: Any) -> None:
    show(page, "-/- x")
    page.click("#stats-part summary")
    page.wait_for_selector(".depths rect")
    assert "9,910 positions up to symmetry" in page.inner_text("#stats")
    assert page.locator(".depths rect").count() == 17  # the longest win takes 17 plies


# ---- play, review, networks ---------------------------------------------------------------------


def test_the_table_replies_and_takes_its_win(page: Any) -> None:
    show(page, "-/- x")
    page.select_option("#player-x", "exact")
    page.wait_for_function("() => document.title.includes('/- y')")
    first = shown_position(page)[:2]
    page.click(".cell.legal >> nth=0")
    page.wait_for_function("() => document.querySelectorAll('#record li').length === 3")
    page.click("#undo")  # back to the last own move: the table would only reply again
    at(page, f"{first}/- y")


def test_a_mistake_is_found_marked_and_jumped_to(page: Any) -> None:
    show(page, "-/- x")
    play(page, "b2", "a1", "b1", "c1", "b3")  # Y let b3 happen
    page.wait_for_selector(".mistakes li")
    marked = page.locator(".game-chart .mistake").count()
    assert marked == page.locator(".mistakes li").count() >= 1
    last = page.locator(".mistakes li").last
    assert "Y c1" in last.inner_text() and "right: b3" in last.inner_text()
    assert "of 3 moves right" in page.inner_text(".accuracy")
    last.locator("button").click()
    at(page, "b2b1/a1c1 x")
    page.locator(".game-chart .point").first.click()
    at(page, "-/- x")


def test_a_game_goes_out_and_comes_in_as_text(page: Any) -> None:
    show(page, "-/- x")
    play(page, "b2", "a1", "c3")
    page.click("#show-text")
    text = page.input_value("#game-text")
    assert text == f"game: {GAME}\nstart: -/- x\nmoves: b2 a1 c3\n"
    page.fill("#game-text", text.replace("c3", "c3 a2"))
    page.click("#text-form [type=submit]")
    at(page, "b2c3/a1a2 x")
    page.fill("#game-text", f"game: {GAME}\nmoves: b2 b2")
    page.click("#text-form [type=submit]")
    page.wait_for_selector("#problem:visible")
    assert "ply 2" in page.inner_text("#problem")


def test_the_network_beside_the_truth_and_where_it_errs(page: Any) -> None:
    show(page, "a1b2/c3 y")
    page.click("#network-part summary")
    page.select_option("#network", "small:best")
    page.wait_for_selector(".cell .policy")
    assert page.locator(".cell .policy").count() == 6
    assert page.locator(".cell.chosen").count() == 1
    page.wait_for_selector("#opinion .wdl")
    page.select_option("#sims", "50")
    page.wait_for_function(
        "() => [...document.querySelectorAll('.thought')].some(t => t.innerText.includes('·'))"
    )
    page.click("#next-blunder")
    page.wait_for_function(
        "() => document.getElementById('opinion').innerText.includes('Blunder 1 of')"
    )
    page.wait_for_selector(".cell.chosen.errs")
    assert "a mistake" in page.inner_text("#opinion")
    assert page.input_value("#sims") == "0", "a grade is of the network without a search"


def test_a_network_plays(page: Any) -> None:
    show(page, "-/- x")
    page.select_option("#player-y", "small:best")
    click(page, "b2")
    page.wait_for_function("() => document.querySelectorAll('#record li').length === 2")
    assert Position.parse(shown_position(page), RULES).to_move == "x"


# ---- the other games ----------------------------------------------------------------------------


def test_connect_four_is_solved_while_one_watches(page: Any) -> None:
    position = "7416563243132332411221725155443557"
    show(page, position, "connect4")
    page.wait_for_selector(".cell.legal .value")
    legal = page.locator(".cell.legal")
    page.wait_for_selector("#moves tbody tr")
    assert legal.count() == page.locator("#moves tbody tr").count() > 1
    page.click("[data-cell=f1]")  # anywhere in a column
    at(page, position + "6")
    page.click("#mirror")
    at(page, "".join(str(8 - int(column)) for column in position + "6"))


def test_gomoku_can_be_played(page: Any) -> None:
    show(page, "-", "gomoku-9")
    for cell, position in (("e5", "e5"), ("d5", "e5 d5"), ("e6", "e5 d5 e6")):
        click(page, cell)
        at(page, position)
    assert page.locator(".piece").count() == 3
    assert page.is_hidden("#review"), "nobody knows the value of every move"


# ---- runs ---------------------------------------------------------------------------------------


def test_a_run_is_followed_while_it_learns_and_its_games_are_replayed(
    page: Any, runs: Path
) -> None:
    page.goto("/?run=small")
    page.wait_for_selector(".panel svg")
    assert page.locator(".panel").count() >= 9
    assert "12 lines of metrics" in page.inner_text("#run")
    metrics = runs / "small" / "metrics.jsonl"
    line = json.loads(metrics.read_text().splitlines()[-1]) | {"iteration": 13}
    with metrics.open("a") as file:
        file.write(json.dumps(line) + "\n")
    page.wait_for_function("() => document.getElementById('run').innerText.includes('13 lines')")
    page.click(".games button >> nth=0")
    page.wait_for_selector(".game-chart")
    values = page.locator("#record li").all_inner_texts()
    assert len(values) == 5 and all(re.search("win|draw|loss", value) for value in values)


# ---- by keys alone, in the dark ------------------------------------------------------------------


def test_with_the_keyboard_alone(page: Any) -> None:
    show(page, "-/- x")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.classList.contains('cell')"):
            break
    focused = "document.activeElement.dataset.cell"
    for key in ("ArrowLeft", "ArrowLeft", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowUp"):
        page.keyboard.press(key)
    assert page.evaluate(focused) == "b2"
    page.keyboard.press("Enter")
    at(page, "b2/- y")
    assert page.evaluate(focused) == "b2"  # the focus stays on the board
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    at(page, "b2/c2 x")
    page.keyboard.press("u")
    at(page, "b2/- y")
    page.keyboard.press("n")
    at(page, "-/- x")


def test_light_and_dark_follow_the_system_and_the_button(server: str, browser: Any) -> None:
    context = browser.new_context(base_url=server, color_scheme="dark")
    page = context.new_page()
    page.goto("/")
    page.wait_for_selector(".cell")
    theme = "document.documentElement.dataset.theme"
    assert page.evaluate(theme) == "dark"
    page.click("#theme")
    assert page.evaluate(theme) == "light"
    page.reload()
    page.wait_for_selector(".cell")
    assert page.evaluate(theme) == "light"  # remembered
    context.close()
