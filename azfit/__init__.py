"""azfit: an AlphaZero learner whose every answer can be graded exactly.

Importing this package does not import torch; ``load_player`` does when it is called.
"""

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
