"""Labelled Connect Four positions as a teacher.

Batch ``number`` of a seed is drawn from the first positions of the dataset, whatever it has beyond
them: a dataset that grows changes no run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from azfit.games import Connect4, States, game_by_name
from azfit.network import Network
from azfit.network_config import NetworkConfig
from azfit.objective import IGNORED, Targets
from azfit.oracle.connect4.labelling import Rows, Source
from azfit.oracle.connect4.valued import (
    NO_PARENT,
    UNKNOWN_PLIES,
    Valued,
    implied_by,
    in_book,
)
from azfit.oracle.mining import leads
from azfit.oracle.sampler import SampleMix
from azfit.oracle.teacher import Numbers, Report
from solver.connect4 import CELLS, COLUMN_BITS, COLUMNS, ROWS, plies_to_end
from solver.connect4.book import Book
from solver.connect4.keys import keys_of, stone_counts
from solver.connect4.labels import columns_of
from solver.errors import InputError
from solver.labels import is_validation

if TYPE_CHECKING:
    from azfit.oracle.config import TrainingConfig

OPENING_PLIES = 10
"""The source ``opening`` draws positions with at most this many stones."""

ROWS_AT_A_TIME = 4096

Indices = NDArray[np.intp]


def codes_of(movers: NDArray[np.uint64], stones: NDArray[np.uint64]) -> NDArray[np.int8]:
    """As ``Connect4.decode`` takes them: 1 the first player's stones, -1 the second's, the side."""
    side = (stone_counts(stones) % 2).astype(np.int8)
    codes = np.zeros((len(stones), CELLS + 1), np.int8)
    movers_sign = np.where(side == 0, 1, -1).astype(np.int8)
    for column in range(COLUMNS):
        for row in range(ROWS):
            bit = np.uint64(column * COLUMN_BITS + row)
            is_there = (stones >> bit & np.uint64(1)).astype(np.int8)
            is_movers = (movers >> bit & np.uint64(1)).astype(np.int8)
            codes[:, row * COLUMNS + column] = movers_sign * (2 * is_movers - is_there)
    codes[:, -1] = side
    return codes


@dataclass(frozen=True)
class Taught:
    """Positions and what is taught of them, by number: first the labelled ones by their row, then
    perhaps those of which only the value is known."""

    game: Connect4
    states: States
    keeping: NDArray[np.uint8]
    """Sets of columns, bit column - 1; empty where only the value is known."""
    optimal: NDArray[np.uint8]
    results: NDArray[np.int8]
    """1 the side to move wins, 0 a draw, -1 it loses."""
    steps: NDArray[np.int64]
    """Bins of the steps head, IGNORED for a draw or where the plies are not known."""

    @classmethod
    def of(cls, game: Connect4, rows: Rows, plies_left: NDArray[np.int64]) -> Taught:
        states = game.decode(codes_of(rows.movers, rows.stones))
        steps = np.where(rows.scores == 0, IGNORED, plies_left - 1)
        return cls(game, states, rows.keeping, rows.optimal, np.sign(rows.scores), steps)

    def and_valued(self, valued: Valued) -> Taught:
        no_moves = np.zeros(len(valued), np.uint8)
        is_known = (valued.results != 0) & (valued.plies_left != UNKNOWN_PLIES)
        steps = np.where(is_known, valued.plies_left - 1, IGNORED)
        states = self.game.decode(codes_of(valued.movers, valued.stones))
        return Taught(
            self.game,
            np.concatenate([self.states, states]),
            np.concatenate([self.keeping, no_moves]),
            np.concatenate([self.optimal, no_moves]),
            np.concatenate([self.results, valued.results]),
            np.concatenate([self.steps, steps]),
        )


@dataclass(frozen=True)
class Connect4Batch:
    """Positions of the teacher, each as it is or mirrored."""

    taught: Taught
    indices: Indices
    mirrored: NDArray[np.uint8]
    policy_target: str

    def __len__(self) -> int:
        return len(self.indices)

    def rows(self, low: int, high: int) -> Connect4Batch:
        part = slice(low, high)
        return replace(self, indices=self.indices[part], mirrored=self.mirrored[part])

    @property
    def keeping(self) -> NDArray[np.bool_]:
        return self._moves(self.taught.keeping)

    @property
    def optimal(self) -> NDArray[np.bool_]:
        return self._moves(self.taught.optimal)

    def _moves(self, masks: NDArray[np.uint8]) -> NDArray[np.bool_]:
        moves = columns_of(masks[self.indices])
        return np.asarray(self.taught.game.carry_policy(moves, self.mirrored), np.bool_)

    def targets(self, network: Network) -> Targets:
        taught = self.taught
        moves = self.keeping if self.policy_target == "keeping" else self.optimal
        policy = moves.astype(np.float32)
        policy /= np.maximum(1, policy.sum(axis=1, keepdims=True))
        results = taught.results[self.indices].astype(np.int64)
        planes = taught.game.planes(taught.states[self.indices], self.mirrored)
        has_policy = moves.any(axis=1)
        return Targets(
            planes=torch.from_numpy(planes),
            policy=torch.from_numpy(policy),
            wdl=torch.from_numpy(1 - results),
            steps=torch.from_numpy(taught.steps[self.indices]),
            has_policy=None if has_policy.all() else torch.from_numpy(has_policy),
        )


@dataclass(frozen=True)
class Connect4Lessons:
    """Draws from several lists of positions, by their shares."""

    taught: Taught
    lists: tuple[tuple[float, Indices], ...]
    policy_target: str
    in_part: NDArray[np.bool_]
    """bool [N]: labelled positions that may be drawn."""

    def batch(self, seed: int, number: int, size: int, judged: bool = False) -> Connect4Batch:
        rng = np.random.default_rng([seed, number])
        shares = np.array([share for share, _ in self.lists])
        counts = rng.multinomial(size, shares / shares.sum())
        parts = [
            listed[rng.integers(len(listed), size=count)]
            for count, (_, listed) in zip(counts, self.lists, strict=True)
        ]
        mirrored = rng.integers(self.taught.game.symmetries, size=size, dtype=np.uint8)
        return Connect4Batch(self.taught, np.concatenate(parts), mirrored, self.policy_target)

    def judged(self, seed: int, number: int, most: int) -> Connect4Batch:
        rng = np.random.default_rng([seed, number])
        chosen = np.unique(np.concatenate([listed for _, listed in self.lists]))
        if len(chosen) > most:
            chosen = rng.choice(chosen, most, replace=False)
        mirrored = rng.integers(self.taught.game.symmetries, size=len(chosen), dtype=np.uint8)
        return Connect4Batch(self.taught, chosen, mirrored, self.policy_target)

    def with_list(self, positions: Numbers, share: float) -> Connect4Lessons:
        if len(positions) and int(positions.max()) >= len(self.in_part):
            raise InputError("the positions listed are not all positions of the dataset")
        listed = positions.astype(np.intp)
        listed = listed[self.in_part[listed]]
        return replace(self, lists=(*self.lists, (share, listed))) if len(listed) else self


class Connect4Teacher:
    """Knows the labels of the positions of a dataset, and what follows from them."""

    name = "the dataset"
    knows_all = False
    deepest = CELLS
    mix = SampleMix(uniform=0.4, critical=0.5, opening=0.1)

    def __init__(
        self, rows: Rows, excluded: Collection[int] = (), book: Book | None = None
    ) -> None:
        """excluded: keys of positions that are never taught; book: knows more values."""
        self.rows = rows
        game = game_by_name("connect4")
        assert isinstance(game, Connect4)
        self.game = game
        self.keys = keys_of(rows.movers, rows.stones)
        self.plies = stone_counts(rows.stones)
        self._excluded, self._book = excluded, book

    @property
    def network(self) -> NetworkConfig:
        return NetworkConfig(
            game=self.game.name,
            kind="tower",
            width=64,
            blocks=4,
            max_plies=self.deepest,
            canonical=False,
            hide_leaving=False,
            rate_moves=False,
            threats=True,
        )

    @property
    def small_network(self) -> NetworkConfig:
        return replace(self.network, width=32, blocks=2)

    @property
    def provenance(self) -> dict[str, str]:
        whole = hashlib.sha256(self.keys.tobytes())
        rows = self.rows
        for labels in (rows.scores, rows.keeping, rows.optimal, rows.sources, rows.groups):
            whole.update(labels.tobytes())
        about = {"positions_sha256": whole.hexdigest()}
        if "valued" in vars(self):  # they are taught
            about["valued_sha256"] = hashlib.sha256(self.valued.keys.tobytes()).hexdigest()
        return about

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def plies_left(self) -> NDArray[np.int64]:
        """To the end under best play, int64 [N]."""
        pairs = zip(self.rows.scores.tolist(), self.plies.tolist(), strict=True)
        return np.array([plies_to_end(score, plies) for score, plies in pairs], np.int64)

    @cached_property
    def labelled(self) -> Taught:
        return Taught.of(self.game, self.rows, self.plies_left)

    @cached_property
    def valued(self) -> Valued:
        """Positions of which only the value is known."""
        parts = [implied_by(self.rows, self.plies_left)]
        if self._book is not None:
            parts.append(in_book(self._book))
        return Valued.joined(parts).new_to(self.rows, self._excluded)

    @cached_property
    def labelled_and_valued(self) -> Taught:
        return self.labelled.and_valued(self.valued)

    @cached_property
    def legal(self) -> NDArray[np.bool_]:
        return self.game.legal_masks(self.labelled.states)

    @cached_property
    def _is_critical(self) -> NDArray[np.bool_]:
        """Some move loses the result."""
        return np.asarray((self.legal & ~columns_of(self.rows.keeping)).any(axis=1))

    def lessons(self, config: TrainingConfig, mix: SampleMix, part: str) -> Connect4Lessons:
        if config.pieces is not None or mix.listed:
            raise InputError("pieces and listed have no effect in Connect Four: leave them out")
        in_part = np.ones(len(self), np.bool_)
        if config.held_out and part != "all":
            held_out = self._held_out(config.held_out)
            in_part = held_out if part == "held-out" else ~held_out
        results = np.sign(self.rows.scores)
        sources = [
            (mix.uniform, in_part),
            (mix.critical, in_part & self._is_critical),
            (mix.opening, in_part & (self.plies <= OPENING_PLIES)),
            *((mix.balanced / 3, in_part & (results == result)) for result in (1, 0, -1)),
        ]
        lists = [(share, np.flatnonzero(rows)) for share, rows in sources if share and rows.any()]
        taught = self.labelled
        if lists and part == "training" and config.value_share:
            taught, parents = self.labelled_and_valued, self.valued.parents
            drawn = len(self) + np.flatnonzero(in_part[parents] | (parents == NO_PARENT))
            share = config.value_share * sum(share for share, _ in lists)
            lists += [(share, drawn)] if len(drawn) else []
        if not lists:
            raise InputError(
                f"no position to draw: {mix} finds none in the {part} part of "
                f"{len(self):,} positions; use more --positions, or another --held-out"
            )
        return Connect4Lessons(taught, tuple(lists), config.policy_target, in_part)

    def _held_out(self, share: float) -> NDArray[np.bool_]:
        """Whole games, because the positions of one resemble each other. The book's positions are
        all next to each other: training has all of them."""
        by_game = is_validation(self.rows.groups.astype(np.uint64), share)
        return np.asarray(by_game & (self.rows.sources != Source.BOOK))

    def critical(self, network: Network, report: Report | None) -> Numbers:
        return np.flatnonzero(self._is_critical).astype(np.uint64)

    def mine(
        self,
        network: Network,
        critical: Numbers,
        margin: float,
        advance: Callable[[int], None] | None,
    ) -> tuple[Numbers, NDArray[np.float32]]:
        leading = [np.empty(0, np.float32)]
        was_training = network.training
        network.eval()
        with torch.inference_mode():
            for low in range(0, len(critical), ROWS_AT_A_TIME):
                chosen = critical[low : low + ROWS_AT_A_TIME].astype(np.intp)
                planes = torch.from_numpy(self.game.planes(self.labelled.states[chosen]))
                worth = np.where(columns_of(self.rows.keeping[chosen]), 1, 0)
                worth = np.where(self.legal[chosen], worth, -1).astype(np.int8)
                leading.append(leads(network(planes).policy, torch.from_numpy(worth)).numpy())
                if advance is not None:
                    advance(len(chosen))
        network.train(was_training)
        lead = np.concatenate(leading)
        return critical[lead < margin], lead[lead < margin]
