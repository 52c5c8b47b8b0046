"""Making an opening book, deepest ply first, and checking one.

The positions of the last ply are solved by search; each ply above follows from the one below it.
Where a book of fewer plies is there already, its scores bound those of the next ply, and what
follows from below must agree with them. The file is written every half minute, so that a killed run
loses no more than that.
"""

from __future__ import annotations

import itertools
import random
import time
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from solver.connect4.book import (
    LAST_FURTHER_PLY,
    MOST_PLIES,
    SHIPPED,
    UNKNOWN,
    Book,
    BookScores,
    Scores,
    moves_of,
    positions_of,
)
from solver.connect4.keys import bitboards_of, key_of
from solver.connect4.pool import SolverPool
from solver.connect4.position import COLUMNS, Connect4Stones
from solver.connect4.solver import HIGHEST, Connect4Solver, central_first
from solver.errors import CorruptTableError, InputError
from solver.kernels import check_threads
from solver.progress import Progress, Silent
from solver.storage import check_writable, writing_in
from solver.wording import counted, duration, size

SAVE_SECONDS = 30.0
MEGABYTES = 256
"""Of the table, for each thread: the positions of a ply have much in common."""

QUESTIONS_PER_THREAD = 4
"""Asked and not answered: enough that no thread is idle, and few, since each answer looks at all of
them."""

SHOWN = 10


@dataclass(frozen=True)
class BookReport:
    """What a book has."""

    path: str
    contents: BookScores

    def to_dict(self) -> dict[str, Any]:
        return {
            "book": self.path,
            "plies": self.contents.plies,
            "complete": self.contents.is_complete,
            "positions": [len(part) for part in self.contents.scores],
            "known": self.contents.known,
            "further": len(self.contents.further),
            "bytes": len(self.contents.to_bytes()),
            "seconds": {str(ply): spent for ply, spent in self.contents.seconds.items()},
        }

    def __str__(self) -> str:
        book = self.contents
        listed, taken = sum(map(len, book.scores)), len(book.to_bytes())
        lines = [
            f"{self.path}: the scores of all {listed:,} positions of up to {book.plies} plies "
            f"(mirror images once), and of {len(book.further):,} later ones of the best line; "
            f"{size(taken)}"
        ]
        if not book.is_complete:
            left = sum(int((part == UNKNOWN).sum()) for part in book.scores)
            lines.append(f"unfinished: {counted(left, 'position')} to go; run it again to continue")
        for ply, part in enumerate(book.scores):
            known = part[part != UNKNOWN]
            results = [int((np.sign(known) == sign).sum()) for sign in (1, 0, -1)]
            spent = f", searched for {duration(book.seconds[ply])}" if ply in book.seconds else ""
            lines.append(
                f"  ply {ply:2}  {len(part):>9,} positions: {results[0]:,} won, {results[1]:,} "
                f"drawn, {results[2]:,} lost for the side to move{spent}"
            )
        return "\n".join(lines)


# ---- making -------------------------------------------------------------------------------------


def make_book(
    book: Book, plies: int, threads: int | None = None, progress: Progress | None = None
) -> BookReport:
    """Completes the book in its file up to this many plies; continues what is there."""
    if not 0 <= plies <= MOST_PLIES:
        raise InputError(f"--plies {plies}: use 0 to {MOST_PLIES}")
    with writing_in(book.path.parent):
        check_writable(book.path)
        known = book.contents if book.path.exists() else SHIPPED.contents
        contents = extended(known, plies)
        _search_ply(book, contents, plies, threads, progress or Silent())
        derive_plies_above(contents, plies)
        _add_best_line(contents, threads, progress or Silent())
        book.save(contents)
    return BookReport(str(book.path), contents)


def extended(known: BookScores, plies: int) -> BookScores:
    """The same scores in a book of at least this many plies."""
    contents = BookScores.unknown(max(plies, known.plies))
    for ply, part in enumerate(known.scores):
        contents.scores[ply][:] = part
    contents.further, contents.seconds = dict(known.further), dict(known.seconds)
    for ply in range(known.plies + 1, contents.plies + 1):  # what was a further position before
        for row, key in enumerate(positions_of(ply).keys.tolist()):
            contents.scores[ply][row] = contents.further.pop(key, UNKNOWN)
    return contents


