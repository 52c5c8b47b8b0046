"""What a finished run of self-play is worth, within a time that is short compared with the run.

Drop-oldest is judged by its table, Connect Four by the solver, Gomoku by forced wins, each on as
many seeded positions as the time allows; what has no judge, and Gomoku, also plays against the
network that the run began with. ``fadefour grade`` has the whole grade.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from azfit.games import Connect4, DropOldest, Gomoku
from azfit.grading.connect4.grade import grade_connect4
from azfit.grading.connect4.labels import LabelFile, LabelledSet, Labeller
from azfit.grading.connect4.labels import random_positions as random_connect4
from azfit.grading.gomoku.grade import grade_gomoku
from azfit.grading.gomoku.positions import random_positions as random_gomoku
from azfit.grading.grade import grade
from azfit.grading.tally import wilson
from azfit.loading import LoadedNetwork, load_network
from azfit.players import Player
from azfit.playing.match import play_match
from azfit.self_play.config import SelfPlayConfig
from azfit.self_play.worth import StartMatch, Verdict, Worth
from solver.checked_files import TableFile
from solver.connect4.book import book_in
from solver.errors import MissingTableError
from solver.gomoku.judge import GomokuJudge
from solver.index import node_count
from solver.retrograde import solve
from solver.rules import Rules
from solver.table import open_table, table_path, write_table

T = TypeVar("T")

# A tenth of the run's time and at most a minute; what took seconds is not worth a wait.
SHARE, MOST_SECONDS, SHORTEST_RUN = 0.1, 60.0, 5.0

SEED = 0

# Positions of a first sample, by which the second is timed, and of a large one.
FIRST, FIRST_SEARCHED, MOST = 500, 50, 20_000

# Connect Four: from this ply on, a label takes some milliseconds; positions to label per second.
FIRST_PLY, LABELS_PER_SECOND, MOST_LABELLED = 14, 50, 1_000
LATE = f"on random positions of {FIRST_PLY} plies or more"

# Solved on the spot: up to 4 x 4 with four pieces, in less than a second; small ones in no time.
MOST_NODES, SMALL_NODES, SOLVING_SECONDS = 100_000_000, 1_000_000, 4.0

# Gomoku: positions, in half of which something is forced.
GOMOKU_FIRST, GOMOKU_FIRST_SEARCHED, GOMOKU_MOST = 50, 10, 1_000

# A match against the first network: games, about how long they are, and the time that it needs.
GAMES, PLIES, MATCH_SECONDS = 20, 40, 3.0

LOSES, MISSES = "loses the result", "misses a forced win, or does not stop one,"


def seconds_to_judge(run_seconds: float) -> float:
    """How long judging may take after a run of this length; 0: not at all."""
    if run_seconds < SHORTEST_RUN:
        return 0.0
    return min(MOST_SECONDS, max(1.0, SHARE * run_seconds))


@dataclass(frozen=True)
class Finished:
    """A run to be judged, and the time for it."""

    folder: Path
    config: SelfPlayConfig
    network: LoadedNetwork
    """The best."""
    seconds: float
    data: Path

    @property
    def searching(self) -> Player:
        """With the run's simulations, as it would play."""
        config = self.config
        return self.network.player(config.sims, config.max_plies, lcb=config.lcb)

    def verdicts(
        self, judged: Callable[[Player, int], Verdict], first: int, first_searched: int, most: int
    ) -> tuple[Verdict, ...]:
        """On the network alone and with search, each on a sample for a third of the time.
        first, first_searched: positions of the first samples; most: of the largest."""
        alone, searching, third = self.network.player(), self.searching, self.seconds / 3
        return (
            within(third, first, most, partial(judged, alone)),
            within(third, first_searched, most, partial(judged, searching)),
        )


def worth_of_run(
    folder: Path, config: SelfPlayConfig, seconds: float, data: Path = Path("data")
) -> Worth:
    """Judges the best network of a run in about this many seconds. data: where tables are."""
    began = time.monotonic()
    network = load_network(folder, config.threads)
    run, game = Finished(folder, config, network, seconds, data), network.network.game
    worth = Worth()
    if isinstance(game, Connect4):
        worth = Worth(f"the solver, {LATE}", LOSES, _by_solver(run))
    elif isinstance(game, Gomoku):
        worth = Worth("forced wins in random play", MISSES, _by_forced_wins(run, game))
    elif isinstance(game, DropOldest):
        with contextlib.suppress(MissingTableError), _table_for(run, game.rules) as table:
            worth = Worth(f"the table of {game.rules.name}", LOSES, _by_table(run, table))
    if not worth.verdicts or (isinstance(game, Gomoku) and seconds >= MATCH_SECONDS):
        left = seconds - (time.monotonic() - began)
        worth = replace(worth, match=_against_start(run, left))
    return replace(worth, seconds=round(time.monotonic() - began, 2))


