"""Training: the candidate, its optimiser, and what an iteration of learning does to both."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from azfit.network import Network
from azfit.objective import IGNORED, Metrics, Targets, losses, total_loss
from azfit.resume_tensors import (
    network_tensors,
    optimiser_tensors,
    restore_network,
    restore_optimiser,
)
from azfit.self_play.assessment import predictions, wdl_losses
from azfit.self_play.config import SelfPlayConfig
from azfit.self_play.iteration import Training
from azfit.self_play.iteration_log import IterationLog
from azfit.self_play.play_games import game_seed
from azfit.self_play.replay import ReplayBatch, ReplayBuffer
from azfit.self_play.reply import ReplyHead, reply_loss
from azfit.torch_threads import Pace
from solver.errors import FadefourError

# Positions of the buffer on which a candidate is assessed, and the number of that draw.
LEARNED_SAMPLE, LEARNED_DRAW = 4096, 100


class Trainer:
    """A candidate, its optimiser and, with --ema, the average of its weights, with --reply-weight
    the head that predicts replies."""

    def __init__(self, candidate: Network, config: SelfPlayConfig) -> None:
        self.candidate, self._config, self._pace = candidate, config, Pace()
        self._average = copy_of(candidate) if config.ema else None
        self._reply = ReplyHead(candidate) if config.reply_weight else None
        self.optimiser = self._new_optimiser()

    def _new_optimiser(self) -> torch.optim.AdamW:
        """AdamW over the candidate; the policy head learns at a rate of its own."""
        named = list(self.candidate.named_parameters())
        head = [p for name, p in named if name.startswith("heads.policy.")]
        others = [p for name, p in named if not name.startswith("heads.policy.")]
        if self._reply is not None:
            others += self._reply.parameters()
        groups = [{"params": others, "scale": 1.0}]
        if head:
            groups.append({"params": head, "scale": self._config.policy_lr_scale})
        return torch.optim.AdamW(
            groups, lr=self._config.lr, weight_decay=self._config.weight_decay, fused=True
        )

    @property
    def played(self) -> Network:
        """What plays, is judged and saved: the average, or the candidate itself."""
        return self.candidate if self._average is None else self._average

    def restart(self, network: Network) -> None:
        """The candidate takes the weights of this network; its optimiser starts afresh. A head for
        replies stays as it is: no network has one to go back to."""
        self.candidate.load_state_dict(network.state_dict())
        if self._average is not None:
            self._average.load_state_dict(network.state_dict())
        self.optimiser = self._new_optimiser()

    # ---- an iteration -----------------------------------------------------------

    def learn(
        self, buffer: ReplayBuffer, iteration: int, budget_spent: float, log: IterationLog
    ) -> Training:
        """Epochs over the buffer, from where the candidate stands. ``budget_spent``: the share of
        the run's budget, which decides on the learning rate."""
        config = self._config
        torch.manual_seed(game_seed(config.seed, iteration, 0))  # for the dropout
        random = np.random.default_rng([config.seed, iteration, 1])
        for group in self.optimiser.param_groups:
            group["lr"] = config.rate_at(budget_spent) * group["scale"]
        steps = config.steps_of(buffer.size) * config.epochs
        log.begin("training", steps, "step")
        self.candidate.train()
        means: Metrics = {}
        before: float | None = None
        for number, batch in enumerate(batches(buffer, config, random), 1):
            began = time.monotonic()
            parts = self.step(batch)
            if self._pace.took(time.monotonic() - began):
                log.note_once(slowed_down(self._pace, config.threads))
            if not math.isfinite(parts["loss"]):
                raise FadefourError(diverged(config, iteration, number, parts, before))
            before = parts["loss"]
            for name, value in parts.items():
                means[name] = means.get(name, 0.0) + value / steps
            log.advance()
        self.candidate.eval()
        log.end()
        return Training(
            **means,
            wdl_learned=self._wdl_learned(buffer, iteration),
            steps_taken=steps,
            learning_rate=self.optimiser.param_groups[0]["lr"],
            positions=buffer.size,
        )

    def step(self, batch: ReplayBatch) -> Metrics:
        """Learns from one batch; the loss before it, and its parts."""
        targets = self._targets(batch)
        features, legal, target = self.candidate.seen(targets.planes)
        outputs = self.candidate.heads(features, legal, target)
        parts = losses(outputs, targets, self._config)
        total = total_loss(parts, self._config)
        mix = self._config.value_mix
        if mix:
            assert batch.values is not None
            parts["value"] = value_loss(outputs.wdl, torch.from_numpy(batch.values))
            total = total + self._config.wdl_weight * mix * (parts["value"] - parts["wdl"])
        trained = list(self.candidate.parameters())
        if self._reply is not None:
            assert batch.replies is not None
            replies = torch.from_numpy(batch.replies)
            parts["reply"] = reply_loss(self._reply(features, target), replies)
            total = total + self._config.reply_weight * parts["reply"]
            trained += self._reply.parameters()
        self.optimiser.zero_grad(set_to_none=True)
        total.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(trained, self._config.clip)
        self.optimiser.step()
        self._follow()
        values = {name: float(value.detach()) for name, value in parts.items()}
        return {"loss": float(total.detach()), **values}

    @torch.no_grad()
    def _follow(self) -> None:
        """The average moves towards the candidate, at first in longer strides: it would otherwise
        be made of initial weights for many iterations."""
        if self._average is not None:
            kept = average_kept(self._config.ema, self._steps_taken())
            averages = self._average.parameters()
            for average, weight in zip(averages, self.candidate.parameters(), strict=True):
                average.lerp_(weight, 1 - kept)

    def _steps_taken(self) -> int:
        """Since the candidate and its average were the same; the optimiser counts them."""
        (first, *_) = self.candidate.parameters()
        return int(self.optimiser.state[first]["step"])

    def _targets(self, batch: ReplayBatch) -> Targets:
        left, wdl = torch.from_numpy(batch.left), torch.from_numpy(batch.wdl)
        # Beyond the last bin its parity still shows who wins: the last bin or the one before it.
        beyond = (left - self.candidate.config.max_plies).clamp(min=0)
        bins = (left - beyond - beyond % 2 - 1).clamp(min=0)
        return Targets(
            planes=torch.from_numpy(batch.planes),
            policy=torch.from_numpy(batch.policy),
            wdl=wdl,
            steps=torch.where(wdl == 1, IGNORED, bins),
        )

    def _wdl_learned(self, buffer: ReplayBuffer, iteration: int) -> float:
        """The win/draw/loss loss on what has just been learned. ``assess`` measures the same on
        games that have not been; the difference is what the candidate is overfitted by."""
        random = np.random.default_rng([self._config.seed, iteration, LEARNED_DRAW])
        batch = buffer.batch(random.permutation(buffer.size)[:LEARNED_SAMPLE])
        return float(wdl_losses(predictions(self.played, batch.planes)[1], batch.wdl).mean())

    # ---- saving -----------------------------------------------------------------

    def tensors(self) -> dict[str, Tensor]:
        """Weights and the optimiser's state, by name."""
        weights = network_tensors("candidate", self.candidate)
        if self._average is not None:
            weights |= network_tensors("average", self._average)
        weights |= optimiser_tensors(self.candidate, self.optimiser)
        if self._reply is not None:
            weights |= network_tensors("training", self._reply)
            weights |= optimiser_tensors(self._reply, self.optimiser)
        return weights

    def take_up(self, tensors: dict[str, Tensor]) -> None:
        """What ``tensors`` gave."""
        restore_network("candidate", self.candidate, tensors)
        if self._average is not None:
            restore_network("average", self._average, tensors)
        self.optimiser = self._new_optimiser()
        restore_optimiser(self.candidate, self.optimiser, tensors)
        if self._reply is not None:
            restore_network("training", self._reply, tensors)
            restore_optimiser(self._reply, self.optimiser, tensors)