def _search_ply(
    book: Book, contents: BookScores, ply: int, threads: int | None, progress: Progress
) -> None:
    """Solves what is unknown of a ply."""
    scores, positions = contents.scores[ply], positions_of(ply)
    rows = np.flatnonzero(scores == UNKNOWN).tolist()
    if not rows:
        return
    least = _least_scores(contents, ply)
    progress.begin(f"ply {ply}", len(rows), "position")
    before, began = contents.seconds.get(ply, 0.0), time.monotonic()
    saved, waiting = began, dict[Future[int], int]()
    unasked, at_once = iter(rows), QUESTIONS_PER_THREAD * check_threads(threads)
    with SolverPool(threads, MEGABYTES, book=None) as pool:
        try:
            done = 0
            while done < len(rows):
                for row in itertools.islice(unasked, at_once - len(waiting)):
                    mover, stones = int(positions.movers[row]), int(positions.stones[row])
                    question = partial(bounded_score, mover, stones, int(least[row]))
                    waiting[pool.submit(question)] = row
                ended, _ = wait(waiting, SAVE_SECONDS, FIRST_COMPLETED)
                for future in ended:
                    scores[waiting.pop(future)] = future.result()
                done += len(ended)
                progress.reach(done)
                contents.seconds[ply] = before + time.monotonic() - began
                if time.monotonic() - saved >= SAVE_SECONDS:
                    book.save(contents)
                    saved = time.monotonic()
        finally:  # what ended beside a search that failed is kept as well
            for future, row in waiting.items():
                if future.done() and not future.cancelled() and future.exception() is None:
                    scores[row] = future.result()
            book.save(contents)
    progress.end(f"{len(rows):>14,} positions")


def bounded_score(mover: int, stones: int, least: int, solver: Connect4Solver) -> int:
    return solver.search(mover, stones, least, HIGHEST)


def _least_scores(contents: BookScores, ply: int) -> Scores:
    """What the scores of the ply above say: after a move the opponent has at least the negative of
    what the mover had."""
    least = np.full(len(contents.scores[ply]), -HIGHEST, np.int8)
    if ply == 0:
        return least
    above = contents.scores[ply - 1]
    for column in range(COLUMNS):
        moves = moves_of(ply - 1, column)
        chosen = ~moves.wins & (above[moves.rows] != UNKNOWN)
        rows = np.searchsorted(positions_of(ply).keys, moves.keys[chosen])
        np.maximum.at(least, rows, -above[moves.rows[chosen]])
    return least