def within(seconds: float, first: int, most: int, judge: Callable[[int], T]) -> T:
    """What ``judge`` says about a sample that it can be expected to do in this time: about one of
    ``first`` positions, or about a larger one of up to ``most``."""
    began = time.monotonic()
    verdict = judge(first)
    took = max(1e-3, time.monotonic() - began)
    fitting = min(most, int(first * (seconds - took) / took))
    return judge(fitting) if fitting > 2 * first else verdict


def _verdict(player: Player, positions: int, wrong: float, is_sample: bool = True) -> Verdict:
    interval = wilson(wrong, positions) if is_sample else None
    return Verdict(player.sims or 0, positions, wrong, interval)


# ---- drop-oldest ----------------------------------------------------------------------


@contextlib.contextmanager
def _table_for(run: Finished, rules: Rules) -> Iterator[TableFile]:
    """The table of this variant; without one it is solved here, if that takes a moment."""
    try:
        opened = open_table(run.data, rules)
    except MissingTableError:
        nodes = node_count(rules)
        if nodes > MOST_NODES or (nodes > SMALL_NODES and run.seconds < SOLVING_SECONDS):
            raise
        with tempfile.TemporaryDirectory() as folder:
            with contextlib.closing(solve(rules)) as solution:
                write_table(folder, solution)
            with open_table(table_path(folder, rules), rules) as table:
                yield table
        return
    with opened as table:
        yield table


def _by_table(run: Finished, table: TableFile) -> tuple[Verdict, ...]:
    def judged(player: Player, sample: int) -> Verdict:
        graded = grade(player, table, sample=sample, seed=SEED, threads=run.config.threads)
        whole, is_sample = graded.overall, graded.sample is not None
        return _verdict(player, whole.positions, whole.blunder_rate or 0.0, is_sample)

    return run.verdicts(judged, FIRST, FIRST_SEARCHED, MOST)


# ---- Connect Four ---------------------------------------------------------------------


def _by_solver(run: Finished) -> tuple[Verdict, ...]:
    count = min(MOST_LABELLED, round(LABELS_PER_SECOND * run.seconds))
    drawn = random_connect4(count, SEED, FIRST_PLY)
    with Labeller(run.config.threads, book=book_in(run.data)) as labeller:
        labels = labeller.labels(LATE, drawn, LabelFile())
    positions = [pair.position for pair in drawn]

    def judged(player: Player, sample: int) -> Verdict:
        some = LabelledSet(LATE, positions[:sample], labels[:sample])
        whole = grade_connect4(player, [some]).together.group()
        return _verdict(player, whole.positions, whole.blunder_rate or 0.0)

    first = min(count, FIRST_SEARCHED)
    return run.verdicts(judged, first, first, count)


# ---- Gomoku ---------------------------------------------------------------------------


def _by_forced_wins(run: Finished, game: Gomoku) -> tuple[Verdict, ...]:
    with GomokuJudge(game.rows) as forced:

        def judged(player: Player, sample: int) -> Verdict:
            whole = grade_gomoku(player, [random_gomoku(game, sample, SEED)], forced).together
            return _verdict(player, len(whole.judged), whole.blunder_rate)

        return run.verdicts(judged, GOMOKU_FIRST, GOMOKU_FIRST_SEARCHED, GOMOKU_MOST)


# ---- the first network ----------------------------------------------------------------


def _against_start(run: Finished, seconds: float) -> StartMatch:
    """With the run's search, if the games fit into the time; otherwise without."""
    start = run.folder / "checkpoints" / "step-000000000.safetensors"
    game, player = run.network.network.game, run.searching
    began = time.monotonic()
    player.choose(np.stack([game.start()] * GAMES))
    per_ply = time.monotonic() - began
    sims = run.config.sims if per_ply * PLIES <= seconds else 0
    config = run.config
    match = play_match(
        str(run.folder),
        str(start),
        games=GAMES,
        sims=sims,
        seed=SEED,
        lcb=config.lcb if sims else 0.0,
    )
    score = match.score
    return StartMatch(sims, sum(score.wins), sum(score.draws), sum(score.losses))
