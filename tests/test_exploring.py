"""The kernel that explores a position, against probing one position after another."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from solver import CorruptTableError, DenseTable, Rules, Solution, solve, write_table
from solver.exploring import LONGEST_LINE, Limits, explore_by_probing
from solver.index import find_node, find_nodes
from solver.playout import Positions, random_play, successors
from solver.rules import Position
from solver.table import table_path
from solver.values import IMPOSSIBLE

VARIANTS = [(3, 3, 3), (3, 4, 3), (3, 2, 2), (4, 3, 3), (4, 3, 4), (5, 2, 3)]


@pytest.fixture(scope="module", params=VARIANTS, ids=str)
def solution(request: pytest.FixtureRequest) -> Solution:
    return solve(Rules(*request.param))


def sample(rules: Rules, count: int) -> list[Position]:
    """Positions of random games, the start, and what their moves end."""
    played = random_play(rules, count, np.random.default_rng(7))
    positions = [rules.start(), *(played.at(row) for row in range(count))]
    after = [position.play(cell) for position in positions for cell in position.legal_moves()]
    return [*positions, *(position for position in after if position.is_over)][: 2 * count]


@pytest.mark.parametrize("limits", [Limits(0, 0), Limits(3, 5), Limits(LONGEST_LINE, 8)])
def test_the_kernel_says_what_probing_says(solution: Solution, limits: Limits) -> None:
    for position in sample(solution.rules, 80):
        expected = explore_by_probing(solution, position, limits)
        assert solution.explore(position, limits) == expected
        assert expected.value == solution.probe(position)


def test_a_line_longer_than_the_kernels_goes_on(solution: Solution) -> None:
    drawn = [p for p in sample(solution.rules, 300) if solution.probe(p).plies is None]
    if not drawn:
        assert solution.rules in (Rules(3, 4, 3), Rules(3, 2, 2), Rules(4, 3, 3), Rules(5, 2, 3))
        return
    position = drawn[0]
    line = solution.line(position, 2 * LONGEST_LINE + 5)
    assert len(line) == 2 * LONGEST_LINE + 5
    assert line[:40] == solution.line(position, 40)
    for ply, cell in enumerate(line):
        if ply % 50 == 0:
            assert cell == solution.best_moves(position)[0]
        position = position.play(cell)
    assert solution.probe(position).plies is None


# ---- damage -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table of a dozen blocks."""
    folder = tmp_path_factory.mktemp("blocks")
    write_table(folder, solve(Rules(4, 3, 3)))
    return folder


def damaged(blocks: Path, folder: Path, node: int) -> DenseTable:
    """A copy of the table in which the block of this node is wrong."""
    rules = Rules(4, 3, 3)
    shutil.copytree(blocks, folder, dirs_exist_ok=True)
    path = table_path(folder, rules)
    with open(path, "r+b") as table:
        table.seek(node)
        byte = table.read(1)[0]
        table.seek(node)
        table.write(bytes([byte ^ 2]))
    return DenseTable(path, rules)


def test_damage_is_noticed_wherever_exploring_reads(blocks: Path, tmp_path: Path) -> None:
    """In the position, after a move, after a reply, and far along the line; and nowhere else."""
    rules = Rules(4, 3, 3)
    position = Position.parse("a1b3d4/c1d2b4 x", rules)
    with DenseTable(table_path(blocks, rules), rules) as whole:
        limits = Limits(LONGEST_LINE, 8)
        explored = whole.explore(position, limits)
        size = whole.manifest.block_bytes
        moves = successors(Positions.of([position], rules))
        replies = successors(moves.positions)
        read = {find_node(position)[0] // size}
        for after in (moves, replies):
            read |= {int(node) // size for node in find_nodes(*after.positions.arrays, rules)[0]}
        reached = position
        for cell in explored.line:
            reached = reached.play(cell)
            beyond = successors(Positions.of([reached], rules))
            nodes, _ = find_nodes(*beyond.positions.arrays, rules)
            read |= {int(node) // size for node in nodes} | {find_node(reached)[0] // size}
        every = range(len(whole.manifest.crc32))
    assert len(read) > 2 and len(read) < len(every)
    for block in every:
        with damaged(blocks, tmp_path / str(block), block * size + 5) as table:
            if block in read:
                with pytest.raises(CorruptTableError):
                    table.explore(position, limits)
            else:
                assert table.explore(position, limits) == explored


def test_a_position_without_a_value_is_a_damaged_table() -> None:
    solution = solve(Rules(3, 3, 3))
    position = solution.rules.start().play("a1")
    for reached in (position, position.play("b2"), position.play("b2").play("c3")):
        table = solution.table.copy()
        table[find_node(reached)[0]] = IMPOSSIBLE
        broken = Solution(solution.rules, table, solution.counts)
        with pytest.raises(CorruptTableError, match="no value"):
            broken.moves(position)
