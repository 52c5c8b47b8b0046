"""The commands that judge networks, as a user types them: grade and certify."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from azfit.command_options import (
    SHIPPED,
    checkpoint_path,
    load_player_of,
    need_torch,
    sims_option,
)
from azfit.loading import load_player
from solver.command_options import (
    json_option,
    progress_for,
    refuse_options_of_drop,
    show,
    variant_options,
)
from solver.errors import InputError
from solver.rules import Rules
from solver.table import open_table

# ---- grade --------------------------------------------------------------------------------------


@click.command("grade")
@click.argument("checkpoints", nargs=-1, required=True, type=click.Path(dir_okay=False))
@click.option("--all", "grade_all", is_flag=True, help="Every position.  [the default]")
@click.option("--sample", type=int, help="So many positions at random instead.")
@click.option(
    "--game",
    type=click.Choice(["drop", "connect4"]),
    help="drop-oldest or Connect Four.  [default: the checkpoint's]",
)
@click.option(
    "--sets",
    multiple=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Connect Four: a file of positions to grade on; may be given several times.",
)
@click.option("--seed", default=0, show_default=True)
@sims_option
@click.option("--in-play", type=int, help="Also the positions it reaches in so many games.")
@click.option(
    "--opening-plies", default=2, show_default=True, help="Random plies before those games."
)
@click.option("--png", type=click.Path(dir_okay=False, path_type=Path), help="Draw the grade.")
@click.option("--blunders", default=10, show_default=True, help="Worst blunders to show.")
@json_option
@variant_options
def grade_command(
    rules: Rules,
    folder: Path,
    threads: int,
    checkpoints: tuple[str, ...],
    grade_all: bool,
    sample: int | None,
    game: str | None,
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

    Several checkpoints are also compared side by side. A network of Connect Four is graded on
    sets of positions: those of --sets, else those of FADEFOUR_CONNECT4_SETS, else 500 of our own,
    or as many as --sample says. What is right in them is solved once and kept in --data.

    \b
    Examples:
      fadefour grade runs/first/checkpoints/step-000006668.safetensors --sample 1000000
      fadefour grade shipped --all --png grade.png
      fadefour grade --game connect4 runs/four/best.safetensors --sims 100
    """
    if (game or _game_of(checkpoints[0])) == "connect4":
        refuse_options_of_drop(
            "n", "m", "k", "grade_all", "in_play", "opening_plies", "png", "blunders"
        )
        _grade_connect4(checkpoints, sets, sample, seed, sims, folder, threads, as_json)
        return
    if sets:
        raise InputError(f"--sets '{sets[0]}' is for --game connect4: use --sample or --all")
    from azfit.grading.grade import grade
    from azfit.grading.grade_report import compare, in_play_text, text
    from azfit.grading.grade_report import png as draw
    from azfit.grading.in_play import grade_in_play

    if grade_all and sample is not None:
        raise InputError("--all and --sample exclude each other: give one of them")
    report = progress_for(as_json)
    told, words, grades = [], [], []
    with open_table(folder, rules) as table:
        for checkpoint in checkpoints:
            player = load_player_of(checkpoint, rules, sims, threads)
            graded = grade(
                player, table, sample=sample, seed=seed, threads=threads, progress=report
            )
            grades.append(graded)
            entry, lines = graded.to_dict(), [text(graded, blunders)]
            if in_play is not None:
                matches = grade_in_play(
                    player,
                    table,
                    games=in_play,
                    seed=seed,
                    opening_plies=opening_plies,
                    progress=report,
                )
                entry["in_play"] = [match.to_dict() for match in matches]
                lines.append(in_play_text(matches))
            told.append(entry)
            words += lines
    if png is not None:
        draw(png, grades[0])
    if len(grades) > 1:
        words.append(compare(grades))
    show(as_json, {"grades": told}, "\n\n".join(words))


def _game_of(checkpoint: str) -> str:
    """ "connect4" if the checkpoint says so; whatever else is wrong with it is found later."""
    need_torch()
    from azfit.checkpoint import game_of_checkpoint

    return "drop" if checkpoint == SHIPPED else game_of_checkpoint(checkpoint_path(checkpoint))


