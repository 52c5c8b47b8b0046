"""A grade says what the table says, counted over the right positions.

Sources of truth: brute force over all positions of 3x3 (no product code), and arithmetic by hand.
"""

from __future__ import annotations

import builtins
import json
from collections import Counter
from pathlib import Path
from typing import Any

import brute_force
import numpy as np
import pytest
from fixed_players import (
    HashedNetwork,
    Key,
    Opinion,
    Spoiled,
    cells_chosen,
    class_of,
    fixed,
    network_player,
    perfect,
)

from azfit.drop_oldest_players import CanonicalPlayer, TablePlayer, game_of, states_of
from azfit.grading import grade as grade_module
from azfit.grading import grade_report
from azfit.grading.grade import all_nodes, grade
from azfit.grading.in_play import grade_in_play
from azfit.grading.tally import wilson
from azfit.players import NetworkPlayer, RandomPlayer, SearchPlayer
from azfit.search_config import SearchConfig
from solver import InputError, Position, Rules
from solver.in_play import drawn_in_play
from solver.index import look_up_positions, symmetry_of
from solver.playout import Positions, legal_moves
from solver.table import DenseTable

Truth = dict[brute_force.Position, brute_force.Value]


@pytest.fixture(scope="module")
def classes33(truth33: Truth) -> dict[Key, tuple[brute_force.Position, brute_force.Value]]:
    """One position in play of every class: mirror images, turns and full ones colour-swapped."""
    classes = {}
    for position, value in truth33.items():
        x, y, to_move = position
        if not brute_force.is_over(position, 3, 3):
            classes[class_of(*((x, y) if to_move == 0 else (y, x)), 3)] = (position, value)
    return classes


def uniform(table: DenseTable) -> RandomPlayer:
    """Every legal move with equal chance: its grade is an expectation, exact."""
    return RandomPlayer(game_of(table.rules), np.random.default_rng(0))


def kept_share(position: brute_force.Position, truth: Truth) -> float:
    """The chance that a random move keeps the result."""
    result = truth[position][0]
    after = [-truth[move][0] for move in brute_force.successors(position, 3, 3, 3)]
    return after.count(result) / len(after)


# ---- shares -------------------------------------------------------------------------------------


def test_the_table_itself_is_perfect_on_all_of_3x3(table33: DenseTable) -> None:
    report = grade(perfect(table33), table33).to_dict()
    for name in ("keeping", "optimal", "wdl_accuracy"):
        assert report["overall"][name] == 1.0
    assert report["overall"]["positions"] == 8344
    assert report["overall"]["calibration_error"] == report["overall"]["steps_error"] == 0.0
    assert report["worst_blunders"] == [] and report["overall"]["blunders"] == 0


def test_the_table_itself_is_perfect_on_a_sample_of_4x4(table44: DenseTable) -> None:
    graded = grade(perfect(table44), table44, sample=50_000, seed=3)
    assert graded.overall.positions == 50_000
    assert graded.overall.keeping == graded.overall.optimal == graded.overall.wdl_accuracy == 1.0
    assert len(graded.nodes_in_error) == len(graded.nodes_misjudged) == 0


def test_a_uniform_player_gets_exactly_the_share_of_keeping_moves(
    table33: DenseTable, truth33: Truth, classes33: Any
) -> None:
    graded = grade(uniform(table33), table33)
    shares = {key: kept_share(position, truth33) for key, (position, _) in classes33.items()}
    assert graded.overall.positions == len(shares)
    assert graded.overall.keeping == pytest.approx(sum(shares.values()) / len(shares), abs=1e-12)
    for number, name in ((1, "win"), (0, "draw"), (-1, "loss")):
        group_shares = [share for key, share in shares.items() if classes33[key][1][0] == number]
        group = graded.by_result()[name]
        assert group.positions == len(group_shares)
        assert group.keeping == pytest.approx(sum(group_shares) / len(group_shares), abs=1e-12)
    for pieces, group in graded.by_pieces().items():
        group_shares = [
            share for (own, other), share in shares.items() if len(own + other) == pieces
        ]
        assert group.positions == len(group_shares)
        assert group.keeping == pytest.approx(sum(group_shares) / len(group_shares), abs=1e-12)


