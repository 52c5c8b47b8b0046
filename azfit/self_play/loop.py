"""Learning by self-play: games, replay, training, a match against the best, the gate.

    self_play(settled({"game": "connect4"}), Path("runs/first"))

A run is a folder:

    config.json             what was used
    metrics.jsonl           one line an iteration (docs/diagnostics.md lists the entries)
    games/000012.games      the finished games of the 13th iteration, appended as they end; of the
                            iterations before, as many as the buffer holds
    resume.safetensors      best and candidate, optimiser, iteration, phase, ratings
    checkpoints/step-*      the best networks so far; best.safetensors is the latest
    init.safetensors        the network that it began with, if one was given
    tensorboard

Every phase begins with its state on disk, so whatever stops a run, it goes on with the phase that
was under way; of the games, those that had ended are kept. Training and matches that were cut off
are repeated from their beginning, with the same random numbers.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import torch

from azfit.checkpoint import SUFFIX, load_checkpoint, save_checkpoint
from azfit.games import game_by_name
from azfit.network import Network
from azfit.self_play.config import (
    SHAPE,
    SelfPlayConfig,
    by_game,
    refuse_other_shape,
    settled,
)
from azfit.self_play.iteration_log import IterationLog
from azfit.self_play.run import SelfPlay
from azfit.self_play.workers import Workers
from solver.errors import FadefourError, InputError, NoRoomError
from solver.storage import write_atomically, writing_in


def self_play(
    config: SelfPlayConfig,
    folder: str | Path,
    *,
    resume: bool = False,
    init: Network | None = None,
    stream: TextIO | None = sys.stderr,
) -> SelfPlay:
    """Runs until the budget is spent. resume: goes on with the run in this folder."""
    folder = Path(folder)
    if init is not None:
        config = fitted(config, init)
    check_folder(config, folder, resume)
    try:
        with writing_in(folder):
            return _self_play(config, folder, resume, init, stream)
    except OSError as error:
        if isinstance(error, FadefourError):
            raise
        raise NoRoomError(
            f"cannot go on in '{folder}' ({error.strerror or error}): what was finished is kept; "
            "free some disk, then go on with --resume"
        ) from error


def _self_play(
    config: SelfPlayConfig, folder: Path, resume: bool, init: Network | None, stream: TextIO | None
) -> SelfPlay:
    torch.set_num_threads(config.threads)
    first = folder / f"init{SUFFIX}"
    if not resume:
        first.unlink(missing_ok=True)
        if init is not None:
            save_checkpoint(first, init)
        text = json.dumps(config.to_dict(), indent=1) + "\n"
        write_atomically(folder / "config.json", text.encode())
    elif first.exists():
        init = load_checkpoint(first, config.game)[0]
    run = SelfPlay(config, folder, init)
    if resume and (folder / "resume.safetensors").exists():
        run.load()
    else:
        run.save_best()
        run.save()
    log = IterationLog(folder, stream, run.iteration)
    try:
        with Workers(config) as workers:
            for _ in iterations(run):
                if run.phase == "play":
                    with run.timed("play"):
                        run.play(workers, log)
                    with run.timed("training"):
                        run.learn(log)
                    run.phase = "match"
                    run.save()
                with run.timed("match"):
                    run.match(workers, log)
                run.decide()
                run.line = replace(run.line, workers_replaced=workers.replaced)
                log.write(replace(run.line, iteration=run.iteration, seconds=round(run.seconds, 2)))
                run.phase = "play"
                run.save()
                run.save_best()
                run.tidy()
    finally:
        log.close()
    return run


def iterations(run: SelfPlay) -> Iterator[int]:
    """So many as the budget allows: N means N; one that is under way is finished."""
    while run.fraction < 1 or run.phase != "play":
        yield run.iteration


def read_config(folder: str | Path) -> SelfPlayConfig:
    """The config of a run that exists."""
    path = Path(folder) / "config.json"
    try:
        return settled(json.loads(path.read_text()))
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"'{folder}' is no run of self-play: it has no config.json; give another folder"
        ) from None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(
            f"'{path}' cannot be read ({str(error).splitlines()[0]}): restore it"
        ) from None


def fitted(config: SelfPlayConfig, init: Network) -> SelfPlayConfig:
    """The config of a run that begins with this network: it says what the network is."""
    given = init.config
    if given.game != config.game:
        raise InputError(f"--init plays {given.game}, not {config.game}: give one of that game")
    defaults = by_game(game_by_name(config.game))
    wanted = {name: getattr(config, name) for name in SHAPE}
    refuse_other_shape(given, {n: value for n, value in wanted.items() if value != defaults[n]})
    if given.max_plies > (config.max_plies or given.max_plies):
        raise InputError(
            f"max_plies={config.max_plies}: the network of --init counts up to {given.max_plies} "
            "plies; use at least so many"
        )
    return replace(config, kind=given.kind, width=given.width, blocks=given.blocks)


def check_folder(config: SelfPlayConfig, folder: Path, resume: bool) -> None:
    """A new folder, or one that was begun with this config."""
    if resume:
        if read_config(folder) != config:
            raise InputError(f"'{folder}' was begun with another config: resume it with its own")
    elif any((folder / name).exists() for name in ("config.json", "resume.safetensors", "games")):
        raise InputError(f"'{folder}' holds a run already: use --resume, or another folder")
