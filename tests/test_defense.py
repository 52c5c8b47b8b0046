"""The defence check passes right tables and catches tables that were broken on purpose.

What a failure claims is replayed here with solver.rules.Position, one move at a time.
"""

import json

import numpy as np
import pytest
from mismatched_counting import solve_canonical

from solver.defense import check_defense
from solver.defense_match import EARLY_WIN, INCONSISTENT, LATE_WIN, LOST, LOST_EARLY, NO_LOSS
from solver.defense_sample import in_any_view, move_worth, sample_positions
from solver.errors import InputError
from solver.index import find_nodes, look_up_positions, node_count
from solver.kernels import Crew
from solver.manifest import NewFile
from solver.merging import merge
from solver.playout import Positions, is_open, winning_cells
from solver.records import data_path, open_records, swap_colours, write_wins
from solver.retrograde import Solution, solve
from solver.rules import Position, Rules
from solver.table import RecordTable, open_table, write_table
from solver.values import IMPOSSIBLE

SMALL = Rules(3, 3, 3)
DEFAULT = Rules(4, 4, 4)
DRAW = 0
ON_THE_BOARD = {LOST, LOST_EARLY, LATE_WIN}


def byte_of(result, plies):
    return DRAW if plies is None else plies + 1


@pytest.fixture(scope="module")
def solution():
    solved = {}

    def get(rules):
        if rules not in solved:
            solved[rules] = solve(rules)
        return solved[rules]

    return get


@pytest.fixture(scope="module")
def right(solution, tmp_path_factory):
    """Opens the right table of a variant, written once."""
    folder = tmp_path_factory.mktemp("right")
    opened = {}

    def get(rules):
        if rules not in opened:
            write_table(folder, solution(rules))
            opened[rules] = open_table(folder, rules)
        return opened[rules]

    yield get
    for table in opened.values():
        table.close()


@pytest.fixture
def tables(tmp_path):
    """Writes table bytes, right or wrong, as a file in good order, and opens it."""
    opened = []

    def write(rules, values):
        counts = np.zeros((2 * rules.m + 1, 256), np.uint64)  # nobody's business here
        write_table(tmp_path, Solution(rules, values, counts))
        opened.append(open_table(tmp_path, rules))
        return opened[-1]

    yield write
    for table in opened:
        table.close()


def replay(failure):
    position = failure.position
    for cell in failure.line:
        position = position.play(cell)  # raises if a move is not legal
    return position


def check_claim(table, failure):
    """What the failure says of the table and of the board is so."""
    end, plies = replay(failure), len(failure.line)
    result, due = table.probe(failure.position)
    defender = failure.position.to_move
    if failure.kind == LOST:
        assert result != "loss"
        assert end.is_over and end.to_move == defender
    elif failure.kind == LOST_EARLY:
        assert result == "loss" and plies < due
        assert end.is_over and end.to_move == defender
    elif failure.kind == LATE_WIN:
        assert result == "win" and plies >= due
        assert not end.is_over
    elif failure.kind == EARLY_WIN:
        assert result == "win" and plies < due
        assert end.is_over and end.to_move != defender
    elif failure.kind == NO_LOSS:
        assert result == "loss"
        assert end.to_move != defender if end.is_over else plies >= due
    else:
        assert failure.kind == INCONSISTENT
        moves = {move.cell: tuple(move[1:3]) for move in table.moves(failure.position)}
        claimed = moves[failure.line[0]]
        assert (claimed == ("win", 1)) != end.is_over or (
            claimed == next(iter(moves.values())) != (result, due)
        )
    assert str(failure).startswith(f"{failure.kind}: '{failure.position}' is called ")
    assert "\n" not in str(failure)
    if failure.line:
        names = [failure.position.rules.cell_name(cell) for cell in failure.line]
        assert str(failure).endswith("played: " + " ".join(names))


def check_counts(report):
    assert report.positions == (report.won + report.held + report.lost_as_promised + report.failed)
    assert report.threatened_now == (
        report.blocked + report.won_at_once + report.unstoppable + report.undefended
    )
    assert report.threatened_now <= report.threatened <= report.positions
    assert report.ok == (not report.failures) == (not report.failures_by_kind)
    assert {failure.kind for failure in report.failures} == set(report.failures_by_kind)
    assert report.failed + report.failed_besides >= max([0, *report.failures_by_kind.values()])


def check_caught(table, report, kinds):
    check_counts(report)
    assert not report.ok
    assert kinds <= set(report.failures_by_kind)
    for failure in report.failures:
        check_claim(table, failure)


# ---- right tables -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "positions", "options"),
    [
        (SMALL, 300, {}),
        (Rules(3, 2, 2), 100, {}),
        (Rules(3, 3, 2), 100, {}),
        (Rules(4, 2, 2), 100, {}),
        (Rules(4, 3, 3), 100, {}),
        (DEFAULT, 100, {"longest": 16}),
    ],
    ids=str,
)
def test_a_right_table_keeps_every_promise(right, rules, positions, options):
    report = check_defense(right(rules), positions, 1, **options)
    assert report.ok, "\n".join(map(str, report.failures))
    check_counts(report)
    assert report.positions == positions
    assert report.suspects == report.undefended == report.failed == 0
    assert report.openings > 0
    if rules in (SMALL, DEFAULT):
        assert min(report.blocked, report.won, report.held, report.lost_as_promised) > 0


