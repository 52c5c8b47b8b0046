"""What the commands of the learning half share: checkpoints, players, runs."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from solver.command_options import Command
from solver.errors import InputError
from solver.rules import Rules

if TYPE_CHECKING:
    from azfit.players import Player

SHIPPED = "shipped"


def checkpoint_path(name: str, rules: Rules | None = None) -> Path:
    """The file of a checkpoint; ``shipped`` is the network that comes with the project, by default
    that of 4 x 4."""
    if name != SHIPPED:
        return Path(name)
    variant = (rules or Rules(4, 4, 4)).name
    return Path(__file__).resolve().parent.parent / "data" / f"network_{variant}.safetensors"


def need_torch() -> None:
    for package in ("torch", "safetensors"):
        if importlib.util.find_spec(package) is None:
            raise InputError(f"this command needs {package}: run 'make learn'")


def load_player(
    checkpoint: str, rules: Rules, sims: int | None, threads: int, canonical: bool = True
) -> Player:
    """The network of a checkpoint, with search if ``sims`` is given."""
    need_torch()
    path = checkpoint_path(checkpoint, rules)
    from azfit.checkpoint import load_checkpoint
    from azfit.inference import NetworkEvaluator
    from azfit.players import NetworkPlayer, SearchPlayer

    network, about = load_checkpoint(path, f"drop-{rules.n}-{rules.m}-{rules.k}")
    evaluator = NetworkEvaluator(network, threads=threads)
    name, sha256 = path.stem, about["sha256"]
    if sims is None:
        return NetworkPlayer(evaluator, rules, canonical=canonical, name=name, sha256=sha256)
    if sims < 1:
        raise InputError(f"--sims {sims}: use at least 1, or leave it out for the network alone")
    steps = float(network.config.max_plies)
    return SearchPlayer(
        evaluator, rules, sims, max_steps=steps, canonical=canonical, name=name, sha256=sha256
    )


sims_option = click.option("--sims", type=int, help="Search with so many simulations a move.")


def run_option(holds: str) -> Callable[[Command], Command]:
    """--run: the folder of a run, and what it holds in words."""
    return click.option(
        "--run",
        "run_folder",
        type=click.Path(file_okay=False, path_type=Path),
        required=True,
        help=f"Folder of the run: {holds}.",
    )
