"""Connect Four taught by its solver: labels, the dataset on disk, batches, training and resume."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from plain_connect4 import GAME, plain_score, scored_games, state_of
from two_plies import book_of_two_plies

from azfit.checkpoint import load_checkpoint, read_tensors
from azfit.network import Network
from azfit.oracle import evaluation
from azfit.oracle.config import TrainingConfig, preset, read_config
from azfit.oracle.connect4 import dataset as dataset_module
from azfit.oracle.connect4.dataset import DATASET, Dataset, keys_of_the_sets
from azfit.oracle.connect4.labelling import LabelTask, LabelWorker, Rows, Source
from azfit.oracle.connect4.positions import random_position
from azfit.oracle.connect4.report import DatasetReport
from azfit.oracle.connect4.run_positions import bitboards
from azfit.oracle.connect4.teacher import Connect4Teacher, codes_of
from azfit.oracle.run import Run
from azfit.oracle.sampler import SampleMix
from azfit.oracle.training import train_from_oracle
from solver.connect4 import Connect4Position, Connect4Stones
from solver.connect4.book import SHIPPED
from solver.connect4.keys import key_of, keys_of, stone_counts
from solver.connect4.labels import columns_of
from solver.connect4.sets import SETTING, read_set, set_files
from solver.errors import CorruptTableError, InputError

Command = Callable[..., Any]

IN_BOOK = 5
"""Positions all of whose moves a book of two plies knows: no stone, or one in column 1 to 4."""


def worker(excluded: frozenset[int] = frozenset(), first_ply: int = 20) -> LabelWorker:
    return LabelWorker(LabelTask(1, SHIPPED.path, excluded, first_ply))


def given(positions: list[Any]) -> NDArray[np.uint64]:
    return np.array([(p.mover, p.stones) for p in positions], np.uint64)


def late_positions(count: int, seed: int = 5) -> list[Connect4Stones]:
    """Different ones, soon labelled, some with all results."""
    draw = random.Random(seed)
    chosen: dict[int, Connect4Stones] = {}
    while len(chosen) < count:
        position = random_position(draw, draw.randint(20, 36))
        chosen.setdefault(key_of(position.mover, position.stones), position)
    return list(chosen.values())


@pytest.fixture(scope="module")
def rows() -> Rows:
    """As if each were of a game of its own."""
    labelled = worker().rows_of(0, given(late_positions(400)))
    return replace(labelled, groups=np.arange(len(labelled), dtype=np.uint32))


@pytest.fixture(scope="module")
def teacher(rows: Rows) -> Connect4Teacher:
    return Connect4Teacher(rows)


@pytest.fixture
def data(tmp_path: Path, rows: Rows) -> Path:
    """A folder in which the positions are labelled already."""
    Dataset(tmp_path / DATASET).append(rows)
    return tmp_path


def tiny(teacher: Connect4Teacher, **changes: Any) -> TrainingConfig:
    config = preset("quick", teacher)
    network = replace(config.network, width=8, blocks=1)
    settings: dict[str, Any] = {"steps": 12, "batch": 32, "save_seconds": 0.0, "positions": 400}
    return replace(config, network=network, **(settings | changes))


# ---- labels -------------------------------------------------------------------------------------


def test_labels_are_what_plain_negamax_says() -> None:
    games = [columns for columns, _ in scored_games() if len(columns) >= 35][:25]
    positions = [Connect4Position(tuple(columns)) for columns in games]
    labelled = worker().rows_of(3, given(positions))
    assert len(labelled) == len(games) and (labelled.sources == Source.RUN).all()
    for row, columns in enumerate(games):
        state, known = state_of(columns), dict[Any, int]()
        score = plain_score(state, known)
        moves = {c: -plain_score(GAME.play(state, c), known) for c in GAME.legal(state)}
        keeping = [c for c, worth in moves.items() if np.sign(worth) == np.sign(score)]
        optimal = [c for c, worth in moves.items() if worth == score]
        assert labelled.scores[row] == score
        assert np.flatnonzero(columns_of(labelled.keeping)[row]).tolist() == keeping
        assert np.flatnonzero(columns_of(labelled.optimal)[row]).tolist() == optimal


def test_a_game_with_mistakes_is_labelled_at_every_ply() -> None:
    rows = worker()._game_with_mistakes(random.Random(4), 24, 7)
    labelled = Rows.of(rows)
    plies = stone_counts(labelled.stones)
    assert plies.tolist() == list(range(24, 24 + len(rows))) and len(rows) > 1
    assert set(labelled.groups.tolist()) == {7}
    for before, after in pairwise(rows):
        position = Connect4Stones(before[0], before[1])
        successors = [position.play(column) for column in position.legal_moves()]
        assert (after[0], after[1]) in [(s.mover, s.stones) for s in successors]


# ---- the public sets ----------------------------------------------------------------------------


def test_positions_of_the_sets_are_neither_labelled_nor_taught(
    tmp_path: Path, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As they are and mirrored, in a dataset that was made before the sets were known."""
    Dataset(tmp_path / DATASET).append(rows)
    draw, judging = random.Random(8), []
    position = Connect4Position()
    while not position.is_over:
        judging.append(position)
        position = position.play(draw.choice(position.legal_moves()))
    asked = [*judging[20:], *(p.mirrored for p in judging[18:20])]
    Dataset(tmp_path / DATASET).append(worker().rows_of(0, given(asked)))
    sets = tmp_path / "sets"
    sets.mkdir()
    (sets / "Test_own.txt").write_text("".join(f"{p} 0\n" for p in judging))
    keys = {key_of(p.mover, p.stones) for p in judging}
    before = Dataset(tmp_path / DATASET)
    assert keys & set(Connect4Teacher(before.rows(len(before))).keys.tolist())
    monkeypatch.setenv(SETTING, str(sets))
    assert keys_of_the_sets() == keys
    after = Dataset(tmp_path / DATASET)
    assert len(after) == len(before) - len(asked)
    assert not keys & set(Connect4Teacher(after.rows(len(after))).keys.tolist())
    excluding = worker(after.excluded)
    assert len(excluding.rows_of(0, given(asked))) == 0
    for name in ("random_position", "careful_position"):
        monkeypatch.setattr(f"azfit.oracle.connect4.labelling.{name}", lambda *_: judging[20])
    played = Rows.of(excluding._game_with_mistakes(random.Random(2), 20, 0))
    assert not keys & set(keys_of(played.movers, played.stones).tolist())