def test_a_game_that_nobody_can_win_is_held(right):
    rules = Rules(3, 2, 3)
    report = check_defense(right(rules), 50, 0)
    assert report.ok
    assert (report.held, report.threatened) == (50, 0)


def test_record_files_serve_as_well_as_the_dense_table(tmp_path, solution):
    with Crew(1) as crew:
        table = solution(SMALL).table
        for kind in ("xwin", "ywin"):
            write_wins(tmp_path, kind, SMALL, table, swap_colours(SMALL, table, crew), crew)
    merge(tmp_path, SMALL)
    with open_table(data_path(tmp_path, "game_tree", SMALL)) as records:
        assert check_defense(records, 200, 3).ok


def test_the_defender_plays_the_tables_best_move(right):
    table = right(SMALL)
    sampled = sample_positions(table, 200, 5).drawn
    best = move_worth(table, sampled).argmax(axis=1)
    for row in range(len(sampled)):
        assert best[row] == table.best_moves(sampled.at(row))[0]


# ---- the sample ---------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 7, 400])
def test_at_least_half_of_the_sample_is_threatened(right, count):
    table = right(DEFAULT)
    sampled = sample_positions(table, count, 11).drawn
    assert len(sampled) == count
    positions = [sampled.at(row) for row in range(count)]
    assert all(position.legal_moves() for position in positions)
    immediate = winning_cells(sampled, opponent=True) != 0
    loses = [any(move.result == "loss" for move in table.moves(p)) for p in positions]
    assert 2 * (immediate | np.array(loses)).sum() >= count


def test_the_sample_has_both_sides_all_sizes_and_every_opening(right):
    sample = sample_positions(right(SMALL), 1000, 0)
    seen = {(len(p.x), len(p.y), p.to_move) for p in map(sample.drawn.at, range(1000))}
    assert {(3, 3, "x"), (3, 3, "y"), (2, 2, "x"), (3, 2, "y"), (2, 1, "y")} <= seen
    openings = [sample.openings.at(row) for row in range(len(sample.openings))]
    assert SMALL.start() in openings
    assert {len(p.x) + len(p.y) for p in openings} == {0, 1, 2, 3}
    nodes, _ = find_nodes(*sample.openings.arrays, SMALL)
    assert sorted(nodes.tolist()) == list(range(1 + 3 + 12 + 66))  # classes, by Burnside


def test_a_view_of_a_node_is_that_node_for_either_side():
    nodes = np.arange(node_count(SMALL), dtype=np.uint64)
    canonical = Positions.from_arrays(SMALL, *look_up_positions(nodes, SMALL))
    canonical = canonical.take(is_open(canonical))
    before, _ = find_nodes(*canonical.arrays, SMALL)
    views = in_any_view(canonical, np.random.default_rng(0))
    after, transforms = find_nodes(*views.arrays, SMALL)
    assert (after == before).all()
    assert set(transforms.tolist()) == set(range(8))
    full = (views.queues >= 0).all(axis=(1, 2))
    assert 0.4 < views.to_move[full].mean() < 0.6


def test_the_report_depends_on_the_seed_alone(right):
    table = right(SMALL)
    reports = [check_defense(table, 200, 9, threads=threads) for threads in (1, 2)]
    assert reports[0] == reports[1]
    assert check_defense(table, 200, 10) != reports[0]


def test_deeper_replies_and_longer_play_visit_more(right):
    table = right(Rules(4, 3, 3))
    few, more, odd = (
        check_defense(table, 8, 2, reply_plies=plies, longest=longest)
        for plies, longest in ((0, 2), (2, 4), (3, 6))
    )
    assert few.ok and odd.ok and more.ok
    assert few.lines < more.lines <= odd.lines
    assert few.plies < more.plies < odd.plies


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ((0, 1), {}),
        ((10**30, 1), {}),
        ((2.5, 1), {}),
        ((5, -1), {}),
        ((5, "1"), {}),
        ((5, 1), {"reply_plies": -1}),
        ((5, 1), {"reply_plies": 10**30}),
        ((5, 1), {"longest": 0}),
    ],
)
def test_arguments_that_make_no_sense_are_refused(right, arguments, options):
    table = right(SMALL)
    with pytest.raises(InputError, match=r"=.+: (use [\d,]+ to [\d,]+|give an integer)$"):
        check_defense(table, *arguments, **options)


# ---- broken tables ------------------------------------------------------------------------------


def flipped(values, of, into, count, seed=0):
    """The values with ``count`` of those equal to one in ``of`` replaced."""
    wrong = values.copy()
    nodes = np.flatnonzero(np.isin(values, of))
    wrong[np.random.default_rng(seed).choice(nodes, count, replace=False)] = into
    return wrong


WINS, LOSSES = [d + 1 for d in range(1, 18, 2)], [d + 1 for d in range(2, 18, 2)]