def implied_by_moves(contents: BookScores, ply: int) -> Scores:
    """The scores of a ply that follow from those of the next one, int8 [N]."""
    best = np.full(len(contents.scores[ply]), -HIGHEST, np.int8)
    win = HIGHEST - (ply // 2 + 1)  # the winner's stones at the end
    for column in range(COLUMNS):
        moves = moves_of(ply, column)
        worth = np.full(len(moves.rows), win, np.int8)
        on = ~moves.wins
        rows = np.searchsorted(positions_of(ply + 1).keys, moves.keys[on])
        worth[on] = -contents.scores[ply + 1][rows]
        best[moves.rows] = np.maximum(best[moves.rows], worth)
    return best


def derive_plies_above(contents: BookScores, complete: int) -> None:
    """Fills in the plies above one that is complete."""
    for ply in reversed(range(complete)):
        implied, before = implied_by_moves(contents, ply), contents.scores[ply]
        wrong = np.flatnonzero((before != UNKNOWN) & (before != implied))
        if len(wrong):
            raise CorruptTableError(
                f"the book says {before[wrong[0]]} of {_described(ply, int(wrong[0]))}, its moves "
                f"say {implied[wrong[0]]}: remove it, and make another"
            )
        contents.scores[ply][:] = implied


def _add_best_line(contents: BookScores, threads: int | None, progress: Progress) -> None:
    """The positions beyond the book that the best line from the empty board asks for."""
    position, score = Connect4Stones(0, 0), int(contents.scores[0][0])
    progress.begin("best line", LAST_FURTHER_PLY, "ply")
    with Connect4Solver(MEGABYTES, threads=check_threads(threads), book=None) as solver:
        while position.plies < LAST_FURTHER_PLY:
            for column in sorted(position.legal_moves(), key=central_first):
                after = position.play(column)
                worth = contents.get(after.mover, after.stones)
                if worth is None:
                    worth = bounded_score(after.mover, after.stones, -score, solver)
                    contents.further[key_of(after.mover, after.stones)] = worth
                if -worth == score:
                    position, score = after, worth
                    break
            progress.reach(position.plies)
    progress.end(f"{len(contents.further):>14,} positions")


def _described(ply: int, row: int) -> str:
    position = positions_of(ply)
    return f"mover={int(position.movers[row]):#x}, stones={int(position.stones[row]):#x}"


# ---- checking -----------------------------------------------------------------------------------


@dataclass
class BookCheck:
    """A book compared with its own moves, and a sample with the solver."""

    path: str
    derived: int
    """Positions whose scores follow from the book's own next ply."""
    sampled: int = 0
    nodes: int = 0
    wrong: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.wrong

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "wrong": self.wrong[:SHOWN], "ok": self.ok}

    def __str__(self) -> str:
        lines = [f"WRONG: {words}" for words in self.wrong[:SHOWN]]
        lines.append(
            f"{self.path}: {counted(self.derived, 'score')} compared with those of the moves, "
            f"{self.sampled:,} with a search without the book ({self.nodes:,} nodes): "
            + ("verified" if self.ok else "verification FAILED")
        )
        return "\n".join(lines)


def check_book(
    book: Book,
    sample: int,
    seed: int,
    threads: int | None = None,
    progress: Progress | None = None,
) -> BookCheck:
    """Checks every score above the deepest ply against its moves, and a sample by search."""
    contents = book.contents
    check = BookCheck(str(book.path), 0)
    for ply in range(contents.plies):
        below, scores = contents.scores[ply + 1], contents.scores[ply]
        if (below == UNKNOWN).any():
            continue
        implied, known = implied_by_moves(contents, ply), scores != UNKNOWN
        check.derived += int(known.sum())
        for row in np.flatnonzero(known & (implied != scores)).tolist():
            words = f"{_described(ply, row)}: the book says {scores[row]}, its moves {implied[row]}"
            check.wrong.append(words)
    chosen = _sample(contents, sample, seed)
    report = progress or Silent()
    report.begin("search", len(chosen), "position")
    with SolverPool(threads, MEGABYTES, book=None) as pool:
        asked = [pool.submit(partial(_confirmed, *position)) for position in chosen]
        for done, ((mover, stones, score), answer) in enumerate(zip(chosen, asked, strict=True), 1):
            if answer.result() != score:
                check.wrong.append(f"mover={mover:#x}, stones={stones:#x} does not score {score}")
            report.reach(done)
        check.sampled, check.nodes = len(chosen), pool.nodes
    report.end(f"{len(chosen):>14,} positions")
    return check


def _confirmed(mover: int, stones: int, score: int, solver: Connect4Solver) -> int:
    """The score if it is this one, which is sooner known than any score."""
    return solver.search(mover, stones, score - 1, score + 1)


def _sample(contents: BookScores, count: int, seed: int) -> list[tuple[int, int, int]]:
    """Known positions at random: mover, stones, score."""
    listed = [
        (int(key), int(score))
        for ply, scores in enumerate(contents.scores)
        for key, score in zip(positions_of(ply).keys, scores, strict=True)
        if score != UNKNOWN
    ]
    listed += contents.further.items()
    chosen = random.Random(seed).sample(listed, min(count, len(listed)))
    return [(*bitboards_of(key), score) for key, score in chosen]
