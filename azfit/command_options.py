"""What the commands of the learning half share: checkpoints, players, runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from azfit.loading import SHIPPED as SHIPPED
from azfit.loading import checkpoint_path as checkpoint_path
from azfit.loading import load_player
from azfit.loading import need_torch as need_torch
from azfit.players import Player
from solver.command_options import Command
from solver.errors import InputError
from solver.rules import Rules


def load_player_of(checkpoint: str, rules: Rules, sims: int | None, threads: int) -> Player:
    """The network of a checkpoint, which must play drop-oldest by these rules."""
    player = load_player(checkpoint, sims, threads)
    wanted = f"drop-{rules.n}-{rules.m}-{rules.k}"
    if player.game.name != wanted:
        raise InputError(
            f"checkpoint '{checkpoint}' plays {player.game.name}, not {wanted}: give that game, "
            "or another one"
        )
    return player


class WholeNumber(click.IntRange):
    """A whole number from ``low`` to ``high``; else one line that names the option and both."""

    def __init__(self, low: int, high: int, otherwise: str = "") -> None:
        """otherwise: what else to do than to give a number in this range."""
        super().__init__(low, high)
        self._advice = f"use a whole number from {low:,} to {high:,}{otherwise}"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            name = "" if param is None else f"{param.opts[0]} "
            raise InputError(f"{name}{value}: {self._advice}") from None


MOST_SIMS = 10_000_000

sims_option = click.option(
    "--sims",
    type=WholeNumber(1, MOST_SIMS, ", or leave it out for the network alone"),
    help="Search, with this many simulations per move.",
)


def run_option(holds: str) -> Callable[[Command], Command]:
    """--run: the folder of a run, and what it holds in words."""
    return click.option(
        "--run",
        "run_folder",
        type=click.Path(file_okay=False, path_type=Path),
        required=True,
        help=f"Folder of the run: {holds}.",
    )
