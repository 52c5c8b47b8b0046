"""What a network learns from: labelled positions of one game, whoever knows the labels.

The training loop knows no more of its source than this. ``azfit.oracle.table_teacher`` has a solved
table behind it, ``azfit.oracle.connect4.teacher`` a dataset that grows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from azfit.games import Game
from azfit.network import Network
from azfit.network_config import NetworkConfig
from azfit.objective import Targets
from azfit.oracle.sampler import SampleMix

if TYPE_CHECKING:
    from azfit.oracle.config import TrainingConfig

Numbers = NDArray[np.uint64]
"""Positions by the numbers that their teacher gives them, uint64 [N]."""

Report = Callable[[str, float], None]
"""Called with what is being done, and the share of it that is done."""


class Labelled(Protocol):
    """Positions with their labels."""

    def __len__(self) -> int: ...

    def rows(self, low: int, high: int) -> Labelled: ...

    def targets(self, network: Network) -> Targets: ...

    @property
    def keeping(self) -> NDArray[np.bool_]:
        """bool [B, actions]: the moves that keep the result."""

    @property
    def optimal(self) -> NDArray[np.bool_]:
        """bool [B, actions]: those that also win soonest or lose latest."""


class Lessons(Protocol):
    """A stream of batches. Batch ``number`` of a seed is always the same."""

    def batch(self, seed: int, number: int, size: int, judged: bool = False) -> Labelled:
        """judged: with the keeping and the optimal moves."""

    def judged(self, seed: int, number: int, most: int) -> Labelled:
        """Positions to judge a network by, at most this many. Each once where the teacher has a
        list of its positions."""

    def with_list(self, positions: Numbers, share: float) -> Lessons:
        """The same with a share of these positions added to what it draws; those of another part
        are left out."""


class Teacher(Protocol):
    """Knows the labels of the positions of a game, of all or of many."""

    @property
    def game(self) -> Game: ...

    @property
    def name(self) -> str:
        """For messages: ``the table``."""

    @property
    def knows_all(self) -> bool:
        """It has every position of the game: a network is graded on what it has learned from."""

    @property
    def deepest(self) -> int:
        """The most plies after which a game ends, as the labels have it."""

    @property
    def network(self) -> NetworkConfig:
        """The network that suits it, by default."""

    @property
    def small_network(self) -> NetworkConfig:
        """One for the preset quick."""

    @property
    def mix(self) -> SampleMix:
        """The sources to draw from, by default."""

    @property
    def provenance(self) -> dict[str, str]:
        """For the header of a checkpoint: what the network has learned from."""

    def __len__(self) -> int:
        """Positions, those of held-out ones included."""

    def lessons(self, config: TrainingConfig, mix: SampleMix, part: str) -> Lessons:
        """part: "training", "held-out" or "all"."""

    def critical(self, network: Network, report: Report | None) -> Numbers:
        """The positions in which this network can lose the result, listed for ``mine``."""

    def mine(
        self,
        network: Network,
        critical: Numbers,
        margin: float,
        advance: Callable[[int], None] | None,
    ) -> tuple[Numbers, NDArray[np.float32]]:
        """Positions whose best keeping move leads the best other one by less than this, in logits,
        and the leads. advance: called with the number of positions looked at."""