def average_kept(ema: float, steps: int) -> float:
    """The share of itself that the average keeps at its ``steps``-th step."""
    return min(ema, (1 + steps) / (10 + steps))


def value_loss(wdl: Tensor, values: Tensor) -> Tensor:
    """Mean square of win - loss, from logits [B, 3], minus the search's values [B]."""
    chances = wdl.softmax(1)
    return (chances[:, 0] - chances[:, 2] - values).square().mean()


def batches(
    buffer: ReplayBuffer, config: SelfPlayConfig, random: np.random.Generator
) -> Iterator[ReplayBatch]:
    """The batches of all epochs of an iteration."""
    for _ in range(config.epochs):
        epoch = buffer.epoch(config.drawn_of(buffer.size), random, config.balance_sampling)
        for places in np.array_split(epoch, config.steps_of(buffer.size)):
            turned = random if config.augment else None
            yield buffer.batch(places, turned, replies=config.reply_weight > 0)


def diverged(
    config: SelfPlayConfig, iteration: int, step: int, parts: Metrics, before: float | None
) -> str:
    """What happened and what to do, in one line."""
    shown = ", ".join(f"{name} {parts[name]:.3g}" for name in ("policy", "wdl", "steps"))
    what = f"the loss of step {step} of iteration {iteration + 1} is {parts['loss']} ({shown})"
    if before is not None:
        what += f" after {before:.3g} at the step before"
    elif iteration == 0:
        return (
            f"{what}, before anything was learned: the network that this run starts with is "
            "unusable; start another run with another --init, or without it"
        )
    return (
        f"{what}: training has diverged, and this run cannot continue; start another with a "
        f"smaller --lr (it was {config.lr:g}), --clip ({config.clip:g}) or --wdl-weight "
        f"({config.wdl_weight:g})"
    )


def slowed_down(pace: Pace, threads: int) -> str:
    advice = "is the machine busy with other work?"
    if threads > 1:
        advice += f" Training runs on {threads} threads; on a busy machine --threads 1 is faster."
    return f"training has slowed down from {pace.best:.3g} to {pace.latest:.3g} steps/s: {advice}"


def copy_of(network: Network) -> Network:
    """Another network with the same weights, in evaluation mode."""
    copy = Network(network.config)
    copy.load_state_dict(network.state_dict())
    return copy.eval()
