"""fadefour on the command line: ``python cli.py COMMAND`` or ``fadefour COMMAND``."""

from __future__ import annotations

import sys

import click


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="fadefour", prog_name="fadefour")
def cli() -> None:
    """Exact truth for drop-oldest tic-tac-toe, and AlphaZero taught and graded by it."""


def add_commands() -> None:
    from azfit import play_command
    from azfit.diagnosis import commands as diagnosis
    from azfit.grading import commands as grading
    from azfit.oracle import commands as oracle
    from azfit.self_play import commands as self_play
    from solver import commands as solving

    for room in (solving, oracle, grading, self_play, diagnosis, play_command):
        for command in room.COMMANDS:
            cli.add_command(command)


def main() -> None:
    """Runs a command. Bad use or input: one line, exit code 2. A failed check: exit code 1."""
    from solver.errors import FadefourError

    try:
        add_commands()
        cli(standalone_mode=False)
    except click.exceptions.Abort as stop:
        if isinstance(stop.__cause__, KeyboardInterrupt):  # click has ended the line of the ^C
            click.echo("fadefour: interrupted; what was finished is kept", err=True)
        sys.exit(130)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(2)
    except click.ClickException as error:
        message = " ".join(error.format_message().split())
        click.echo(f"fadefour: {message} (--help shows how)", err=True)
        sys.exit(2)
    except FadefourError as error:
        click.echo(f"fadefour: {error}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        click.echo("fadefour: interrupted; what was finished is kept", err=True)
        sys.exit(130)


if __name__ == "__main__":
    main()
