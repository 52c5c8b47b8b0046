"""The state of a self-play run: everything that its next phase depends on, and its saving.

``azfit.self_play.loop`` has the phases, and says which files a run's folder holds.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from azfit.checkpoint import load_checkpoint, read_tensors, save_checkpoint, write_tensors
from azfit.checkpoint_header import FORMAT, SUFFIX, VERSION, checkpoints_in
from azfit.games import Game, game_by_name
from azfit.network import Network
from azfit.resume_tensors import network_tensors, restore_network
from azfit.self_play.config import MOST_ITERATIONS, SelfPlayConfig
from azfit.self_play.game_files import GameFiles
from azfit.self_play.iteration import Iteration, PhaseSeconds
from azfit.self_play.rating_pool import Rated, thinned
from azfit.self_play.training import Trainer, copy_of
from azfit.typed_json import from_json
from solver.errors import CorruptTableError
from solver.storage import remove_litter
from solver.wording import one_line, quoted

Phase = Literal["play", "match"]
"""What comes next. Training belongs to "play": if it is cut off, it starts over."""


@dataclass(frozen=True)
class _Reached:
    """How far a run has come, as the header of its state says it."""

    iteration: int
    phase: Phase
    seconds: float
    pool: tuple[tuple[int, float], ...]
    line: Iteration

    def __post_init__(self) -> None:
        members = [iteration for iteration, _ in self.pool]
        if not 0 <= self.iteration <= MOST_ITERATIONS or self.seconds < 0:
            raise ValueError(f"iteration {self.iteration} after {self.seconds} seconds")
        if not members or min(members) < 0 or max(members) > self.iteration:
            raise ValueError(f"best networks of the iterations {quoted(members)}")


class SelfPlayRun:
    """The best network, a candidate in training, the games, the ratings."""

    def __init__(self, config: SelfPlayConfig, folder: Path, init: Network | None = None) -> None:
        """A run at its beginning, with random weights or those of ``init``."""
        self.config, self.folder = config, folder
        self.game: Game = game_by_name(config.game)
        torch.manual_seed(config.seed)
        self.best = Network(config.network)
        if init is not None:
            self.best = Network(replace(init.config, dropout=config.dropout))
            self.best.load_state_dict(init.state_dict())
        self.trainer = Trainer(copy_of(self.best), config)
        self.games = GameFiles(
            folder / "games", self.game, config.buffer, config.games_per_iteration
        )
        self.iteration = 0
        """Iterations finished."""
        self.phase: Phase = "play"
        self.pool = [Rated(0, 0.0)]
        """The bests so far, the present one last."""
        self.line = Iteration()
        """What is known about the iteration in progress, to be logged at its end."""
        self._seconds_before, self._began = 0.0, time.monotonic()

    @property
    def candidate(self) -> Network:
        """As it plays: with --ema the average of its weights."""
        return self.trainer.played

    @property
    def seconds(self) -> float:
        """Spent on this run, over all resumes."""
        return self._seconds_before + time.monotonic() - self._began

    @property
    def budget_spent(self) -> float:
        """The share of the budget that is used up."""
        if self.config.iterations is not None:
            return self.iteration / self.config.iterations
        assert self.config.minutes is not None
        return self.seconds / (60 * self.config.minutes)

    @property
    def has_more(self) -> bool:
        """Whether the budget allows another iteration, or one is under way."""
        return self.budget_spent < 1 or self.phase != "play"

    @contextlib.contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Notes how long this phase took, in the line of the iteration."""
        began = time.monotonic()
        yield
        seconds = self.line.phase_seconds or PhaseSeconds()
        seconds = replace(seconds, **{phase: round(time.monotonic() - began, 2)})
        self.line = replace(self.line, phase_seconds=seconds)

    # ---- what the gate decides ----------------------------------------------------

    def accept(self, elo: float) -> None:
        """The candidate is the best from now on, and keeps learning."""
        self.iteration += 1
        self.best = copy_of(self.candidate)
        latest = max(self.config.keep, 1 + self.config.overlap)  # the one before may still play
        self.pool = thinned([*self.pool, Rated(self.iteration, elo)], latest)

    def reject(self) -> None:
        """The candidate becomes the best again, with a new optimiser."""
        self.iteration += 1
        self.trainer.restart(self.best)

    def player_of(self, iteration: int) -> Network:
        """The network that plays the games of this iteration: the best when it begins or, with
        --overlap, the best when training on the games of the one before begins."""
        decided = max(0, iteration - self.config.overlap)
        player = [member for member in self.pool if member.iteration <= decided][-1]
        if player == self.pool[-1]:
            return self.best
        return load_checkpoint(self.best_path(player.iteration))[0]

    # ---- networks on disk ---------------------------------------------------------

    def best_path(self, iteration: int) -> Path:
        """The file of the best network that was accepted after this iteration."""
        return self.folder / "checkpoints" / f"step-{iteration:09d}{SUFFIX}"

    def save_best(self) -> None:
        iteration, elo = self.pool[-1]
        about = {"iteration": iteration, "elo": elo}
        save_checkpoint(self.best_path(iteration), self.best, about)
        save_checkpoint(self.folder / f"best{SUFFIX}", self.best, about)

    def tidy(self) -> None:
        """Removes what is no longer needed: networks, games, and what a crash half wrote."""
        members = {self.best_path(iteration) for iteration, _ in self.pool}
        for path in checkpoints_in(self.folder / "checkpoints"):
            if path not in members:
                path.unlink()
                path.with_suffix(".json").unlink(missing_ok=True)
        for folder in (self.folder, self.folder / "checkpoints"):
            remove_litter(folder)
        self.games.remove_unneeded()

    # ---- the state on disk --------------------------------------------------------

    @property
    def state_path(self) -> Path:
        return self.folder / f"resume{SUFFIX}"

    def save(self) -> None:
        """All that the next phase depends on, except the games."""
        tensors = network_tensors("best", self.best) | self.trainer.tensors()
        about = {
            "format": FORMAT,
            "version": VERSION,
            "iteration": self.iteration,
            "phase": self.phase,
            "seconds": self.seconds,
            "pool": self.pool,
            "line": self.line.to_dict(),
            "network": self.best.config.to_dict(),
        }
        write_tensors(self.state_path, tensors, about)

    def load(self) -> None:
        """Takes up the state that was saved last."""
        remedy = f"restore it, or start another run with --init '{self.folder}'"
        try:
            tensors, about = read_tensors(self.state_path)
        except CorruptTableError:
            raise CorruptTableError(f"'{self.state_path}' is damaged: {remedy}") from None
        try:
            self._take_up(tensors, about)
        except (RuntimeError, KeyError, TypeError, ValueError) as error:
            reason = one_line((str(error).strip().splitlines() or [""])[-1])
            raise CorruptTableError(
                f"'{self.state_path}' does not fit its run, or is of another version ({reason}): "
                f"{remedy}"
            ) from None
        self.games.load(self.iteration if self.phase == "play" else self.iteration + 1)
        self.save_best()  # a crash may have come before it, or after the best of a match to repeat
        self.tidy()

    def _take_up(self, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        restore_network("best", self.best, tensors)
        self.trainer.take_up(tensors)
        reached = from_json(_Reached, about)
        self.iteration, self.phase, self.line = reached.iteration, reached.phase, reached.line
        self.pool = [Rated(iteration, elo) for iteration, elo in reached.pool]
        self._seconds_before, self._began = reached.seconds, time.monotonic()
