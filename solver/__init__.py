"""The exact half of fadefour: rules, symmetry, index, retrograde analysis, files, probing.

Data flows one way: rules -> index -> retrograde -> records and table -> audit, defence, export.
"""

from solver.audit import Audit, audit_table
from solver.errors import (
    CorruptTableError,
    FadefourError,
    InputError,
    MissingTableError,
    NoRoomError,
)
from solver.index import Symmetry, canonicalise, find_nodes, look_up_positions, symmetry_of
from solver.merging import merge
from solver.probing import Table
from solver.records import open_records, swap_colours, write_wins
from solver.retrograde import Solution, solve
from solver.rules import Position, Rules
from solver.table import DenseTable, open_table, write_table
from solver.values import MoveValue, Value
from solver.verify import Verification, verify_folder

__all__ = [
    "Audit",
    "CorruptTableError",
    "DenseTable",
    "FadefourError",
    "InputError",
    "MissingTableError",
    "MoveValue",
    "NoRoomError",
    "Position",
    "Rules",
    "Solution",
    "Symmetry",
    "Table",
    "Value",
    "Verification",
    "audit_table",
    "canonicalise",
    "find_nodes",
    "look_up_positions",
    "merge",
    "open_records",
    "open_table",
    "solve",
    "swap_colours",
    "symmetry_of",
    "verify_folder",
    "write_table",
    "write_wins",
]
