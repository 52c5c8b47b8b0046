"""Openings of Connect Four, solved cold: searches far larger than the table.

In a file of its own, for the sanitizers run the solver's other tests and would take far longer.
"""

import pytest
from slow import slow

from solver.connect4 import Connect4Position, Connect4Solver


@pytest.mark.parametrize(
    ("columns", "best", "value"),
    [
        ("444444", 3, ("win", 35, 1)),  # 12 million nodes, a table of 8 million
        pytest.param("4444", 4, ("win", 37, 1), marks=slow),  # the main line: 110 million
        pytest.param("", 4, ("win", 41, 1), marks=slow),  # 560 million
    ],
)
def test_the_first_player_wins_in_the_centre_with_the_21st_stone(
    columns: str, best: int, value: tuple[str, int, int]
) -> None:
    position = Connect4Position.parse(columns) if columns else Connect4Position()
    with Connect4Solver(book=None) as solver:
        assert solver.value(position) == value
        assert solver.value(position.play(best)) == ("loss", value[1] - 1, -value[2])
