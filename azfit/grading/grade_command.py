"""The command ``grade``: drop-oldest is judged by the table, Connect Four by the solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from azfit.command_options import (
    NamedPath,
    TypedVariant,
    WholeNumber,
    checkpoint_path,
    need_torch,
    seed_option,
    sims_option,
    variant_options,
)
from azfit.games import Connect4, DropOldest, Game, game_by_name
from azfit.loading import load_player
from solver.command_options import json_option, progress_for, refuse_typed, show
from solver.errors import InputError
from solver.storage import check_writable
from solver.table import open_table

# A first look, when neither --all nor --sample is given: positions, and simulations for all of
# them together, which take a minute or so.
FIRST_LOOK, FIRST_LOOK_SIMS, FEWEST_SEARCHED = 100_000, 1_000_000, 1_000

MOST_SAMPLED = 100_000_000


@click.command("grade", short_help="Grade networks exactly, by table or solver.")
@click.argument("checkpoints", nargs=-1, required=True, metavar="CHECKPOINT|RUN...")
@click.option("--all", "grade_all", is_flag=True, help="Grade every position, not a sample.")
@click.option(
    "--sample",
    type=WholeNumber(1, MOST_SAMPLED, ", or --all for every position"),
    help="Grade this many random positions.  [default: 100,000, as a first look]",
)
@click.option(
    "--game",
    "game_name",
    type=click.Choice(["drop", "connect4"]),
    help="Refuse networks of another game.  [default: the network's]",
)
@click.option(
    "--sets",
    multiple=True,
    type=NamedPath(),
    help="Connect Four: a file of positions to grade on; can be repeated.",
)
@seed_option("the sample and the games of --in-play")
@sims_option
@click.option(
    "--in-play",
    type=WholeNumber(1, 100_000),
    help="Also grade the positions it reaches in this many games against each opponent.",
)
@click.option(
    "--opening-plies",
    type=WholeNumber(0, 99),
    default=2,
    show_default=True,
    help="Random plies at the start of those games.",
)
@click.option(
    "--png", type=NamedPath(), help="Also plot the grade of the first network to this file."
)
@click.option(
    "--blunders",
    type=WholeNumber(0, 20),
    default=10,
    show_default=True,
    help="How many of the worst blunders to show.",
)
@json_option
@variant_options
def grade_command(
    variant: TypedVariant,
    folder: Path,
    threads: int | None,
    checkpoints: tuple[str, ...],
    grade_all: bool,
    sample: int | None,
    game_name: str | None,
    sets: tuple[Path, ...],
    seed: int,
    sims: int | None,
    in_play: int | None,
    opening_plies: int,
    png: Path | None,
    blunders: int,
    as_json: bool,
) -> None:
    """Grade networks exactly, over every position or a sample.

    Several networks are also compared side by side. A Connect Four network is graded on sets of
    positions: those of --sets, or those in FADEFOUR_CONNECT4_SETS, or else random ones, 500 or as
    many as --sample says. The solver finds the right moves once and keeps them in --data.

    \b
    Examples:
      fadefour grade runs/first
      fadefour grade shipped --all --png grade.png
      fadefour grade runs/four --sims 100
    """
    if grade_all and sample is not None:
        raise InputError("--all and --sample cannot be combined: give one of them")
    game = _common_game(checkpoints, game_name, variant)
    if isinstance(game, Connect4):
        refuse_typed(
            *("grade_all", "in_play", "opening_plies", "png", "blunders"),
            where="on a Connect Four network",
        )
        grade_connect4_networks(
            Connect4Request(checkpoints, sims, threads, sets, sample, seed, folder), as_json
        )
        return
    if sets:
        raise InputError(f"--sets '{sets[0]}': only Connect Four is graded on sets")
    if not grade_all and sample is None:
        sample = FIRST_LOOK
        if sims is not None:
            sample = min(FIRST_LOOK, max(FEWEST_SEARCHED, FIRST_LOOK_SIMS // sims))
    grade_drop_oldest_networks(
        DropOldestRequest(
            checkpoints, sims, threads, sample, seed, in_play, opening_plies, png, blunders, folder
        ),
        as_json,
    )


def _common_game(
    checkpoints: Sequence[str], wanted: str | None, variant: TypedVariant
) -> Connect4 | DropOldest:
    """The game that all these networks play, one with an exact judge."""
    need_torch()
    from azfit.checkpoint import game_of_checkpoint

    games: dict[Game, str] = {}
    for checkpoint in checkpoints:
        game = game_by_name(game_of_checkpoint(checkpoint_path(checkpoint)))
        games.setdefault(game, checkpoint)
        if len(games) > 1:
            first, second = games
            raise InputError(
                f"'{games[first]}' plays {first.name}, '{games[second]}' {second.name}: "
                "grade them one at a time"
            )
        if not isinstance(game, Connect4 | DropOldest):
            raise InputError(
                f"'{checkpoint}' plays {game.name}, which has no exact judge: use 'fadefour "
                "match' against another network or 'random'"
            )
        kind = "connect4" if isinstance(game, Connect4) else "drop"
        if wanted is not None and kind != wanted:
            raise InputError(f"--game {wanted}: '{checkpoint}' plays {game.name}")
        variant.check(game, checkpoint)
    (game,) = games
    assert isinstance(game, Connect4 | DropOldest)
    return game


# ---- drop-oldest --------------------------------------------------------------------------------


@dataclass(frozen=True)
class DropOldestRequest:
    """A grade by the table; ``sample`` None: over every position."""

    checkpoints: Sequence[str]
    sims: int | None
    threads: int | None
    sample: int | None
    seed: int
    in_play: int | None
    opening_plies: int
    png: Path | None
    blunders: int
    folder: Path


def grade_drop_oldest_networks(request: DropOldestRequest, as_json: bool) -> None:
    """Grades, prints, then draws."""
    from azfit.grading.grade import grade, seconds_for_all
    from azfit.grading.grade_report import compare, cost_of_all, draw_grade, in_play_text, text
    from azfit.grading.in_play import grade_in_play

    if request.png is not None:
        check_writable(request.png)
    progress, entries, texts, grades, cost = progress_for(as_json), [], [], [], 0.0
    players = [load_player(name, request.sims, request.threads) for name in request.checkpoints]
    game = players[0].game
    assert isinstance(game, DropOldest)
    with open_table(request.folder, game.rules) as table:
        for player in players:
            graded = grade(
                player,
                table,
                sample=request.sample,
                seed=request.seed,
                threads=request.threads,
                progress=progress,
            )
            grades.append(graded)
            entry = graded.to_dict()
            if graded.sample is not None:
                seconds = seconds_for_all(player, table, graded)
                entry["seconds_for_all"] = round(seconds, 3)
                cost += seconds
            texts.append(text(graded, request.blunders))
            if request.in_play is not None:
                matches = grade_in_play(
                    player,
                    table,
                    games=request.in_play,
                    seed=request.seed,
                    opening_plies=request.opening_plies,
                    progress=progress,
                )
                entry["in_play"] = [match.to_dict() for match in matches]
                texts.append(in_play_text(matches))
            entries.append(entry)
    if len(grades) > 1:
        texts.append(compare(grades))
    if grades[0].sample is not None:
        texts.append(cost_of_all(grades[0].total, cost))
    body: dict[str, Any] = {"grades": entries}
    if request.png is not None:
        body["png"] = str(request.png)
    show(as_json, body, "\n\n".join(texts))
    if request.png is not None:
        draw_grade(request.png, grades[0])
        if not as_json:
            click.echo(f"\nwrote {request.png}")


# ---- Connect Four -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Connect4Request:
    """A grade by the solver, on these sets, or on ``sample`` random positions."""

    checkpoints: Sequence[str]
    sims: int | None
    threads: int | None
    sets: Sequence[Path]
    sample: int | None
    seed: int
    folder: Path


def grade_connect4_networks(request: Connect4Request, as_json: bool) -> None:
    """Grades and prints."""
    from azfit.grading.connect4.grade import grade_connect4
    from azfit.grading.connect4.labels import labelled_sets
    from azfit.grading.connect4.report import compare, text

    progress = progress_for(as_json)
    players = [load_player(name, request.sims, request.threads) for name in request.checkpoints]
    labelled = labelled_sets(
        request.sets,
        request.sample,
        request.seed,
        request.folder,
        request.threads,
        progress,
    )
    grades = [grade_connect4(player, labelled, progress) for player in players]
    texts = [text(grade) for grade in grades]
    if len(grades) > 1:
        texts.append(compare(grades))
    show(as_json, {"grades": [grade.to_dict() for grade in grades]}, "\n\n".join(texts))
