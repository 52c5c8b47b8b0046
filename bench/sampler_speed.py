"""Labelled positions per second on one core, by source of the positions.

``python bench/sampler_speed.py [--data DIR]``.

Two forms: "compact" is what training reads (pieces, policy, values of position and moves), "all"
adds float planes and masks.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import cast

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from azfit.oracle.sampler import ALL_FIELDS, SampleMix, Sampler
from solver import Rules, open_table
from solver.table import DenseTable

SOURCES = {
    "uniform": SampleMix(),
    "balanced": SampleMix(uniform=0, balanced=1),
    "critical": SampleMix(uniform=0, critical=1),
    "opening": SampleMix(uniform=0, opening=1),
    "default training mix": SampleMix(uniform=0.35, critical=0.6, opening=0.05),
}
FORMS = {
    "compact": ("pieces", "policy", "values", "move_values"),
    "all": ALL_FIELDS,
}
BATCH = 4096


def rate(sampler: Sampler, fields: tuple[str, ...], seconds: float) -> float:
    sampler.batch(0, 0, BATCH, fields)
    began, batches = time.process_time(), 0
    while time.process_time() - began < seconds:
        sampler.batch(0, batches + 1, BATCH, fields)
        batches += 1
    return batches * BATCH / (time.process_time() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="data")
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    with open_table(options.data, Rules()) as opened:
        table = cast(DenseTable, opened)
        print(f"{table.rules.name}, batches of {BATCH}, one core (CPU time)")
        for name, mix in SOURCES.items():
            sampler = Sampler(table, mix)
            rates = {form: rate(sampler, fields, options.seconds) for form, fields in FORMS.items()}
            line = "   ".join(f"{form} {value / 1e6:5.2f} M/s" for form, value in rates.items())
            print(f"{name:<22} {line}")


if __name__ == "__main__":
    main()