@pytest.mark.parametrize(
    ("of", "into", "kinds"),
    [
        (WINS, DRAW, {INCONSISTENT}),
        (LOSSES, DRAW, {INCONSISTENT, LOST}),
        ([DRAW], byte_of("win", 5), {INCONSISTENT, LATE_WIN}),
        ([DRAW], byte_of("loss", 4), {INCONSISTENT, NO_LOSS}),
        ([byte_of("win", 7)], byte_of("win", 9), {INCONSISTENT, EARLY_WIN}),
        ([byte_of("win", 7)], byte_of("win", 5), {INCONSISTENT, LATE_WIN}),
        ([byte_of("loss", 4)], byte_of("loss", 6), {INCONSISTENT, LOST_EARLY}),
        ([byte_of("loss", 6)], byte_of("loss", 4), {INCONSISTENT, NO_LOSS}),
        ([byte_of("loss", 0)], DRAW, {INCONSISTENT}),
    ],
)
def test_a_few_flipped_labels_are_caught(tables, solution, of, into, kinds):
    table = tables(SMALL, flipped(solution(SMALL).table, of, into, 8))
    check_caught(table, check_defense(table, 200, 4), kinds)


@pytest.mark.parametrize("seed", range(6))
def test_on_3x3_one_flipped_label_is_enough(tables, solution, seed):
    values = solution(SMALL).table
    opened = tables(SMALL, flipped(values, [*WINS, *LOSSES], DRAW, 1, seed))
    check_caught(opened, check_defense(opened, 50, seed), {INCONSISTENT})


def test_a_win_called_a_draw_is_caught_even_beside_other_wins(tables, solution):
    rules = Rules(3, 2, 2)  # nearly every position has several winning moves
    for seed in range(4):
        values = flipped(solution(rules).table, [byte_of("loss", 0)], DRAW, 1, seed)
        table = tables(rules, values)
        report = check_defense(table, 20, seed)
        check_caught(table, report, {INCONSISTENT})
        wrong = [failure for failure in report.failures if failure.kind == INCONSISTENT]
        assert all(replay(failure).is_over for failure in wrong)


def test_a_whole_depth_missing_from_4x4_is_caught_on_the_board(tables, solution):
    values = solution(DEFAULT).table.copy()
    values[values == byte_of("loss", 2)] = DRAW
    table = tables(DEFAULT, values)
    report = check_defense(table, 100, 0, reply_plies=2, longest=8)
    check_caught(table, report, {LOST, INCONSISTENT})


def test_a_missing_y_win_file_is_caught_by_the_threats_it_lets_pass(tmp_path, solution):
    table = solution(SMALL).table
    with Crew(1) as crew:
        write_wins(tmp_path, "xwin", SMALL, table, swap_colours(SMALL, table, crew), crew)
    with NewFile(data_path(tmp_path, "ywin", SMALL), "ywin", SMALL, 8) as new:
        new.write(bytes(8))
        new.commit({"records": 0})
    merge(tmp_path, SMALL)
    source = open_records(data_path(tmp_path, "game_tree", SMALL), "game_tree", SMALL)
    with RecordTable(source) as attacker:
        report = check_defense(attacker, 200, 0)
        check_caught(attacker, report, {LOST})
        assert report.undefended > 0
        # X attacks and never defends, so X is the one who loses what was called a draw.
        lost = [failure for failure in report.failures if failure.kind == LOST]
        assert {failure.position.to_move for failure in lost} == {"x"}


@pytest.mark.parametrize("rules", [SMALL, Rules(3, 2, 2)], ids=str)
@pytest.mark.parametrize("need", ["moves", "distinct"])
def test_mismatched_need_counting_is_caught(tables, rules, need):
    labels = solve_canonical(rules.n, rules.m, rules.k, need, "distinct")
    positions = [Position(x, y, "xy"[side], rules) for x, y, side in labels]
    nodes, _ = find_nodes(*Positions.of(positions, rules).arrays, rules)
    values = np.full(node_count(rules), IMPOSSIBLE, np.uint8)
    values[nodes] = [byte_of(*value) for value in labels.values()]
    table = tables(rules, values)
    report = check_defense(table, 60, 0)
    if need == "distinct":  # counted as it is walked: right
        assert report.ok
        return
    check_caught(table, report, {LOST, INCONSISTENT})
    if rules == SMALL:
        lost = {str(failure.position) for failure in report.failures if failure.kind == LOST}
        assert "b1/- y" in lost  # called a draw, lost in 12: why the start was called a draw


def test_a_report_reads_and_travels_as_json(tables, solution):
    table = tables(SMALL, flipped(solution(SMALL).table, LOSSES, DRAW, 8))
    report = check_defense(table, 100, 4)
    body = json.loads(json.dumps(report.to_dict()))
    assert body["ok"] is False
    assert body["positions"] == 100
    assert len(body["failures"]) == len(report.failures)
    first = body["failures"][0]
    position = Position.parse(first["position"], SMALL)
    for name in first["line"]:
        position = position.play(SMALL.cell(name))
    assert first["kind"] == LOST
    assert position.is_over