def test_counts_by_depth_and_side_are_brute_forces(table33: DenseTable, classes33: Any) -> None:
    graded = grade(perfect(table33), table33)
    depths = Counter(value[1] for _, value in classes33.values() if value[1] is not None)
    assert {plies: group.positions for plies, group in graded.by_depth().items()} == depths
    sizes = Counter(len(own) + len(other) for own, other in classes33)
    sides = {name: group.positions for name, group in graded.by_side().items()}
    assert sides == {
        "x": sizes[0] + sizes[2] + sizes[4] + sizes[6],
        "y": sizes[1] + sizes[3] + sizes[5] + sizes[6],
    }


def test_the_interval_of_a_sampled_random_player_covers_the_truth(table33: DenseTable) -> None:
    exact = grade(uniform(table33), table33).overall.keeping
    assert exact is not None
    covered = 0
    for seed in range(40):
        report = grade(fixed(table33.rules, seed), table33, sample=1000, seed=seed).to_dict()
        low, high = report["overall"]["interval_95"]["keeping"]
        covered += low <= exact <= high
    assert covered >= 34  # 38 expected; 33 or fewer has a chance of one in a hundred


def test_wilson_interval_by_hand() -> None:
    low, high = wilson(0.5, 100)
    assert [low, high] == pytest.approx([0.4038, 0.5962], abs=1e-4)
    assert wilson(1.0, 1000)[1] == 1.0 and wilson(1.0, 1000)[0] == pytest.approx(0.99617, abs=1e-5)


# ---- judgements ---------------------------------------------------------------------------------


@pytest.mark.parametrize("sure", [0.7, 0.6])  # above and below the share of wins, 0.685
def test_judgement_errors_by_hand(table33: DenseTable, classes33: Any, sure: float) -> None:
    values = [value for _, value in classes33.values()]
    count = Counter(result for result, _ in values)
    plies = [depth for _, depth in values if depth is not None]
    graded = grade(Opinion(table33, [sure, 0.2, 0.8 - sure], 4.0), table33)
    wins = count[1] / len(values)
    assert graded.overall.wdl_accuracy == pytest.approx(wins)
    assert graded.overall.calibration_error == pytest.approx(abs(sure - wins), abs=1e-6)
    assert graded.by_result()["draw"].calibration_error == pytest.approx(sure, abs=1e-6)
    off = sum(abs(depth - 4) for depth in plies) / len(plies)
    assert graded.overall.steps_error == pytest.approx(off)
    assert graded.tally.confusion.tolist() == [[count[r], 0, 0] for r in (1, 0, -1)]
    assert len(graded.nodes_misjudged) == count[0] + count[-1]


def test_every_spoiled_position_is_found_and_nothing_else(
    table33: DenseTable, truth33: Truth, classes33: Any
) -> None:
    spoilable = [key for key, (pos, _) in classes33.items() if kept_share(pos, truth33) < 1]
    spoiled = set(spoilable[::97])
    graded = grade(Spoiled(table33, spoiled), table33)
    positions = Positions.from_arrays(
        table33.rules, *look_up_positions(graded.nodes_in_error, table33.rules)
    )
    blundered = {
        class_of(positions.at(row).mover, positions.at(row).opponent, 3)
        for row in range(len(positions))
    }
    assert blundered == spoiled and graded.overall.errors == len(spoiled)
    after = graded.tally.after
    assert int(after.sum() - np.trace(after)) == len(spoiled)
    drops = [blunder.severity[0] for blunder in graded.worst]
    assert drops == sorted(drops) and drops[0] == -2
    for blunder in graded.worst:
        assert table33.probe(blunder.position) == blunder.before
        position = blunder.position.play(blunder.move)
        assert truth33[position.x, position.y, "xy".index(position.to_move)][0] == {
            "win": -1, "draw": 0, "loss": 1,
        }[blunder.after.result]  # fmt: skip
        if blunder.after.result == "loss":
            for cell in blunder.refutation:
                position = position.play(cell)
            assert position.is_over and position.to_move == blunder.position.to_move


