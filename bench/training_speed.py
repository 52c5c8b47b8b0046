"""Samples per second of training a Connect Four tower, by how it is computed.

    python bench/training_speed.py [--width 32] [--blocks 3] [--batch 512] [--steps 12]

Each line is a process of its own, on one thread: with glibc's memory as it is or kept
(``azfit.torch_memory``), in float32 or with bfloat16 products (torch's autocast), with the
channels of a cell side by side or not. fadefour trains as in the second line.
"""

from __future__ import annotations

import multiprocessing
import time

import click
import torch
from torch.nn import functional

from azfit.network import Network
from azfit.self_play.config import settled
from azfit.torch_memory import keep_freed_memory

WAYS = {
    "plain": (False, False, False),
    "memory kept": (True, False, False),
    "… channels last": (True, False, True),
    "… bfloat16": (True, True, False),
    "… bfloat16, channels last": (True, True, True),
}


def samples_per_second(way: str, width: int, blocks: int, batch: int, steps: int) -> float:
    kept, halves, channels_last = WAYS[way]
    if kept:
        keep_freed_memory()
    torch.set_num_threads(1)
    shape = {"game": "connect4", "kind": "tower", "width": width, "blocks": blocks}
    network = Network(settled(shape).network).train()
    if channels_last:
        network.to(memory_format=torch.channels_last)
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-3, fused=True)
    planes = (torch.rand(batch, *network.game.plane_shape) < 0.2).float()
    classes = torch.zeros(batch, dtype=torch.int64)

    def step() -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=halves):
            policy, wdl, plies, _ = network(planes)
        parts = (functional.cross_entropy(logits.float(), classes) for logits in (wdl, plies))
        loss = sum(parts, functional.cross_entropy(policy.float().clamp(min=-30), classes))
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()

    step()
    step()
    began = time.perf_counter()
    for _ in range(steps):
        step()
    return steps * batch / (time.perf_counter() - began)


@click.command(help=__doc__)
@click.option("--width", default=32, show_default=True)
@click.option("--blocks", default=3, show_default=True)
@click.option("--batch", default=512, show_default=True)
@click.option("--steps", default=12, show_default=True)
def main(width: int, blocks: int, batch: int, steps: int) -> None:
    context = multiprocessing.get_context("spawn")
    for way in WAYS:
        with context.Pool(1) as alone:
            rate = alone.apply(samples_per_second, (way, width, blocks, batch, steps))
        print(f"{width} x {blocks}, batches of {batch}, {way}: {rate:,.0f} samples/s")


if __name__ == "__main__":
    main()
