"""What the commands share: options that several of them take, and how they print."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from solver.checks import MOST_SEED
from solver.errors import InputError
from solver.gomoku.position import LARGEST, SMALLEST
from solver.gomoku.tactics import MOST_NODES, MOST_PLIES, NODES, PLIES
from solver.kernels import check_threads
from solver.progress import Progress, Silent, for_terminal
from solver.rules import Rules
from solver.table import open_table

Command = Callable[..., None]


class WholeNumber(click.types.IntParamType):
    """A whole number from ``low`` to ``high``; anything else is refused in one line."""

    def __init__(self, low: int, high: int, otherwise: str = "") -> None:
        """otherwise: an alternative to such a number, for the message."""
        self._low, self._high = low, high
        self._advice = f"use a whole number from {low:,} to {high:,}{otherwise}"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        with contextlib.suppress(click.BadParameter):
            number = super().convert(value, param, ctx)
            if self._low <= number <= self._high:
                return number
        name = "" if param is None else f"{param.opts[0]} "
        raise InputError(f"{name}{value}: {self._advice}")


class NamedPath(click.Path):
    """A path that has a name: an empty one would silently mean the current folder."""

    def __init__(self, **options: Any) -> None:
        super().__init__(path_type=Path, **options)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "" and param is not None:
            raise InputError(f"{param.opts[0]} '' is empty: give a name, or leave it out")
        return super().convert(value, param, ctx)


data_option = click.option(
    "--data",
    default="data",
    show_default=True,
    type=NamedPath(file_okay=False),
    help="Folder of the solved files.",
)


def rules_options(command: Command) -> Command:
    """--n --m --k --data, handed on as ``rules`` and ``folder``."""

    @click.option("--n", default=4, show_default=True, help="Board side, 3 to 5.")
    @click.option("--m", default=4, show_default=True, help="Pieces each player may have.")
    @click.option("--k", type=int, help="Pieces in a row that win.  [default: n]")
    @data_option
    @functools.wraps(command)
    def with_rules(n: int, m: int, k: int | None, data: Path, **options: Any) -> None:
        command(rules=Rules(n, m, n if k is None else k), folder=data, **options)

    return with_rules


def variant_options(command: Command) -> Command:
    """``rules_options`` and --threads, handed on as ``threads``, all cores by default."""

    @rules_options
    @click.option("--threads", type=int, help="Threads to use.  [default: all cores]")
    @functools.wraps(command)
    def with_threads(threads: int | None, **options: Any) -> None:
        command(threads=check_threads(threads), **options)

    return with_threads


GAMES = {"drop": "drop-oldest", "connect4": "Connect Four", "gomoku": "Gomoku"}


def game_option(*games: str) -> Callable[[Command], Command]:
    """--game, with these choices."""
    *others, last = (GAMES[game] for game in games)
    return click.option(
        "--game",
        default="drop",
        show_default=True,
        type=click.Choice(games),
        help=f"{', '.join(others)} or {last}.",
    )


def gomoku_options(command: Command) -> Command:
    """--size --plies --nodes of the solver of Gomoku."""
    for option in (
        click.option(
            "--nodes",
            type=WholeNumber(1, MOST_NODES),
            default=NODES,
            show_default=True,
            help="gomoku: node limit of each search; the report says what remains unknown.",
        ),
        click.option(
            "--plies",
            type=WholeNumber(1, MOST_PLIES),
            default=PLIES,
            show_default=True,
            help="gomoku: longest win by fours and threes to look for.",
        ),
        click.option(
            "--size",
            "--board",
            "size",
            type=WholeNumber(SMALLEST, LARGEST),
            default=15,
            show_default=True,
            help="gomoku: board side.",
        ),
    ):
        command = option(command)
    return command


def typed_options() -> set[str]:
    """Names of the options that were typed, as opposed to left at their default."""
    context = click.get_current_context()
    typed = click.core.ParameterSource.COMMANDLINE
    return {name for name in context.params if context.get_parameter_source(name) is typed}


def refuse_typed(*names: str, where: str = "with --game connect4") -> None:
    """One line if one of these options was typed where it has no effect."""
    useless = typed_options().intersection(names)
    for option in click.get_current_context().command.params:
        if option.name in useless:
            raise InputError(f"{option.opts[0]} has no effect {where}: leave it out")


def cluster_option(what: str) -> Callable[[Command], Command]:
    """--cluster; what: is spread over the machines, in words."""
    return click.option(
        "--cluster",
        metavar="ADDRESS",
        help=f"{what} run on a Ray cluster: auto, local (started on this machine) or HOST:PORT.",
    )


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")


def seed_option(of: str) -> Callable[[Command], Command]:
    """--seed; of: what it seeds, in words."""
    return click.option(
        "--seed",
        type=WholeNumber(0, MOST_SEED),
        default=0,
        show_default=True,
        help=f"Seed of {of}.",
    )


table_option = click.option(
    "--table",
    "table_file",
    type=NamedPath(),
    help="A .table or .data file to use instead of the folder's; the variant is read from it.",
)


def variant_of(table_file: Path | None, rules: Rules) -> Rules:
    """The variant of --table, if that names a file and --n, --m and --k were not typed."""
    if table_file is None or typed_options() & {"n", "m", "k"}:
        return rules
    with open_table(table_file) as table:
        return table.rules


def show(as_json: bool, body: dict[str, Any], words: str) -> None:
    """Prints a report, as JSON or in words."""
    click.echo(json.dumps(body, indent=1) if as_json else words)


def on_stderr(line: str) -> None:
    """For notices that are not part of a report."""
    click.echo(line, err=True)


def progress_for(as_json: bool) -> Progress:
    return Silent() if as_json else for_terminal()


def note_for(as_json: bool) -> Callable[[str], None]:
    """Prints a line between those of the progress."""
    return (lambda line: None) if as_json else on_stderr
