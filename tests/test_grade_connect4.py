"""A Connect Four grade says what plain negamax says, counted over the right positions."""

from __future__ import annotations

import io
import json
import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixed_players import HashedNetwork
from plain_connect4 import GAME, POSITIONS, plain_score, scored_games, state_of
from plain_games import PlainConnect4

from azfit.connect4_players import SolverPlayer
from azfit.games import Connect4
from azfit.grading.connect4.grade import grade_connect4, grade_set
from azfit.grading.connect4.labels import (
    CACHE,
    Label,
    LabelFile,
    LabelledSet,
    Labeller,
    label,
    labelled_sets,
    random_positions,
)
from azfit.grading.connect4.report import compare, text
from azfit.grading.tally import wilson
from azfit.players import NetworkPlayer, RandomPlayer, SearchPlayer
from azfit.search_config import SearchConfig
from solver.connect4 import Connect4Position, Connect4Solver
from solver.connect4.sets import Scored, read_set
from solver.errors import CorruptTableError, FadefourError, InputError

Command = Callable[..., Any]

FEW = [pair for pair in scored_games() if len(pair[0]) >= 35][:40]
"""Games that plain negamax has done with at once."""


def uniform() -> RandomPlayer:
    """Every legal column with equal chance: its grade is an expectation, exact."""
    return RandomPlayer(Connect4(), np.random.default_rng(0))


def sign(number: int) -> int:
    return (number > 0) - (number < 0)


def plain_moves(game: list[int]) -> dict[int, int]:
    """Scores by column, from plain negamax."""
    state, known = state_of(game), {}
    return {c + 1: -plain_score(GAME.play(state, c), known) for c in GAME.legal(state)}


@pytest.fixture(scope="module")
def solver() -> Connect4Solver:
    return Connect4Solver(4)


@pytest.fixture(scope="module")
def few(solver: Connect4Solver) -> LabelledSet:
    positions = [Connect4Position(tuple(game)) for game, _ in FEW]
    return LabelledSet("few", positions, [label(position, solver) for position in positions])


# ---- labels -------------------------------------------------------------------------------------


def test_labels_are_plain_negamaxs(few: LabelledSet) -> None:
    for (game, score), right in zip(FEW, few.labels, strict=True):
        moves = plain_moves(game)
        keeping = sum(1 << (c - 1) for c, worth in moves.items() if sign(worth) == sign(score))
        optimal = sum(1 << (c - 1) for c, worth in moves.items() if worth == score)
        assert right == Label(score, keeping, optimal), game


def test_a_wrong_score_is_found_out_and_a_right_one_changes_nothing(
    few: LabelledSet, solver: Connect4Solver
) -> None:
    for position, right in zip(few.positions, few.labels, strict=True):
        assert label(position, solver, right.score) == right
        for off in (-1, 1, -3):
            with pytest.raises(InputError, match="does not have the score"):
                label(position, solver, right.score + off)


def test_labels_are_the_same_whatever_the_threads(few: LabelledSet) -> None:
    asked = [Scored(position, None) for position in few.positions]
    for threads in (1, 3):
        with Labeller(threads, megabytes=1) as labeller:
            assert labeller.labels("few", asked + asked, LabelFile()) == [*few.labels] * 2


def test_labels_are_kept_in_a_file(few: LabelledSet, tmp_path: Path) -> None:
    asked = [Scored(position, None) for position in few.positions]
    path = tmp_path / "new" / CACHE
    with Labeller(1, megabytes=1) as labeller:
        assert labeller.labels("few", asked, LabelFile(path)) == list(few.labels)
        before = labeller.nodes
        assert labeller.labels("few", asked, LabelFile(path)) == list(few.labels)
        assert labeller.nodes == before  # read, not solved
        with pytest.raises(InputError, match="has the score"):
            labeller.labels("few", [Scored(few.positions[0], 20)], LabelFile(path))
    assert [file.name for file in path.parent.iterdir()] == [CACHE]


