"""The command ``serve``, as a user types it."""

from __future__ import annotations

from pathlib import Path

import click

from solver.command_options import NamedPath, WholeNumber, data_option
from solver.extras import need

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8044


@click.command("serve", short_help="Serve the explorer and the HTTP API.")
@click.option(
    "--port",
    type=WholeNumber(0, 65_535),
    default=DEFAULT_PORT,
    show_default=True,
    help="Port to listen on; 0 for any free one.",
)
@click.option(
    "--host",
    default=DEFAULT_HOST,
    show_default=True,
    help="Address to listen on; the default is reached from this machine only.",
)
@data_option
@click.option(
    "--runs",
    default="runs",
    show_default=True,
    type=NamedPath(file_okay=False),
    help="Folder of the runs to show.",
)
@click.option("--open", "open_browser", is_flag=True, help="Also open a browser.")
def serve_command(port: int, host: str, data: Path, runs: Path, open_browser: bool) -> None:
    """Serve the explorer in a browser, and the HTTP API (docs/http.md).

    \b
    Examples:
      fadefour serve --open
      fadefour serve --port 8100 --data data --runs runs
    """
    for package in ("starlette", "uvicorn", "httptools"):
        need(package, "serve")
    from azfit.web.app import Options
    from azfit.web.server import serve

    serve(Options(data=data, runs=runs, host=host), port, open_browser)


COMMANDS = [serve_command]
