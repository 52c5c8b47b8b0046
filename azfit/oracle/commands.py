"""The command that trains a network from the exact table, as a user types it."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from azfit.command_options import need_torch, run_option
from solver.command_options import json_option, show, variant_options
from solver.errors import InputError
from solver.rules import Rules
from solver.table import DenseTable, table_path

if TYPE_CHECKING:
    from azfit.oracle.config import TrainingConfig

# What may be typed with --resume: where the table is, how to run and how to print. Everything else
# is an option of the run and was settled when it began.
WITH_RESUME = {"run_folder", "resume", "data", "threads", "as_json"}


@click.command("train-from-oracle")
@run_option("config, metrics, curves, checkpoints, best.safetensors")
@click.option("--resume", is_flag=True, help="Continue the run in that folder.")
@click.option(
    "--preset",
    type=click.Choice(["quick", "default", "long"]),
    default="default",
    show_default=True,
    help="Options that go together: quick (1,000 small steps), default (20 minutes) or long "
    "(3 hours, mining its mistakes). Options given explicitly override it.",
)
@click.option("--minutes", type=float, help="Time budget.  [default: by preset]")
@click.option("--steps", type=int, help="Budget in training steps, instead of --minutes.")
@click.option("--seed", type=int, help="Seed of the weights and batches.  [default: 1]")
@click.option(
    "--kind",
    type=click.Choice(["mlp", "tower"]),
    help="Dense layers on all cells, or 3×3 convolutions.  [default: mlp]",
)
@click.option("--width", type=int, help="Features (mlp) or channels (tower).  [default: by preset]")
@click.option("--blocks", type=int, help="Residual blocks.  [default: 2]")
@click.option("--batch", type=int, help="Positions per step.  [default: by preset]")
@click.option("--learning-rate", type=float, help="Peak learning rate.  [default: by preset]")
@click.option("--weight-decay", type=float, help="Decoupled weight decay.  [default: 0.01]")
@click.option("--clip", type=float, help="Clip gradients to this norm.  [default: 1]")
@click.option(
    "--held-out",
    type=float,
    help="Share of the positions that training never sees.  [default: by preset]",
)
@click.option(
    "--policy-target",
    type=click.Choice(["optimal", "keeping"]),
    help="Spread the policy target over all depth-optimal moves, or over all moves that keep the "
    "result.  [default: optimal]",
)
@click.option(
    "--class-weights/--no-class-weights",
    default=None,
    help="Weight wins, draws and losses by their inverse frequency in the batch.  [default: off]",
)
@click.option(
    "--ema",
    type=float,
    help="Decay of an exponential moving average of the weights, which is then what is evaluated "
    "and saved; 0 for none.  [default: 0]",
)
@click.option(
    "--mine-rounds",
    type=int,
    help="How many times to list the positions that the network plays wrong, and train on them.  "
    "[default: by preset]",
)
@json_option
@variant_options
def train_command(
    rules: Rules,
    folder: Path,
    threads: int,
    run_folder: Path,
    resume: bool,
    preset: str,
    as_json: bool,
    **options: Any,
) -> None:
    """Train a network from the exact table.

    Ctrl-C loses nothing, and a crash about a minute of work; --resume continues exactly. The number
    of threads is measured when a run begins, unless --threads is given, and kept from then on.

    \b
    Examples:
      fadefour train-from-oracle --run runs/first
      fadefour train-from-oracle --run runs/first --resume
      fadefour train-from-oracle --run runs/small --n 3 --m 3 --preset quick
    """
    need_torch()
    from azfit.oracle.config import preset as preset_for
    from azfit.oracle.config import read_config
    from azfit.oracle.training import train_from_oracle

    typed_threads = threads if "threads" in _typed() else None
    config: TrainingConfig
    if resume:
        _refuse_options_of_the_run()
        config = read_config(run_folder)
        rules = config.rules
    with DenseTable(table_path(folder, rules), rules) as table:
        if not resume:
            config = _with_options(preset_for(preset, table), **options)
        if typed_threads is not None:
            config = replace(config, threads=typed_threads)
        stream = None if as_json else sys.stderr
        data = "" if folder == Path("data") else f" --data {shlex.quote(str(folder))}"
        run = shlex.quote(str(run_folder))
        try:
            _, report = train_from_oracle(config, table, run_folder, resume=resume, stream=stream)
        except KeyboardInterrupt:
            if stream is not None:
                command = f"fadefour train-from-oracle --run {run} --resume{data}"
                click.echo(f"to continue: {command}", err=True)
            raise
    show(as_json, report.to_dict(), f"{report.text()}\nnext: fadefour grade {run}{data}")


def _typed() -> set[str]:
    """Names of the options that were typed, as opposed to left at their default."""
    context = click.get_current_context()
    sources = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)
    return {name for name in context.params if context.get_parameter_source(name) in sources}


def _refuse_options_of_the_run() -> None:
    typed = _typed() - WITH_RESUME
    options = [o.opts[0] for o in click.get_current_context().command.params if o.name in typed]
    if options:
        raise InputError(
            f"--resume continues a run with its own options: leave out {', '.join(options)}"
        )


def _with_options(config: TrainingConfig, **options: Any) -> TrainingConfig:
    """The config with the options that were typed; None is one that was not."""
    typed = {name: value for name, value in options.items() if value is not None}
    shape = {name: typed.pop(name) for name in ("kind", "width", "blocks") if name in typed}
    if "minutes" in typed or "steps" in typed:  # one kind of budget replaces the other
        typed = {"minutes": None, "steps": None, **typed}
    return replace(config, network=replace(config.network, **shape), **typed)


for _option in train_command.params:
    if isinstance(_option, click.Option) and _option.name == "threads":
        _option.help = "Threads for torch.  [default: measured when the run begins, then kept]"

COMMANDS = [train_command]
