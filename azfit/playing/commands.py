"""The commands in which players meet, as a user types them: play and match."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import click

from azfit.command_options import (
    MOST_SIMS,
    TypedVariant,
    WholeNumber,
    need_torch,
    seed_option,
    sims_option,
    variant_options,
)
from azfit.loading import load_player
from azfit.players import Player
from solver.command_options import json_option, show
from solver.errors import InputError
from solver.table import open_table, table_path

TABLE = "table"
MOST_GAMES = 10_000


@click.command("play")
@click.option(
    "--against",
    default=TABLE,
    show_default=True,
    metavar="OPPONENT",
    help="'table' (perfect play), 'shipped' (fadefour's own network), a checkpoint or a run.",
)
@sims_option
@click.option(
    "--as",
    "side",
    type=click.Choice(["x", "y"]),
    default="x",
    show_default=True,
    help="The colour that you play; X begins.",
)
@variant_options
def play_command(
    variant: TypedVariant,
    folder: Path,
    threads: int | None,
    against: str,
    sims: int | None,
    side: str,
) -> None:
    """Play drop-oldest in the terminal; type 'help' there.

    Against the table --n, --m and --k choose the variant (4, 4, n by default); a network plays
    its own.

    \b
    Examples:
      fadefour play
      fadefour play --against shipped --as y
    """
    from azfit.drop_oldest_players import CanonicalPlayer, TablePlayer, drop_oldest_of
    from azfit.playing.play import play_game

    if against == TABLE and sims is not None:
        raise InputError("--sims has no effect on the table, which knows every move")
    with contextlib.ExitStack() as opened:
        if against == TABLE:
            table = opened.enter_context(open_table(folder, variant.rules))
            opponent: Player = CanonicalPlayer(TablePlayer(table))
        else:
            opponent = load_player(against, sims, threads or 1)  # one board at a time
            variant.check(opponent.game, against)
            rules, table = drop_oldest_of(opponent).rules, None
            if table_path(folder, rules).exists():
                table = opened.enter_context(open_table(folder, rules))
        play_game(opponent, human=side, table=table, lines=sys.stdin, out=sys.stdout)


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
@seed_option("the openings and the random moves")
@json_option
def match_command(
    player: str, opponent: str, games: int, sims: int, seed: int, as_json: bool
) -> None:
    """Play two networks of the same game against each other, or one against a random player.

    A player is a checkpoint, a run (its best network), 'shipped' or 'random'. Each random opening
    is played twice, with the colours exchanged.

    \b
    Examples:
      fadefour match runs/four runs/four/checkpoints/step-000000000.safetensors
      fadefour match runs/gomoku random --games 20
    """
    need_torch()
    from azfit.playing.match import play_match

    match = play_match(player, opponent, games=games, sims=sims, seed=seed)
    show(as_json, match.to_dict(), str(match))


COMMANDS = [play_command, match_command]
