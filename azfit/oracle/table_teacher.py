"""The solved table of a drop-oldest variant as a teacher."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from azfit.drop_oldest_players import game_of
from azfit.games import DropOldest
from azfit.network import Network
from azfit.network_config import NetworkConfig
from azfit.objective import IGNORED, Targets
from azfit.oracle.mining import NODES_AT_A_TIME, critical_nodes, mine, node_range
from azfit.oracle.sampler import WDL_OF_BYTE, Batch, SampleMix, Sampler
from azfit.oracle.teacher import Numbers, Report
from solver.index import look_up_codes, node_count
from solver.labels import is_validation
from solver.table import DenseTable
from solver.values import IMPOSSIBLE

if TYPE_CHECKING:
    from azfit.oracle.config import TrainingConfig

LEARNING_FIELDS = ("pieces", "values", "move_values", "policy")
JUDGED_FIELDS = (*LEARNING_FIELDS, "optimal", "keeping")

WDL = torch.from_numpy(WDL_OF_BYTE)


@dataclass(frozen=True)
class TableBatch:
    """A batch of the sampler with LEARNING_FIELDS or JUDGED_FIELDS."""

    drawn: Batch

    def __len__(self) -> int:
        assert self.drawn.pieces is not None
        return len(self.drawn.pieces)

    def rows(self, low: int, high: int) -> TableBatch:
        arrays = {name: getattr(self.drawn, name) for name in Batch.__dataclass_fields__}
        chosen = {name: array[low:high] for name, array in arrays.items() if array is not None}
        return TableBatch(Batch(**chosen))

    @property
    def keeping(self) -> NDArray[np.bool_]:
        assert self.drawn.keeping is not None
        return self.drawn.keeping

    @property
    def optimal(self) -> NDArray[np.bool_]:
        assert self.drawn.optimal is not None
        return self.drawn.optimal

    def targets(self, network: Network) -> Targets:
        batch = self.drawn
        assert batch.pieces is not None and batch.values is not None
        assert batch.policy is not None and batch.move_values is not None
        values = torch.from_numpy(batch.values).long()
        moves = torch.from_numpy(batch.move_values).long()
        return Targets(
            planes=network.planes_of(torch.from_numpy(batch.pieces)),
            policy=torch.from_numpy(batch.policy),
            wdl=WDL[values],
            steps=torch.where(values > 0, values - 2, IGNORED),  # byte = plies + 1, bin = plies - 1
            moves=moves.masked_fill(moves == IMPOSSIBLE, IGNORED),
        )


@dataclass(frozen=True)
class TableLessons:
    """Batches of a sampler."""

    sampler: Sampler

    def batch(self, seed: int, number: int, size: int, judged: bool = False) -> TableBatch:
        fields = JUDGED_FIELDS if judged else LEARNING_FIELDS
        return TableBatch(self.sampler.batch(seed, number, size, fields))

    def judged(self, seed: int, number: int, most: int) -> TableBatch:
        size = min(most, node_count(self.sampler.table.rules))
        return self.batch(seed, number, size, judged=True)

    def with_list(self, positions: Numbers, share: float) -> TableLessons:
        """The sampler draws nothing held out either, but gives up on a list of nothing else."""
        sampler = self.sampler
        if sampler.part == "training" and len(positions):
            codes = look_up_codes(positions, sampler.table.rules)
            positions = positions[~is_validation(codes, sampler.held_out)]
        if not len(positions):
            return self
        return TableLessons(sampler.with_list(positions, np.ones(len(positions)), share))


class TableTeacher:
    """Knows every position of a variant."""

    def __init__(self, table: DenseTable) -> None:
        self.table = table

    name = "the table"
    knows_all = True
    mix = SampleMix(uniform=0.35, critical=0.6, opening=0.05)

    @property
    def game(self) -> DropOldest:
        return game_of(self.table.rules)

    @cached_property
    def deepest(self) -> int:
        """The table is checked first: a damaged byte could be the deepest."""
        self.table.check_all()
        values = self.table.bytes
        return int(values[values != IMPOSSIBLE].max())

    @property
    def network(self) -> NetworkConfig:
        return NetworkConfig(game=self.game.name, max_plies=max(1, self.deepest))

    @property
    def small_network(self) -> NetworkConfig:
        return replace(self.network, width=128, blocks=2)

    @property
    def provenance(self) -> dict[str, str]:
        return {"table_sha256": self.table.manifest.sha256}

    def __len__(self) -> int:
        return node_count(self.table.rules)

    def lessons(self, config: TrainingConfig, mix: SampleMix, part: str) -> TableLessons:
        """config.pieces bounds what training draws, not what it is evaluated on."""
        return TableLessons(
            Sampler(
                self.table,
                mix,
                part=part,
                held_out=config.held_out,
                pieces=config.pieces if part == "training" else None,
                policy=config.policy_target,
            )
        )

    def critical(self, network: Network, report: Report | None) -> Numbers:
        first, end = node_range(self.table, network)
        parts: list[Numbers] = []
        for nodes in critical_nodes(self.table, first, end):
            parts.append(nodes)
            if report is not None:
                done = min(1.0, len(parts) * NODES_AT_A_TIME / (end - first))
                report("listing critical positions", done)
        return np.concatenate(parts)

    def mine(
        self,
        network: Network,
        critical: Numbers,
        margin: float,
        advance: Callable[[int], None] | None,
    ) -> tuple[Numbers, NDArray[np.float32]]:
        return mine(network, self.table, critical, margin, advance)
