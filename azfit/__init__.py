"""azfit: an AlphaZero learner whose every answer can be graded exactly.

Importing this package does not import torch; ``load_player`` does when it is called.
"""

import os
from typing import TYPE_CHECKING

from solver.lazy_names import lazy_names

if TYPE_CHECKING:
    from azfit.games import Connect4, DropOldest, Game, Gomoku, Result, State, States, game_by_name
    from azfit.loading import load_player
    from azfit.players import (
        Choices,
        NetworkPlayer,
        Player,
        PlayerInfo,
        RandomPlayer,
        SearchPlayer,
    )
    from azfit.search import Evaluation, Evaluator, Search, WalkCounts
    from azfit.search_config import SearchConfig

__all__ = [
    "Choices",
    "Connect4",
    "DropOldest",
    "Evaluation",
    "Evaluator",
    "Game",
    "Gomoku",
    "NetworkPlayer",
    "Player",
    "PlayerInfo",
    "RandomPlayer",
    "Result",
    "Search",
    "SearchConfig",
    "SearchPlayer",
    "State",
    "States",
    "WalkCounts",
    "game_by_name",
    "load_player",
]

if not TYPE_CHECKING:  # mypy would take any name for a public one
    __getattr__ = lazy_names(
        __name__, __all__, ("search_config", "games", "search", "players", "loading")
    )

# The threads of torch (OpenMP's) spin while they wait for each other. On a machine that does other
# work they then keep each other from running, and a step takes 10 to 100 times as long
# (bench/training_threads.py). OpenMP reads this when torch is loaded; what the user has set counts.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
