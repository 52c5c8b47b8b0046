"""Free-style Gomoku: positions, and forced wins by fours and threes, proved.

``GomokuTactics`` answers; docs/gomoku.md has the method and the figures.
"""

from solver.gomoku.forced import ForcedPlay, Stops
from solver.gomoku.position import LARGEST, SMALLEST, TO_WIN, GomokuPosition, cell_name
from solver.gomoku.tactics import Answer, Attack, Cells, GomokuTactics
from solver.gomoku.verdict import MoveVerdict, Threat, Verdict

__all__ = [
    "LARGEST",
    "SMALLEST",
    "TO_WIN",
    "Answer",
    "Attack",
    "Cells",
    "ForcedPlay",
    "GomokuPosition",
    "GomokuTactics",
    "MoveVerdict",
    "Stops",
    "Threat",
    "Verdict",
    "cell_name",
]
