"""What a run says before it starts, and how long it will take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from azfit.self_play.config_sources import combine
from azfit.self_play.defaults import Choice
from azfit.self_play.iteration import Iteration, PhaseSeconds
from azfit.self_play.plan import Pace, plan_in_words
from azfit.self_play.state import SelfPlayRun


def run_of(**typed: Any) -> SelfPlayRun:
    given = {"width": 8, "blocks": 1, "workers": 2} | typed
    return SelfPlayRun(combine(None, None, given).config, Path("runs/some"))


def test_the_plan_gives_the_figures_of_the_config() -> None:
    run = run_of(game="connect4", minutes=60)
    subject, iteration = plan_in_words(run)
    parameters = sum(parameter.numel() for parameter in run.best.parameters())
    assert subject == (
        f"learning connect4: 60 minutes, tower of 8 x 1 ({parameters:,} parameters), 2 workers"
    )
    assert iteration == (
        "each iteration: 500 games with 100 simulations per move; 4% of the newest 1,000,000 "
        "positions learned, at most 36,000; a match of 4 games, no gate"
    )
    run.iteration = 12
    assert plan_in_words(run)[0].startswith("learning connect4: after iteration 12, 60 minutes, ")


def test_the_plan_names_caps_gate_and_choices() -> None:
    run = run_of(game="connect4", full_share=0.25, full_sims=600, gate=True, workers="max")
    choices = [
        Choice("replay_ratio", 0.5, "so"),
        Choice("gate", False, "so"),
        Choice("buffer", 5000, "so"),
    ]
    subject, iteration, chosen = plan_in_words(run, choices)
    assert subject.endswith("a worker per processor")
    assert "600 simulations for 25% of the moves and 100 for the others" in iteration
    assert "a match of 50 games, accepted from 52%" in iteration
    assert chosen == "chosen: replay-ratio 0.5, no-gate, buffer 5000 (why: runs/some/choices.json)"


def after(run: SelfPlayRun, pace: Pace, seconds: float) -> str | None:
    run.iteration += 1
    run.line = Iteration(phase_seconds=PhaseSeconds(seconds / 2, seconds / 4, seconds / 4))
    return pace.after(run)


@pytest.mark.parametrize(("first", "said"), [(10.0, [False, True]), (80.0, [True, False])])
def test_the_pace_is_said_once_and_not_from_a_start_alone(first: float, said: list[bool]) -> None:
    run, pace = run_of(iterations=5), Pace()
    lines = [after(run, pace, seconds) for seconds in (first, 80.0, 80.0)]
    assert [line is not None for line in lines] == [*said, False]
    (line,) = [line for line in lines if line is not None]
    assert line.startswith("an iteration takes about 1 min 20 s; about ")
    left, takes = (4, "5 min 20 s") if said[0] else (3, "4 min 0 s")
    assert f"about {takes} for the {left} iterations left" in line


def test_the_pace_of_a_budget_in_minutes_is_how_many_fit() -> None:
    run, pace = run_of(minutes=10.0), Pace()
    line = after(run, pace, 60.0)
    assert line is not None and "about 10 more fit into the 10 minutes" in line
    done = run_of(iterations=1)
    assert after(done, Pace(), 80.0) is None, "nothing is left to come"
