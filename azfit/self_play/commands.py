"""The command of self-play, as a user types it.

The options of ``self-play`` are made from the fields of ``SelfPlayConfig``; they are imported when
the command runs or shows its help, torch when it runs.
"""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from azfit.command_options import init_option, run_option
from azfit.loading import checkpoint_path, need_torch, shipped_for
from solver.command_options import NamedPath, cluster_option, json_option, show
from solver.errors import InputError
from solver.wording import duration, one_line

if TYPE_CHECKING:
    from azfit.self_play.run_report import RunReport
    from azfit.self_play.state import SelfPlayRun


class SelfPlayCommand(click.Command):
    """A command whose further options are the fields of the config."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        known = {parameter.name for parameter in self.params}
        further = [option for option in _config_options() if option.name not in known]
        params = super().get_params(ctx)
        return [*params[:-1], *further, params[-1]]  # --help stays last


def _config_options() -> list[click.Option]:
    from azfit.self_play.config import options
    from azfit.self_play.defaults import IN_WORDS

    return [
        _as_option(declared, IN_WORDS.get(declared.name))
        for declared in options()
        if declared.name != "game"
    ]


def _as_option(declared: Any, chosen: str | None) -> click.Option:
    """A field of the config as an option of the command line; not given is None. chosen: what is
    chosen for it without the preset ``historical``, in words."""
    name, about = declared.name.replace("_", "-"), declared.metadata
    default = about["shown"] or declared.default
    names = f"--{name}"
    kind: Any = None
    if isinstance(declared.default, bool):
        names, default = f"--{name}/--no-{name}", "on" if declared.default else "off"
    elif about["choices"] and isinstance(declared.default, str | None):
        kind = click.Choice(about["choices"])
    elif about["choices"]:
        kind = NumberOrWord(about["choices"])
    else:
        words = str(declared.type)
        kind = int if words.startswith("int") else float if words.startswith("float") else str
    if chosen is not None:
        default = f"{chosen}; historical: {default}"
    help_text = about["help"] if default is None else f"{about['help']}  [default: {default}]"
    return click.Option([names, declared.name], type=kind, default=None, help=help_text)


class NumberOrWord(click.types.IntParamType):
    """A whole number, or one of a few words; its range is the config's to check."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self._words = words
        self.name = "|".join(["integer", *words])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value in self._words else super().convert(value, param, ctx)


@click.command("self-play", short_help="Learn a game by self-play.", cls=SelfPlayCommand)
@click.option(
    "--game",
    type=click.Choice(["drop", "connect4", "gomoku"]),
    help="Game to learn.  [default: drop, or the game of --init]",
)
@click.option("--n", type=int, help="drop: board side.  [default: 4]")
@click.option("--m", type=int, help="drop: pieces each player may have.  [default: 4]")
@click.option("--k", type=int, help="drop: pieces in a row that win.  [default: n]")
@click.option("--size", type=int, help="gomoku: board side.  [default: 15]")
@run_option("config, games, metrics, curves, networks")
@click.option(
    "--resume", is_flag=True, help="Continue the run in that folder, with its own options."
)
@click.option(
    "--preset",
    type=click.Choice(["quick", "strong", "historical"]),
    help="quick (10 iterations of 20 games) and strong (100 of 300 games, 400 simulations, 6 "
    "blocks) change just these of the defaults below; historical has its own defaults, given "
    "below where they differ.  [default: none; all options by game, budget and cores]",
)
@click.option(
    "--config",
    "config_file",
    type=NamedPath(dir_okay=False),
    help="TOML file of options; those on the command line take precedence.",
)
@init_option
@cluster_option("Workers")
@json_option
def self_play_command(
    game: str | None,
    run_folder: Path,
    resume: bool,
    preset: str | None,
    config_file: Path | None,
    init: str | None,
    cluster: str | None,
    as_json: bool,
    **typed: Any,
) -> None:
    """Learn a game by self-play, from random weights or from a trained network.

    The defaults are the best known for the game, scaled by the budget and the cores; choices.json
    in the folder of the run says what was chosen and why. After Ctrl-C or a crash, --resume
    continues the run; finished games are kept.

    \b
    Examples:
      fadefour self-play --game drop --n 3 --m 3 --run runs/small
      fadefour self-play --game connect4 --run runs/four --minutes 60
      fadefour self-play --run runs/four --resume
    """
    need_torch()
    from azfit.checkpoint import load_checkpoint
    from azfit.curves import draw_finished_run
    from azfit.self_play.config_sources import combine, read_config
    from azfit.self_play.loop import self_play
    from azfit.self_play.run_report import report_on

    given = {name: value for name, value in typed.items() if value is not None}
    if game is not None:
        given["game"] = game
    stream = None if as_json else sys.stderr
    start, choices = None, []
    if resume:
        if given or preset or config_file or init:
            raise InputError(
                "--resume continues with the options of the run: give only --run, and --cluster"
            )
        config = read_config(run_folder)
    else:
        if init is not None:
            start = load_checkpoint(checkpoint_path(shipped_for(init, game)))[0]
        combined = combine(preset, config_file, given, None if start is None else start.config)
        config, choices = combined.config, combined.choices
    try:
        run = self_play(
            config,
            run_folder,
            resume=resume,
            init=start,
            cluster=cluster,
            stream=stream,
            choices=choices,
        )
    except KeyboardInterrupt:
        draw_finished_run(run_folder, sys.stderr)
        if stream is not None and (run_folder / "config.json").exists():
            run_name = shlex.quote(str(run_folder))
            click.echo(f"to continue: fadefour self-play --run {run_name} --resume", err=True)
        raise
    report = judged(report_on(run), run, stream)
    show(as_json, report.to_dict(), str(report))
    draw_finished_run(run_folder, sys.stderr)


def judged(report: RunReport, run: SelfPlayRun, stream: TextIO | None) -> RunReport:
    """The report with what the result is worth or, whatever went wrong with that, why it is not
    known: the run is finished, and nothing may hide its report."""
    from azfit.grading.run_worth import seconds_to_judge, worth_of_run

    seconds = seconds_to_judge(run.seconds)
    if not seconds:
        return replace(report, not_judged="the run was too short to spend time on it")
    if stream is not None:
        print(f"judging the result, for about {duration(seconds)}", file=stream, flush=True)
    try:
        return replace(report, worth=worth_of_run(run.folder, run.config, seconds))
    except KeyboardInterrupt:
        return replace(report, not_judged="interrupted")
    except Exception as error:
        return replace(report, not_judged=one_line(error) or type(error).__name__)


COMMANDS = [self_play_command]