@pytest.mark.skipif(not os.environ.get(SETTING), reason=f"{SETTING} is not set")
def test_no_position_of_the_public_sets_is_in_a_dataset(tmp_path: Path) -> None:
    """Every position that training draws from, in a dataset with all kinds of sources, as a user
    grows it. That it could fail: with nothing excluded the same items have such positions."""
    judging = keys_of_the_sets()
    assert len(judging) > 2000
    dataset = Dataset(tmp_path / DATASET, items_per_file=8)
    public = [pair for path in set_files() for pair in read_set(path)[:100]]
    late = given([pair.position for pair in public if pair.position.plies > 26])
    book = book_of_two_plies(tmp_path)
    dataset.grow(300, book=book, workers=1, first_ply=20, given=[late])
    teacher = Connect4Teacher(dataset.rows(len(dataset)), dataset.excluded, book)
    assert {Source(s) for s in set(teacher.rows.sources.tolist())} >= {
        Source.RANDOM,
        Source.CAREFUL,
        Source.MISTAKES,
        Source.BOOK,
    }
    config = tiny(teacher, held_out=0.1, value_share=1.0)
    lessons = teacher.lessons(config, teacher.mix, "training")
    after = teacher.valued
    shown = dict(enumerate([*teacher.keys.tolist(), *after.keys.tolist()]))
    drawn = {shown[number] for _, chosen in lessons.lists for number in chosen.tolist()}
    assert len(drawn) > 400 and not drawn & judging
    assert not judging & {*teacher.keys.tolist(), *after.keys.tolist()}
    assert max(number for _, chosen in lessons.lists for number in chosen) >= len(teacher)
    careless = worker().rows_of(2, late)
    assert judging & set(keys_of(careless.movers, careless.stones).tolist())


# ---- the dataset --------------------------------------------------------------------------------


def test_a_dataset_grows_in_workers_and_continues_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = given(late_positions(64))

    def items(first: int, given: Any) -> Any:
        """Late positions only: the workers label them in no time."""
        return ((n, late[8 * n % 64 : 8 * n % 64 + 8]) for n in range(first, first + 1000))

    monkeypatch.setattr(dataset_module, "_items", items)
    book, folder = book_of_two_plies(tmp_path), tmp_path / DATASET
    dataset = Dataset(folder, items_per_file=2)
    dataset.grow(20, book=book, workers=2)
    assert 20 <= len(dataset) < IN_BOOK + 64
    first = {path.name: path.read_bytes() for path in folder.iterdir()}
    again = Dataset(folder, items_per_file=2)
    assert len(again) == len(dataset)
    again.grow(IN_BOOK + 64, book=book, workers=1)
    assert len(again) == IN_BOOK + 64
    assert {name: (folder / name).read_bytes() for name in first} == first
    begun_at, labelled = 8 * 2 * 2, again.rows(IN_BOOK + 64)  # two files were the book's
    expected = worker().rows_of(0, np.roll(late, -begun_at, axis=0))
    for name in ("movers", "stones", "scores", "keeping", "optimal"):
        assert getattr(labelled, name)[IN_BOOK:].tolist() == getattr(expected, name).tolist()