def altered(path: Path, **arrays: Any) -> bytes:
    with np.load(path) as file:
        stored = {name: file[name] for name in file.files} | arrays
    packed = io.BytesIO()
    np.savez_compressed(packed, **{name: a for name, a in stored.items() if a is not None})
    return packed.getvalue()


def test_a_damaged_file_of_labels_is_refused(few: LabelledSet, tmp_path: Path) -> None:
    """Labels that are all zero would make every move a blunder."""
    asked = [Scored(position, None) for position in few.positions]
    path = tmp_path / CACHE
    with Labeller(1, megabytes=1) as labeller:
        labeller.labels("few", asked, LabelFile(path))
    whole = path.read_bytes()
    zeroed = altered(path, labels=np.zeros((len(few.labels), 3), np.int16))
    unsigned = altered(path, sha256=None)
    for content in (b"", b"junk", whole[:-50], zeroed, unsigned):
        path.write_bytes(content)
        with pytest.raises(CorruptTableError, match="delete it"):
            LabelFile(path)
    path.write_bytes(whole)
    assert len(LabelFile(path).known) == len(few.labels)


def test_two_graders_keep_each_others_labels(few: LabelledSet, tmp_path: Path) -> None:
    path = tmp_path / CACHE
    first, second = LabelFile(path), LabelFile(path)
    half = len(few.positions) // 2
    for file, part in ((first, slice(half)), (second, slice(half, None))):
        for position, right in zip(few.positions[part], few.labels[part], strict=True):
            file.add(position, right)
    first.save()
    second.save()
    names = map(str, few.positions)
    assert LabelFile(path).known == dict(zip(names, few.labels, strict=True))


def test_the_same_labels_are_the_same_bytes_in_whatever_order_they_came(
    few: LabelledSet, tmp_path: Path
) -> None:
    """A grader that was interrupted and one after it leave the file of one that was not."""
    pairs = list(zip(few.positions, few.labels, strict=True))
    for name, parts in {"once": [pairs], "twice": [pairs[7:], pairs[:7]]}.items():
        for part in parts:
            file = LabelFile(tmp_path / name)
            for position, right in part:
                file.add(position, right)
            file.save()
    assert (tmp_path / "once").read_bytes() == (tmp_path / "twice").read_bytes()


def test_two_processes_keep_each_others_labels(few: LabelledSet, tmp_path: Path) -> None:
    """Eight at once, each with some labels of its own, saved one by one."""
    path = tmp_path / CACHE

    def grader(number: int) -> None:
        file = LabelFile(path)
        for position, right in list(zip(few.positions, few.labels, strict=True))[number::8]:
            file.add(position, right)
            file.save()

    fork = multiprocessing.get_context("fork")
    graders = [fork.Process(target=grader, args=(number,)) for number in range(8)]
    for process in graders:
        process.start()
    for process in graders:
        process.join()
        assert process.exitcode == 0
    known = LabelFile(path).known
    expected = {str(p): right for p, right in zip(few.positions, few.labels, strict=True)}
    assert known == expected


def test_labels_that_cannot_be_kept_are_used_all_the_same(few: LabelledSet, tmp_path: Path) -> None:
    """The folder's place is taken by a file: whoever runs the test, nothing can be written."""
    (tmp_path / "data").write_text("")
    warnings: list[str] = []
    file = LabelFile(tmp_path / "data" / CACHE, warnings.append)
    asked = [Scored(position, None) for position in few.positions]
    with Labeller(1, megabytes=1) as labeller:
        assert labeller.labels("few", asked, file) == list(few.labels)
    (warning,) = warnings
    assert "not kept" in warning and "\n" not in warning


