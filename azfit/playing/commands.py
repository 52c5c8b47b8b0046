"""The commands in which players meet, as a user types them: play and match."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import click

from azfit.command_options import (
    TypedVariant,
    lcb_option,
    prove_option,
    sims_option,
    variant_options,
)
from azfit.games import Connect4, DropOldest
from azfit.loading import need_torch
from azfit.search_config import MOST_SIMS
from solver.command_options import WholeNumber, json_option, refuse_typed, seed_option, show

MOST_GAMES = 10_000


@click.command("play")
@click.option(
    "--game",
    type=click.Choice(["drop", "connect4", "gomoku"]),
    help="Game to play.  [default: drop, or the network's]",
)
@click.option(
    "--against",
    metavar="OPPONENT",
    help="'table' (drop, perfect play), 'solver' (connect4, perfect play), 'shipped' (fadefour's "
    "own network for the game), a checkpoint, a run, or 'random'.  [default: table or solver]",
)
@sims_option
@prove_option
@lcb_option
@click.option(
    "--as",
    "side",
    type=click.Choice(["x", "y", "o"]),
    default="x",
    show_default=True,
    help="The side that you play: X begins; y or o for the second player.",
)
@click.option(
    "--position",
    help="Start from this position, written as for 'probe'.  [default: the start]",
)
@click.option("--size", type=int, help="gomoku: board side.  [default: 15, or the network's]")
@variant_options
def play_command(
    variant: TypedVariant,
    folder: Path,
    threads: int | None,
    game: str | None,
    against: str | None,
    sims: int | None,
    prove: bool | None,
    lcb: float,
    side: str,
    position: str | None,
    size: int | None,
) -> None:
    """Play in the terminal; type 'help' there.

    --n, --m, --k (4, 4, n by default) and --size choose the variant; a network plays its own.
    Where the table or the solver knows the truth, hints and values are exact.

    \b
    Examples:
      fadefour play
      fadefour play --against shipped --as y
      fadefour play --game connect4
      fadefour play --against runs/gomoku --sims 400
    """
    from azfit.playing.opponents import Wish, opponent_for, start_of
    from azfit.playing.play import play_game

    wish = Wish(game, against, variant, size, sims, threads, prove, lcb)
    with contextlib.ExitStack() as opened:
        opponent, adviser = opponent_for(wish, folder, opened)
        if not isinstance(opponent.game, DropOldest | Connect4):
            refuse_typed("data", where=f"in {opponent.game.name}")
        start = start_of(opponent.game, position)
        human = 0 if side == "x" else 1
        play_game(
            opponent, human=human, adviser=adviser, start=start, lines=sys.stdin, out=sys.stdout
        )


@click.command("match", short_help="Play two networks against each other.")
@click.argument("player", metavar="PLAYER")
@click.argument("opponent", metavar="OPPONENT")
@click.option(
    "--games",
    type=WholeNumber(2, MOST_GAMES),
    default=100,
    show_default=True,
    help="Number of games, even.",
)
@click.option(
    "--sims",
    type=WholeNumber(0, MOST_SIMS),
    default=100,
    show_default=True,
    help="Simulations per move; 0 for the networks alone.",
)
@prove_option
@lcb_option
@seed_option("the openings and the random moves")
@json_option
def match_command(
    player: str,
    opponent: str,
    games: int,
    sims: int,
    prove: bool | None,
    lcb: float,
    seed: int,
    as_json: bool,
) -> None:
    """Play two networks of the same game against each other, or one against a random player.

    A player is a checkpoint, a run (its best network), 'shipped' (drop-oldest; or
    'shipped-connect4') or 'random'. Each random opening is played twice, with the colours
    exchanged.

    \b
    Examples:
      fadefour match runs/four runs/four/checkpoints/step-000000000.safetensors
      fadefour match runs/gomoku random --games 20
    """
    need_torch()
    from azfit.playing.match import play_match

    match = play_match(player, opponent, games=games, sims=sims, seed=seed, prove=prove, lcb=lcb)
    show(as_json, match.to_dict(), str(match))


COMMANDS = [play_command, match_command]
