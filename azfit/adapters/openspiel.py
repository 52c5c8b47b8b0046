"""OpenSpiel: drop-oldest as a game of its own, and our players as bots.

Importing this module registers the game:

    import azfit.adapters.openspiel
    game = pyspiel.load_game("drop_oldest(n=3,m=3)")

Parameters: n, m, k as everywhere (k=0, the default, means n), and max_plies: play that never ends
is a draw, and here it ends as one at this ply.

``PlayerBot`` makes any player of ours a bot: for drop_oldest, and for OpenSpiel's own connect_four,
gomoku and mnk. Their actions have our numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from azfit.boards import board, side_names
from azfit.connect4_players import SolverPlayer
from azfit.drop_oldest_players import CanonicalPlayer, TablePlayer
from azfit.games import Connect4, DropOldest, Game, Result, State, game_by_name
from azfit.players import Player
from solver.checks import integer_in
from solver.connect4 import Connect4Solver
from solver.connect4.book import book_in
from solver.errors import InputError
from solver.extras import missing
from solver.table import open_table

try:
    import pyspiel
    from open_spiel.python.observation import IIGObserverForPublicInfoGame
except ImportError:
    raise ImportError(str(missing("open_spiel", "azfit.adapters.openspiel"))) from None

NAME = "drop_oldest"
DEFAULTS = {"n": 4, "m": 4, "k": 0, "max_plies": 100}
MOST_PLIES = 1_000_000

GAME_TYPE = pyspiel.GameType(
    short_name=NAME,
    long_name="Drop-oldest tic-tac-toe",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.DETERMINISTIC,
    information=pyspiel.GameType.Information.PERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=2,
    min_num_players=2,
    provides_information_state_string=True,
    provides_information_state_tensor=False,
    provides_observation_string=True,
    provides_observation_tensor=True,
    parameter_specification=DEFAULTS,
)


# ---- the game -----------------------------------------------------------------------------------


class DropOldestGame(pyspiel.Game):
    """Drop-oldest D(n, m, k) with a ply cap."""

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        given = {**DEFAULTS, **(params or {})}
        n = given["n"]
        self.rules_of_play = DropOldest(n, given["m"], given["k"] or n)
        """The game itself, as azfit knows it."""
        self.max_plies = integer_in("max_plies", given["max_plies"], 1, MOST_PLIES)
        info = pyspiel.GameInfo(
            num_distinct_actions=self.rules_of_play.actions,
            max_chance_outcomes=0,
            num_players=2,
            min_utility=-1.0,
            max_utility=1.0,
            utility_sum=0.0,
            max_game_length=self.max_plies,
        )
        super().__init__(GAME_TYPE, info, params or {})

    def new_initial_state(self) -> DropOldestState:
        return DropOldestState(self)

    def make_py_observer(
        self, iig_obs_type: Any = None, params: dict[str, Any] | None = None
    ) -> Any:
        """An observer of the planes; one with perfect recall has the history, as text."""
        wants_history = iig_obs_type is not None and (
            not iig_obs_type.public_info or iig_obs_type.perfect_recall
        )
        if wants_history:
            return IIGObserverForPublicInfoGame(iig_obs_type, params)
        return PlanesObserver(self.rules_of_play, params)


class DropOldestState(pyspiel.State):
    """A position and how many plies have been played."""

    def __init__(self, game: DropOldestGame) -> None:
        super().__init__(game)
        self._game, self._max_plies = game.rules_of_play, game.max_plies
        self.board: State = self._game.start()
        """The position, as ``azfit.games.DropOldest`` has it."""
        self._plies, self._result = 0, Result.GOING_ON

    def current_player(self) -> int:
        if self.is_terminal():
            return int(pyspiel.PlayerId.TERMINAL)
        return self._game.to_move(self.board)

    def _legal_actions(self, player: int) -> list[int]:
        return [] if self.is_terminal() else self._game.legal_moves(self.board)

    def _apply_action(self, action: int) -> None:
        self.board = self._game.play(self.board, action)
        self._plies, self._result = self._plies + 1, self._game.result(self.board)

    def _action_to_string(self, player: int, action: int) -> str:
        return f"{side_names(self._game)[player]} {self._game.action_name(action)}"

    def is_terminal(self) -> bool:
        return self._result != Result.GOING_ON or self._plies >= self._max_plies

    def returns(self) -> list[float]:
        if self._result != Result.MOVER_WON:
            return [0.0, 0.0]
        loser = self._game.to_move(self.board)
        return [-1.0, 1.0] if loser == 0 else [1.0, -1.0]

    def __str__(self) -> str:
        """The plies belong to the state: they decide when a draw ends."""
        position = self._game.position(self.board)
        return (
            f"{position}, ply {self._plies} of {self._max_plies}\n{board(self._game, self.board)}"
        )


class PlanesObserver:
    """The planes that our networks see, the observing player's pieces first."""

    def __init__(self, game: DropOldest, params: dict[str, Any] | None) -> None:
        if params:
            raise ValueError(f"observation parameters {params}: there are none")
        self._game = game
        self.tensor = np.zeros(int(np.prod(game.plane_shape)), np.float32)
        self.dict = {"observation": self.tensor.reshape(game.plane_shape)}

    def set_from(self, state: DropOldestState, player: int) -> None:
        self.dict["observation"][:] = self._game.planes_seen_by(player, state.board)

    def string_from(self, state: DropOldestState, player: int) -> str:
        return str(state)


