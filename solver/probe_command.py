"""``fadefour probe``: a position of each of the three games, in words, as JSON and as a picture."""

from __future__ import annotations

from pathlib import Path

import click

from solver.board_picture import BoardPicture, draw, picture_of
from solver.command_options import (
    NamedPath,
    game_option,
    gomoku_options,
    json_option,
    refuse_typed,
    show,
    table_option,
    variant_of,
    variant_options,
)
from solver.connect4.text import Connect4Report
from solver.drawing import ProbeReport
from solver.errors import InputError
from solver.extras import need
from solver.gomoku.text import GomokuReport
from solver.index import impossible_message
from solver.plotting import save_png
from solver.rules import Position, Rules
from solver.storage import check_writable
from solver.table import open_table


@click.command(
    "probe",
    short_help="Show the result of a position and of every move.",
    context_settings={"ignore_unknown_options": True},  # for "-/- x"
)
@click.argument("position")
@game_option("drop", "connect4", "gomoku")
@gomoku_options
@table_option
@click.option(
    "--png",
    type=NamedPath(dir_okay=False),
    help="Also draw the board with its values to this file.",
)
@json_option
@variant_options
def probe_command(
    rules: Rules,
    folder: Path,
    threads: int,
    position: str,
    game: str,
    size: int,
    plies: int,
    nodes: int,
    table_file: Path | None,
    png: Path | None,
    as_json: bool,
) -> None:
    """Show the result of POSITION, its plies, and every move, best first.

    A position is X's queue, Y's queue, oldest piece first, and the side to move; - for no pieces.
    A move's plies count from the position and include the move. Among equal moves, those with the
    most mistaken replies come first. A Connect Four position is the sequence of columns
    played, 1 to 7, or - for none; it is looked up in the opening book or solved on the spot.

    A Gomoku position is the sequence of cells played. The report says whether the side to move wins
    by fours, or by fours and open threes within --plies, with the line; if not, what the opponent
    threatens and which moves stop it. Such wins are proved; quieter wins are not looked for.

    \b
    Examples:
      fadefour probe "a1b2c3d1/a2a3b4 y"
      fadefour probe "-/- x" --n 3 --m 3
      fadefour probe --game connect4 44433 --png board.png
      fadefour probe --game gomoku "h8 a1 h9 a3 h10"
    """
    if png is not None:
        need("matplotlib", "--png")
        check_writable(png)
    if game == "connect4":
        refuse_typed("n", "m", "k", "table_file", "size", "plies", "nodes")
        _probe_connect4(position, folder, threads, png, as_json)
        return
    if game == "gomoku":
        refuse_typed(*("n", "m", "k", "data", "threads", "table_file"), where="with --game gomoku")
        _probe_gomoku(position, size, plies, nodes, png, as_json)
        return
    refuse_typed("size", "plies", "nodes", where="without --game gomoku")
    rules = variant_of(table_file, rules)
    parsed = Position.parse(position, rules)
    if parsed.is_impossible:
        raise InputError(impossible_message(parsed))
    with open_table(table_file or folder, rules) as table:
        report = ProbeReport.of(table, parsed)
    picture = picture_of(parsed, report.headline, report.moves)
    _show_probe(report, picture, png, as_json)


def _show_probe(
    report: ProbeReport | Connect4Report | GomokuReport,
    picture: BoardPicture,
    png: Path | None,
    as_json: bool,
) -> None:
    body, words = report.to_dict(), str(report)
    if png is not None:
        save_png(draw(picture), png)
        body["png"] = str(png)
        words += f"\n\nwrote {png}"
    show(as_json, body, words)


def _probe_connect4(
    text_of_position: str, folder: Path, threads: int, png: Path | None, as_json: bool
) -> None:
    from solver.connect4 import Connect4Position, Connect4Solver
    from solver.connect4 import picture as connect4_picture
    from solver.connect4.book import book_in

    if not text_of_position.strip():
        raise InputError("position '' is empty: give - for the empty board")
    position = Connect4Position.parse(text_of_position)
    with Connect4Solver(threads=threads, book=book_in(folder)) as solver:
        report = Connect4Report.of(solver, position)
    picture = connect4_picture.picture_of(position, report.headline, report.moves)
    _show_probe(report, picture, png, as_json)


def _probe_gomoku(
    text_of_position: str, size: int, plies: int, nodes: int, png: Path | None, as_json: bool
) -> None:
    from solver.gomoku import GomokuPosition, GomokuTactics
    from solver.gomoku import picture as gomoku_picture

    if not text_of_position.strip():
        raise InputError("position '' is empty: give - for the empty board")
    position = GomokuPosition.parse(text_of_position, size)
    with GomokuTactics(size) as tactics:
        report = GomokuReport.of(tactics, position, plies=plies, most_nodes=nodes)
    _show_probe(report, gomoku_picture.picture_of(report), png, as_json)
