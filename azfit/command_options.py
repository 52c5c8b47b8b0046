"""What the commands of the learning half share: options, and the variant that is meant."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from azfit.games import DropOldest, Game
from azfit.loading import SHIPPED as SHIPPED
from azfit.loading import checkpoint_path as checkpoint_path
from azfit.loading import need_torch as need_torch
from solver.command_options import Command, data_option
from solver.command_options import NamedPath as NamedPath
from solver.command_options import WholeNumber as WholeNumber
from solver.errors import InputError
from solver.rules import Rules

MOST_SIMS = 10_000_000
MOST_SEED = 2**63 - 1


sims_option = click.option(
    "--sims",
    type=WholeNumber(1, MOST_SIMS, ", or leave it out for the network alone"),
    help="Search with this many simulations per move.  [default: no search]",
)


def seed_option(of: str) -> Callable[[Command], Command]:
    """--seed; of: what it seeds, in words."""
    return click.option(
        "--seed",
        type=WholeNumber(0, MOST_SEED),
        default=0,
        show_default=True,
        help=f"Seed of {of}.",
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

    @property
    def rules(self) -> Rules:
        """What the options mean where nothing else names the variant: 4 x 4 by default."""
        n = 4 if self.n is None else self.n
        return Rules(n, 4 if self.m is None else self.m, n if self.k is None else self.k)

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
