"""The command that trains a network from the exact table, as a user types it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from azfit.command_options import need_torch, run_option
from solver.command_options import json_option, show, variant_options
from solver.rules import Rules
from solver.table import DenseTable, table_path

if TYPE_CHECKING:
    from azfit.oracle.config import TrainingConfig


def _set(config: Any, **given: Any) -> Any:
    """The dataclass with the options that were given; None leaves an entry as it is."""
    return replace(config, **{name: value for name, value in given.items() if value is not None})


@click.command("train-from-oracle")
@run_option("config, metrics, curves, checkpoints")
@click.option("--resume", is_flag=True, help="Go on with the run in that folder.")
@click.option(
    "--preset",
    type=click.Choice(["quick", "default", "long"]),
    default="default",
    show_default=True,
)
@click.option("--minutes", type=float, help="Budget in minutes.  [default: by preset]")
@click.option("--steps", type=int, help="Budget in steps instead.")
@click.option("--seed", type=int)
@click.option("--kind", type=click.Choice(["mlp", "tower"]), help="Shape of the network.")
@click.option("--width", type=int, help="Features (mlp) or channels (tower).")
@click.option("--blocks", type=int, help="Residual blocks.")
@click.option("--batch", type=int, help="Positions in a step.")
@click.option("--learning-rate", type=float)
@click.option("--weight-decay", type=float)
@click.option("--clip", type=float, help="Greatest norm of the gradient.")
@click.option("--held-out", type=float, help="Share that training never sees.")
@click.option("--policy-target", type=click.Choice(["optimal", "keeping"]))
@click.option("--class-weights/--no-class-weights", default=None)
@click.option("--ema", type=float, help="Averaging of the weights, 0 for none.")
@click.option("--mine-rounds", type=int, help="How often mistakes are mined.")
@json_option
@variant_options
def train_command(
    rules: Rules,
    folder: Path,
    threads: int,
    run_folder: Path,
    resume: bool,
    preset: str,
    minutes: float | None,
    steps: int | None,
    kind: str | None,
    width: int | None,
    blocks: int | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Train a network from the exact table.

    Ctrl-C or a crash loses at most a minute; --resume continues exactly.

    \b
    Examples:
      fadefour train-from-oracle --run runs/first
      fadefour train-from-oracle --run runs/first --resume
      fadefour train-from-oracle --run runs/small --n 3 --m 3 --preset quick
    """
    need_torch()
    from azfit.oracle.config import preset as preset_of
    from azfit.oracle.training import read_config, train_from_oracle

    with DenseTable(table_path(folder, rules), rules) as table:
        config: TrainingConfig
        if resume:
            config = read_config(run_folder)
        else:
            config = preset_of(preset, table)
            network = _set(config.network, kind=kind, width=width, blocks=blocks)
            if minutes is not None or steps is not None:
                config = replace(config, minutes=minutes, steps=steps)
            config = _set(config, network=network, threads=threads, **given)
        _, evaluations = train_from_oracle(
            config, table, run_folder, resume=resume, stream=None if as_json else sys.stderr
        )
    metrics = evaluations.to_metrics()
    words = "  ".join(f"{name} {value:.6g}" for name, value in metrics.items())
    show(as_json, {"run": str(run_folder), **metrics}, f"trained: {words}\nrun: {run_folder}")


COMMANDS = [train_command]