pyspiel.register_game(GAME_TYPE, DropOldestGame)


# ---- states of OpenSpiel's games ----------------------------------------------------------------


def our_game(game: Any) -> Game:
    """The game of ours that an OpenSpiel game is; InputError for one that we do not play."""
    name, parameters = game.get_type().short_name, game.get_parameters()
    if isinstance(game, DropOldestGame):
        return game.rules_of_play
    if name == "connect_four":
        shape = [parameters.get(key) for key in ("rows", "columns", "x_in_row")]
        if shape == [6, 7, 4]:
            return game_by_name("connect4")
    elif name == "gomoku":
        others = [parameters.get(key) for key in ("connect", "dims", "anti", "wrap")]
        if others == [5, 2, False, False]:
            return game_by_name(f"gomoku-{parameters['size']}")
    elif name == "mnk" and parameters["m"] == parameters["n"] and parameters["k"] == 5:
        return game_by_name(f"gomoku-{parameters['m']}")
    raise InputError(
        f"{game}: our players play drop_oldest, connect_four(rows=6,columns=7,x_in_row=4), "
        "gomoku(connect=5) and mnk(k=5) on square boards"
    )


# Owners by what OpenSpiel writes: crosses and noughts, black and white.
_OWNERS = {".": 0, "x": 1, "o": -1, "b": 1, "w": -1}


def our_state(state: Any) -> State:
    """The state of our game that an OpenSpiel state shows, whichever moves led to it."""
    if isinstance(state, DropOldestState):
        return state.board
    game = our_game(state.get_game())
    lines = str(state).split()
    rows = [[_OWNERS[stone] for stone in line] for line in lines if len(line) == game.columns]
    if isinstance(game, Connect4):
        rows.reverse()  # written from the top; our row 0 is the lowest
    stones = np.array(rows, np.int8).ravel()
    code = np.append(stones, np.int8(np.count_nonzero(stones) % 2))
    decoded: State = game.decode(code[None])[0]
    return decoded


# ---- bots ---------------------------------------------------------------------------------------


class PlayerBot(pyspiel.Bot):
    """A player of ours, for ``evaluate_bots`` and wherever else OpenSpiel takes a bot."""

    def __init__(self, player: Player) -> None:
        pyspiel.Bot.__init__(self)
        self.player = player

    def restart_at(self, state: Any) -> None:
        """Nothing is remembered: a move depends on the position alone."""

    def step(self, state: Any) -> int:
        game = our_game(state.get_game())
        if game.name != self.player.game.name:
            raise InputError(f"{self.player.name} plays {self.player.game.name}, not {game.name}")
        return self.player.move(our_state(state))


def exact_bot(game: Any, data: str | Path = "data", seed: int | None = None) -> PlayerBot:
    """Perfect play: for drop_oldest by the table in the folder ``data``, for connect_four by the
    solver, which takes up to a minute where the opening book ends.

    seed: draws one of the best moves; None: always the same one. The ply cap plays no part: a win
    is a win however late it comes.
    """
    ours = our_game(game)
    if isinstance(ours, DropOldest):
        rng = None if seed is None else np.random.default_rng(seed)
        player: Player = TablePlayer(open_table(data, ours.rules), rng)
        return PlayerBot(player if rng is not None else CanonicalPlayer(player))
    if isinstance(ours, Connect4):
        return PlayerBot(SolverPlayer(Connect4Solver(book=book_in(Path(data)))))
    raise InputError(f"{game}: nobody knows perfect play; use a network")
