"""Runs on the page: one at a time, damaged ones, diagnoses, lists that grow."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from browser import GAME, Held, browser, own_page, runs, server, show, write_run
from libraries import library
from small_networks import save_small_network

for package in ("starlette", "uvicorn", "playwright"):
    library(package)

__all__ = ["browser", "own_page", "runs", "server"]  # fixtures

HEADING = "name => document.querySelector('#run h2')?.innerText === name"


def open_run(page: Any, name: str) -> None:
    page.goto(f"/?run={name}")
    page.wait_for_function(HEADING, arg=name)


def test_what_arrives_late_does_not_appear_under_another_run(page: Any, runs: Path) -> None:
    write_run(runs / "other", iterations=7)
    parts = {part: Held(page, f"**/api/runs/other/{part}") for part in ("curves", "games")}
    diagnosis = Held(page, "**/api/runs/other/diagnosis")
    open_run(page, "other")
    for part in parts.values():
        part.wait()
    page.click("#diagnose")
    diagnosis.wait()
    page.click("#run-list button:has-text('small')")
    page.wait_for_function(HEADING, arg="small")
    page.wait_for_selector(".panel svg")
    page.wait_for_selector(".games li")
    before = page.inner_html("#run")
    diagnosis.release({"findings": [{"level": "wrong", "sentence": "OTHER", "options": []}]})
    for part in parts.values():
        part.release()
    page.wait_for_timeout(500)
    assert page.inner_text("#run h2") == "small" and "OTHER" not in page.inner_text("#run")
    assert page.inner_html("#run") == before


def test_leaving_before_the_list_arrives_follows_nothing(page: Any) -> None:
    page.add_init_script("""
        const Real = EventSource; window.followed = [];
        window.EventSource = class extends Real {
          constructor(url) { super(url); window.followed.push(this); }
        };""")
    show(page, "-/- x")
    held = Held(page, "**/api/runs")
    page.click("#to-runs")
    held.wait()
    page.click("#to-explore")
    held.release()
    page.wait_for_timeout(500)
    assert page.evaluate("window.followed.filter(source => source.readyState !== 2).length") == 0
    page.click("#to-runs")
    page.wait_for_selector(".panel svg")
    open_sources = "window.followed.filter(source => source.readyState !== 2).length"
    assert page.evaluate(open_sources) == 1
    page.click("#to-explore")
    assert page.evaluate(open_sources) == 0


def test_a_damaged_run_says_so_and_is_not_asked_again(page: Any, runs: Path) -> None:
    write_run(runs / "damaged")
    path = runs / "damaged" / "metrics.jsonl"
    path.write_text("not json\n" + path.read_text())
    asked = list[str]()
    page.on("request", lambda request: asked.append(request.url))
    open_run(page, "damaged")
    page.wait_for_selector("#run .problem")
    status = page.inner_text("#run [role=status] >> nth=0")
    assert "metrics.jsonl" in status and "line 1" in status, status
    page.wait_for_timeout(4500)  # EventSource tries again after three seconds
    assert sum("/damaged/events" in url for url in asked) == 1


def test_a_server_that_is_away_is_asked_again(page: Any) -> None:
    page.route("**/api/runs/small/events", lambda route: route.abort())
    open_run(page, "small")
    page.wait_for_function(
        "() => document.getElementById('run').innerText.includes('trying again')"
    )


def test_a_run_at_rest_is_diagnosed_without_being_asked(page: Any, runs: Path) -> None:
    write_run(runs / "rested")
    metrics = runs / "rested" / "metrics.jsonl"
    hour_ago = time.time() - 3600
    os.utime(metrics, (hour_ago, hour_ago))
    findings = [{"level": "wrong", "sentence": "the start is not learned", "options": ["--sims"]}]
    page.route("**/rested/diagnosis", lambda route: route.fulfill(json={"findings": findings}))
    open_run(page, "rested")
    page.wait_for_selector(".findings .wrong")
    assert "the start is not learned (--sims)" in page.inner_text(".findings")
    assert page.is_hidden("#diagnose")
    with metrics.open("a") as file:  # it goes on
        file.write(json.dumps(json.loads(metrics.read_text().splitlines()[-1])) + "\n")
    page.wait_for_selector("#diagnose:visible")
    assert "1 line of metrics since" in page.inner_text("#diagnose")


def test_a_run_that_learns_is_diagnosed_when_asked(page: Any, runs: Path) -> None:
    """By the server itself: 'fadefour diagnose' in a process of its own."""
    write_run(runs / "learning")
    open_run(page, "learning")
    page.wait_for_selector(".panel svg")
    assert page.locator(".findings").count() == 0
    page.set_default_timeout(180_000)
    page.click("#diagnose")
    page.wait_for_selector(".findings li, .diagnosis .problem, .diagnosis p:not(.hint)")
    assert page.locator(".diagnosis .problem").count() == 0, page.inner_text(".diagnosis")


def test_a_run_that_begins_appears_in_the_list(page: Any, runs: Path) -> None:
    open_run(page, "small")
    write_run(runs / "just_begun", iterations=1)
    page.wait_for_selector("#run-list button:has-text('just_begun')")
    assert page.inner_text("#run h2") == "small"


def test_menus_have_the_networks_that_there_are_now(page: Any, runs: Path) -> None:
    show(page, "a1b2/c3 y")
    page.click("#network-part summary")
    page.select_option("#network", "small:best")
    page.wait_for_selector("#opinion .wdl")
    page.select_option("#player-x", "small:best")
    page.fill("#sims-x", "7")
    newer = save_small_network(runs / "small" / "checkpoints" / "step-000000099.safetensors", GAME)
    page.focus("#network")
    page.wait_for_selector("#network option[value='small:step-000000099']", state="attached")
    assert page.input_value("#network") == "small:best"
    assert page.input_value("#player-x") == "small:best" and page.input_value("#sims-x") == "7"
    assert page.locator("#player-y option[value='small:step-000000099']").count() == 1
    newer.unlink()
    page.focus("#player-y")
    page.wait_for_selector("#network option[value='small:step-000000099']", state="detached")
