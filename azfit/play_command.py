"""The command that plays in the terminal, as a user types it."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import click

from azfit.command_options import TypedVariant, sims_option, variant_options
from azfit.loading import load_player
from azfit.players import Player
from solver.errors import InputError
from solver.table import open_table, table_path

TABLE = "table"


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
    from azfit.play import play_game

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


COMMANDS = [play_command]
