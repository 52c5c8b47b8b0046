"""The command ``certify``: finds a proof, or checks one."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from azfit.command_options import TypedVariant, prove_option, sims_option, variant_options
from azfit.games import Connect4, DropOldest
from azfit.loading import (
    SHIPPED,
    certificate_path,
    checkpoint_path,
    game_of_network,
    load_player,
)
from solver.command_options import (
    NamedPath,
    cluster_option,
    json_option,
    note_for,
    progress_for,
    refuse_typed,
    show,
)
from solver.errors import FadefourError, InputError
from solver.rules import Rules
from solver.storage import check_writable
from solver.table import open_table, table_path

if TYPE_CHECKING:
    from azfit.grading.certificate import Certificate


@click.command("certify", short_help="Prove that no opponent can beat a network.")
@click.argument("checkpoint", required=False, metavar="[CHECKPOINT|RUN]")
@click.option(
    "--as",
    "side",
    type=click.Choice(["x", "y", "both"]),
    default="both",
    show_default=True,
    help="The colour that the network plays.",
)
@sims_option
@prove_option
@click.option(
    "--out",
    type=NamedPath(),
    help="Certificate file to write.  [default: next to the checkpoint; for 'shipped', in this "
    "folder]",
)
@click.option(
    "--check",
    "certificate_file",
    type=NamedPath(),
    help="Verify this certificate again ('shipped': the one for fadefour's own network); with "
    "CHECKPOINT, also that its moves are the network's.",
)
@click.option(
    "--compact",
    is_flag=True,
    help="Write a smaller file without the moves; --check then needs CHECKPOINT.",
)
@click.option(
    "--convert",
    is_flag=True,
    help="Also check that every won position is won against every defence; needs the table.",
)
@cluster_option("Batches of positions")
@json_option
@variant_options
def certify_command(
    variant: TypedVariant,
    folder: Path,
    threads: int | None,
    checkpoint: str | None,
    side: str,
    sims: int | None,
    prove: bool | None,
    out: Path | None,
    certificate_file: Path | None,
    compact: bool,
    convert: bool,
    cluster: str | None,
    as_json: bool,
) -> None:
    """Prove that no opponent can beat a network of drop-oldest, or print a line that does.

    Exit code 1 if the network can be beaten, or if --check finds that a certificate does not hold.

    \b
    Examples:
      fadefour certify runs/first
      fadefour certify shipped --check shipped
    """
    if certificate_file is not None:
        refuse_typed("side", "out", "compact", "convert", "cluster", where="with --check")
        _check(
            certificate_path(certificate_file), checkpoint, variant, sims, prove, threads, as_json
        )
        return
    if checkpoint is None:
        raise InputError("certify needs a CHECKPOINT, or --check CERTIFICATE")
    rules = _rules_of(checkpoint, variant)
    files = _files(checkpoint, out, sims)
    for path in files.values():
        check_writable(path)
    from azfit.drop_oldest_players import dense
    from azfit.grading.certify import certify
    from azfit.grading.conversion import conversion
    from azfit.spread_player import load_players

    progress, converted = progress_for(as_json), None
    with contextlib.ExitStack() as opened:
        table = dense(opened.enter_context(open_table(folder, rules))) if convert else None
        loading = load_players([checkpoint], sims, threads, cluster, note_for(as_json), prove=prove)
        [player] = opened.enter_context(loading)
        certificates = certify(player, side, progress=progress)
        certificates, failure = _written(certificates, files, compact, out is not None)
        if table is not None:
            try:
                converted = conversion(player, table, progress=progress)
            except FadefourError as error:  # what is proved is printed first
                failure = error
    lost = ""
    try:
        lost = _colours_lost_in_theory(folder, rules)
    except FadefourError as error:  # a table that is damaged
        failure = failure or error
    beaten = any(certificate.line for certificate in certificates)
    report: dict[str, Any] = {"certificates": [], "unbeaten": not beaten}
    texts = []
    for certificate in certificates:
        hopeless = certificate.sides in lost
        report["certificates"].append({**certificate.to_dict(), "lost_in_theory": hopeless})
        texts.append(str(certificate))
        if hopeless:
            colour = certificate.sides.upper()
            texts.append(
                f"as {colour} the start is lost against best play, so any player can be beaten"
            )
        if certificate.path is not None:
            texts.append(f"written to {certificate.path}")
    if converted is not None:
        report["conversion"] = converted.to_dict()
        texts.append(str(converted))
    show(as_json, report, "\n".join(texts))
    if failure is not None:
        raise failure
    if beaten:
        sys.exit(1)


def _rules_of(checkpoint: str, variant: TypedVariant) -> Rules:
    """The rules that the network plays by; it must play drop-oldest."""
    game = game_of_network(checkpoint)
    if not isinstance(game, DropOldest):
        instead = "grade" if isinstance(game, Connect4) else "match"
        raise InputError(
            f"'{checkpoint}' plays {game.name}, but proofs are for drop-oldest: use 'fadefour "
            f"{instead}'"
        )
    variant.check(game, checkpoint)
    return game.rules


def _files(checkpoint: str, out: Path | None, sims: int | None) -> dict[str, Path]:
    """Where the certificate for these sides would go; one for both sides has the plain name, and so
    has the only one if --out was given. A network with search is another player, and its proof
    does not replace that of the network alone."""
    suffix = ".certificate.npz" if sims is None else f".{sims}_sims.certificate.npz"
    if out is not None:
        base = out
    elif checkpoint == SHIPPED:
        base = Path(f"shipped{suffix}")
    else:
        base = checkpoint_path(checkpoint).with_suffix(suffix)
    sided = {side: base.with_name(f"{side}_{base.name}") for side in ("x", "y")}
    return {"xy": base, **sided}


def _written(
    certificates: Sequence[Certificate], files: dict[str, Path], compact: bool, is_named: bool
) -> tuple[list[Certificate], FadefourError | None]:
    """The certificates, those that could be written with their file, and why others could not."""
    from azfit.grading.certificate import write_certificate

    listed, failure = list(certificates), None
    for i, certificate in enumerate(certificates):
        path = files["xy" if len(certificates) == 1 and is_named else certificate.sides]
        try:
            write_certificate(path, certificate, compact=compact)
            listed[i] = replace(certificate, path=path)
        except FadefourError as error:
            failure = error
    return listed, failure


def _colours_lost_in_theory(folder: Path, rules: Rules) -> str:
    """``y`` if the table is there and says that X wins from the start; else nothing is said."""
    if not table_path(folder, rules).exists():
        return ""
    with open_table(folder, rules) as table:
        return {"win": "y", "loss": "x"}.get(table.probe(rules.start()).result, "")


def _check(
    path: Path,
    checkpoint: str | None,
    variant: TypedVariant,
    sims: int | None,
    prove: bool | None,
    threads: int | None,
    as_json: bool,
) -> None:
    from azfit.drop_oldest_players import game_of
    from azfit.grading.certificate import read_certificate
    from azfit.grading.certificate_check import check_certificate

    if checkpoint is None and (sims is not None or prove is not None):
        name = "--sims" if sims is not None else "--prove" if prove else "--no-prove"
        raise InputError(f"{name} has no effect without a CHECKPOINT to compare the moves with")
    certificate = read_certificate(path)
    variant.check(game_of(certificate.rules), str(path))
    player = None
    if checkpoint is not None:
        _rules_of(checkpoint, variant)
        stated = certificate.player
        sims = sims or stated.sims or None
        if prove is None and sims is not None:
            prove = stated.proves
        player = load_player(checkpoint, sims, threads, prove=prove)
    check = check_certificate(certificate, player, progress=progress_for(as_json))
    show(as_json, check.to_dict(), str(check))
    if not check.ok:
        sys.exit(1)