def _grade_connect4(
    checkpoints: tuple[str, ...],
    files: tuple[Path, ...],
    sample: int | None,
    seed: int,
    sims: int | None,
    folder: Path,
    threads: int,
    as_json: bool,
) -> None:
    need_torch()
    from azfit.grading.connect4.grade import grade_connect4
    from azfit.grading.connect4.labels import labelled_sets
    from azfit.grading.connect4.report import compare, text

    report = progress_for(as_json)
    players = [load_player(checkpoint, sims, threads) for checkpoint in checkpoints]
    labelled = labelled_sets(files, sample, seed, folder, report)
    grades = [grade_connect4(player, labelled, report) for player in players]
    words = [text(grade) for grade in grades]
    if len(grades) > 1:
        words.append(compare(grades))
    show(as_json, {"grades": [grade.to_dict() for grade in grades]}, "\n\n".join(words))


# ---- certify ------------------------------------------------------------------------------------


@click.command("certify")
@click.argument("checkpoint", required=False, type=click.Path(dir_okay=False))
@click.option(
    "--as", "side", type=click.Choice(["x", "y", "both"]), default="both", show_default=True
)
@sims_option
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File of the certificate.  [default: beside the checkpoint; of 'shipped' in this folder]",
)
@click.option(
    "--check",
    "certificate_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Re-verify this certificate; with CHECKPOINT its moves too.",
)
@click.option(
    "--compact", is_flag=True, help="A small file: --check asks CHECKPOINT for the moves."
)
@click.option("--convert", is_flag=True, help="Also: are all won positions won, every defence?")
@json_option
@variant_options
def certify_command(
    rules: Rules,
    folder: Path,
    threads: int,
    checkpoint: str | None,
    side: str,
    sims: int | None,
    out: Path | None,
    certificate_file: Path | None,
    compact: bool,
    convert: bool,
    as_json: bool,
) -> None:
    """Prove that no opponent can beat a network, or print a line that does.

    Exit code 1 if the network can be beaten, or if --check finds that a certificate does not hold.

    \b
    Examples:
      fadefour certify runs/first/checkpoints/step-000020000.safetensors
      fadefour certify shipped --check data/network_4x4_m4.certificate.npz
    """
    if certificate_file is not None:
        _check(certificate_file, checkpoint, rules, sims, threads, as_json)
        return
    if checkpoint is None:
        raise InputError("certify needs a CHECKPOINT, or --check CERTIFICATE")
    from azfit.grading.certificate import UNBEATEN, write_certificate
    from azfit.grading.certify import certify
    from azfit.grading.conversion import conversion

    report = progress_for(as_json)
    player = load_player_of(checkpoint, rules, sims, threads)
    found = certify(player, side, progress=report)
    told: dict[str, Any] = {"certificates": [], "unbeaten": True}
    words = []
    base = out or Path(checkpoint).with_suffix(".certificate.npz")
    for one in found:
        name = base if len(found) == 1 else base.with_name(f"{one.sides}_{base.name}")
        write_certificate(name, one, compact=compact)
        told["certificates"].append({**one.to_dict(), "file": str(name)})
        told["unbeaten"] &= one.kind == UNBEATEN
        words.append(f"{one}\nwritten to {name}")
    if convert:
        with open_table(folder, rules) as table:
            converted = conversion(player, table, progress=report)
        told["conversion"] = converted.to_dict()
        words.append(str(converted))
    show(as_json, told, "\n".join(words))
    if not told["unbeaten"]:
        sys.exit(1)


def _check(
    path: Path, checkpoint: str | None, rules: Rules, sims: int | None, threads: int, as_json: bool
) -> None:
    from azfit.grading.certificate_check import check_certificate

    player = None if checkpoint is None else load_player_of(checkpoint, rules, sims, threads)
    check = check_certificate(path, player, rules=rules, progress=progress_for(as_json))
    show(as_json, check.to_dict(), str(check))
    if not check.ok:
        sys.exit(1)


COMMANDS = [grade_command, certify_command]
