"""The pictures of the explorer in docs/, taken anew:

    .venv/bin/python tests/take_screenshots.py --data data --runs runs

The data folder has the tables of 3 x 3 with three pieces and of 4 x 4 with four; the runs are one
of self-play on 3 x 3, at rest for two minutes, and one so brief that its network still errs:

    fadefour self-play --game drop --n 3 --m 3 --run runs/small --iterations 16
    fadefour train-from-oracle --run runs/brief --preset quick --steps 400
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from browser import opened_browser
from web_server import ServerProcess

DOCS = Path(__file__).parents[1] / "docs"

CONNECT_FOUR = "72612134724515"
"""A position with wins, a draw and losses."""

SHOWN = "words => document.getElementById('opinion').innerText.includes(words)"


def network_that_errs(page: Any) -> None:
    page.goto("/?game=drop-4-4-4&position=-/- x")
    page.wait_for_selector(".cell .value")
    page.click("#play-part summary")
    page.click("#network-part summary")
    page.select_option("#network", "brief:best")
    page.wait_for_selector("#opinion .wdl")
    number = 0
    while not all(page.locator(f".cell.{result}").count() for result in ("win", "draw", "loss")):
        number += 1
        page.click("#next-blunder")
        page.wait_for_function(SHOWN, arg=f"Blunder {number} of", timeout=120_000)


def review(page: Any) -> None:
    page.goto("/?game=drop-3-3-3&position=-/- x")
    for cell in ("b1", "c3", "b3", "b2", "a2", "c2", "a1", "a3", "c1"):
        page.click(f"[data-cell={cell}]")
        page.wait_for_selector(f".cell.last[data-cell={cell}]")
    page.click("#review")
    page.wait_for_selector(".mistakes li")
    page.click("#play-part summary")


def run(page: Any) -> None:
    page.goto("/?run=small")
    page.wait_for_selector(".panel svg")
    page.wait_for_selector(".findings li", timeout=300_000)


def phone(page: Any) -> None:
    page.goto(f"/?game=connect4&position={CONNECT_FOUR}")
    page.wait_for_selector("#moves tbody tr", timeout=120_000)


@dataclass(frozen=True)
class Picture:
    """How a picture is made. It ends below the lowest of some elements: nothing is cut through."""

    go: Callable[[Any], None]
    until: str
    """The elements, as a CSS selector."""
    width: int = 1180
    scheme: str = "light"
    pixels: int = 1
    """Of the picture for each of the page."""


PICTURES = {
    "explorer": Picture(network_that_errs, ".keys, #network-part"),
    "explorer_review": Picture(review, ".keys, .mistakes"),
    "explorer_run": Picture(run, ".panel:nth-child(4)"),
    "explorer_phone": Picture(phone, "#legend", width=360, scheme="dark", pixels=2),
}

LOWEST = """selector => Math.max(...[...document.querySelectorAll(selector)]
    .map(node => node.getBoundingClientRect().bottom + scrollY))"""

MARGIN = 16


def take(browser: Any, server: str, picture: Picture, path: Path) -> None:
    context = browser.new_context(
        base_url=server,
        viewport={"width": picture.width, "height": 860},
        color_scheme=picture.scheme,
        device_scale_factor=picture.pixels,
    )
    page = context.new_page()
    picture.go(page)
    page.evaluate("document.activeElement.blur()")
    page.mouse.move(0, 0)
    page.wait_for_timeout(500)  # until colours have changed
    bottom = page.evaluate(LOWEST, picture.until) + MARGIN
    clip = {"x": 0, "y": 0, "width": picture.width, "height": bottom}
    page.screenshot(path=path, full_page=True, clip=clip)
    context.close()


@click.command()
@click.option("--data", type=Path, default=Path("data"))
@click.option("--runs", type=Path, default=Path("runs"))
@click.option("--to", type=Path, default=DOCS)
def main(data: Path, runs: Path, to: Path) -> None:
    with ServerProcess(data, runs) as server, opened_browser() as browser:
        for name, picture in PICTURES.items():
            take(browser, server.url, picture, to / f"{name}.png")


if __name__ == "__main__":
    main()
