"""The empty board of Connect Four, solved cold: about a minute of a core.

In a file of its own, for the sanitizers run the solver's other tests and would take far longer.
"""

from solver.connect4 import Connect4Position, Connect4Solver


def test_the_first_player_wins_in_the_centre_with_the_21st_stone() -> None:
    with Connect4Solver() as solver:
        assert solver.value(Connect4Position()) == ("win", 41, 1)
        assert solver.value(Connect4Position.parse("4")) == ("loss", 40, -1)
