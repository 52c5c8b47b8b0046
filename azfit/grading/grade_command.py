"""The command ``grade``: drop-oldest is judged by the table, Connect Four by the solver, Gomoku by
forced wins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from azfit.command_options import (
    TypedVariant,
    lcb_option,
    prove_option,
    sims_option,
    variant_options,
)
from azfit.games import Connect4, DropOldest, Game, Gomoku
from azfit.loading import game_of_network, load_player, shipped_for
from azfit.players import Player
from solver.command_options import (
    NamedPath,
    WholeNumber,
    cluster_option,
    json_option,
    note_for,
    progress_for,
    refuse_typed,
    seed_option,
    show,
)
from solver.errors import InputError
from solver.storage import check_writable
from solver.table import open_table

# A first look, when neither --all nor --sample is given: positions, and simulations for all of
# them together, which take a minute or so.
FIRST_LOOK, FIRST_LOOK_SIMS, FEWEST_SEARCHED = 100_000, 1_000_000, 1_000

MOST_SAMPLED = 100_000_000

# Gomoku: positions of random play, and games against itself.
GOMOKU_POSITIONS, GOMOKU_GAMES, MOST_GOMOKU_POSITIONS = 500, 20, 100_000


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
    type=click.Choice(["drop", "connect4", "gomoku"]),
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
@prove_option
@lcb_option
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
@cluster_option("Batches of positions")
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
    prove: bool | None,
    lcb: float,
    in_play: int | None,
    opening_plies: int,
    png: Path | None,
    blunders: int,
    cluster: str | None,
    as_json: bool,
) -> None:
    """Grade networks exactly, over every position or a sample.

    Several networks are also compared side by side. A Connect Four network is graded on the sets
    of positions given by --sets, else on those in FADEFOUR_CONNECT4_SETS, else on random positions
    (--sample, 500 by default). The solver finds the right moves once and keeps them in --data.

    A Gomoku network is graded on positions where something is forced: does it take its forced
    wins, and stop its opponent's? They come from its games against itself (--in-play, 20 by
    default) and from random play (--sample, 500 by default).

    \b
    Examples:
      fadefour grade runs/first
      fadefour grade shipped --all --png grade.png
      fadefour grade runs/four --sims 100
    """
    if grade_all and sample is not None:
        raise InputError("--all and --sample cannot be combined: give one of them")
    if sims is None and (prove is not None or lcb):
        raise InputError(
            "--prove, --no-prove and --lcb are for a search: give --sims, or leave them out"
        )
    checkpoints = tuple(shipped_for(name, game_name) for name in checkpoints)
    game = _common_game(checkpoints, game_name, variant)
    asked = Asked(checkpoints, sims, prove, lcb, threads, seed, as_json)
    if isinstance(game, Connect4):
        refuse_typed(
            *("grade_all", "in_play", "opening_plies", "png", "blunders", "cluster"),
            where="on a Connect Four network",
        )
        grade_connect4_networks(asked, folder, sets, sample)
        return
    if isinstance(game, Gomoku):
        refuse_typed("grade_all", "sets", "png", "blunders", where="on a Gomoku network")
        grade_gomoku_networks(asked, game, sample, in_play, opening_plies)
        return
    if not isinstance(game, DropOldest):
        raise InputError(
            f"'{checkpoints[0]}' plays {game.name}, which has no exact judge: use 'fadefour match' "
            "against another network or 'random'"
        )
    if sets:
        raise InputError(f"--sets '{sets[0]}': only Connect Four is graded on sets")
    if not grade_all and sample is None:
        sample = FIRST_LOOK
        if sims is not None:
            sample = min(FIRST_LOOK, max(FEWEST_SEARCHED, FIRST_LOOK_SIMS // sims))
    grade_drop_oldest_networks(
        asked,
        folder,
        sample=sample,
        in_play=in_play,
        opening_plies=opening_plies,
        png=png,
        blunders=blunders,
        cluster=cluster,
    )


def _common_game(checkpoints: Sequence[str], wanted: str | None, variant: TypedVariant) -> Game:
    """The game that all these networks play."""
    games: dict[Game, str] = {}
    for checkpoint in checkpoints:
        game = game_of_network(checkpoint)
        games.setdefault(game, checkpoint)
        if len(games) > 1:
            first, second = games
            raise InputError(
                f"'{games[first]}' plays {first.name}, '{games[second]}' {second.name}: "
                "grade them one at a time"
            )
        kind = game.name.partition("-")[0]
        if wanted is not None and kind != wanted:
            raise InputError(f"--game {wanted}: '{checkpoint}' plays {game.name}")
        variant.check(game, checkpoint)
    (game,) = games
    return game


@dataclass(frozen=True)
class Asked:
    """Which networks are graded, how they play, and how that is shown: for every game."""

    checkpoints: Sequence[str]
    sims: int | None
    prove: bool | None
    lcb: float
    threads: int | None
    seed: int
    as_json: bool

    def players(self) -> list[Player]:
        return [
            load_player(name, self.sims, self.threads, prove=self.prove, lcb=self.lcb)
            for name in self.checkpoints
        ]


# ---- drop-oldest --------------------------------------------------------------------------------


def grade_drop_oldest_networks(
    asked: Asked,
    folder: Path,
    *,
    sample: int | None,
    in_play: int | None,
    opening_plies: int,
    png: Path | None,
    blunders: int,
    cluster: str | None,
) -> None:
    """Grades by the table in ``folder``, prints, then draws; ``sample`` None: every position."""
    from azfit.grading.grade import grade, seconds_for_all
    from azfit.grading.grade_report import compare, cost_of_all, draw_grade, in_play_text, text
    from azfit.grading.in_play import grade_in_play
    from azfit.spread_player import load_players

    if png is not None:
        check_writable(png)
    progress, entries, texts, grades, cost = progress_for(asked.as_json), [], [], [], 0.0
    game = game_of_network(asked.checkpoints[0])
    assert isinstance(game, DropOldest)
    with (
        open_table(folder, game.rules) as table,
        load_players(
            asked.checkpoints,
            asked.sims,
            asked.threads,
            cluster,
            note_for(asked.as_json),
            prove=asked.prove,
            lcb=asked.lcb,
        ) as players,
    ):
        for player in players:
            graded = grade(
                player,
                table,
                sample=sample,
                seed=asked.seed,
                threads=asked.threads,
                progress=progress,
            )
            grades.append(graded)
            entry = graded.to_dict()
            if graded.sample is not None:
                seconds = seconds_for_all(player, table, graded)
                entry["seconds_for_all"] = round(seconds, 3)
                cost += seconds
            texts.append(text(graded, blunders))
            if in_play is not None:
                matches = grade_in_play(
                    player,
                    table,
                    games=in_play,
                    seed=asked.seed,
                    opening_plies=opening_plies,
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
    if png is not None:
        body["png"] = str(png)
    show(asked.as_json, body, "\n\n".join(texts))
    if png is not None:
        draw_grade(png, grades[0])
        if not asked.as_json:
            click.echo(f"\nwrote {png}")


# ---- Connect Four -------------------------------------------------------------------------------


def grade_connect4_networks(
    asked: Asked, folder: Path, sets: Sequence[Path], sample: int | None
) -> None:
    """Grades by the solver, on these sets or on ``sample`` random positions, and prints."""
    from azfit.grading.connect4.grade import grade_connect4
    from azfit.grading.connect4.labels import labelled_sets
    from azfit.grading.connect4.report import compare, text

    progress, players = progress_for(asked.as_json), asked.players()
    labelled = labelled_sets(sets, sample, asked.seed, folder, asked.threads, progress)
    grades = [grade_connect4(player, labelled, progress) for player in players]
    texts = [text(grade) for grade in grades]
    if len(grades) > 1:
        texts.append(compare(grades))
    show(asked.as_json, {"grades": [grade.to_dict() for grade in grades]}, "\n\n".join(texts))


# ---- Gomoku -------------------------------------------------------------------------------------


def grade_gomoku_networks(
    asked: Asked, game: Gomoku, sample: int | None, games: int | None, opening_plies: int
) -> None:
    """Grades by forced wins, on games against itself and on random play, and prints."""
    from azfit.grading.gomoku.grade import grade_gomoku
    from azfit.grading.gomoku.positions import own_games, random_positions
    from azfit.grading.gomoku.report import compare, text
    from solver.gomoku.judge import GomokuJudge

    if sample is not None and sample > MOST_GOMOKU_POSITIONS:
        raise InputError(
            f"--sample {sample}: Gomoku takes 1 to {MOST_GOMOKU_POSITIONS:,} positions"
        )
    progress, players, grades = progress_for(asked.as_json), asked.players(), []
    common = random_positions(game, sample or GOMOKU_POSITIONS, asked.seed)
    with GomokuJudge(game.rows) as judge:
        for player in players:
            own = own_games(player, games or GOMOKU_GAMES, opening_plies, asked.seed, progress)
            grades.append(grade_gomoku(player, [own, common], judge, progress))
    texts = [text(grade) for grade in grades]
    if len(grades) > 1:
        texts.append(compare(grades))
    show(asked.as_json, {"grades": [grade.to_dict() for grade in grades]}, "\n\n".join(texts))