def test_a_folder_that_cannot_be_written_costs_no_grade(
    fadefour: Command, checkpoint: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    data = ("--data", tmp_path / "file" / "data")
    ended = fadefour("grade", checkpoint, "--sets", POSITIONS, *data, "--json")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["grades"][0]["overall"]["positions"] == 120
    assert ended.err.count("not kept") == 1 and len(ended.err.strip().splitlines()) == 1


def test_a_search_of_another_thread_can_be_stopped() -> None:
    """The empty board takes a minute without the book."""
    with Connect4Solver(book=None) as solver:
        with ThreadPoolExecutor(1) as pool:
            search = pool.submit(solver.score, Connect4Position())
            while not search.running():
                time.sleep(0.01)
            solver.stop()
            with pytest.raises(FadefourError, match="stopped"):
                search.result()
        with pytest.raises(FadefourError, match="stopped"):
            solver.score(Connect4Position())


def test_random_positions_are_in_play_and_repeat_by_seed() -> None:
    made = random_positions(50, seed=3)
    assert made == random_positions(50, seed=3) != random_positions(50, seed=4)
    assert all(not position.is_over and score is None for position, score in made)
    assert {position.to_move for position, _ in made} == {0, 1}


# ---- grades -------------------------------------------------------------------------------------


def test_perfect_play_grades_perfect(few: LabelledSet, solver: Connect4Solver) -> None:
    graded = grade_connect4(SolverPlayer(solver), [few])
    for group in graded.together.groups().values():
        assert group.errors == 0
        assert group.positions == 0 or group.keeping == group.optimal == group.wdl_accuracy == 1.0


def test_a_uniform_player_gets_exactly_the_share_of_right_moves(few: LabelledSet) -> None:
    kept, optimal = [], []
    for game, score in FEW:
        worths = list(plain_moves(game).values())
        kept.append(sum(sign(worth) == sign(score) for worth in worths) / len(worths))
        optimal.append(worths.count(score) / len(worths))
    graded = grade_set(uniform(), few)
    assert graded.group().keeping == pytest.approx(np.mean(kept), abs=1e-12)
    assert graded.group().optimal == pytest.approx(np.mean(optimal), abs=1e-12)
    assert graded.group().wdl_accuracy is None
    for side, name in enumerate(("first player", "second player")):
        kept_here = [k for k, (game, _) in zip(kept, FEW, strict=True) if len(game) % 2 == side]
        group = graded.groups()[name]
        assert group.positions == len(kept_here)
        assert group.keeping == pytest.approx(np.mean(kept_here), abs=1e-12)
    for number, name in ((1, "win"), (0, "draw"), (-1, "loss")):
        kept_here = [k for k, (_, score) in zip(kept, FEW, strict=True) if sign(score) == number]
        assert graded.groups()[name].positions == len(kept_here)
        assert graded.groups()[name].keeping == pytest.approx(np.mean(kept_here), abs=1e-12)


def test_a_network_is_asked_about_the_board_and_plays_legally(few: LabelledSet) -> None:
    network, plain = HashedNetwork(7), PlainConnect4()
    player = NetworkPlayer(Connect4(), network)
    for row, (game, _) in enumerate(FEW):
        state = state_of(game)
        logits, _, _ = network(plain.planes(state)[None])
        best = max(plain.legal(state), key=lambda column, said=logits[0]: (said[column], -column))
        assert player.move(few.positions[row]) == best


def test_search_with_an_ignorant_network_keeps_more_results(few: LabelledSet) -> None:
    """Few cells are left, so a thousand simulations see nearly everything."""
    game, ignorant = Connect4(), HashedNetwork(7, levels=1)
    alone = grade_set(NetworkPlayer(game, ignorant), few).group()
    config = SearchConfig(sims=1000)
    searched = grade_set(SearchPlayer(game, ignorant, config), few).group()
    assert alone.keeping is not None and searched.keeping is not None
    assert searched.keeping > max(0.95, alone.keeping)


def test_states_are_the_games_played(few: LabelledSet) -> None:
    game = Connect4()
    for position in few.positions:
        played = game.play_all(column - 1 for column in position.columns)
        assert (game.state(position) == played).all()


def test_text_and_json_agree(few: LabelledSet) -> None:
    graded = grade_connect4(uniform(), [few, few])
    report = json.loads(json.dumps(graded.to_dict()))
    assert report["overall"]["positions"] == 2 * report["sets"][0]["positions"] == 2 * len(FEW)
    rate = report["sets"][0]["blunder_rate"]
    low, high = report["sets"][0]["interval_95"]["blunder_rate"]
    assert (low, high) == pytest.approx(wilson(rate, len(FEW)))
    assert f"{100 * rate:.2f} %" in text(graded)
    assert compare([graded, graded]).count(f"{100 * rate:.2f} %") == 6


def test_sets_are_chosen_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, solver: Connect4Solver
) -> None:
    monkeypatch.setenv("FADEFOUR_CONNECT4_SETS", str(tmp_path))
    (named,) = labelled_sets([POSITIONS], None, 0, tmp_path)
    assert len(named.positions) == len(read_set(POSITIONS))
    (tmp_path / "here.txt").write_text(POSITIONS.read_text().splitlines()[0])
    (present,) = labelled_sets([], None, 0, tmp_path)
    assert present.name == "here" and len(present.labels) == 1
    with pytest.raises(InputError, match="cannot be combined"):
        labelled_sets([POSITIONS], 5, 0, tmp_path)


