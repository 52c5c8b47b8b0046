"""The command that trains a network from an oracle, as a user types it: a table or a solver."""

from __future__ import annotations

import contextlib
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from azfit.command_options import init_option, run_option
from azfit.loading import checkpoint_path, need_torch, shipped_for
from azfit.network_config import refuse_other_shape
from solver.command_options import (
    NamedPath,
    WholeNumber,
    game_option,
    json_option,
    on_stderr,
    progress_for,
    refuse_typed,
    rules_options,
    show,
    typed_options,
)
from solver.connect4.book import book_in
from solver.errors import InputError
from solver.kernels import check_threads
from solver.machine import available_cores
from solver.rules import Rules
from solver.table import DenseTable, table_path

if TYPE_CHECKING:
    from azfit.network import Network
    from azfit.oracle.config import TrainingConfig
    from azfit.oracle.teacher import Teacher

# What may be typed with --resume: where the table is, how to run and how to print. Everything else
# is an option of the run and was settled when it began.
WITH_RESUME = {"run_folder", "resume", "data", "threads", "as_json"}

# Positions of Connect Four to label, by preset.
POSITIONS = {"quick": 20_000, "default": 200_000, "long": 1_000_000}
MOST_POSITIONS = 20_000_000
FOR_CONNECT4 = ("positions", "first_ply", "workers", "games_of", "value_share")
LATEST_FIRST_PLY = 30


@click.command("train-from-oracle")
@run_option("config, metrics, curves, checkpoints, best.safetensors")
@click.option("--resume", is_flag=True, help="Continue the run in that folder.")
@game_option("drop", "connect4")
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
@init_option
@click.option(
    "--value-share",
    type=float,
    help="Connect Four: positions of which only the value is known, per labelled position drawn; "
    "labels imply these values, or the opening book has them.  [default: 0]",
)
@click.option(
    "--positions",
    type=WholeNumber(1, MOST_POSITIONS),
    help="Connect Four: positions to learn from; those that --data lacks are labelled first.  "
    "[default: by preset]",
)
@click.option(
    "--first-ply",
    type=WholeNumber(0, LATEST_FIRST_PLY),
    help="Connect Four: the earliest ply to search for labels. Each ply earlier takes 1.5 to 2 "
    "times as long per label. The opening book's positions are taught in any case.  [default: 6]",
)
@click.option(
    "--workers",
    type=WholeNumber(1, 1024),
    help="Connect Four: processes that label positions.  [default: all cores]",
)
@click.option(
    "--games-of",
    multiple=True,
    type=NamedPath(file_okay=False),
    help="Connect Four: also label positions of this self-play run's games; can be repeated.",
)
@json_option
@rules_options
@click.option(
    "--threads",
    type=int,
    help="Threads for torch.  [default: measured when the run begins, then kept]",
)
def train_command(
    rules: Rules,
    folder: Path,
    threads: int | None,
    run_folder: Path,
    resume: bool,
    game: str,
    preset: str,
    as_json: bool,
    positions: int | None,
    first_ply: int | None,
    workers: int | None,
    games_of: tuple[Path, ...],
    init: str | None,
    **options: Any,
) -> None:
    """Train a network from the exact table, or for Connect Four from its solver.

    For Connect Four, worker processes label positions exactly before training begins and keep the
    labels in --data. Nothing is labelled twice, and an interrupted labelling continues. Positions
    come from the opening book, random play, games with mistakes and, with --games-of, self-play;
    those of the sets in FADEFOUR_CONNECT4_SETS are left out.

    Ctrl-C loses nothing, and a crash about a minute of work; --resume continues exactly. Without
    --threads, a run measures the best number of threads when it begins, and then keeps it.

    \b
    Examples:
      fadefour train-from-oracle --run runs/first
      fadefour train-from-oracle --run runs/first --resume
      fadefour train-from-oracle --run runs/small --n 3 --m 3 --preset quick
      fadefour train-from-oracle --run runs/four --game connect4 --positions 100000
      fadefour train-from-oracle --run runs/taught --game connect4 --init runs/self_play
    """
    if threads is not None:
        check_threads(threads)
    need_torch()
    from azfit.oracle.config import preset as preset_for
    from azfit.oracle.config import read_config
    from azfit.oracle.training import train_from_oracle

    stored: TrainingConfig | None = None
    if resume:
        _refuse_options_of_the_run()
        stored = read_config(run_folder)
        positions = stored.positions
        game = "connect4" if stored.network.game == "connect4" else "drop"
    start = None if init is None else _network_to_begin_with(init, game, options)
    with contextlib.ExitStack() as opened:
        if game == "connect4":
            refuse_typed("n", "m", "k")
            wanted = positions or POSITIONS[preset]
            teacher: Teacher = _labelled(
                folder, wanted, first_ply, workers, games_of, resume, as_json
            )
            options["positions"] = wanted
        else:
            refuse_typed(*FOR_CONNECT4, where="in drop-oldest")
            teacher = _table(folder, stored.rules if stored else rules, opened)
        config = stored or _with_options(preset_for(preset, teacher), start, **options)
        if threads is not None:
            config = replace(config, threads=threads)
        stream = None if as_json else sys.stderr
        data = "" if folder == Path("data") else f" --data {shlex.quote(str(folder))}"
        run = shlex.quote(str(run_folder))
        try:
            _, report = train_from_oracle(
                config, teacher, run_folder, init=start, resume=resume, stream=stream
            )
        except KeyboardInterrupt:
            if stream is not None:
                command = f"fadefour train-from-oracle --run {run} --resume{data}"
                click.echo(f"to continue: {command}", err=True)
            raise
    show(as_json, report.to_dict(), f"{report.text()}\nnext: fadefour grade {run}{data}")


