"""A real headless browser, a server for it, and what the tests of the page do with both.

Debian's chromium, driven by playwright. FADEFOUR_BROWSER names another binary; with CI=true a
missing browser is a failure, elsewhere the tests of the page are skipped and say so.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from libraries import library
from small_networks import save_small_network
from synthetic_runs import episode, healthy_line, write_config, write_games, write_lines

from azfit.games import game_by_name
from solver import Position, Rules

RULES = Rules(3, 3, 3)
GAME = "drop-3-3-3"

WAIT_MS = 120_000
"""For what a page does at once, on a machine that may be busy."""

SIZE = {"width": 1200, "height": 900}

NAMES = ("chromium", "chromium-browser", "google-chrome")


def find_browser() -> str | None:
    named = os.environ.get("FADEFOUR_BROWSER")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


def need_browser() -> str:
    """The browser's binary; skips the test if there is none, or fails it in CI."""
    path = find_browser()
    if path is None:
        reason = "no browser: install Debian's chromium, or name one in FADEFOUR_BROWSER"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return path


@contextmanager
def opened_browser() -> Iterator[Any]:
    with library("playwright.sync_api").sync_playwright() as driver:
        # In a container, root may not use the sandbox; the page under test is our own.
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = driver.chromium.launch(executable_path=need_browser(), args=options)
        try:
            yield browser
        finally:
            browser.close()


# ---- fixtures: tests of the page import those that they use -------------------------------------


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of self-play with metrics, games and a network, for tests that change it."""
    folder = tmp_path_factory.mktemp("runs")
    write_run(folder / "small")
    return folder


def write_run(run: Path, iterations: int = 12) -> None:
    write_config(run, game=GAME)
    write_lines(run, [healthy_line(i, drop_oldest=True) for i in range(iterations)])
    game = game_by_name(GAME)
    moves = [4, 0, 1, 2, 7]  # X has a line: b2 b1 b3
    write_games(run, [episode(game, moves, [], 0, number) for number in range(3)], iterations)
    save_small_network(run / "best.safetensors", GAME, seed=3)


@pytest.fixture(scope="module")
def server(web_data: Path, runs: Path) -> Iterator[str]:
    """The address of a server as ``fadefour serve`` starts it, of that folder."""
    need_browser()
    from web_server import ServerProcess

    with ServerProcess(web_data, runs) as process:
        yield process.url


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with opened_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def tab(server: str, browser: Any) -> Iterator[Any]:
    """One page for the tests of a file. To open another takes the browser a second of processor
    time, several times that of showing another address."""
    context = browser.new_context(base_url=server)
    opened = context.new_page()
    opened.set_default_timeout(WAIT_MS)
    yield opened
    context.close()


@pytest.fixture
def page(tab: Any) -> Iterator[Any]:
    """That page, with nothing remembered and nothing shown."""
    tab.set_viewport_size(SIZE)
    with without_complaints(tab):
        yield tab
    tab.unroute_all()
    tab.goto("/api/variants")
    tab.evaluate("localStorage.clear()")


@pytest.fixture(name="page")
def own_page(server: str, browser: Any) -> Iterator[Any]:
    """A page of its own for every test, for those that do more to it."""
    context = browser.new_context(base_url=server, viewport=SIZE)
    opened = context.new_page()
    opened.set_default_timeout(WAIT_MS)
    with without_complaints(opened):
        yield opened
        context.close()


@contextmanager
def without_complaints(page: Any) -> Iterator[None]:
    """The page has complained of nothing when the test ends: no script error, nothing that the
    content policy stopped."""
    complaints = list[str]()
    listeners = {
        "pageerror": lambda error: complaints.append(str(error)),
        "console": lambda line: complaints.append(line.text) if line.type == "error" else None,
    }
    for event, listener in listeners.items():
        page.on(event, listener)
    yield
    for event, listener in listeners.items():
        page.remove_listener(event, listener)
    # The console also reports a request that is refused or cut off on purpose.
    wanted = ("status of 4", "net::ERR_FAILED")
    assert [line for line in complaints if not any(words in line for words in wanted)] == []


# ---- what a person does -------------------------------------------------------------------------


def show(page: Any, position: str, game: str = GAME) -> None:
    page.goto(f"/?game={game}&position={position}")
    page.wait_for_selector(".cell")
    page.wait_for_function("p => document.getElementById('position').value === p", arg=position)
    page.wait_for_function("p => document.title.startsWith(p)", arg=position)


def shown_position(page: Any) -> str:
    return parse_qs(urlsplit(page.url).query)["position"][0]


def at(page: Any, position: str) -> None:
    """Waits until the page shows this position."""
    page.wait_for_function("p => document.title.startsWith(p)", arg=position)
    assert shown_position(page) == position


def click(page: Any, cell: str) -> None:
    page.click(f"[data-cell={cell}]")


def play(page: Any, *cells: str) -> None:
    """Plays these cells for both sides, and waits for the page each time."""
    position = Position.parse(shown_position(page), RULES)
    for cell in cells:
        click(page, cell)
        position = position.play(RULES.cell(cell))
        at(page, str(position))


def record(page: Any) -> list[str]:
    """The moves of the game, without their values."""
    names: list[str] = page.evaluate(
        "[...document.querySelectorAll('#record button')].map(b => b.firstChild.textContent)"
    )
    return names


class Held:
    """Requests to matching addresses wait until they are let go: answers that take long."""

    def __init__(self, page: Any, pattern: str) -> None:
        self._page, self._routes, self._is_released = page, list[Any](), False
        page.route(pattern, self._hold)

    def _hold(self, route: Any) -> None:
        if self._is_released:
            route.continue_()
        else:
            self._routes.append(route)

    def wait(self, count: int = 1) -> None:
        """Until so many requests wait."""
        for _ in range(WAIT_MS // 10):
            if len(self._routes) >= count:
                return
            self._page.wait_for_timeout(10)
        raise AssertionError(f"{count} requests were expected, {len(self._routes)} came")

    def release(self, answer: Any = None) -> None:
        """Lets all of them go, and those to come; with an answer, they get that one."""
        self._is_released = True
        for route in self._routes:
            if answer is None:
                route.continue_()
            else:
                route.fulfill(json=answer)
        self._routes.clear()
