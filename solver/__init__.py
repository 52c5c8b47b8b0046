"""The exact half of fadefour: rules, symmetry, index, retrograde analysis, files, probing.

Data flows one way: rules -> index -> retrograde -> records and table -> audit, defence, export.
"""

from typing import TYPE_CHECKING

from solver.lazy_names import lazy_names

if TYPE_CHECKING:
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
    from solver.results import ResultsSolution, solve_results
    from solver.results_table import ResultsTable, write_results
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
    "ResultsSolution",
    "ResultsTable",
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
    "solve_results",
    "swap_colours",
    "symmetry_of",
    "verify_folder",
    "write_results",
    "write_table",
    "write_wins",
]

__version__ = "0.1.0"

if not TYPE_CHECKING:  # mypy would take any name for a public one
    __getattr__ = lazy_names(
        __name__,
        __all__,
        (
            *("errors", "rules", "values", "index", "retrograde", "records", "probing", "table"),
            *("merging", "audit", "verify", "results", "results_table"),
        ),
    )
