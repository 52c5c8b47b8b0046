"""What the commands share: options that several of them take, and how they print."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from solver.errors import InputError
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


def variant_options(command: Command) -> Command:
    """--n --m --k --data --threads, handed on as ``rules``, ``folder`` and ``threads``."""

    @click.option("--n", default=4, show_default=True, help="Board side, 3 to 5.")
    @click.option("--m", default=4, show_default=True, help="Pieces each player may have.")
    @click.option("--k", type=int, help="Pieces in a row that win.  [default: n]")
    @data_option
    @click.option("--threads", type=int, help="Threads to use.  [default: all cores]")
    @functools.wraps(command)
    def with_rules(
        n: int, m: int, k: int | None, data: Path, threads: int | None, **options: Any
    ) -> None:
        rules = Rules(n, m, n if k is None else k)
        command(rules=rules, folder=data, threads=check_threads(threads), **options)

    return with_rules


game_option = click.option(
    "--game",
    default="drop",
    show_default=True,
    type=click.Choice(["drop", "connect4"]),
    help="drop-oldest or Connect Four.",
)


def refuse_typed(*names: str, where: str = "with --game connect4") -> None:
    """One line if one of these options was typed where it has no effect."""
    context = click.get_current_context()
    for option in context.command.params:
        typed = context.get_parameter_source(option.name or "")
        if option.name in names and typed is click.core.ParameterSource.COMMANDLINE:
            raise InputError(f"{option.opts[0]} has no effect {where}: leave it out")


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")


table_option = click.option(
    "--table",
    "table_file",
    type=NamedPath(),
    help="A .table or .data file to use instead of the folder's; the variant is read from it.",
)


def variant_of(table_file: Path | None, rules: Rules) -> Rules:
    """The variant of --table, if that names a file and --n, --m and --k were not typed."""
    context = click.get_current_context()
    typed = any(
        context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        for name in ("n", "m", "k")
    )
    if table_file is None or typed:
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