def test_chunks_and_threads_change_nothing(
    table33: DenseTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def report(threads: int) -> dict[str, Any]:
        graded = grade(fixed(table33.rules, 5), table33, threads=threads).to_dict()
        return {key: value for key, value in graded.items() if key != "seconds"}

    whole = report(1)
    monkeypatch.setattr(grade_module, "AT_A_TIME", 777)
    assert report(2) == whole


def test_samples_are_distinct_in_play_and_repeatable(table44: DenseTable) -> None:
    nodes = drawn_in_play(table44, 20_000, seed=1)
    assert len(np.unique(nodes)) == 20_000 and (np.diff(nodes.astype(np.int64)) > 0).all()
    assert not np.isin(table44.bytes[nodes], (1, 255)).any()
    assert (nodes == drawn_in_play(table44, 20_000, seed=1)).all()
    assert (nodes != drawn_in_play(table44, 20_000, seed=2)).any()
    draws = float((table44.bytes[nodes] == 0).mean())
    assert draws == pytest.approx(61_067_945 / 72_113_641, abs=0.012)  # five standard errors


def test_a_sample_of_everything_is_everything(table33: DenseTable) -> None:
    assert grade(fixed(table33.rules), table33, sample=10**9).sample is None
    nodes = np.concatenate(list(all_nodes(table33)))
    assert (drawn_in_play(table33, 8344, 0) == nodes).all()
    assert len(np.unique(drawn_in_play(table33, 8000, 0))) == 8000


# ---- players ------------------------------------------------------------------------------------


def some_positions(table: DenseTable, count: int) -> Positions:
    """Positions on boards turned and mirrored at random, half of the full ones with Y to move."""
    random = np.random.default_rng(11)
    nodes = np.concatenate(list(all_nodes(table)))
    picked = np.sort(random.choice(nodes, count, replace=False))
    x, y, to_move = look_up_positions(picked, table.rules)
    image = np.concatenate([symmetry_of(table.rules).image.astype(np.int8), np.full((8, 1), -1)], 1)
    turn = random.integers(8, size=count)[:, None]
    x, y = image[turn, x].astype(np.int8), image[turn, y].astype(np.int8)
    swap = (y[:, -1] >= 0) & (random.random(count) < 0.5)
    x[swap], y[swap] = y[swap], x[swap].copy()
    return Positions.from_arrays(table.rules, x, y, np.where(swap, 1, to_move).astype(np.int8))


def test_canonical_players_move_alike_on_symmetric_boards(table33: DenseTable) -> None:
    positions = some_positions(table33, 400)
    network = HashedNetwork(9)
    for player in (perfect(table33), network_player(network, table33.rules)):
        cells = cells_chosen(player, positions)
        assert legal_moves(positions)[np.arange(400), cells].all()
        for t in range(8):
            image = symmetry_of(table33.rules).image[t]
            for row in range(0, 400, 7):
                position = positions.at(row)
                turned = symmetry_of(table33.rules).apply(t, position)
                after = position.play(int(cells[row]))
                other = turned.play(player.move(turned))
                assert class_of(after.mover, after.opponent, 3) == class_of(
                    other.mover, other.opponent, 3
                ), (t, image)


def test_the_tables_player_takes_the_lowest_best_cell_of_the_board(table33: DenseTable) -> None:
    positions = some_positions(table33, 500)
    cells = cells_chosen(TablePlayer(table33), positions)
    assert cells.tolist() == [table33.best_moves(positions.at(row))[0] for row in range(500)]
    canonical = cells_chosen(perfect(table33), positions)
    assert all(canonical[row] in table33.best_moves(positions.at(row)) for row in range(500))


def test_networks_move_is_the_lowest_of_the_highest_legal_logits(
    table33: DenseTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    positions, game = some_positions(table33, 300), game_of(table33.rules)
    network = HashedNetwork(9, levels=3)  # three levels only: ties everywhere
    states = states_of(game, positions)
    monkeypatch.setattr("azfit.players.BATCH", 64)
    choices = NetworkPlayer(game, network).choose(states)
    assert choices.margin is not None and (choices.margin >= 0).all()
    logits = network(game.planes(states))[0]
    for row in range(len(positions)):
        legal = positions.at(row).legal_moves()
        best = max(logits[row, cell] for cell in legal)
        assert choices.actions[row] == next(cell for cell in legal if logits[row, cell] == best)


def test_a_network_of_nonsense_numbers_is_refused(table33: DenseTable) -> None:
    class Broken(HashedNetwork):
        def __call__(self, planes: Any) -> Any:
            logits, wdl, steps = super().__call__(planes)
            return logits * np.nan, wdl, steps

    with pytest.raises(Exception, match="not finite"):
        grade(network_player(Broken(9), table33.rules), table33)


def test_search_sees_a_win_at_once(table33: DenseTable) -> None:
    class Ignorant:
        def __call__(self, planes: Any) -> Any:
            count = len(planes)
            level = np.tile(np.array([0, 1, 0], np.float32), (count, 1))
            return np.zeros((count, 9), np.float32), level, np.full(count, 5, np.float32)

    search = SearchPlayer(game_of(table33.rules), Ignorant(), SearchConfig(sims=40))
    player = CanonicalPlayer(search)
    won = np.flatnonzero(table33.bytes == 2)[::20].astype(np.uint64)
    boards = Positions.from_arrays(table33.rules, *look_up_positions(won, table33.rules))
    cells = cells_chosen(player, boards)
    assert all(boards.at(row).play(int(cells[row])).is_over for row in range(len(boards)))
    assert player.info.to_dict()["sims"] == 40
    assert (cells_chosen(player, boards) == cells).all()


def test_other_variants_are_refused(table33: DenseTable, table44: DenseTable) -> None:
    with pytest.raises(InputError, match="plays"):
        grade(fixed(Rules()), table33)
    with pytest.raises(InputError, match="is of"):
        perfect(table33).move(Position.parse("-/- x"))
    with pytest.raises(InputError, match="sample=0"):
        grade(fixed(Rules()), table44, sample=0)


# ---- in play ------------------------------------------------------------------------------------


def test_the_table_loses_no_game_and_makes_no_mistake(table44: DenseTable) -> None:
    matches = {match.opponent: match for match in grade_in_play(perfect(table44), table44)}
    for match in matches.values():
        assert match.wins + match.draws + match.losses == 200
        assert match.losses == 0 and match.grade.overall.errors == 0
        assert 0 < match.grade.overall.positions <= match.moves
    assert matches["random"].wins > 150 and matches["table"].draws == 200


def test_games_of_a_weak_player_are_graded_on_its_own_boards(table44: DenseTable) -> None:
    for player in (fixed(table44.rules, 3), fixed(table44.rules, 3).inner):
        (match,) = grade_in_play(player, table44, opponents=["table"], games=60, seed=2)
        assert match.losses > 50 and match.wins == 0
        assert match.grade.overall.errors >= match.losses * 0.9  # it did not start lost
    with pytest.raises(InputError, match="nobody"):
        grade_in_play(player, table44, opponents=["nobody"])


# ---- reports ------------------------------------------------------------------------------------


def test_reports_say_what_the_grade_says(
    table33: DenseTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weak = grade(fixed(table33.rules, 1), table33)
    strong = grade(perfect(table33), table33)
    text = grade_report.text(weak)
    assert f"{weak.overall.errors:,.0f}" in text and f"'{weak.worst[0].position}'" in text
    assert "win in 17" in text and "6 pieces" in text and "Y to move" in text
    lines = grade_report.compare([weak, strong]).splitlines()
    assert len(lines) == 3 and "100 %" in lines[2] and "random" in lines[1]
    assert json.loads(json.dumps(weak.to_dict()))["by_depth"]["17"]["positions"] > 0
    for graded in (weak, strong):
        grade_report.draw_grade(tmp_path / "grade.png", graded)
        assert (tmp_path / "grade.png").read_bytes().startswith(b"\x89PNG")
    plain = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return plain(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match="needs matplotlib"):
        grade_report.draw_grade(tmp_path / "other.png", weak)


def test_groups_without_a_blunder_can_be_seen(
    table33: DenseTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weak: no move can spoil a lost position, so these groups have a 0; perfect: all have."""
    figures: list[Any] = []
    monkeypatch.setattr(grade_report, "save_png", lambda figure, path: figures.append(figure))
    for player in (fixed(table33.rules, 1), perfect(table33)):
        graded = grade(player, table33)
        grade_report.draw_grade(tmp_path / "grade.png", graded)
        by_result, by_depth, by_pieces, _ = figures[-1].axes
        for axes, groups in (
            (by_result, graded.by_result()),
            (by_depth, graded.by_depth()),
            (by_pieces, graded.by_pieces()),
        ):
            zeros = sum(not group.errors for group in groups.values())
            texts = [text.get_text() for text in axes.texts]
            assert texts.count("0") == zeros == len(axes.lines[0].get_xdata())
            assert any("no blunder in any of" in text for text in texts) == (zeros == len(groups))


def test_percentages_never_round_up_to_perfect() -> None:
    shown = [grade_report.percent(share) for share in (1.0, 0.99999999, 0.9991, 0.5, 0.0, None)]
    assert shown == ["100 %", "99.9999990 %", "99.910 %", "50.00 %", "0 %", "-"]
