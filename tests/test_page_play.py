"""Playing on the page: hasty clicks, an opponent that thinks, hidden values, draws, the end."""

from __future__ import annotations

from typing import Any

from browser import (
    GAME,
    Held,
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

POSITIONS = "**/api/drop/3/3/3?*"
REPLIES = "**/api/drop/3/3/3/reply*"


# ---- one move at a time -------------------------------------------------------------------------


def test_a_click_before_the_answer_plays_nothing(page: Any) -> None:
    """The board still shows the position before: a move from there is no move of this game."""
    show(page, "-/- x")
    held = Held(page, POSITIONS)
    click(page, "b2")
    click(page, "a1")
    click(page, "b2")
    held.wait()
    held.release()
    at(page, "b2/- y")
    assert record(page) == ["b2"]
    play(page, "a1")
    assert record(page) == ["b2", "a1"]


def test_a_button_of_the_moves_before_the_answer_plays_nothing(page: Any) -> None:
    show(page, "-/- x")
    held = Held(page, POSITIONS)
    click(page, "b2")
    page.click("#moves tbody tr >> nth=1 >> button")
    page.click("#line button >> nth=1")
    held.wait()
    held.release()
    at(page, "b2/- y")
    page.wait_for_timeout(200)
    assert record(page) == ["b2"]


def test_a_click_while_the_opponent_thinks_does_not_play_its_move(page: Any) -> None:
    show(page, "-/- x")
    page.select_option("#player-y", "exact")
    held = Held(page, REPLIES)
    click(page, "b2")
    held.wait()
    assert "Y is thinking" in page.inner_text("#thinking")
    at(page, "b2/- y")
    click(page, "a2")
    page.click("#moves tbody button >> nth=0")
    page.wait_for_timeout(200)
    assert record(page) == ["b2"]
    held.release()
    page.wait_for_function("() => document.querySelectorAll('#record button').length === 2")
    assert page.inner_text("#thinking") == ""


def test_the_solver_replies_in_connect_four(page: Any) -> None:
    show(page, "741656324313233241122172515544355", "connect4")
    page.select_option("#player-o", "exact")
    page.wait_for_function("() => document.querySelectorAll('#record button').length === 34")
    last = record(page)[-1]
    assert last in "1234567" and shown_position(page)[-1] == last


def test_an_opponent_that_is_replaced_while_it_thinks_does_not_reply(page: Any) -> None:
    show(page, "-/- x")
    page.select_option("#player-y", "exact")
    held = Held(page, REPLIES)
    click(page, "b2")
    held.wait()
    page.select_option("#player-y", "you")
    held.release()
    page.wait_for_timeout(600)
    assert record(page) == ["b2"]
    play(page, "a1")


def test_a_game_that_was_stepped_through_goes_on_when_asked(page: Any) -> None:
    show(page, "-/- x")
    page.select_option("#player-y", "exact")
    click(page, "b2")
    page.wait_for_function("() => document.querySelectorAll('#record button').length === 2")
    page.click("#record button >> nth=0")
    at(page, "b2/- y")
    assert "Y's turn" in page.inner_text("#thinking")
    page.click("#play-on")
    page.wait_for_function("() => document.querySelectorAll('#record [aria-current]').length === 1")
    page.wait_for_function("() => document.title.includes(' x ')")
    assert len(record(page)) == 2


def test_a_position_turned_too_late_is_forgotten(page: Any) -> None:
    """The page has gone to another game while the server turned a position of this one."""
    show(page, "a1b2/c3 y")
    held = Held(page, "**/images?*")
    page.click("#turn")
    held.wait()
    page.select_option("#game", "gomoku-9")
    at(page, "-")
    held.release()
    page.wait_for_timeout(300)
    assert shown_position(page) == "-" and page.is_hidden("#problem")


# ---- train yourself -----------------------------------------------------------------------------


def test_hidden_values_are_hidden_everywhere(page: Any) -> None:
    """Also beside the network's opinion, in the moves of the game and in its review."""
    show(page, "-/- x")
    play(page, "b2", "a1", "b1", "c2")
    page.click("#network-part summary")
    page.select_option("#network", "small:best")
    page.wait_for_selector("#opinion .wdl")
    page.click("#review")
    page.wait_for_selector(".game-chart")
    assert "the exact value is" in page.inner_text("#opinion")
    page.uncheck("#show-values")
    page.wait_for_selector(".cell .value", state="detached")
    assert page.locator("#opinion .wdl").count() == 1, "its opinion is no truth"
    words = page.inner_text("#explore .right") + page.inner_text("#verdict")
    for hidden in ("exact value", "a mistake", "became", "in 1 ply"):
        assert hidden not in words
    assert page.locator(".game-chart, #record small, .errs").count() == 0
    labels = page.evaluate(
        "[...document.querySelectorAll('.cell')].map(c => c.ariaLabel + c.title).join()"
    )
    assert not any(result in labels for result in ("win", "draw", "loss"))
    page.select_option("#sims", "50")  # asked again, while they are hidden
    page.wait_for_function("() => document.querySelector('.thought').innerText.includes('·')")
    assert "exact value" not in page.inner_text("#opinion")
    page.check("#show-values")
    page.wait_for_function("() => document.getElementById('opinion').innerText.includes('exact')")


# ---- the end of a game --------------------------------------------------------------------------


def test_the_winning_line_and_the_last_move_are_marked_in_every_game(page: Any) -> None:
    ends = {
        (GAME, "b2b1b3/a1c1 y"): ("b1 b2 b3", "b3"),
        ("drop-4-4-4", "a1b2c3d4/a2a3b4 y"): ("a1 b2 c3 d4", "d4"),
        ("connect4", "4152637"): ("d1 e1 f1 g1", "g1"),
        ("connect4", "1213141"): ("a1 a2 a3 a4", "a4"),
        ("gomoku-9", "a1 a2 b2 a3 c3 a4 d4 a6 e5"): ("a1 b2 c3 d4 e5", "e5"),
    }
    for (game, position), (line, last) in ends.items():
        show(page, position, game)
        marked = page.evaluate(
            "[...document.querySelectorAll('.cell.in-line')].map(c => c.dataset.cell).sort()"
        )
        assert marked == line.split(), game
        assert page.get_attribute(".cell.last", "data-cell") == last
        words = page.get_attribute(f"[data-cell={last}]", "aria-label")
        assert "last move" in words and "in the winning line" in words
    show(page, "445", "connect4")
    assert page.get_attribute(".cell.last", "data-cell") == "e1"
    assert page.locator(".in-line").count() == 0


CIRCLE = "c3 c1 a1 a3 b1 b3 c2 a2 "
"""Both sides walk round: after eight plies the pieces are as they were."""


def load(page: Any, text: str) -> None:
    if page.is_hidden("#text-form"):
        page.click("#show-text")
    page.fill("#game-text", text)
    page.click("#text-form [type=submit]")


def test_a_position_three_times_on_the_board_is_a_draw_to_claim(page: Any) -> None:
    show(page, "-/- x")
    load(page, f"game: {GAME}\nstart: a1b1c2/a3b3a2 x\nmoves: {(2 * CIRCLE).removesuffix('a2 ')}")
    page.wait_for_function("() => document.querySelectorAll('#record button').length === 15")
    page.wait_for_selector(".cell.legal[data-cell=a2]")
    assert page.is_hidden("#repeated")
    click(page, "a2")
    page.wait_for_selector("#repeated:visible")
    assert shown_position(page) == "a1b1c2/a3b3a2 x"
    assert page.inner_text("#draw") == "Claim a draw"
    page.click("#draw")
    page.wait_for_function(
        "() => document.getElementById('verdict').innerText === 'The game is drawn by repetition.'"
    )
    page.wait_for_selector(".game-chart")  # the game is over, so it is reviewed
    assert page.locator(".cell.legal").count() == 0 and page.is_hidden("#draw")
    text = page.input_value("#game-text")
    assert text.endswith("result: draw by repetition\n")
    page.click("#new")
    at(page, "-/- x")
    load(page, text)
    page.wait_for_function(
        "() => document.getElementById('verdict').innerText.includes('drawn by repetition')"
    )
    page.click("#undo")  # before the end it is a game as any other
    page.wait_for_selector(".cell.legal")


def test_two_tables_end_their_game_by_repetition(page: Any) -> None:
    show(page, "-/- x")
    load(page, f"game: {GAME}\nstart: a1b1c2/a3b3a2 x\nmoves: {2 * CIRCLE}")
    page.wait_for_selector("#repeated:visible")
    page.select_option("#player-y", "exact")  # X, which is you, may still play on
    page.select_option("#player-x", "exact")
    page.wait_for_function(
        "() => document.getElementById('verdict').innerText === 'The game is drawn by repetition.'"
    )


def test_two_people_agree_to_a_draw(page: Any) -> None:
    show(page, "-/- x")
    assert page.is_hidden("#draw")
    play(page, "b2", "a1")
    assert page.inner_text("#draw") == "Agree to a draw"
    page.click("#draw")
    page.wait_for_function(
        "() => document.getElementById('verdict').innerText === 'The game is drawn by agreement.'"
    )
    page.reload()
    page.wait_for_selector(".cell")
    assert page.inner_text("#verdict") == "The game is drawn by agreement."
    page.click("#undo")
    at(page, "b2/- y")
    page.select_option("#player-x", "exact")
    play(page, "c3")
    assert page.is_hidden("#draw"), "the table agrees to nothing"


# ---- history ------------------------------------------------------------------------------------


def test_a_change_behind_the_hash_keeps_the_game(page: Any) -> None:
    show(page, "-/- x")
    play(page, "b2", "a1", "c3")
    page.evaluate("location.hash = 'board'")
    page.wait_for_timeout(300)
    assert record(page) == ["b2", "a1", "c3"]
    play(page, "c1")
    page.go_back()
    at(page, "b2c3/a1 y")
    assert record(page) == ["b2", "a1", "c3", "c1"]


def test_back_leaves_a_page_that_was_opened_by_its_address(page: Any) -> None:
    """Addresses written otherwise than the page writes them are no extra place in the history."""
    show(page, "-/- x")
    page.goto(f"/?game={GAME}&position=a1b2/c3%20y")
    page.wait_for_selector(".cell .value")
    page.go_back()
    at(page, "-/- x")
