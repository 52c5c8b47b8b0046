"""The options of training from the oracle, checked once and then constant; presets; config.json."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from azfit.games import DropOldest, game_by_name
from azfit.network_config import NetworkConfig, shown
from azfit.oracle.sampler import SampleMix
from azfit.typed_json import from_json
from solver.errors import InputError, MissingTableError
from solver.rules import Rules
from solver.storage import read_json, write_atomically

if TYPE_CHECKING:
    from azfit.oracle.teacher import Teacher


@dataclass(frozen=True)
class TrainingConfig:
    """Everything that decides what a run learns. Budget: ``minutes`` or ``steps``, not both."""

    network: NetworkConfig = field(default_factory=NetworkConfig)
    seed: int = 1
    threads: int | None = None
    """Threads for torch; None: measured when the run begins. A run keeps the number,
    because another number rounds sums differently."""
    minutes: float | None = 20.0
    """Minutes for the whole run, evaluations and saving included, over all resumes."""
    steps: int | None = None
    batch: int = 1024
    learning_rate: float = 2e-3
    final_rate: float = 0.01
    """The share of the learning rate that is left at the end of the cosine."""
    warmup: int = 200
    """Steps in which the learning rate rises from 0."""
    weight_decay: float = 0.01
    clip: float = 1.0
    """The greatest norm of the gradient."""
    mix: SampleMix = field(default_factory=SampleMix)
    pieces: tuple[int, int] | None = None
    """Fewest and most pieces drawn; None: all. See the sampler."""
    positions: int | None = None
    """Connect Four: of the dataset, the first ones; None for drop-oldest, whose table has all."""
    value_share: float = 0.0
    """Connect Four: positions of which only the value is known, of what the other sources draw
    together."""
    held_out: float = 0.01
    policy_target: str = "optimal"
    """Spread evenly over all "optimal" or over all "keeping" moves."""
    policy_weight: float = 1.0
    wdl_weight: float = 1.0
    steps_weight: float = 0.2
    moves_weight: float = 1.0
    """Weight of the outcomes of all moves; networks with rate_moves only."""
    class_weights: bool = False
    """Weigh win, draw, loss by the inverse of their frequency in the batch."""
    ema: float = 0.0
    """Weights averaged as ema * average + (1 - ema) * weights are what is saved; 0: none."""
    mine_from: float = 0.4
    """The share of the budget after which mistakes are mined for the first time."""
    mine_rounds: int = 0
    """How often, at equal distances from mine_from to the end; 0: never."""
    mine_share: float = 0.5
    """Drawn from the mined positions, of what the other sources draw together."""
    mine_margin: float = 3.0
    """A position is mined if the best move that keeps the result leads the best one that loses
    it by less than this, in logits."""
    save_seconds: float = 60.0
    evaluate_seconds: float = 60.0
    keep: int = 3
    """Checkpoints kept, the latest ones."""

    def __post_init__(self) -> None:
        if (self.minutes is None) == (self.steps is None):
            raise InputError("the budget is minutes or steps: give exactly one of them")
        for name, low, high in _WHOLE:
            value = getattr(self, name)
            if value is None and name in ("steps", "threads", "positions"):
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise InputError(f"{name}={shown(value)}: use a whole number from {low} to {high}")
        for name, least, most in _REAL:
            value = getattr(self, name)
            if value is None and name == "minutes":
                continue
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or not least <= value <= most:  # NaN is in no range
                raise InputError(f"{name}={shown(value)}: use a number from {least:g} to {most:g}")
        if not isinstance(self.class_weights, bool):
            raise InputError(f"class_weights={shown(self.class_weights)}: use true or false")
        if self.policy_target not in ("optimal", "keeping"):
            raise InputError(f"policy_target={shown(self.policy_target)}: use optimal or keeping")
        if self.policy_weight + self.wdl_weight + self.steps_weight + self.moves_weight <= 0:
            raise InputError("all weights of the loss are 0: give one of them a number above 0")

    @property
    def rules(self) -> Rules:
        """The rules of the table that the network learns from."""
        game = game_by_name(self.network.game)
        if not isinstance(game, DropOldest):
            raise InputError(f"there is no table for {self.network.game}: use self-play")
        return game.rules

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, entries: Any) -> TrainingConfig:
        """Refuses names it does not know, so that a config of another version is not misread."""
        if not isinstance(entries, dict):
            raise InputError(f"{shown(entries)} is not a training config")
        _refuse_unknown(entries, cls)
        _refuse_unknown(entries.get("network"), NetworkConfig)
        _refuse_unknown(entries.get("mix"), SampleMix)
        try:
            return from_json(cls, entries)
        except (ValueError, OverflowError) as error:
            raise InputError(str(error)) from None

    def rate_at(self, step: int, fraction: float) -> float:
        """The learning rate: a linear rise over the warm-up, times a cosine over the budget."""
        cosine = 0.5 * (1 + math.cos(math.pi * min(1.0, fraction)))
        rise = min(1.0, (step + 1) / self.warmup) if self.warmup else 1.0
        return self.learning_rate * rise * (self.final_rate + (1 - self.final_rate) * cosine)

    def mining_due(self, fraction: float) -> int:
        """How many rounds of mining there should have been by this share of the budget."""
        if self.mine_rounds == 0 or fraction < self.mine_from:
            return 0
        distance = (1 - self.mine_from) / self.mine_rounds
        return min(self.mine_rounds, 1 + int((fraction - self.mine_from) / max(distance, 1e-12)))


def _refuse_unknown(entries: Any, kind: type[Any]) -> None:
    known = {entry.name for entry in fields(kind)}
    unknown = sorted(set(entries) - known) if isinstance(entries, dict) else []
    if unknown:
        raise InputError(f"unknown entries {shown(', '.join(unknown))}")


_WHOLE = (
    ("seed", 0, 2**63 - 1),
    ("threads", 1, 1024),
    ("steps", 1, 10**12),
    ("batch", 1, 10**7),
    ("positions", 1, 20_000_000),
    ("warmup", 0, 10**9),
    ("mine_rounds", 0, 10**6),
    ("keep", 1, 10**6),
)
_REAL = (
    ("minutes", 1e-3, 1e6),
    ("learning_rate", 1e-9, 10.0),
    ("final_rate", 0.0, 1.0),
    ("weight_decay", 0.0, 10.0),
    ("clip", 1e-6, 1e9),
    ("held_out", 0.0, 0.9),
    ("policy_weight", 0.0, 1e6),
    ("wdl_weight", 0.0, 1e6),
    ("steps_weight", 0.0, 1e6),
    ("moves_weight", 0.0, 1e6),
    ("ema", 0.0, 0.999999),
    ("mine_from", 0.0, 1.0),
    ("mine_share", 0.0, 1e6),
    ("value_share", 0.0, 1e6),
    ("mine_margin", 0.0, 1e6),
    ("save_seconds", 0.0, 1e9),
    ("evaluate_seconds", 0.0, 1e9),
)

PRESETS = ("quick", "default", "long")

HELD_OUT_OF_DATASET = 0.02
"""4,000 of the 200,000 positions of the default preset."""


def preset(name: str, teacher: Teacher) -> TrainingConfig:
    """A config for this teacher: quick (3 x 3: perfect within a minute), default, long (hours)."""
    # A table has every position, and every one can be graded at the end: to be right on all of
    # them a network may learn from all of them. A dataset says nothing about other positions
    # unless some of it is held out.
    least_held_out = 0.0 if teacher.knows_all else HELD_OUT_OF_DATASET
    config = TrainingConfig(network=teacher.network, mix=teacher.mix)
    if not teacher.knows_all:
        config = replace(config, held_out=HELD_OUT_OF_DATASET)
    if name == "default":
        return config
    if name == "quick":
        return replace(
            config,
            network=teacher.small_network,
            minutes=None,
            steps=1000,
            batch=256,
            threads=1,
            learning_rate=4e-3,
            held_out=least_held_out,
            save_seconds=10.0,
            evaluate_seconds=5.0,
        )
    if name == "long":
        return replace(config, minutes=180.0, held_out=least_held_out, mine_rounds=8)
    raise InputError(f"preset {name!r}: use {', '.join(PRESETS)}")


# ---- config.json --------------------------------------------------------------------

MOST_BYTES = 1 << 20


def config_path(folder: Path) -> Path:
    return folder / "config.json"


def read_config(folder: str | Path) -> TrainingConfig:
    """The config of a run that exists."""
    path = config_path(Path(folder))
    try:
        return TrainingConfig.from_dict(read_json(path, MOST_BYTES, "config", "restore it"))
    except MissingTableError:
        raise InputError(f"'{folder}' is not a run to resume: it has no config.json") from None
    except InputError as error:
        if str(path) in str(error):
            raise
        raise InputError(
            f"'{path}' is not a train-from-oracle config ({error}): restore it"
        ) from None


def write_config(config: TrainingConfig, folder: Path) -> None:
    text = json.dumps(config.to_dict(), indent=1) + "\n"
    write_atomically(config_path(folder), text.encode())