def test_an_item_is_the_same_whoever_labels_it() -> None:
    """Item 0 has random positions, item 1 is a game."""
    for number in (0, 1):
        first, second = (worker().rows_of(number, None) for _ in range(2))
        assert len(first) > 0
        for name in ("movers", "stones", "scores", "keeping", "optimal", "sources"):
            assert getattr(first, name).tolist() == getattr(second, name).tolist()


def test_damaged_and_missing_files_are_named(data: Path, rows: Rows) -> None:
    folder = data / DATASET
    Dataset(folder).append(rows)
    second = folder / "positions-000001.npz"
    whole = second.read_bytes()
    for at in range(0, len(whole), len(whole) // 25):
        second.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        try:
            assert len(Dataset(folder)) == len(rows)  # a byte that means nothing
        except CorruptTableError as error:
            assert second.name in str(error) and "\n" not in str(error)
    second.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CorruptTableError, match=second.name):
        Dataset(folder)
    (folder / "positions-000000.npz").unlink()
    with pytest.raises(InputError, match=r"positions-000000\.npz' is missing"):
        Dataset(folder)


def test_a_report_counts_every_position_once(rows: Rows) -> None:
    report = DatasetReport.of("data", rows)
    assert sum(part.positions for part in report.by_ply) == report.positions == len(rows)
    assert sum(part.share_of_time for part in report.by_ply) == pytest.approx(1)
    assert "labels/s per worker" in str(report)


def test_bitboards_and_codes_are_inverse(teacher: Connect4Teacher) -> None:
    codes = codes_of(teacher.rows.movers, teacher.rows.stones)
    assert bitboards(codes).tolist() == given_pairs(teacher)
    for row in range(0, len(teacher), 37):
        stones = teacher.game.stones(teacher.labelled.states[row])
        assert [stones.mover, stones.stones] == given_pairs(teacher)[row]


def given_pairs(teacher: Connect4Teacher) -> list[list[int]]:
    return [[int(m), int(s)] for m, s in zip(teacher.rows.movers, teacher.rows.stones, strict=True)]


# ---- batches ------------------------------------------------------------------------------------


def test_a_batch_shows_positions_as_they_are_or_mirrored_with_their_labels(
    teacher: Connect4Teacher,
) -> None:
    config = tiny(teacher)
    batch = teacher.lessons(config, SampleMix(), "all").batch(3, 7, 300, judged=True)
    assert 0 < int(batch.mirrored.sum()) < 300
    targets = batch.targets(Network(config.network))
    for row, (index, mirrored) in enumerate(zip(batch.indices, batch.mirrored, strict=True)):
        position = Connect4Stones(*given_pairs(teacher)[index])
        planes = teacher.game.planes(teacher.labelled.states[index][None])[0]
        optimal = columns_of(teacher.rows.optimal)[index]
        if mirrored:
            planes, optimal = planes[:, :, ::-1], optimal[::-1]
        assert (targets.planes[row].numpy() == planes).all()
        assert (batch.optimal[row] == optimal).all() and (batch.keeping[row] >= optimal).all()
        assert targets.policy[row].numpy() == pytest.approx(optimal / optimal.sum())
        score = int(teacher.rows.scores[index])
        assert int(targets.wdl[row]) == (0 if score > 0 else 2 if score < 0 else 1)
        if score == 0:
            assert int(targets.steps[row]) == -100
        else:  # odd plies to the end: the mover wins
            assert int(targets.steps[row]) % 2 == (0 if score > 0 else 1)
            assert int(targets.steps[row]) < 42 - position.plies


def test_batches_depend_on_seed_and_number_alone(teacher: Connect4Teacher) -> None:
    lessons = teacher.lessons(tiny(teacher), teacher.mix, "training")
    first = lessons.batch(1, 5, 64)
    lessons.batch(1, 6, 64)
    assert lessons.batch(1, 5, 64).indices.tolist() == first.indices.tolist()
    assert lessons.batch(2, 5, 64).indices.tolist() != first.indices.tolist()