# ---- the command --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network of random weights."""
    torch = pytest.importorskip("torch")
    from azfit.checkpoint import save_checkpoint
    from azfit.network import Network, NetworkConfig

    torch.manual_seed(1)
    config = NetworkConfig(
        game="connect4",
        width=32,
        blocks=1,
        max_plies=42,
        canonical=False,
        hide_leaving=False,
        rate_moves=False,
    )
    folder = tmp_path_factory.mktemp("connect4")
    return save_checkpoint(folder / "random.safetensors", Network(config))


def test_grade_knows_the_game_of_a_checkpoint(
    fadefour: Command, checkpoint: Path, tmp_path: Path
) -> None:
    options = ("--sets", POSITIONS, "--data", tmp_path, "--threads", 1)
    ended = fadefour("grade", checkpoint, *options, "--json")
    assert ended.code == 0, ended.err
    (report,) = json.loads(ended.out)["grades"]
    assert report["game"] == "connect4" and report["overall"]["positions"] == 120
    assert 0 < report["overall"]["blunder_rate"] < 1
    assert report["overall"]["wdl_accuracy"] is not None
    assert (tmp_path / CACHE).exists()
    both = fadefour("grade", "--game", "connect4", checkpoint, checkpoint, *options, "--sims", 8)
    assert both.code == 0, both.err
    assert "random + 8 sims" in both.out and "second player to move" in both.out


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (("--sets", "none.txt"), "none.txt"),
        (("--sample", 0), "--sample 0"),
        (("--sims", 0, "--sample", 5), "--sims 0"),
        (("--n", 3), "--n"),
        (("--in-play", 3), "--in-play"),
        (("--game", "drop"), "plays connect4"),
        (("--sample", 10**30), "100,000,000"),
        (("--sample", 200_000), "100,000 positions"),
        (("--seed", -1), "--seed -1"),
        (("--threads", 0), "--threads 0"),
        (("--data", ""), "--data"),
        (("--sets", POSITIONS, "--sample", 5), "cannot be combined"),
    ],
)
def test_bad_use_of_grade_is_named(
    fadefour: Command, checkpoint: Path, tmp_path: Path, options: tuple[Any, ...], names: str
) -> None:
    ended = fadefour("grade", checkpoint, "--data", tmp_path, *options)
    assert ended.code == 2 and ended.out == ""
    assert len(ended.err.strip().splitlines()) == 1 and names in ended.err
