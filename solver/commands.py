"""The solver's commands, as a user types them. Each reads its options, calls one part of the
package, and prints; nothing is computed here."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import click

from solver import records
from solver.checkpoint import CheckpointFile
from solver.command_options import (
    NamedPath,
    WholeNumber,
    cluster_option,
    game_option,
    json_option,
    on_stderr,
    progress_for,
    refuse_typed,
    seed_option,
    show,
    table_option,
    variant_of,
    variant_options,
)
from solver.connect4.book_command import book_command
from solver.defense import MOST_POSITIONS, check_defense
from solver.errors import InputError
from solver.estimate import estimate_solve
from solver.export import export
from solver.export_report import ExportOptions
from solver.extras import need
from solver.kernels import Crew
from solver.merging import merge as merge_wins
from solver.probe_command import probe_command
from solver.progress import Progress
from solver.retrograde import Solution
from solver.retrograde import solve as solve_variant
from solver.rules import Rules
from solver.solve_results_command import ResultsRequest, show_solved, solve_for_results
from solver.statistics import Statistics, histogram_png
from solver.storage import check_writable, writing_in
from solver.summary import summarise
from solver.table import open_by_node, open_table, table_path, write_table
from solver.verify import estimate_folder, verify_folder
from solver.wording import counted


@click.command("solve", short_help="Solve a variant exactly and write its files.")
@click.option(
    "--player",
    type=click.Choice(["x", "y", "both"]),
    default="both",
    show_default=True,
    help="Whose wins to write as records.",
)
@click.option("--table-only", is_flag=True, help="Write only the dense table, a byte per position.")
@click.option(
    "--results-only",
    is_flag=True,
    help="Solve for who wins, without plies: half a bit per position instead of a byte.",
)
@click.option("--stats-only", is_flag=True, help="Write nothing; show the counts.")
@click.option(
    "--estimate",
    "only_estimate",
    is_flag=True,
    help="Show the memory, disk and time needed, and stop.",
)
@click.option(
    "--checkpoint-minutes",
    default=5.0,
    show_default=True,
    help="Save an unfinished solve this often; a later run resumes from there.",
)
@cluster_option("With --results-only, shards of the table")
@json_option
@variant_options
def solve_command(
    rules: Rules,
    folder: Path,
    threads: int,
    player: str,
    table_only: bool,
    results_only: bool,
    stats_only: bool,
    only_estimate: bool,
    checkpoint_minutes: float,
    cluster: str | None,
    as_json: bool,
) -> None:
    """Solve a variant exactly; write the dense table and the players' wins.

    With --results-only, write who wins every position and not in how many plies: a file of about
    half a bit per position, for variants whose table would not fit into memory. The counts by depth
    are exact all the same.

    \b
    Examples:
      fadefour solve
      fadefour solve --n 3 --m 3 --player x
      fadefour solve --m 5 --table-only --estimate
      fadefour solve --m 6 --results-only
    """
    if table_only and stats_only:
        raise InputError("--table-only and --stats-only cannot be combined: give one of them")
    if table_only and results_only:
        raise InputError("--table-only and --results-only cannot be combined: give one of them")
    if not 0 <= checkpoint_minutes < math.inf:  # nan is not either
        raise InputError(f"--checkpoint-minutes {checkpoint_minutes}: use 0 or more minutes")
    if results_only:
        refuse_typed("player", where="with --results-only")
        request = ResultsRequest(
            folder, rules, threads, stats_only, checkpoint_minutes, as_json, cluster
        )
        solve_for_results(request, only_estimate)
        return
    refuse_typed("cluster", where="without --results-only")
    players = [] if table_only or stats_only else list("xy" if player == "both" else player)
    needs = estimate_solve(rules, folder, players, table=not stats_only)
    if only_estimate:
        show(as_json, needs.to_dict(), str(needs))
        needs.refuse_if_too_large()
        return
    needs.refuse_if_too_large()
    progress = progress_for(as_json)
    if stats_only:
        solution = solve_variant(rules, threads=threads, progress=progress)
        statistics = Statistics.of(rules, solution.counts)
        show(as_json, statistics.to_dict(), str(statistics))
        return
    kinds = [f"{player}win" for player in players]
    targets = [table_path(folder, rules)]
    targets += [records.data_path(folder, kind, rules) for kind in kinds]
    with writing_in(folder, wait=True, notice=on_stderr):
        for target in targets:
            check_writable(target)
        checkpoints = CheckpointFile(folder, rules, 60 * checkpoint_minutes)
        solution = solve_variant(rules, threads=threads, progress=progress, checkpoints=checkpoints)
        write_table(folder, solution)
        if kinds:
            _write_wins(folder, solution, kinds, threads, progress)
        checkpoints.discard()
    show_solved(as_json, Statistics.of(rules, solution.counts), targets)


def _write_wins(
    folder: Path, solution: Solution, kinds: list[str], threads: int, progress: Progress
) -> None:
    rules, table = solution.rules, solution.table
    with Crew(threads) as crew:
        swapped = records.swap_colours(rules, table, crew)
        for kind in kinds:
            records.write_wins(folder, kind, rules, table, swapped, crew, progress)


@click.command("merge")
@click.option("--complete", is_flag=True, help="Also list every drawn position.")
@json_option
@variant_options
def merge_command(rules: Rules, folder: Path, threads: int, complete: bool, as_json: bool) -> None:
    """Merge the X-win and Y-win files into the game tree.

    \b
    Example:
      fadefour merge --complete
    """
    if not folder.is_dir():
        raise InputError(f"--data '{folder}' is not a folder: run 'fadefour solve --data {folder}'")
    path = records.data_path(folder, "game_tree", rules)
    with writing_in(folder, wait=True, notice=on_stderr):
        check_writable(path)
        manifest = merge_wins(
            folder, rules, complete=complete, threads=threads, progress=progress_for(as_json)
        )
    body = {"file": str(path), "bytes": manifest.bytes, **manifest.counts}
    show(as_json, body, f"merged {counted(manifest.counts['records'], 'record')} into {path}")


@click.command("verify", short_help="Check every stored result and every file.")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@game_option("drop", "connect4")
@json_option
@variant_options
def verify_command(
    rules: Rules, folder: Path, threads: int, files: tuple[Path, ...], game: str, as_json: bool
) -> None:
    """Check every stored result against what its successors imply.

    All files of the variant are checked: checksums, manifests, the order and range of records;
    then every position of the table, result and depth, against its successors; then every record
    against the table. If anything is wrong, the report names the first positions and the exit code
    is 1.

    With --game connect4, FILES are sets of positions, one line each, MOVES SCORE, and every score
    is compared with the solver's.

    \b
    Examples:
      fadefour verify --n 3 --m 3
      fadefour verify --game connect4 Test_L3_R1.txt Test_L2_R1.txt
    """
    if game == "connect4":
        refuse_typed("n", "m", "k")
        _verify_connect4(files, folder, threads, as_json)
        return
    if files:
        raise InputError(
            f"'{files[0]}': FILES are for --game connect4; use --data for a folder of tables"
        )
    needs = estimate_folder(folder, rules)
    if needs.is_large and not as_json:
        on_stderr(str(needs))
    report = verify_folder(folder, rules, threads=threads, progress=progress_for(as_json))
    show(as_json, report.to_dict(), str(report))
    if not report.ok:
        sys.exit(1)


def _verify_connect4(files: tuple[Path, ...], folder: Path, threads: int, as_json: bool) -> None:
    from solver.connect4.book import book_in
    from solver.connect4.sets import verify_sets
    from solver.connect4.text import verified

    if not files:
        raise InputError("verify --game connect4 needs FILES with lines of MOVES SCORE")
    checks = verify_sets(files, threads, progress_for(as_json), book_in(folder))
    correct = all(check.correct == check.total for check in checks)
    body = {"sets": [check.to_dict() for check in checks], "ok": correct}
    show(as_json, body, verified(checks))
    if not correct:
        sys.exit(1)


@click.command("verify-defense", short_help="Check that the table defends against every reply.")
@click.option(
    "--positions",
    type=WholeNumber(1, MOST_POSITIONS),
    default=1000,
    show_default=True,
    help="Positions to play out.",
)
@seed_option("the sample and of the play")
@table_option
@json_option
@variant_options
def verify_defense_command(
    rules: Rules,
    folder: Path,
    threads: int,
    positions: int,
    seed: int,
    table_file: Path | None,
    as_json: bool,
) -> None:
    """Check that the table defends: play its moves against every reply.

    Samples positions, half of them threatened. The table's best move is played against every reply
    for a few plies, then against adversarial and random play; who wins is decided by the rules. If
    a promise of the table is broken, the report shows the line and the exit code is 1.

    \b
    Example:
      fadefour verify-defense --positions 1000 --seed 1
    """
    rules = variant_of(table_file, rules)
    with open_table(table_file or folder, rules) as table:
        report = check_defense(
            table, positions, seed, threads=threads, progress=progress_for(as_json)
        )
    show(as_json, report.to_dict(), str(report))
    if not report.ok:
        sys.exit(1)


@click.command("stats")
@click.option("--png", type=NamedPath(dir_okay=False), help="Also plot the depths to this file.")
@json_option
@variant_options
def stats_command(
    rules: Rules, folder: Path, threads: int, png: Path | None, as_json: bool
) -> None:
    """Count positions by slice, result and depth.

    \b
    Example:
      fadefour stats --png depths.png
    """
    if png is not None:
        need("matplotlib", "--png")
        check_writable(png)
    with open_by_node(folder, rules) as table:
        statistics = Statistics.of_table(table, threads)
    body, words = statistics.to_dict(), str(statistics)
    if png is not None:
        histogram_png(png, statistics)
        body["png"] = str(png)
        words += f"\n\nwrote {png}"
    show(as_json, body, words)


@click.command("summary", short_help="Show who wins, and the deepest win played out.")
@json_option
@variant_options
def summary_command(rules: Rules, folder: Path, threads: int, as_json: bool) -> None:
    """Show who wins, how the positions divide, and the deepest win played out.

    \b
    Example:
      fadefour summary
    """
    with open_by_node(folder, rules) as table:
        report = summarise(table, threads)
    show(as_json, report.to_dict(), str(report))


@click.command("export")
@click.option("--out", required=True, type=NamedPath(), help="New folder for the shards.")
@click.option(
    "--format",
    "file_format",
    default="npz",
    show_default=True,
    type=click.Choice(["npz", "parquet"]),
    help="File format of the shards.",
)
@click.option("--shard", default=4_000_000, show_default=True, help="Positions per shard.")
@click.option(
    "--validation",
    default=0.05,
    show_default=True,
    help="Share of the positions to hold out, chosen by a hash.",
)
@click.option("--sample", type=int, help="Export this many random positions.  [default: all]")
@click.option("--seed", default=0, show_default=True, help="Seed of --sample.")
@json_option
@variant_options
def export_command(
    rules: Rules,
    folder: Path,
    threads: int,
    out: Path,
    file_format: str,
    shard: int,
    validation: float,
    sample: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Write labelled positions for training, in shards, with a dataset card.

    The Parquet files open with datasets, pandas and polars as they are.

    \b
    Examples:
      fadefour export --out positions --sample 1000000
      fadefour export --out positions --format parquet
    """
    del threads  # the disk is what takes the time
    options = ExportOptions(file_format, shard, validation, sample, seed)
    with open_by_node(folder, rules) as table:
        report = export(table, out, options, progress_for(as_json))
    show(as_json, report.to_dict(), f"exported {report} to {out}")


COMMANDS = [
    solve_command,
    merge_command,
    verify_command,
    verify_defense_command,
    probe_command,
    book_command,
    stats_command,
    summary_command,
    export_command,
]
