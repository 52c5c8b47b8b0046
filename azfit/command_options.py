"""What the commands of the learning half share: options, and the variant that is meant."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from azfit.games import DropOldest, Game
from azfit.search_config import MOST_SIMS
from solver.command_options import Command, NamedPath, WholeNumber, data_option
from solver.errors import InputError

sims_option = click.option(
    "--sims",
    type=WholeNumber(1, MOST_SIMS, ", or leave it out for the network alone"),
    help="Search with this many simulations per move.  [default: no search]",
)


prove_option = click.option(
    "--prove/--no-prove",
    default=None,
    help="Let the search prove wins, losses and draws, and play by them.  [default: prove]",
)

lcb_option = click.option(
    "--lcb",
    type=click.FloatRange(0, 100),
    default=0.0,
    help="Play the move with the highest lower bound, this many standard errors below its value.  "
    "[default: the most visited move]",
)


init_option = click.option(
    "--init",
    help="Network to start from: a checkpoint, the folder of a run, or 'shipped'.  "
    "[default: random weights]",
)


def run_option(holds: str) -> Callable[[Command], Command]:
    """--run, the folder of a run; holds: its contents, in words."""
    return click.option(
        "--run",
        "run_folder",
        type=NamedPath(file_okay=False),
        required=True,
        help=f"Folder of the run: {holds}.",
    )


# ---- the variant --------------------------------------------------------------------------------


@dataclass(frozen=True)
class TypedVariant:
    """--n, --m and --k as far as they were typed; what a checkpoint says needs no typing."""

    n: int | None = None
    m: int | None = None
    k: int | None = None

    def check(self, game: Game, source: str) -> None:
        """Refuses a typed option that does not hold for the game that ``source`` plays."""
        for name in ("n", "m", "k"):
            typed = getattr(self, name)
            if typed is None:
                continue
            if not isinstance(game, DropOldest):
                raise InputError(f"--{name} {typed}: '{source}' plays {game.name}; leave it out")
            stated = getattr(game.rules, name)
            if typed != stated:
                raise InputError(
                    f"--{name} {typed}: '{source}' plays {game.rules.name} (--{name} {stated}): "
                    "leave it out; the variant is read from the file"
                )


def variant_options(command: Command) -> Command:
    """--n --m --k --data --threads, handed on as ``variant``, ``folder`` and ``threads``."""

    @click.option("--n", type=int, help="Board side.  [default: the network's]")
    @click.option("--m", type=int, help="Pieces each player may have.  [default: the network's]")
    @click.option("--k", type=int, help="Pieces in a row that win.  [default: the network's]")
    @data_option
    @click.option(
        "--threads",
        type=WholeNumber(1, 1024),
        help="Threads to use.  [default: chosen automatically]",
    )
    @functools.wraps(command)
    def with_variant(
        n: int | None, m: int | None, k: int | None, data: Path, **options: Any
    ) -> None:
        command(variant=TypedVariant(n, m, k), folder=data, **options)

    return with_variant
