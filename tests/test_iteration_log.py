"""What a run prints: lines that fit, progress that never falls silent."""

from __future__ import annotations

import io
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest

from azfit.self_play.iteration import Games, Iteration, MatchResult, PhaseSeconds, Training
from azfit.self_play.iteration_log import WIDTH, IterationLog, PhaseProgress, summary

GAMES = Games(100, 45, 48, 7, 2500, 25.0, (1, 1), (1, 1), (0, 0))
TRAINING = Training(1.234, 0.9, 0.3, 0.3, 1.0, 10_000)
MATCH = MatchResult(50, 0.54, 0.07, (20, 7), (0, 0), (5, 18), 10)
LINE = Iteration(
    iteration=12,
    phase_seconds=PhaseSeconds(10.0, 1.5, 2.5),
    games=GAMES,
    training=TRAINING,
    match=MATCH,
    elo=1234.4,
    accepted=True,
)


def test_an_iteration_is_a_line_of_labelled_figures() -> None:
    assert summary(LINE) == (
        "iter  12  first won  45, second  48, drawn   7  loss 1.234  Elo 1234  accepted"
        "  match 54±7 %  14 s"
    )
    assert "rejected" in summary(replace(LINE, accepted=False))


def test_the_lines_of_a_run_are_columns() -> None:
    games = replace(GAMES, first_wins=100, second_wins=0, draws=0)
    even = replace(MATCH, score=0.5, pairs_by_colour=25)
    line = replace(LINE, iteration=3, games=games, match=even, elo=-0.4, accepted=False)
    texts = [summary(LINE), summary(line)]
    for label in ("first won", "second", "drawn", "loss", "Elo", "match"):
        assert len({text.index(label) for text in texts}) == 1, texts
    assert "Elo    0 " in texts[1]


@pytest.mark.parametrize("games", [1, 70, 500, 9_999, 99_999])
@pytest.mark.parametrize("iteration", [1, 134, 10_000])
@pytest.mark.parametrize("elo", [0.0, -1234.0])
def test_a_line_fits_whatever_its_figures(games: int, iteration: int, elo: float) -> None:
    outcomes = replace(GAMES, first_wins=games, second_wins=games, draws=games, mean_plies=100.0)
    even = replace(MATCH, score=0.5, pairs_by_colour=25)
    for match in (MATCH, even, replace(MATCH, score=1.0, standard_error=0.5)):
        line = replace(LINE, iteration=iteration, elo=elo, games=outcomes, match=match)
        line = replace(line, training=replace(TRAINING, loss=123.456))
        text = summary(line)
        assert len(text) <= WIDTH == 100
        for needed in (
            f"iter {iteration:3} ",
            f"first won {games:3},",
            "match ",
            "Elo ",
            "accepted",
        ):
            assert needed in text


@pytest.mark.parametrize(
    ("draws", "by_colour", "words"),
    [((0, 0), 25, "50 % by colour"), ((25, 25), 0, "50 % drawn"), ((5, 5), 20, "50 % even")],
)
def test_a_match_that_told_nothing_says_why(
    draws: tuple[int, int], by_colour: int, words: str
) -> None:
    match = replace(MATCH, score=0.5, draws=draws, pairs_by_colour=by_colour)
    assert f"  match {words}" in summary(replace(LINE, match=match))


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_off_a_terminal_a_phase_reports_even_if_nothing_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(PhaseProgress, "LINE_SECONDS", 0.01)
    out = io.StringIO()
    progress = PhaseProgress(out, "iteration 3, self-play", 70, "game", 5)
    while out.getvalue().count("\n") < 2:
        time.sleep(0.01)
    progress.advance(2)
    progress.end()
    silent = out.getvalue()
    time.sleep(0.05)
    assert out.getvalue() == silent, "it goes on after its end"
    assert silent.splitlines()[0] == "iteration 3, self-play: 7 %, 5 of 70 games"
    assert re.match(r"iteration 3, self-play: 10 %, 7 of 70 games, \S+/s, .* left", progress.line())


def test_on_a_terminal_a_phase_has_a_bar_and_an_iteration_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PhaseProgress, "BAR_SECONDS", 0.01)
    screen = Screen()
    log = IterationLog(tmp_path, screen, 2)
    log.begin("self-play", 70, "game", 5)
    log.advance(30)
    while "35 of 70 games" not in screen.getvalue():
        time.sleep(0.01)
    log.end()
    assert "iteration 3, self-play |" in screen.getvalue()
    log.write(replace(LINE, iteration=3))
    log.close()
    assert screen.getvalue().splitlines()[-1].endswith(summary(replace(LINE, iteration=3)))


def test_a_stream_that_nobody_reads_ends_the_progress_quietly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Closed(io.StringIO):
        tries = 0

        def write(self, text: str) -> int:
            self.tries += 1
            raise BrokenPipeError

    unforeseen: list[object] = []
    monkeypatch.setattr("threading.excepthook", unforeseen.append)
    monkeypatch.setattr(PhaseProgress, "LINE_SECONDS", 0.001)
    out = Closed()
    progress = PhaseProgress(out, "training", 70, "step")
    while not out.tries:
        time.sleep(0.001)
    progress.end()
    assert not unforeseen


def test_without_a_stream_nothing_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = IterationLog(tmp_path, None, 0)
    log.begin("training", 3, "step")
    log.advance()
    log.end()
    log.write(LINE)
    log.close()
    assert capsys.readouterr() == ("", "")


def test_a_log_drops_later_iterations_and_the_lines_of_another_kind_of_run(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    kept = '{"iteration": 1, "seconds": 1.0, "of_a_later_version": 7}\n'
    path.write_text('{"kind": "training", "step": 3}\n' + kept + '{"iteration": 2}\n')
    IterationLog(tmp_path, None, 1).close()
    assert path.read_text() == kept
