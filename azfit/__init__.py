"""azfit: an AlphaZero learner whose every answer can be graded exactly.

Importing this package does not import torch.
"""

from azfit.games import Connect4, DropOldest, Game, Gomoku, Result, State, States, game_by_name
from azfit.search import Evaluation, Evaluator, Search, WalkCounts
from azfit.search_config import SearchConfig

__all__ = [
    "Connect4",
    "DropOldest",
    "Evaluation",
    "Evaluator",
    "Game",
    "Gomoku",
    "Result",
    "Search",
    "SearchConfig",
    "State",
    "States",
    "WalkCounts",
    "game_by_name",
]
