"""Whom a person plays against in the terminal, and who knows the truth about their game."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from azfit.command_options import TypedVariant
from azfit.connect4_players import SolverPlayer
from azfit.drop_oldest_players import CanonicalPlayer, TablePlayer
from azfit.games import Connect4, DropOldest, Game, State, full_name, game_by_name
from azfit.loading import game_of_network, load_player, shipped_for
from azfit.notation import read_position
from azfit.players import Player, RandomPlayer
from azfit.playing.advice import Adviser, SolverAdviser, TableAdviser
from solver.connect4 import Connect4Solver
from solver.connect4.book import book_in
from solver.errors import InputError
from solver.kernels import check_threads
from solver.table import open_table, table_path

TABLE, SOLVER, RANDOM = "table", "solver", "random"


@dataclass(frozen=True)
class Wish:
    """The game and the opponent, as far as they were typed."""

    game: str | None
    """ "drop", "connect4" or "gomoku"."""
    against: str | None
    """TABLE, SOLVER, RANDOM or a network; None: perfect play."""
    variant: TypedVariant
    size: int | None
    sims: int | None
    threads: int | None
    """None: one for a network, which has one board at a time; all cores for the solver."""
    prove: bool | None = None
    lcb: float = 0.0


def opponent_for(wish: Wish, folder: Path, opened: ExitStack) -> tuple[Player, Adviser | None]:
    """The opponent, and the adviser if the game has one here. ``opened`` closes what they use."""
    if wish.against is not None:
        wish = replace(wish, against=shipped_for(wish.against, wish.game))
    game = _game(wish)
    adviser: Adviser | None = None
    if isinstance(game, DropOldest):
        perfect = wish.against in (None, TABLE)
        if perfect or table_path(folder, game.rules).exists():
            table = opened.enter_context(open_table(folder, game.rules))
            adviser = TableAdviser(game, table)
            if perfect:
                return CanonicalPlayer(TablePlayer(table)), adviser
    elif isinstance(game, Connect4):
        threads, book = check_threads(wish.threads), book_in(folder)
        solver = opened.enter_context(Connect4Solver(threads=threads, book=book))
        adviser = SolverAdviser(game, solver)
        if wish.against in (None, SOLVER):
            return SolverPlayer(solver), adviser
    if wish.against == RANDOM:
        return RandomPlayer(game, np.random.default_rng()), adviser
    assert wish.against is not None  # otherwise the game has perfect play
    player = load_player(wish.against, wish.sims, wish.threads or 1, prove=wish.prove, lcb=wish.lcb)
    return player, adviser


# ---- the game -----------------------------------------------------------------------------------


def _game(wish: Wish) -> Game:
    """The game that is meant; one line if the opponent cannot play it."""
    if wish.against not in (None, TABLE, SOLVER, RANDOM):
        return _game_of_network(wish, wish.against)
    for name, value, is_typed in (
        ("--sims", f" {wish.sims}", wish.sims is not None),
        ("--prove" if wish.prove else "--no-prove", "", wish.prove is not None),
        ("--lcb", "", wish.lcb != 0),
    ):
        if is_typed:
            raise InputError(
                f"{name}{value} has no effect without a network: give one with --against, or leave "
                f"{name} out"
            )
    kind = wish.game or ("connect4" if wish.against == SOLVER else "drop")
    if kind == "gomoku" and wish.against != RANDOM:
        raise InputError(
            "Gomoku has no table and no solver: give --against a network ('fadefour self-play "
            "--game gomoku --run DIR' trains one), or 'random'"
        )
    if wish.against == TABLE and kind != "drop":
        raise InputError("--against table: only drop-oldest has a table; use --against solver")
    if wish.against == SOLVER and kind != "connect4":
        raise InputError(
            "--against solver: only Connect Four is solved on the spot; use --against table"
        )
    numbers = {name: getattr(wish.variant, name) for name in ("n", "m", "k")} | {"size": wish.size}
    typed = {name: number for name, number in numbers.items() if number is not None}
    return game_by_name(full_name(kind, typed))


def _game_of_network(wish: Wish, network: str) -> Game:
    game = game_of_network(network)
    if wish.game is not None and wish.game != game.name.partition("-")[0]:
        raise InputError(f"--game {wish.game}: '{network}' plays {game.name}; leave it out")
    wish.variant.check(game, network)
    if wish.size is not None and game.name != f"gomoku-{wish.size}":
        raise InputError(f"--size {wish.size}: '{network}' plays {game.name}; leave it out")
    return game


# ---- the position -------------------------------------------------------------------------------


def start_of(game: Game, text: str | None) -> State:
    """The position to start from: as ``probe`` takes it."""
    return game.start() if text is None else game.state(read_position(game, text))
