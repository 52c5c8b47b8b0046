"""Connect Four: positions, the exact solver, files of scored positions, and texts.

``Connect4Solver`` gives exact scores; docs/connect4.md has the method and the figures.
"""

from solver.connect4.position import (
    CELLS,
    COLUMN_BITS,
    COLUMNS,
    ROWS,
    Connect4Position,
    Connect4Stones,
    Stones,
)
from solver.connect4.solver import (
    HIGHEST,
    MEGABYTES,
    Connect4Move,
    Connect4Solver,
    Connect4Value,
    plies_to_end,
    value_of_score,
)

__all__ = [
    "CELLS",
    "COLUMNS",
    "COLUMN_BITS",
    "HIGHEST",
    "MEGABYTES",
    "ROWS",
    "Connect4Move",
    "Connect4Position",
    "Connect4Solver",
    "Connect4Stones",
    "Connect4Value",
    "Stones",
    "plies_to_end",
    "value_of_score",
]
