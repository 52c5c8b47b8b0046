"""The commands of self-play, as a user types them: self-play itself, and matches.

The options of ``self-play`` are made from the fields of ``SelfPlayConfig``. torch and with it the
config are imported when a command runs or asks for its options, not by ``fadefour --help``.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from azfit.command_options import (
    MOST_SIMS,
    SHIPPED,
    WholeNumber,
    checkpoint_path,
    need_torch,
    run_option,
    seed_option,
)
from solver.command_options import json_option, show
from solver.errors import InputError

if TYPE_CHECKING:
    from azfit.network import Network


class SelfPlayCommand(click.Command):
    """A command whose further options are the fields of the config."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        known = {parameter.name for parameter in self.params}
        extra = [one for one in _config_options() if one.name not in known]
        params = super().get_params(ctx)
        return [*params[:-1], *extra, params[-1]]  # --help stays last


def _config_options() -> list[click.Option]:
    need_torch()
    from azfit.self_play.config import options

    return [_as_option(one) for one in options() if one.name != "game"]


def _as_option(one: Any) -> click.Option:
    """A field of the config as an option of the command line; not given is None."""
    name, about = one.name.replace("_", "-"), one.metadata
    shown = about["shown"] or one.default
    if isinstance(one.default, bool):
        shown = "on" if one.default else "off"
        declared = f"--{name}/--no-{name}"
        return click.Option(
            [declared, one.name], default=None, help=f"{about['help']}  [default: {shown}]"
        )
    kind: Any = str
    if about["choices"]:
        kind = click.Choice(about["choices"])
    elif str(one.type).startswith("int"):
        kind = int
    elif str(one.type).startswith("float"):
        kind = float
    words = about["help"] if shown is None else f"{about['help']}  [default: {shown}]"
    return click.Option([f"--{name}", one.name], type=kind, default=None, help=words)


@click.command("self-play", cls=SelfPlayCommand)
@click.option(
    "--game",
    type=click.Choice(["drop", "connect4", "gomoku"]),
    help="What to learn.  [default: drop]",
)
@click.option("--n", type=int, help="drop: board side.  [default: 4]")
@click.option("--m", type=int, help="drop: pieces each player may have.  [default: 4]")
@click.option("--k", type=int, help="drop: pieces in a row that win.  [default: n]")
@click.option("--size", type=int, help="gomoku: lines of the board.  [default: 15]")
@run_option("config, games, metrics, curves, checkpoints")
@click.option("--resume", is_flag=True, help="Go on with the run in that folder.")
@click.option(
    "--preset",
    type=click.Choice(["quick", "balanced", "strong"]),
    help="Options that go together.  [default: balanced]",
)
@click.option(
    "--config",
    "config_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="TOML file of options; what is typed here counts more.",
)
@click.option("--init", help="Start from this checkpoint, as of train-from-oracle.")
@json_option
def self_play_command(
    game: str | None,
    run_folder: Path,
    resume: bool,
    preset: str | None,
    config_file: Path | None,
    init: str | None,
    as_json: bool,
    **typed: Any,
) -> None:
    """Learn a game by self-play, from zero or from a checkpoint.

    Ctrl-C or a crash loses at most the games in flight; --resume goes on.

    \b
    Examples:
      fadefour self-play --game drop --n 3 --m 3 --run runs/small --preset quick
      fadefour self-play --game connect4 --run runs/four --minutes 60
      fadefour self-play --run runs/four --resume
    """
    from azfit.self_play.config_sources import combine, read_config
    from azfit.self_play.loop import self_play

    given = {name: value for name, value in typed.items() if value is not None}
    if game is not None:
        given["game"] = game
    stream = None if as_json else sys.stderr
    start = None
    if resume:
        if given or preset or config_file or init:
            raise InputError("--resume goes on with the options of the run: give --run alone")
        config = read_config(run_folder)
    else:
        config = combine(preset, config_file, given)
        if init is not None:
            start = _network_to_begin_with(init, config.game)
            config = combine(preset, config_file, given, start.config)
    try:
        run = self_play(config, run_folder, resume=resume, init=start, stream=stream)
    except KeyboardInterrupt:
        _draw(run_folder)
        raise
    _draw(run_folder)
    told = {"run": str(run_folder), "iterations": run.iteration, "elo": run.pool[-1][1]}
    best = run_folder / "best.safetensors"
    words = f"{run.iteration} iterations, Elo {run.pool[-1][1]:.0f}; best network: {best}"
    show(as_json, {**told, "best": str(best)}, words)


def _draw(run_folder: Path) -> None:
    from azfit.curves import draw_run

    with contextlib.suppress(InputError):  # no iteration yet, or no matplotlib
        draw_run(run_folder)


def _network_to_begin_with(init: str, game: str) -> Network:
    from azfit.checkpoint import load_checkpoint
    from azfit.games import DropOldest, game_by_name

    if init == SHIPPED and not isinstance(game_by_name(game), DropOldest):
        raise InputError(f"no network for {game} is shipped: give a checkpoint")
    return load_checkpoint(checkpoint_path(init), game)[0]


# ---- match --------------------------------------------------------------------------


MOST_GAMES = 10_000


@click.command("match")
@click.argument("player", metavar="PLAYER")
@click.argument("opponent", metavar="OPPONENT")
@click.option(
    "--games",
    type=WholeNumber(2, MOST_GAMES),
    default=100,
    show_default=True,
    help="How many games to play, an even number.",
)
@click.option(
    "--sims",
    type=WholeNumber(0, MOST_SIMS),
    default=100,
    show_default=True,
    help="Simulations per move; 0 for the networks alone.",
)
@seed_option("the openings and of random moves")
@json_option
def match_command(
    player: str, opponent: str, games: int, sims: int, seed: int, as_json: bool
) -> None:
    """Play two networks of one game against each other, or a network against a random player.

    A player is a checkpoint, a run (its best network), 'shipped' or 'random'. Each random opening
    is played twice, with the colours exchanged.

    \b
    Examples:
      fadefour match runs/four runs/four/checkpoints/step-000000000.safetensors
      fadefour match runs/gomoku random --games 20
    """
    need_torch()
    from azfit.self_play.match import play_match

    match = play_match(player, opponent, games=games, sims=sims, seed=seed)
    show(as_json, match.to_dict(), str(match))


COMMANDS = [self_play_command, match_command]
