"""The learning half's commands, as a user types them. Each reads its options, calls one part of
the package, and prints; nothing is computed here. torch is imported by the commands that need it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from solver.commands import (
    Command,
    json_option,
    progress_for,
    refuse_options_of_drop,
    show,
    variant_options,
)
from solver.errors import InputError
from solver.rules import Rules
from solver.table import DenseTable, open_table, table_path

if TYPE_CHECKING:
    from azfit.oracle.config import TrainingConfig
    from azfit.players import Player


def _set(config: Any, **given: Any) -> Any:
    """The dataclass with the options that were given; None leaves an entry as it is."""
    return replace(config, **{name: value for name, value in given.items() if value is not None})


SHIPPED = "shipped"


def checkpoint_path(name: str, rules: Rules | None = None) -> Path:
    """The file of a checkpoint; ``shipped`` is the network that comes with the project, by default
    that of 4 x 4."""
    if name != SHIPPED:
        return Path(name)
    variant = (rules or Rules(4, 4, 4)).name
    return Path(__file__).resolve().parent.parent / "data" / f"network_{variant}.safetensors"


def need_torch() -> None:
    for package in ("torch", "safetensors"):
        if importlib.util.find_spec(package) is None:
            raise InputError(f"this command needs {package}: run 'make learn'")


def _player(
    checkpoint: str, rules: Rules, sims: int | None, threads: int, canonical: bool = True
) -> Player:
    """The network of a checkpoint, with search if ``sims`` is given."""
    need_torch()
    path = checkpoint_path(checkpoint, rules)
    from azfit.checkpoint import load_checkpoint
    from azfit.inference import NetworkEvaluator
    from azfit.players import NetworkPlayer, SearchPlayer

    network, about = load_checkpoint(path, f"drop-{rules.n}-{rules.m}-{rules.k}")
    evaluator = NetworkEvaluator(network, threads=threads)
    name, sha256 = path.stem, about["sha256"]
    if sims is None:
        return NetworkPlayer(evaluator, rules, canonical=canonical, name=name, sha256=sha256)
    if sims < 1:
        raise InputError(f"--sims {sims}: use at least 1, or leave it out for the network alone")
    steps = float(network.config.max_plies)
    return SearchPlayer(
        evaluator, rules, sims, max_steps=steps, canonical=canonical, name=name, sha256=sha256
    )


sims_option = click.option("--sims", type=int, help="Search with so many simulations a move.")


def run_option(holds: str) -> Callable[[Command], Command]:
    """--run: the folder of a run, and what it holds in words."""
    return click.option(
        "--run",
        "run_folder",
        type=click.Path(file_okay=False, path_type=Path),
        required=True,
        help=f"Folder of the run: {holds}.",
    )


# ---- train-from-oracle --------------------------------------------------------------------------


@click.command("train-from-oracle")
@run_option("config, metrics, curves, checkpoints")
@click.option("--resume", is_flag=True, help="Go on with the run in that folder.")
@click.option(
    "--preset",
    type=click.Choice(["quick", "default", "long"]),
    default="default",
    show_default=True,
)
@click.option("--minutes", type=float, help="Budget in minutes.  [default: by preset]")
@click.option("--steps", type=int, help="Budget in steps instead.")
@click.option("--seed", type=int)
@click.option("--kind", type=click.Choice(["mlp", "tower"]), help="Shape of the network.")
@click.option("--width", type=int, help="Features (mlp) or channels (tower).")
@click.option("--blocks", type=int, help="Residual blocks.")
@click.option("--batch", type=int, help="Positions in a step.")
@click.option("--learning-rate", type=float)
@click.option("--weight-decay", type=float)
@click.option("--clip", type=float, help="Greatest norm of the gradient.")
@click.option("--held-out", type=float, help="Share that training never sees.")
@click.option("--policy-target", type=click.Choice(["optimal", "keeping"]))
@click.option("--class-weights/--no-class-weights", default=None)
@click.option("--ema", type=float, help="Averaging of the weights, 0 for none.")
@click.option("--mine-rounds", type=int, help="How often mistakes are mined.")
@json_option
@variant_options
def train_command(
    rules: Rules,
    folder: Path,
    threads: int,
    run_folder: Path,
    resume: bool,
    preset: str,
    minutes: float | None,
    steps: int | None,
    kind: str | None,
    width: int | None,
    blocks: int | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Train a network from the exact table.

    Ctrl-C or a crash loses at most a minute; --resume continues exactly.

    \b
    Examples:
      fadefour train-from-oracle --run runs/first
      fadefour train-from-oracle --run runs/first --resume
      fadefour train-from-oracle --run runs/small --n 3 --m 3 --preset quick
    """
    need_torch()
    from azfit.oracle.config import preset as preset_of
    from azfit.oracle.training import read_config, train_from_oracle

    with DenseTable(table_path(folder, rules), rules) as table:
        config: TrainingConfig
        if resume:
            config = read_config(run_folder)
        else:
            config = preset_of(preset, table)
            network = _set(config.network, kind=kind, width=width, blocks=blocks)
            if minutes is not None or steps is not None:
                config = replace(config, minutes=minutes, steps=steps)
            config = _set(config, network=network, threads=threads, **given)
        _, found = train_from_oracle(
            config, table, run_folder, resume=resume, stream=None if as_json else sys.stderr
        )
    words = "  ".join(f"{name} {value:.6g}" for name, value in found.items())
    show(as_json, {"run": str(run_folder), **found}, f"trained: {words}\nrun: {run_folder}")


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
    from azfit.grading.in_play import grade_in_play
    from azfit.grading.report import compare, in_play_text, text
    from azfit.grading.report import png as draw

    if grade_all and sample is not None:
        raise InputError("--all and --sample exclude each other: give one of them")
    report = progress_for(as_json)
    told, words, grades = [], [], []
    with open_table(folder, rules) as table:
        for checkpoint in checkpoints:
            player = _player(checkpoint, rules, sims, threads)
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

    return "drop" if checkpoint == SHIPPED else game_of_checkpoint(checkpoint)


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
    from azfit.grading.connect4 import compare, grade_connect4, text
    from azfit.grading.connect4_labels import labelled_sets
    from azfit.grading.connect4_players import load_player

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
    player = _player(checkpoint, rules, sims, threads)
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

    player = None if checkpoint is None else _player(checkpoint, rules, sims, threads)
    check = check_certificate(path, player, rules=rules, progress=progress_for(as_json))
    show(as_json, check.to_dict(), str(check))
    if not check.ok:
        sys.exit(1)


# ---- play ---------------------------------------------------------------------------------------


@click.command("play")
@click.option(
    "--against",
    default="table",
    show_default=True,
    help="'table', 'shipped' (the network that comes along) or a checkpoint.",
)
@sims_option
@click.option("--as", "side", type=click.Choice(["x", "y"]), default="x", show_default=True)
@variant_options
def play_command(
    rules: Rules, folder: Path, threads: int, against: str, sims: int | None, side: str
) -> None:
    """Play in the terminal; type 'help' there.

    \b
    Examples:
      fadefour play
      fadefour play --against shipped --as y
    """
    from azfit.play import play_game
    from azfit.players import TablePlayer

    with contextlib.ExitStack() as opened:
        table = None
        if against == "table" or table_path(folder, rules).exists():
            table = opened.enter_context(open_table(folder, rules))
        player = TablePlayer(table) if against == "table" and table else None
        play_game(
            player or _player(against, rules, sims, threads),
            human=side,
            table=table,
            lines=sys.stdin,
            out=sys.stdout,
        )


COMMANDS = [train_command, grade_command, certify_command, play_command]
