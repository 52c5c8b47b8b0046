"""Grades of Gomoku players: players whose moves are known to be right or wrong, and the command."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from conftest import run_cli
from small_networks import save_small_network

from azfit.games import Connect4, Gomoku, States
from azfit.grading.gomoku.grade import Count, GomokuGrade, grade_gomoku
from azfit.grading.gomoku.positions import Sample, own_games, random_moves, random_positions
from azfit.grading.gomoku.report import compare, text
from azfit.players import Choices, Player, Plies, RandomPlayer
from solver.errors import InputError
from solver.gomoku import ForcedPlay, GomokuPosition, GomokuTactics
from solver.gomoku.judge import GomokuJudge, Task

GAME = Gomoku(9)


class Tactician(Player):
    """Takes wins and stops threats, if ``right``; else plays where it does neither."""

    def __init__(self, right: bool) -> None:
        super().__init__(GAME, "tactician" if right else "dreamer")
        self._right, tactics = right, GomokuTactics(9)
        self._fours, self._threes = ForcedPlay(tactics), ForcedPlay(tactics, threes=True)
        self._judge = GomokuJudge(9)

    def choose(self, states: States, plies: Plies | None = None) -> Choices:
        codes = GAME.encode(states)
        moves = [self._move(np.ascontiguousarray(code[:-1]), int(code[-1])) for code in codes]
        return Choices(np.array(moves, np.int32))

    def _move(self, cells: np.ndarray, side: int) -> int:
        legal = [int(cell) for cell in np.flatnonzero(cells == 0)]
        if not self._right:
            stake = self._judge.stake(cells, side)
            if not stake.is_question:
                return legal[0]
            return next(m for m in legal if not self._judge.is_right(cells, side, stake, m))
        for play in (self._fours, self._threes):
            attack = play.attack(cells, side)
            if attack.move is not None:
                return attack.move
        stops = self._fours.stops(cells, side).moves
        return stops[0] if stops else legal[len(legal) // 2]


def graded(player: Player, *samples: Sample) -> GomokuGrade:
    with GomokuJudge(9) as judge:
        return grade_gomoku(player, samples, judge)


def test_a_player_who_is_right_has_it_all_and_one_who_is_wrong_nothing() -> None:
    sample = random_positions(GAME, 80, seed=1)
    best, worst = (graded(Tactician(right), sample).together for right in (True, False))
    for task in Task:
        count = best.count(task)
        assert count.positions == count.right > 0
        assert worst.count(task).positions == count.positions
        sides = [best.count(task, side=side).positions for side in (0, 1)]
        assert sum(sides) == count.positions
        assert worst.count(task).right == 0
    assert not best.undecided


def test_what_is_graded_is_what_was_played() -> None:
    player = Tactician(True)
    own = own_games(player, 6, opening_plies=4, seed=3)
    assert own.actions is not None and len(own.actions) == len(own.states)
    assert np.array_equal(own.actions, player.choose(own.states).actions)
    assert len(np.unique(own.states, axis=0)) == len(own.states)
    grade = graded(player, own).together
    assert len(grade.judged) > 0 and all(each.right for each in grade.judged)
    assert grade.positions == len(own.states)


def test_samples_are_in_play_and_repeatable() -> None:
    sample, again = (random_positions(GAME, 40, seed=5) for _ in range(2))
    assert np.array_equal(sample.states, again.states)
    assert not np.array_equal(sample.states, random_positions(GAME, 40, seed=6).states)
    assert (GAME.results(sample.states) == 0).all() and len(sample.states) == 40
    for position in random_moves(9, random.Random(1)):
        assert isinstance(position, GomokuPosition) and not position.is_over


def test_reports_say_the_shares() -> None:
    sample = random_positions(GAME, 40, seed=1)
    right, wrong = graded(Tactician(True), sample), graded(Tactician(False), sample)
    words = text(right)
    assert "tactician on Gomoku, 9 lines" in words and "100.0 %" in words
    assert "stops a win by fours" in words and "first player" in words
    assert "tactician" in compare([right, wrong]) and "dreamer" in compare([right, wrong])
    body = right.to_dict()
    assert json.loads(json.dumps(body))["overall"]["fours"]["share"] == 1.0
    assert body["samples"][0]["stop"]["by_side"]["first"]["positions"] >= 0
    assert Count(0, 0).to_dict()["share"] is None


def test_other_games_are_refused() -> None:
    sample = random_positions(GAME, 2, seed=1)
    with GomokuJudge(15) as judge, pytest.raises(InputError, match="gomoku-9, not gomoku-15"):
        grade_gomoku(RandomPlayer(GAME, np.random.default_rng(0)), [sample], judge)
    with GomokuJudge(9) as judge, pytest.raises(InputError, match="plays connect4"):
        grade_gomoku(RandomPlayer(Connect4(), np.random.default_rng(0)), [sample], judge)


# ---- the command --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small_network(tmp_path_factory.mktemp("gomoku") / "net.safetensors", "gomoku-9")


def test_grade_prints_and_gives_json(network: Path) -> None:
    few = ("--sample", "30", "--in-play", "2", "--sims", "4")
    words = run_cli("grade", network, "--game", "gomoku", *few)
    assert words.code == 0, words.err
    assert "2 games against itself" in words.out and "30 of random play" in words.out
    body = json.loads(run_cli("grade", network, *few, "--json").out)["grades"][0]
    assert (body["game"], body["sims"], body["bound"]) == ("gomoku-9", 4, 11)
    for task in ("fours", "threes", "stop"):
        by_side = body["overall"][task]["by_side"]
        positions = sum(entry["positions"] for entry in by_side.values())
        assert positions == body["overall"][task]["positions"]
    assert body["samples"][1]["positions"] == 30
    two = run_cli("grade", network, network, "--sample", "5", "--in-play", "1")
    assert two.code == 0 and "right moves" in two.out


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--all"], "--all has no effect on a Gomoku network"),
        (["--png", "x.png"], "--png has no effect"),
        (["--sets", "x"], "--sets has no effect"),
        (["--sample", "1000000"], "--sample 1000000: Gomoku takes 1 to 100,000"),
        (["--game", "drop"], "plays gomoku-9"),
    ],
)
def test_bad_use_of_grade_is_refused_in_one_line(
    network: Path, options: list[str], names: str
) -> None:
    answer = run_cli("grade", network, *options)
    assert answer.code == 2 and names in answer.err
    assert len(answer.err.strip().splitlines()) == 1
