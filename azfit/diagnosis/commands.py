"""The commands that look at runs, as a user types them."""

from __future__ import annotations

from pathlib import Path

import click

from azfit.loading import need_torch
from solver.command_options import NamedPath, WholeNumber, json_option, show
from solver.plotting import pyplot
from solver.storage import check_writable

run_argument = click.argument("run", type=NamedPath())


data_option = click.option(
    "--data",
    default="data",
    show_default=True,
    type=NamedPath(file_okay=False),
    help="Folder of the solved table, which tells the right moves.",
)


@click.command("diagnose", short_help="Say what looks wrong with a run or a network.")
@click.argument("path", metavar="RUN|CHECKPOINT")
@click.option(
    "--sims",
    type=WholeNumber(1, 1_000_000),
    help="Simulations per search.  [default: the run's; 100 for a checkpoint]",
)
@data_option
@click.option("--png", type=NamedPath(), help="Also plot the main figures to this file.")
@json_option
def diagnose_command(
    path: str, sims: int | None, data: Path, png: Path | None, as_json: bool
) -> None:
    """Say what looks wrong with a run or a network, by side, and which option helps.

    RUN is the folder of a self-play run, or of a train-from-oracle run, whose best network is
    diagnosed.

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

    if png is not None:
        pyplot()  # what cannot be drawn or written is refused before the work
        check_writable(png)
    diagnosis = diagnose(path, sims=sims, data=data)
    if png is not None:
        draw_diagnosis(diagnosis, png)
    written = "" if png is None else f"\n\nwrote {png}"
    show(as_json, diagnosis.to_dict(), text(diagnosis) + written)


@click.command("inspect-buffer", short_help="Show what the replay buffer of a run holds.")
@run_argument
@data_option
@json_option
def inspect_buffer_command(run: Path, data: Path, as_json: bool) -> None:
    """Show what a run's replay buffer holds, and what looks wrong with it.

    \b
    Example:
      fadefour inspect-buffer runs/four
    """
    need_torch()
    from azfit.diagnosis.buffer_figures import inspect_buffer
    from azfit.diagnosis.buffer_report import text

    report = inspect_buffer(run, data)
    show(as_json, report.to_dict(), text(report))


@click.command("plot", short_help="Draw the curves of a run.")
@run_argument
@click.option(
    "--png",
    type=NamedPath(),
    help="File to write.  [default: RUN/curves.png]",
)
@data_option
@json_option
def plot_command(run: Path, png: Path | None, data: Path, as_json: bool) -> None:
    """Draw the curves of a self-play or train-from-oracle run.

    \b
    Example:
      fadefour plot runs/four
    """
    from azfit.curves import draw_run

    written = draw_run(run, png, data)
    show(as_json, {"png": str(written)}, f"wrote {written}")


COMMANDS = [diagnose_command, inspect_buffer_command, plot_command]
