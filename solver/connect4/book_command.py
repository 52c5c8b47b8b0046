"""The command ``book``: what the opening book has, a deeper one, and a check of it."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from solver.command_options import (
    WholeNumber,
    data_option,
    json_option,
    progress_for,
    refuse_typed,
    seed_option,
    show,
)
from solver.connect4.book import BOOK, MOST_PLIES, Book, book_in
from solver.connect4.book_making import BookReport, check_book, make_book
from solver.errors import InputError

MOST_SAMPLED = 1_000_000


@click.command("book", short_help="Show, make or check the Connect Four opening book.")
@click.option(
    "--plies",
    type=WholeNumber(0, MOST_PLIES),
    help=f"Make a book of every position of up to this many plies in --data, as {BOOK}.",
)
@click.option(
    "--verify", "verify", is_flag=True, help="Check the book; exit code 1 if it is wrong."
)
@click.option(
    "--sample",
    type=WholeNumber(0, MOST_SAMPLED),
    default=20,
    show_default=True,
    help="With --verify: positions to search without the book.",
)
@seed_option("the sample of --verify")
@data_option
@click.option("--threads", type=int, help="Threads to use.  [default: all cores]")
@json_option
def book_command(
    plies: int | None,
    verify: bool,
    sample: int,
    seed: int,
    data: Path,
    threads: int | None,
    as_json: bool,
) -> None:
    """Show, make or check the Connect Four opening book.

    Everything that solves Connect Four looks in the book first: the one in --data if it knows more
    than the one that comes with fadefour, else the latter. You may interrupt the making of a book
    at any time; the same command continues. A book of six plies takes three to five hours on one
    core; the command says how much is left.

    \b
    Examples:
      fadefour book
      fadefour book --plies 4
      fadefour book --verify --sample 50
    """
    progress = progress_for(as_json)
    if plies is not None and verify:
        raise InputError("--plies and --verify cannot be combined: make the book, then check it")
    if not verify:
        refuse_typed("sample", "seed", where="without --verify")
    if plies is not None:
        made = make_book(Book(data / BOOK), plies, threads, progress)
        show(as_json, made.to_dict(), str(made))
        return
    book = book_in(data)
    if not verify:
        report = BookReport(str(book.path), book.contents)
        show(as_json, report.to_dict(), str(report))
        return
    check = check_book(book, sample, seed, threads, progress)
    show(as_json, check.to_dict(), str(check))
    if not check.ok:
        sys.exit(1)
