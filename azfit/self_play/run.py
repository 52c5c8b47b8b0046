"""The state of a self-play run and its five phases; ``azfit.self_play.loop`` has the loop.

Everything that the next phase depends on is in ``SelfPlay`` and goes through ``save`` and ``load``.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from azfit.checkpoint import (
    FORMAT,
    SUFFIX,
    VERSION,
    checkpoints_in,
    load_checkpoint,
    read_tensors,
    save_checkpoint,
    write_tensors,
)
from azfit.games import Game, game_by_name
from azfit.network import Network
from azfit.objective import IGNORED, Metrics, Targets, losses, total_loss
from azfit.self_play.arena import Score
from azfit.self_play.assessment import assess, judge, wdl_losses
from azfit.self_play.config import SelfPlayConfig
from azfit.self_play.elo import rating
from azfit.self_play.episode import Episode, EpisodeFile, read_episodes, summarised
from azfit.self_play.iteration import Iteration, MatchResult, PhaseSeconds, Training
from azfit.self_play.iteration_log import IterationLog
from azfit.self_play.openings import Opening, random_openings
from azfit.self_play.play_games import game_seed
from azfit.self_play.replay import ReplayBatch, ReplayBuffer
from azfit.self_play.watched import watch
from azfit.self_play.workers import Workers
from solver.errors import CorruptTableError, FadefourError
from solver.storage import remove_litter

# Earlier bests that a candidate meets for its rating: the latest, and others evenly back in time.
POOL_OPPONENTS = 3

# Positions of the buffer on which a candidate is assessed, and the number of that draw.
LEARNED_SAMPLE, LEARNED_DRAW = 4096, 100

# Earlier bests kept on disk besides the latest ones.
POOL_MEMBERS = 12


class SelfPlay:
    """The state of a run: two networks, an optimiser, the buffer, the ratings."""

    def __init__(self, config: SelfPlayConfig, folder: Path, init: Network | None = None) -> None:
        self.config, self.folder = config, folder
        self.game: Game = game_by_name(config.game)
        torch.manual_seed(config.seed)
        self.best = Network(config.network)
        if init is not None:
            self.best = Network(replace(init.config, dropout=config.dropout))
            self.best.load_state_dict(init.state_dict())
        self.candidate = copy_of(self.best)
        self.optimiser = self._new_optimiser()
        self.buffer = ReplayBuffer(self.game, config.buffer)
        self.positions: dict[int, int] = {}
        """In the file of games of each iteration that is still needed."""
        self.iteration, self.phase = 0, "play"
        self.pool: list[tuple[int, float]] = [(0, 0.0)]
        """The bests so far: the iterations after which they were accepted, and their ratings."""
        self.line = Iteration()
        """What is known of the iteration under way, to be logged at its end."""
        self.seconds_before, self._began = 0.0, time.monotonic()

    @property
    def seconds(self) -> float:
        """Spent on this run, over all resumes."""
        return self.seconds_before + time.monotonic() - self._began

    @property
    def fraction(self) -> float:
        """Of the budget."""
        if self.config.iterations is not None:
            return self.iteration / self.config.iterations
        assert self.config.minutes is not None
        return self.seconds / (60 * self.config.minutes)

    @contextlib.contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Notes how long this phase took, in the line of the iteration."""
        began = time.monotonic()
        yield
        took = {phase: round(time.monotonic() - began, 2)}
        so_far = self.line.phase_seconds or PhaseSeconds()
        self.line = replace(self.line, phase_seconds=replace(so_far, **took))

    def _new_optimiser(self) -> torch.optim.AdamW:
        """AdamW over the candidate; the policy head learns at a rate of its own."""
        named = list(self.candidate.named_parameters())
        head = [p for name, p in named if name.startswith("heads.policy.")]
        others = [p for name, p in named if not name.startswith("heads.policy.")]
        groups = [{"params": others, "scale": 1.0}]
        if head:
            groups.append({"params": head, "scale": self.config.policy_lr_scale})
        return torch.optim.AdamW(
            groups, lr=self.config.lr, weight_decay=self.config.weight_decay, fused=True
        )

    # ---- 1: games ---------------------------------------------------------------

    def games_path(self, iteration: int) -> Path:
        return self.folder / "games" / f"{iteration:06d}.games"

    def play(self, workers: Workers, log: IterationLog) -> None:
        """Games of the best network against itself; each is on disk as soon as it ends."""
        config, path = self.config, self.games_path(self.iteration)
        played = read_episodes(path, self.game) if path.exists() else []
        numbers = set(range(config.games_per_iteration)) - {one.number for one in played}
        workers.set_network("best", self.best)
        log.begin("self-play", config.games_per_iteration, "game", len(played))
        games = EpisodeFile(path)
        try:
            for _, frame in workers.share("play", sorted(numbers), self.iteration, "best"):
                games.append(frame)
                log.advance()
        finally:
            games.close()
        episodes = read_episodes(path, self.game)
        self.positions[self.iteration] = self._enter(episodes)
        self.line = Iteration(
            games=summarised(episodes),
            buffer=self.buffer.outcomes(),
            fresh=assess(self.candidate, self._fresh(episodes)),
        )
        log.end()

    def _fresh(self, episodes: list[Episode]) -> ReplayBatch:
        """The positions of these games, which no training has seen yet."""
        fresh = ReplayBuffer(self.game, max(1, sum(one.plies for one in episodes)))
        for episode in episodes:
            fresh.add(episode)
        return fresh.batch(np.arange(fresh.size))

    def _enter(self, episodes: list[Episode]) -> int:
        """Puts games into the buffer; returns the number of their positions."""
        for episode in episodes:
            self.buffer.add(episode)
        return sum(one.plies for one in episodes)

    def load_buffer(self) -> None:
        """The games on disk of the iterations before this one, as far back as they are needed."""
        last = self.iteration if self.phase == "play" else self.iteration + 1
        found: list[tuple[int, list[Episode]]] = []
        room = self.config.buffer
        for iteration in reversed(range(last)):
            path = self.games_path(iteration)
            if room <= 0 or not path.exists():
                continue
            found.append((iteration, read_episodes(path, self.game)))
            room -= sum(one.plies for one in found[-1][1])
        for iteration, episodes in reversed(found):
            self.positions[iteration] = self._enter(episodes)

    def _forget_games(self) -> None:
        """Removes the files of games whose positions have all left the buffer."""
        newer = 0
        for iteration in sorted(self.positions, reverse=True):
            if newer >= self.config.buffer:
                del self.positions[iteration]
            else:
                newer += self.positions[iteration]
        for path in (self.folder / "games").glob("*.games"):
            if path.stem.isdigit() and int(path.stem) < min(self.positions, default=0):
                path.unlink()

    # ---- 2, 3: replay and training ----------------------------------------------

    def learn(self, log: IterationLog) -> None:
        """Epochs over the buffer; the candidate begins where it stands."""
        config, buffer = self.config, self.buffer
        torch.manual_seed(game_seed(config.seed, self.iteration, 0))  # for the dropout
        random = np.random.default_rng([config.seed, self.iteration, 1])
        steps = config.steps_of(buffer.size)
        log.begin("training", steps * config.epochs, "step")
        for group in self.optimiser.param_groups:
            group["lr"] = config.rate_at(self.fraction) * group["scale"]
        self.candidate.train()
        sums: Metrics = {}
        for _ in range(config.epochs):
            count = min(steps * config.batch_size, round(config.replay_ratio * buffer.size))
            places = buffer.epoch(max(1, count), random, config.balance_sampling)
            for some in np.array_split(places, steps):
                batch = buffer.batch(some, random if config.augment else None)
                told = self._step(batch)
                if not math.isfinite(told["loss"]):
                    raise FadefourError(
                        f"the loss of iteration {self.iteration + 1} is not finite: this run "
                        f"cannot go on; begin another with a smaller --lr than {config.lr:g}"
                    )
                for name, value in told.items():
                    sums[name] = sums.get(name, 0.0) + value / (steps * config.epochs)
                log.advance()
        self.candidate.eval()
        training = Training(
            **sums,
            wdl_learned=self._wdl_learned(),
            steps_taken=steps * config.epochs,
            learning_rate=self.optimiser.param_groups[0]["lr"],
            positions=buffer.size,
        )
        self.line = replace(self.line, training=training)
        log.end()

    def _wdl_learned(self) -> float:
        """The win/draw/loss loss on what has just been learned, as ``assess`` takes it of games
        that have not: together they tell what is known by heart."""
        random = np.random.default_rng([self.config.seed, self.iteration, LEARNED_DRAW])
        batch = self.buffer.batch(random.permutation(self.buffer.size)[:LEARNED_SAMPLE])
        return float(wdl_losses(judge(self.candidate, batch.planes)[1], batch.wdl).mean())

    def _step(self, batch: ReplayBatch) -> Metrics:
        left = torch.from_numpy(batch.left)
        wdl = torch.from_numpy(batch.wdl)
        # Beyond the last bin its parity still tells who wins: the last bin or the one before it.
        beyond = (left - self.candidate.config.max_plies).clamp(min=0)
        bins = (left - beyond - beyond % 2 - 1).clamp(min=0)
        targets = Targets(
            planes=torch.from_numpy(batch.planes),
            policy=torch.from_numpy(batch.policy),
            wdl=wdl,
            steps=torch.where(wdl == 1, IGNORED, bins),
        )
        parts = losses(self.candidate(targets.planes), targets, self.config)
        total = total_loss(parts, self.config)
        self.optimiser.zero_grad(set_to_none=True)
        total.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.candidate.parameters(), self.config.clip)
        self.optimiser.step()
        told = {name: float(value.detach()) for name, value in parts.items()}
        return {"loss": float(total.detach()), **told}

    # ---- 4: evaluation ----------------------------------------------------------

    def match(self, workers: Workers, log: IterationLog) -> None:
        """Candidate against best, and against earlier bests for its rating."""
        config = self.config
        workers.set_network("best", self.best)
        workers.set_network("candidate", self.candidate)
        against = [] if not config.pool_games else self._pool_opponents()
        openings = [self._openings(config.eval_games, 2)]
        openings += [self._openings(config.pool_games, 3 + i) for i in range(len(against))]
        log.begin("match", 2 * sum(map(len, openings)), "game")
        score = self._play_match(workers, log, openings[0], "best")
        results = [(self.pool[-1][1], float(score.games), score.games * score.share)]
        for some, (iteration, known) in zip(openings[1:], against, strict=True):
            workers.set_network("pool", load_checkpoint(self.best_path(iteration))[0])
            told = self._play_match(workers, log, some, "pool")
            results.append((known, float(told.games), told.games * told.share))
        workers.forget("pool")
        result = MatchResult(
            games=score.games,
            score=score.share,
            standard_error=score.standard_error,
            wins=score.wins,
            draws=score.draws,
            losses=score.losses,
        )
        self.line = replace(self.line, match=result, elo=rating(results, self.pool[-1][1]))
        log.end()

    def _openings(self, games: int, draw: int) -> list[Opening]:
        """One for every two games, as far as there are so many."""
        random = np.random.default_rng([self.config.seed, self.iteration, draw])
        return random_openings(self.game, games // 2, self.config.opening_plies, random)

    def _play_match(
        self, workers: Workers, log: IterationLog, openings: list[Opening], opponent: str
    ) -> Score:
        score, pairs = Score(), range(len(openings))
        for _, one in workers.share("match", pairs, openings, "candidate", opponent):
            score += one
            log.advance(2)
        return score

    def _pool_opponents(self) -> list[tuple[int, float]]:
        """A few of the bests before the present one, the earliest among them."""
        earlier = self.pool[:-1]
        if len(earlier) <= POOL_OPPONENTS:
            return earlier
        chosen = np.linspace(0, len(earlier) - 1, POOL_OPPONENTS).round().astype(int)
        return [earlier[i] for i in chosen]

    # ---- 5: the gate ------------------------------------------------------------

    def decide(self) -> None:
        """Accept keeps the optimiser's state; reject restores the best and resets it."""
        match, elo = self.line.match, self.line.elo
        assert match is not None and elo is not None
        accepted = not self.config.gate or match.score >= self.config.accept
        self.line = replace(self.line, accepted=accepted, watch=watch(self.candidate))
        self.iteration += 1
        if accepted:
            self.best = copy_of(self.candidate)
            self.pool.append((self.iteration, elo))
            self.pool = thinned(self.pool, self.config.keep)
        else:
            self.candidate.load_state_dict(self.best.state_dict())
            self.optimiser = self._new_optimiser()

    # ---- saving -----------------------------------------------------------------

    def best_path(self, iteration: int) -> Path:
        return self.folder / "checkpoints" / f"step-{iteration:09d}{SUFFIX}"

    def save_best(self) -> None:
        iteration, elo = self.pool[-1]
        about = {"iteration": iteration, "elo": elo}
        save_checkpoint(self.best_path(iteration), self.best, about)
        save_checkpoint(self.folder / f"best{SUFFIX}", self.best, about)

    def tidy(self) -> None:
        """Removes what is needed no more: networks, games, and what a crash half wrote."""
        members = {self.best_path(iteration) for iteration, _ in self.pool}
        for path in checkpoints_in(self.folder / "checkpoints"):
            if path not in members:
                path.unlink()
                path.with_suffix(".json").unlink(missing_ok=True)
        for folder in (self.folder, self.folder / "checkpoints"):
            remove_litter(folder)
        self._forget_games()

    def save(self) -> None:
        """All that the next phase depends on, besides the games."""
        tensors = {f"best.{n}": t for n, t in self.best.state_dict().items()}
        tensors |= {f"candidate.{n}": t for n, t in self.candidate.state_dict().items()}
        for name, parameter in self.candidate.named_parameters():
            for key, value in self.optimiser.state[parameter].items():
                tensors[f"optimiser.{key}.{name}"] = torch.as_tensor(value)
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
        write_tensors(self.folder / "resume.safetensors", tensors, about)

    def load(self) -> None:
        """Takes up the state that was saved last; without one, the beginning is the state."""
        path = self.folder / "resume.safetensors"
        tensors, about = read_tensors(path)
        try:
            self._take_up(tensors, about)
        except (RuntimeError, KeyError, TypeError, ValueError) as error:
            said = str(error).strip().splitlines()[-1].strip()
            raise CorruptTableError(
                f"'{path}' does not fit its run, or is of another version ({said}): begin a new one"
            ) from None
        self.load_buffer()
        self.save_best()  # a crash may have come before it, or after the best of a match to repeat

    def _take_up(self, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        for prefix, network in (("best.", self.best), ("candidate.", self.candidate)):
            weights = {n: t for n, t in tensors.items() if n.startswith(prefix)}
            network.load_state_dict({n.removeprefix(prefix): t for n, t in weights.items()})
        self.optimiser = self._new_optimiser()
        for name, parameter in self.candidate.named_parameters():
            state = {
                key: tensors[f"optimiser.{key}.{name}"]
                for key in ("step", "exp_avg", "exp_avg_sq")
                if f"optimiser.{key}.{name}" in tensors
            }
            if state:
                self.optimiser.state[parameter] = state
        self.iteration, self.phase = int(about["iteration"]), str(about["phase"])
        self.pool = [(int(i), float(r)) for i, r in about["pool"]]
        self.line = Iteration.from_dict(about["line"])
        self.seconds_before, self._began = float(about["seconds"]), time.monotonic()


def thinned(pool: list[tuple[int, float]], latest: int) -> list[tuple[int, float]]:
    """The first, the latest ones, and between them few enough, spread evenly in time."""
    pool = list(pool)
    while len(pool) > POOL_MEMBERS + latest:
        middle = range(1, len(pool) - latest)
        pool.pop(min(middle, key=lambda i: pool[i + 1][0] - pool[i - 1][0]))
    return pool


def copy_of(network: Network) -> Network:
    """Another network with the same weights, in evaluation mode."""
    copy = Network(network.config)
    copy.load_state_dict(network.state_dict())
    return copy.eval()
