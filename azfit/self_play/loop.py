"""Learning by self-play: games, replay, training, a match against the best, the gate.

    self_play(settled({"game": "connect4"}), Path("runs/first"))

A run is a folder:

    config.json             what was used
    choices.json            what was chosen by game, budget and cores, and why
    metrics.jsonl           one line per iteration (docs/diagnostics.md lists the entries)
    games/000012.games      the finished games of the 13th iteration, appended as they end; of the
                            iterations before, as many as the buffer holds
    resume.safetensors      best and candidate, optimiser, iteration, phase, ratings
    checkpoints/step-*      the best networks so far; best.safetensors is the latest
    init.safetensors        the network that it began with, if one was given
    tensorboard

Every phase begins with its state on disk, so whatever stops a run, it continues with the phase that
was under way; of the games, those that had ended are kept. Training and matches that were cut off
are repeated from their beginning, with the same random numbers.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import torch

from azfit.network import Network
from azfit.self_play.ahead import PlayAhead
from azfit.self_play.assessment import assess
from azfit.self_play.config import SelfPlayConfig
from azfit.self_play.config_sources import fitted
from azfit.self_play.defaults import Choice
from azfit.self_play.episode import summarised
from azfit.self_play.evaluation import decide, evaluate
from azfit.self_play.game_files import positions_of
from azfit.self_play.iteration import Iteration
from azfit.self_play.iteration_log import IterationLog
from azfit.self_play.plan import Pace, plan_in_words
from azfit.self_play.run_folder import begun, check_folder, check_memory, explained, resumed
from azfit.self_play.state import SelfPlayRun
from azfit.self_play.workers import Workers
from azfit.torch_memory import keep_freed_memory
from solver.errors import InputError, NoRoomError
from solver.storage import writing_in


def self_play(
    config: SelfPlayConfig,
    folder: str | Path,
    *,
    resume: bool = False,
    init: Network | None = None,
    cluster: str | None = None,
    stream: TextIO | None = sys.stderr,
    choices: Sequence[Choice] = (),
) -> SelfPlayRun:
    """Runs until the budget is spent. resume: continues the run in this folder. cluster: where its
    workers are, as for ``solver.workers.opening.open_pool``; another one may be given at each
    resume. choices: the options of a new run that were chosen for it, for its folder."""
    folder = Path(folder)
    if init is not None:
        config = fitted(config, init)
    check_memory(config)
    try:
        check_folder(config, folder, resume)
        with writing_in(folder):
            keep_freed_memory()
            torch.set_num_threads(config.threads)
            run = resumed(config, folder) if resume else begun(config, folder, init, choices)
            log = IterationLog(folder, stream, run.iteration)
            with (
                contextlib.closing(log),
                Workers(config, cluster, log.note) as workers,
                PlayAhead(run, workers) as ahead,
            ):
                for line in plan_in_words(run, choices) if run.has_more else []:
                    log.note(line)
                pace = Pace()
                for _ in iterations(run):
                    iterate(run, workers, ahead, log)
                    log.note(pace.after(run))
            run.games.discard(run.iteration)  # those of an iteration that time has not sufficed for
            return run
    except (OSError, NoRoomError, MemoryError, RuntimeError) as error:
        explanation = explained(error, folder)
        if explanation is None:
            raise
        raise explanation from error


# ---- the loop ------------------------------------------------------------------------


def iterations(run: SelfPlayRun) -> Iterator[int]:
    """As many as the budget allows: N means N, and one that is under way is finished."""
    while run.has_more:
        yield run.iteration


def iterate(run: SelfPlayRun, workers: Workers, ahead: PlayAhead, log: IterationLog) -> None:
    """An iteration, or what is left of one that was interrupted."""
    if run.phase == "play":
        with run.timed("play"):
            play(run, ahead, log)
        ahead.begin()
        with run.timed("training"):
            learn(run, log)
        run.phase = "match"
        run.save()
    ahead.begin()  # a run that was resumed here has not begun them yet
    with run.timed("match"):
        evaluate(run, workers, log)
    decide(run)
    run.line = replace(run.line, workers_replaced=workers.replaced)
    log.write(replace(run.line, iteration=run.iteration, seconds=round(run.seconds, 2)))
    run.phase = "play"
    run.save()
    run.save_best()
    run.tidy()


def play(run: SelfPlayRun, ahead: PlayAhead, log: IterationLog) -> None:
    """Games of a network against itself, into the buffer."""
    ahead.finish(log)
    games = run.games
    episodes = games.read(run.iteration)
    games.enter(run.iteration, episodes)
    if not games.buffer.size:
        raise InputError(
            f"--full-share {run.config.full_share:g}: no position of {len(episodes)} games was "
            "searched in full, so there is nothing to learn; use more of one or the other"
        )
    run.line = Iteration(
        games=summarised(episodes),
        buffer=games.buffer.outcomes(),
        fresh=assess(run.candidate, positions_of(run.game, episodes)),
    )
    log.end()


def learn(run: SelfPlayRun, log: IterationLog) -> None:
    """The candidate learns from the buffer."""
    training = run.trainer.learn(run.games.buffer, run.iteration, run.budget_spent, log)
    run.line = replace(run.line, training=training)
