"""``fadefour solve --results-only``, and how every solve ends: with one line."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from solver.checkpoint import ResultsCheckpointFile
from solver.cluster.connection import LOCAL
from solver.command_options import on_stderr, progress_for, show
from solver.estimate import Estimate, estimate_results
from solver.kernels import Crew
from solver.results import Passes, solve_results
from solver.results_table import results_path, write_results
from solver.rules import Rules
from solver.statistics import Statistics
from solver.storage import check_writable, writing_in
from solver.wording import counted_plies


@dataclass(frozen=True)
class ResultsRequest:
    """What was asked for."""

    folder: Path
    rules: Rules
    threads: int
    stats_only: bool
    checkpoint_minutes: float
    as_json: bool
    cluster: str | None = None
    """As for ``solver.workers.opening.open_pool``."""

    @contextlib.contextmanager
    def passes(self) -> Iterator[Passes | None]:
        """Where the full slice is solved; None: on threads of this machine."""
        if self.cluster is None:
            yield None
            return
        from solver.cluster.connection import Cluster

        with Cluster(self.cluster, self.threads) as cluster:
            from solver.cluster.sharded_solve import ShardedPasses

            report = _nowhere if self.as_json else on_stderr
            yield ShardedPasses(self.rules, cluster, None, report, self.stats_only)

    def needs(self) -> Estimate:
        return estimate_results(
            self.rules,
            self.folder,
            file=not self.stats_only,
            shards=None if self.cluster is None else self.threads,
            is_local=self.cluster == LOCAL,
        )


def _nowhere(line: str) -> None:
    """For lines that nobody reads."""


def show_solved(as_json: bool, statistics: Statistics, targets: Sequence[Path]) -> None:
    """What was found, in a line, and the files that say more."""
    results, written = statistics.results, [str(target) for target in targets]
    show(
        as_json,
        {**statistics.to_dict(), "written": written},
        f"solved {statistics.rules.name}: {statistics.nodes:,} positions, {results.win:,} won, "
        f"{results.lost:,} lost, {results.draw:,} drawn, {results.impossible:,} cannot occur; the "
        f"longest forced win or loss takes "
        f"{counted_plies(statistics.deepest)}; wrote {', '.join(written)}",
    )


def solve_for_results(request: ResultsRequest, only_estimate: bool) -> None:
    """Solves and writes ``results_....bits``; with ``stats_only`` shows the counts instead."""
    folder, rules, as_json = request.folder, request.rules, request.as_json
    needs = request.needs()
    if only_estimate:
        show(as_json, needs.to_dict(), str(needs))
        needs.refuse_if_too_large()
        return
    needs.refuse_if_too_large()
    if needs.is_large and not as_json:
        on_stderr(str(needs))
    progress, threads = progress_for(as_json), request.threads
    if request.stats_only:
        with request.passes() as passes:
            solution = solve_results(rules, threads=threads, progress=progress, passes=passes)
        statistics = Statistics.of(rules, solution.counts)
        show(as_json, statistics.to_dict(), str(statistics))
        return
    target = results_path(folder, rules)
    with writing_in(folder, wait=True, notice=on_stderr), Crew(threads) as crew:
        check_writable(target)
        checkpoints = ResultsCheckpointFile(
            folder, rules, 60 * request.checkpoint_minutes, needs.disk, on_stderr
        )
        with request.passes() as passes:
            solution = solve_results(
                rules, threads=threads, progress=progress, checkpoints=checkpoints, passes=passes
            )
        write_results(folder, solution, crew, progress)
        checkpoints.discard()
    show_solved(as_json, Statistics.of(rules, solution.counts), [target])