def test_held_out_positions_are_never_drawn_for_training(teacher: Connect4Teacher) -> None:
    config = tiny(teacher, held_out=0.3)
    drawn = {
        part: set(teacher.lessons(config, SampleMix(), part).batch(1, 0, 20_000).indices.tolist())
        for part in ("training", "held-out")
    }
    assert not drawn["training"] & drawn["held-out"]
    assert drawn["training"] | drawn["held-out"] == set(range(len(teacher)))
    assert 0.2 < len(drawn["held-out"]) / len(teacher) < 0.4


def test_the_positions_of_a_game_are_held_out_together_and_those_of_the_book_never(
    rows: Rows,
) -> None:
    """40 games of 10 positions; the first 50 positions are the book's."""
    sources = np.where(np.arange(400) < 50, Source.BOOK, Source.MISTAKES).astype(np.uint8)
    groups = (np.arange(400) // 10).astype(np.uint32)
    teacher = Connect4Teacher(replace(rows, groups=groups, sources=sources))
    config = tiny(teacher, held_out=0.3)
    held_out, training = (
        teacher.lessons(config, SampleMix(), part).judged(1, 0, 1000).indices
        for part in ("held-out", "training")
    )
    assert 0 < len(held_out) < 400 and len(held_out) + len(training) == 400
    assert not set(groups[held_out].tolist()) & set(groups[training].tolist())
    assert (held_out >= 50).all()


def test_a_network_is_judged_on_every_held_out_position_once(teacher: Connect4Teacher) -> None:
    """Not on 65,536 draws of a few hundred positions."""
    config = tiny(teacher, held_out=0.3)
    lessons = teacher.lessons(config, SampleMix(), "held-out")
    listed = lessons.lists[0][1]
    chosen = lessons.judged(1, 0, 65_536).indices
    assert sorted(chosen.tolist()) == sorted(listed.tolist())
    fewer = lessons.judged(1, 0, 20)
    assert len(fewer) == len(set(fewer.indices.tolist())) == 20
    batches = evaluation.EvaluationBatches(config, teacher)
    assert len(batches._held_out) == len(listed) > len(batches._critical) > 0


def test_held_out_positions_are_not_drawn_when_they_are_mined(teacher: Connect4Teacher) -> None:
    config = tiny(teacher, held_out=0.3)
    lessons = teacher.lessons(config, SampleMix(), "training")
    everything = lessons.with_list(np.arange(len(teacher), dtype=np.uint64), 100.0)
    drawn = set(everything.batch(1, 0, 10_000).indices.tolist())
    held_out = set(teacher.lessons(config, SampleMix(), "held-out").judged(1, 0, 999).indices)
    assert drawn and not drawn & held_out
    nothing_else = lessons.with_list(np.array(sorted(held_out), np.uint64), 100.0)
    assert not set(nothing_else.batch(1, 0, 1000).indices.tolist()) & held_out


@pytest.mark.parametrize("name", ["quick", "default", "long"])
def test_every_preset_holds_positions_of_a_dataset_out(teacher: Connect4Teacher, name: str) -> None:
    """Otherwise the best network would be chosen by what it has learned from."""
    assert preset(name, teacher).held_out > 0


def test_critical_positions_have_a_move_that_loses_the_result(teacher: Connect4Teacher) -> None:
    lessons = teacher.lessons(tiny(teacher), SampleMix(uniform=0, critical=1), "all")
    batch = lessons.batch(1, 0, 500, judged=True)
    for index in set(batch.indices.tolist()):
        legal, keeping = teacher.legal[index], columns_of(teacher.rows.keeping)[index]
        assert (legal & ~keeping).any() and (keeping & ~legal).sum() == 0
    balanced = teacher.lessons(tiny(teacher), SampleMix(uniform=0, balanced=1), "all")
    results = np.sign(teacher.rows.scores[balanced.batch(1, 0, 3000).indices])
    assert np.bincount(results + 1) / 3000 == pytest.approx(1 / 3, abs=0.05)


def test_mining_lists_what_the_network_plays_wrong(teacher: Connect4Teacher) -> None:
    torch.manual_seed(1)
    network = Network(tiny(teacher).network).eval()
    positions, leads = teacher.mine(network, teacher.critical(network, None), 0.0, None)
    with torch.inference_mode():
        policy = network(torch.from_numpy(teacher.game.planes(teacher.labelled.states))).policy
    played = policy.argmax(1).numpy()[:, None]
    keeps = np.take_along_axis(columns_of(teacher.rows.keeping), played, 1)[:, 0]
    assert set(positions.tolist()) == set(np.flatnonzero(~keeps).tolist())
    assert len(positions) > 10 and (leads < 0).all()


# ---- training -----------------------------------------------------------------------------------


def assert_same_weights(first: Path, second: Path) -> None:
    ours, theirs = (read_tensors(run / "resume.safetensors")[0] for run in (first, second))
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_a_run_that_is_cut_off_continues_to_the_same_weights(
    teacher: Connect4Teacher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny(teacher, mine_rounds=1, mine_from=0.5, mine_margin=100.0)
    train_from_oracle(config, teacher, tmp_path / "whole", stream=None)
    learn = Run.learn

    def killed(run: Run, fraction: float) -> dict[str, float]:
        if run.step == 9:
            raise KeyboardInterrupt
        return learn(run, fraction)

    monkeypatch.setattr(Run, "learn", killed)
    with pytest.raises(KeyboardInterrupt):
        train_from_oracle(config, teacher, tmp_path / "cut", stream=None)
    monkeypatch.undo()
    stored = read_config(tmp_path / "cut")
    train_from_oracle(stored, teacher, tmp_path / "cut", resume=True, stream=None)
    assert_same_weights(tmp_path / "whole", tmp_path / "cut")
    mined = read_tensors(tmp_path / "cut" / "resume.safetensors")[0]["mined"]
    assert len(mined) > 0


def test_a_run_is_not_resumed_with_other_positions(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A set that becomes known leaves its positions out, and moves all later ones up: the numbers
    that were mined would mean others."""
    dataset = Dataset(data / DATASET)
    before = Connect4Teacher(dataset.rows(300))
    config = tiny(before, positions=300)
    run = tmp_path / "run"
    train_from_oracle(config, before, run, stream=None)
    sets = tmp_path / "sets"
    sets.mkdir()
    columns = scored_games()[0][0]
    (sets / "Test_own.txt").write_text("".join(map(str, columns)) + " 0\n")
    monkeypatch.setenv(SETTING, str(sets))
    dataset = Dataset(data / DATASET)
    same = Connect4Teacher(dataset.rows(300))
    train_from_oracle(read_config(run), same, run, resume=True, stream=None)
    monkeypatch.setattr(dataset_module, "keys_of_the_sets", lambda: frozenset({int(same.keys[3])}))
    other = Connect4Teacher(Dataset(data / DATASET).rows(300))
    saved = (run / "resume.safetensors").read_bytes()
    with pytest.raises(InputError, match=f"is not what .* began with.*{SETTING}") as refused:
        train_from_oracle(read_config(run), other, run, resume=True, stream=None)
    assert "\n" not in str(refused.value)
    assert (run / "resume.safetensors").read_bytes() == saved


def test_the_command_trains_resumes_and_grades(
    fadefour: Command, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "POSITIONS", 100)
    run = data / "run"
    options = ("--preset", "quick", "--width", 8, "--blocks", 1, "--threads", 1)
    train = ("train-from-oracle", "--run", run, "--data", data)
    size = ("--game", "connect4", "--positions", 300, "--steps", 4)
    ended = fadefour(*train, *size, *options)
    assert ended.code == 0, ended.err
    assert "300 labelled positions (300 run)" in ended.err and "grade" in ended.out
    config = read_config(run)
    assert config.positions == 300 and config.network.game == "connect4"
    _, about = load_checkpoint(run / "best.safetensors")
    assert len(about["positions_sha256"]) == 64
    ended = fadefour(*train, "--resume", "--json")
    assert ended.code == 0, ended.err
    ended = fadefour(*train, "--resume", "--positions", 200)
    assert ended.code == 2 and "--positions" in ended.err
    ended = fadefour("grade", run, "--data", data, "--sample", 2, "--seed", 4)
    assert ended.code == 0 and "Connect Four" in ended.out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--game", "connect4", "--n", 3), "--n has no effect"),
        (("--positions", 5), "--positions has no effect in drop-oldest"),
        (("--game", "connect4", "--positions", 0), "--positions 0"),
        (("--game", "connect4", "--games-of", "nowhere"), "nowhere"),
    ],
)
def test_bad_use_is_named(
    fadefour: Command, tmp_path: Path, options: tuple[Any, ...], words: str
) -> None:
    ended = fadefour("train-from-oracle", "--run", tmp_path / "run", *options)
    assert ended.code == 2 and words in ended.err and ended.err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_a_dataset_with_too_few_positions_is_named(data: Path, rows: Rows) -> None:
    with pytest.raises(InputError, match="has 400 positions, not 401"):
        Dataset(data / DATASET).rows(401)
