"""Which network learns fastest on this machine: each is trained for the same time.

``python bench/network_choice.py --data data --minutes 3 --threads 2 [--only default ...]`` prints
a Markdown table. Shares of moves that lose the result are measured on held-out positions: all of
them, and the critical ones (where some move loses the result). Run it on an otherwise idle machine.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import cast

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from azfit.oracle.config import TrainingConfig, preset
from azfit.oracle.sampler import SampleMix
from azfit.oracle.table_teacher import TableTeacher
from azfit.oracle.training import train_from_oracle
from solver import Rules, open_table
from solver.table import DenseTable

PLAIN = {"canonical": False, "hide_leaving": False, "rate_moves": False}


def candidates(base: TrainingConfig) -> dict[str, TrainingConfig]:
    """From the plain prototype to the default, one idea at a time; then other shapes."""

    def shaped(**changes: object) -> TrainingConfig:
        return replace(base, network=replace(base.network, **changes))  # type: ignore[arg-type]

    return {
        "plain MLP 512 x 2, uniform": replace(shaped(**PLAIN), mix=SampleMix()),
        "plain MLP 512 x 2": shaped(**PLAIN),
        "+ canonical": shaped(**{**PLAIN, "canonical": True}),
        "+ hide_leaving": shaped(**{**PLAIN, "canonical": True, "hide_leaving": True}),
        "+ rate_moves = default": base,
        "default, uniform": replace(base, mix=SampleMix()),
        "MLP 256 x 4": shaped(width=256, blocks=4),
        "MLP 384 x 3": shaped(width=384, blocks=3),
        "MLP 768 x 1": shaped(width=768, blocks=1),
        "tower 64 x 4": shaped(kind="tower", width=64, blocks=4),
    }


def row(name: str, config: TrainingConfig, teacher: TableTeacher) -> str:
    with tempfile.TemporaryDirectory() as folder:
        network, report = train_from_oracle(config, teacher, Path(folder) / "run", stream=None)
    seen = report.steps * config.batch
    return (
        f"| {name} | {network.parameter_count:,} | {seen / 1e6:.2f} M | "
        f"{1 - report.last.held_out.keeping:.4%} | {1 - report.last.critical.keeping:.4%} | "
        f"{1 - report.last.held_out.wdl_accuracy:.3%} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="data")
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=[], help="Only these: parts of names.")
    options = parser.parse_args()
    with open_table(options.data, Rules()) as opened:
        teacher = TableTeacher(cast(DenseTable, opened))
        base = replace(
            preset("default", teacher),
            minutes=options.minutes,
            threads=options.threads,
            evaluate_seconds=1e6,
            save_seconds=1e6,
        )
        print("| network | parameters | positions seen | result lost | critical | W/D/L wrong |")
        print("|---|---|---|---|---|---|")
        for name, config in candidates(base).items():
            if not options.only or any(part in name for part in options.only):
                print(row(name, config, teacher), flush=True)


if __name__ == "__main__":
    main()
