"""``fadefour`` on the command line: the group of all commands, and how the program ends."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import NoReturn

import click

import solver

CLOSED_PIPE = 141  # as for a program that SIGPIPE ends: 128 + 13
LONGEST_MESSAGE = 5_000  # characters: more than the longest path


def show_version(context: click.Context, option: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        from solver.kernel_builds import kernel_build

        click.echo(f"fadefour {solver.__version__} (kernels: {kernel_build()})")
        context.exit()


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=show_version,
    help="Show the version and the build of the kernels that runs here.",
)
def cli() -> None:
    """Exact tables for drop-oldest tic-tac-toe, and an AlphaZero trainer graded against them."""


def add_commands() -> None:
    from azfit.adapters import commands as adapters
    from azfit.diagnosis import commands as diagnosis
    from azfit.grading import commands as grading
    from azfit.oracle import commands as oracle
    from azfit.playing import commands as playing
    from azfit.self_play import commands as self_play
    from azfit.web import commands as web
    from solver import commands as solving

    for room in (solving, oracle, grading, self_play, diagnosis, playing, adapters, web):
        for command in room.COMMANDS:
            cli.add_command(command)


def main() -> None:
    """Runs a command. Bad use or input: one line, exit code 2. A failed check: exit code 1."""
    from solver.errors import FadefourError

    open_closed_streams()
    output = sys.stdout
    try:
        add_commands()
        cli(standalone_mode=False)
    except click.exceptions.Abort as stop:
        if isinstance(stop.__cause__, KeyboardInterrupt):  # click has ended the ^C line
            end("interrupted; what was finished is kept", 130)
        sys.exit(130)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(2)
    except click.ClickException as error:
        end(f"{' '.join(error.format_message().split())} (see --help)", 2)
    except FadefourError as error:
        end(str(error), 2)
    except KeyboardInterrupt:
        end("interrupted; what was finished is kept", 130)
    except SystemExit:
        if sys.stdout is not output:  # click noticed a closed pipe and exited quietly
            sys.exit(CLOSED_PIPE)
        raise
    except Exception as error:
        reason = explain(error)
        if reason is None:  # a bug of our own
            raise
        end(reason, 2)


def open_closed_streams() -> None:
    """Sends what would go to a closed standard stream nowhere. Otherwise the next file to be opened
    would take its number, and receive the messages of libraries."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115 - for good


def end(message: str, code: int) -> NoReturn:
    """Ends with one line on standard error, if that can be written to."""
    with contextlib.suppress(OSError):
        click.echo(f"fadefour: {on_one_line(message)}", err=True)
    sys.exit(code)


def on_one_line(message: str) -> str:
    """A message as a terminal can show it, whatever was typed or read: what cannot be printed is
    escaped, and of a very long one the middle is left out."""
    from solver.wording import printable

    line = printable(" ".join(message.splitlines()))
    if len(line) <= LONGEST_MESSAGE:
        return line
    return f"{line[: LONGEST_MESSAGE // 2]} ... {line[-LONGEST_MESSAGE // 2 :]}"


def explain(error: Exception) -> str | None:
    """One line for an error that the machine or an input caused; None for any other."""
    message = str(error).partition("\n")[0]
    if isinstance(error, OSError) and error.errno is not None:
        if error.filename is None and _module_of(error) == "click":
            return f"cannot write the output: {error.strerror}"
        return f"{error.strerror}" + ("" if error.filename is None else f": {error.filename!r}")
    # torch has no MemoryError
    if isinstance(error, MemoryError) or "can't allocate memory" in message:
        return f"not enough memory{message and f' ({message})'}"
    if isinstance(error, RecursionError) and _module_of(error) in ("json", "tomllib", "ast"):
        return "the input is nested too deeply"
    return None


def _module_of(error: Exception) -> str:
    """The package whose code raised the error."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    name = "" if trace is None else trace.tb_frame.f_globals.get("__name__", "")
    return str(name).partition(".")[0]
