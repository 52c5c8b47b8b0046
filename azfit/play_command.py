"""The command that plays in the terminal, as a user types it."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import click

from azfit.command_options import load_player_of, sims_option
from solver.command_options import variant_options
from solver.rules import Rules
from solver.table import open_table, table_path


@click.command("play")
@click.option(
    "--against",
    default="table",
    show_default=True,
    help="'table', 'shipped' (the network that comes along) or a checkpoint.",
)
@sims_option
@click.option("--as", "side", type=click.Choice(["x", "y"]), default="x", show_default=True)
@variant_options
def play_command(
    rules: Rules, folder: Path, threads: int, against: str, sims: int | None, side: str
) -> None:
    """Play in the terminal; type 'help' there.

    \b
    Examples:
      fadefour play
      fadefour play --against shipped --as y
    """
    from azfit.drop_oldest_players import CanonicalPlayer, TablePlayer
    from azfit.play import play_game

    with contextlib.ExitStack() as opened:
        table = None
        if against == "table" or table_path(folder, rules).exists():
            table = opened.enter_context(open_table(folder, rules))
        player = CanonicalPlayer(TablePlayer(table)) if against == "table" and table else None
        play_game(
            player or load_player_of(against, rules, sims, threads),
            human=side,
            table=table,
            lines=sys.stdin,
            out=sys.stdout,
        )


COMMANDS = [play_command]