def _network_to_begin_with(init: str, game: str, options: dict[str, Any]) -> Network:
    """Before anything is labelled: what is wrong with it is said at once."""
    from azfit.checkpoint import load_checkpoint

    path = checkpoint_path(shipped_for(init, game))
    network = load_checkpoint(path, game if game == "connect4" else None)[0]
    refuse_other_shape(network.config, {n: v for n, v in options.items() if v is not None})
    return network


def _table(folder: Path, rules: Rules, opened: contextlib.ExitStack) -> Teacher:
    from azfit.oracle.table_teacher import TableTeacher

    return TableTeacher(opened.enter_context(DenseTable(table_path(folder, rules), rules)))


def _labelled(
    folder: Path,
    positions: int,
    first_ply: int | None,
    workers: int | None,
    games_of: tuple[Path, ...],
    resume: bool,
    as_json: bool,
) -> Teacher:
    """Labels what is missing, says what that took, and teaches the first ``positions``."""
    from azfit.oracle.connect4.dataset import DATASET, Dataset
    from azfit.oracle.connect4.positions import FIRST_PLY
    from azfit.oracle.connect4.report import DatasetReport
    from azfit.oracle.connect4.run_positions import run_positions
    from azfit.oracle.connect4.teacher import Connect4Teacher

    dataset, book = Dataset(folder / DATASET), book_in(folder)
    if not resume:
        first = FIRST_PLY if first_ply is None else first_ply
        dataset.grow(
            positions,
            book=book,
            workers=workers or available_cores(),
            first_ply=first,
            given=run_positions(games_of, first, dataset),
            progress=progress_for(as_json),
        )
    rows = dataset.rows(positions)
    if not as_json:
        on_stderr(str(DatasetReport.of(str(dataset.folder), rows)))
    return Connect4Teacher(rows, dataset.excluded, book)


def _refuse_options_of_the_run() -> None:
    typed = typed_options() - WITH_RESUME
    options = [o.opts[0] for o in click.get_current_context().command.params if o.name in typed]
    if options:
        raise InputError(
            f"--resume continues a run with its own options: leave out {', '.join(options)}"
        )


def _with_options(config: TrainingConfig, init: Network | None, **options: Any) -> TrainingConfig:
    """The config with the options that were typed (None is one that was not) and the network to
    begin with."""
    typed = {name: value for name, value in options.items() if value is not None}
    shape = {name: typed.pop(name) for name in ("kind", "width", "blocks") if name in typed}
    if init is not None:
        config, shape = replace(config, network=init.config), {}
    if "minutes" in typed or "steps" in typed:  # one kind of budget replaces the other
        typed = {"minutes": None, "steps": None, **typed}
    return replace(config, network=replace(config.network, **shape), **typed)


COMMANDS = [train_command]
