"""The commands that look at runs, as a user types them."""

from __future__ import annotations

from pathlib import Path

import click

from azfit.command_options import checkpoint_path, need_torch
from solver.command_options import json_option, show

run_argument = click.argument("run", type=click.Path(path_type=Path))


data_option = click.option(
    "--data",
    default="data",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the solved table, for the truth.",
)


@click.command("diagnose")
@click.argument("path", metavar="RUN|CHECKPOINT", type=click.Path(path_type=Path))
@click.option("--sims", type=int, help="Simulations of its searches.  [default: the run's, or 100]")
@data_option
@click.option(
    "--png", type=click.Path(dir_okay=False, path_type=Path), help="Draw the main figures."
)
@json_option
def diagnose_command(
    path: Path, sims: int | None, data: Path, png: Path | None, as_json: bool
) -> None:
    """Say what looks wrong with a run or a network, by side, and which option addresses it.

    \b
    Examples:
      fadefour diagnose runs/four
      fadefour diagnose runs/small --data data --json
      fadefour diagnose shipped --sims 100
    """
    need_torch()
    from azfit.diagnosis.diagnose import diagnose
    from azfit.diagnosis.picture import draw_diagnosis
    from azfit.diagnosis.report import text

    subject = path if path.is_dir() else checkpoint_path(path)
    diagnosis = diagnose(subject, sims=sims, data=data)
    if png is not None:
        draw_diagnosis(diagnosis, png)
    show(as_json, diagnosis.to_dict(), text(diagnosis))


@click.command("inspect-buffer")
@run_argument
@data_option
@json_option
def inspect_buffer_command(run: Path, data: Path, as_json: bool) -> None:
    """Show what the replay buffer of a run holds, and what looks wrong with it.

    \b
    Example:
      fadefour inspect-buffer runs/four
    """
    need_torch()
    from azfit.diagnosis.buffer_figures import inspect_buffer
    from azfit.diagnosis.buffer_report import text

    report = inspect_buffer(run, data)
    show(as_json, report.to_dict(), text(report))


@click.command("plot")
@run_argument
@click.option(
    "--png",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write.  [default: RUN/curves.png]",
)
@data_option
@json_option
def plot_command(run: Path, png: Path | None, data: Path, as_json: bool) -> None:
    """Draw the curves of a run, of self-play or train-from-oracle.

    \b
    Example:
      fadefour plot runs/four
    """
    from azfit.curves import draw_run

    written = draw_run(run, png, data)
    show(as_json, {"png": str(written)}, f"wrote {written}")


COMMANDS = [diagnose_command, inspect_buffer_command, plot_command]
