"""PUCT search over many trees at once; the tree work is in C, the evaluator is the caller's.

    search = Search(game, trees=64, config=SearchConfig(sims=100), seed=1)
    search.reset(states)                    # uint8 [64, state_bytes]
    search.run(evaluate)                    # one call of evaluate per batch of leaves
    actions = search.choose()               # int32 [64]
    search.advance(actions)                 # keeps the subtrees of the moves played

``csrc/search.h`` states the formulas.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from azfit.games import Game, States
from azfit.kernels import checked, ffi, lib, pointer
from azfit.search_config import SearchConfig
from solver.errors import FadefourError, InputError

Evaluation: TypeAlias = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32] | None]
"""What an evaluator says about a batch of leaves, for the side to move:

policy float32 [rows, actions], logits or weights; illegal moves are left out by the search;
value float32 [rows] in -1 .. 1, or probabilities of win, draw, loss float32 [rows, 3];
expected plies to the end float32 [rows] in 0 .. max_steps, or None.
"""

Evaluator: TypeAlias = Callable[[NDArray[np.float32]], Evaluation]
"""From planes float32 [rows, planes, rows, columns]; the number of rows varies from call to call,
up to the number of trees. The array is the search's own: copy it to keep it."""

# With reuse a tree holds what it kept as well as what it adds; three searches' worth is seldom
# exceeded, and a tree that exceeds it starts over (see ``Search.forgotten``).
SEARCHES_KEPT = 3


class WalkCounts(NamedTuple):
    """What walks met since the reset, uint64 [trees, 2] by the side to move at the node."""

    walked: NDArray[np.uint64]
    """Nodes at which a walk chose a move."""
    open: NDArray[np.uint64]
    """Those with a move not yet tried, where the FPU matters."""
    starved: NDArray[np.uint64]
    """Those of them whose FPU is below -1, or would be without the clamp."""


class Proof(enum.IntEnum):
    """What is proven, for the side to move."""

    NONE = 0
    WON = 1
    DRAWN = 2
    LOST = 3


class Proofs(NamedTuple):
    """The proven results of roots and of their moves, the values of ``Proof``, and the plies to the
    end: the winner needs no more than these."""

    roots: NDArray[np.int8]
    """int8 [trees]."""
    root_plies: NDArray[np.int32]
    """int32 [trees], 0 without a proof."""
    moves: NDArray[np.int8]
    """int8 [trees, actions]."""
    move_plies: NDArray[np.int32]
    """int32 [trees, actions], 0 without a proof."""

    @classmethod
    def unpacked(cls, moves: NDArray[np.uint16], roots: NDArray[np.uint16]) -> Proofs:
        """From words as the kernel packs them: plies << 2 | result."""
        return cls(
            (roots & lib.FF_PROOF_RESULT).astype(np.int8),
            (roots >> 2).astype(np.int32),
            (moves & lib.FF_PROOF_RESULT).astype(np.int8),
            (moves >> 2).astype(np.int32),
        )


class Search:
    """A number of search trees of one game that share the evaluator's batches.

    A tree depends on its state, its seed and its evaluations only, not on the other trees.
    Not for use by several threads at once; give each thread a search of its own.
    """

    def __init__(
        self,
        game: Game,
        trees: int,
        config: SearchConfig | None = None,
        seed: int = 0,
        node_capacity: int | None = None,
    ) -> None:
        """node_capacity: nodes per tree; at least the simulations of one search + 1."""
        self.game = game
        self.trees = trees
        self.config = config or SearchConfig()
        if not 1 <= trees <= 1_000_000:
            raise InputError(f"trees={trees}: use 1 to 1000000")
        if node_capacity is None:
            node_capacity = self.config.most_sims * (SEARCHES_KEPT if self.config.reuse else 1) + 2
        self.node_capacity = node_capacity
        self._memory = self._allocate(node_capacity)
        self._search = ffi.new("ff_search *")
        base = self._memory.ctypes.data
        status = lib.ff_search_init(
            self._search,
            game.kernel,
            self.config.c_options(game),
            trees,
            node_capacity,
            seed % 2**64,
            ffi.cast("void *", base + -base % 64),
        )
        if status != lib.FF_OK:
            raise FadefourError(
                f"the search kernel refuses {trees} trees of {self.config.most_sims} simulations "
                f"(code {status}): use fewer"
            )
        self._planes = np.empty((trees, *game.plane_shape), dtype=np.float32)
        self._leaf_trees = np.empty(trees, dtype=np.int32)
        self._rows = 0

    def _allocate(self, node_capacity: int) -> NDArray[np.uint8]:
        size = 0
        if 2 <= node_capacity < 2**32:
            size = lib.ff_search_bytes(self.game.kernel, self.trees, node_capacity)
        if not size:
            raise InputError(f"node_capacity={node_capacity}: use 2 to about 10 million")
        try:
            return np.empty(size + 64, dtype=np.uint8)
        except MemoryError:
            raise InputError(
                f"{self.trees} trees of {node_capacity} nodes need {size / 1e9:.1f} GB: "
                "use fewer games side by side (--parallel-games) or simulations (--sims)"
            ) from None

    # ---- searching --------------------------------------------------------------

    def reset(
        self,
        states: States,
        plies: ArrayLike | None = None,
        seeds: ArrayLike | None = None,
        trees: ArrayLike | None = None,
    ) -> None:
        """Restarts trees at these states (uint8 [count, state_bytes]).

        plies: the move numbers of the states, int [count]; None: all 0. Noise, temperature and
        the ply cap go by them. seeds: int [count]; None: the trees continue with their random
        numbers. trees: which trees, int [count]; None: all of them, in order.
        """
        chosen = np.arange(self.trees) if trees is None else np.asarray(trees, dtype=np.int64)
        if chosen.ndim != 1 or ((chosen < 0) | (chosen >= self.trees)).any():
            raise ValueError(f"trees {chosen.tolist()}: a list of 0 to {self.trees - 1} is needed")
        states = self.game.check_states(states, len(chosen))
        numbers = np.broadcast_to(np.asarray(0 if plies is None else plies), len(chosen))
        words = None
        if seeds is not None:
            words = np.asarray(seeds).astype(np.uint64)
            words = np.ascontiguousarray(np.broadcast_to(words, len(chosen)))
        for i, tree in enumerate(chosen):
            seed = ffi.NULL if words is None else pointer(words[i : i + 1])
            lib.ff_search_reset(self._search, tree, pointer(states[i]), int(numbers[i]), seed)
        self._rows = 0

    def run(
        self,
        evaluate: Evaluator,
        sims: ArrayLike | None = None,
        logits: bool = True,
        quiet: ArrayLike = False,
    ) -> None:
        """Adds simulations to every unfinished tree, see ``begin``."""
        self.begin(sims, quiet)
        while len(planes := self.select()):
            policy, value, steps = evaluate(planes)
            self.expand(policy, value, steps, logits)

    def run_constant(self, value: float = 0.0, sims: int | None = None) -> None:
        """The same with equal priors and one value everywhere, without leaving C."""
        self.begin(sims)
        self._check(lib.ff_search_run_constant(self._search, value))

    def begin(self, sims: ArrayLike | None = None, quiet: ArrayLike = False) -> None:
        """Grants every unfinished tree simulations, by default the config's number.

        sims: a number, or one for each tree, int [trees]. quiet: whether to leave out the noise at
        the root, one answer or bool [trees].
        """
        wanted = np.asarray(self.config.sims if sims is None else sims)
        if wanted.min() < 1 or wanted.max() >= self.node_capacity:
            raise InputError(
                f"sims={wanted}: with node_capacity={self.node_capacity} "
                f"use 1 to {self.node_capacity - 1}"
            )
        granted = np.ascontiguousarray(np.broadcast_to(wanted, self.trees), np.uint32)
        silent = np.ascontiguousarray(np.broadcast_to(quiet, self.trees), np.uint8)
        self._check(lib.ff_search_begin(self._search, pointer(granted), pointer(silent)))

    def select(self) -> NDArray[np.float32]:
        """Walks to a leaf in every tree; planes float32 [rows, planes, rows, columns].

        A view of the search's own buffer, valid until the next call; no rows when done.
        """
        rows = lib.ff_search_select(self._search, pointer(self._planes), pointer(self._leaf_trees))
        self._rows = self._check(rows)
        return self._planes[: self._rows]

    def expand(
        self,
        policy: NDArray[np.float32],
        value: NDArray[np.float32],
        steps: NDArray[np.float32] | None = None,
        logits: bool = True,
    ) -> None:
        """Gives the leaves of the last ``select`` their evaluation (see ``Evaluation``)."""
        rows = self._rows
        policy = checked(policy, np.float32, (rows, self.game.actions), "policy")
        if value.ndim == 2:
            wdl = checked(value, np.float32, (rows, 3), "value")
            value = wdl[:, 0] - wdl[:, 2]
        value = checked(value, np.float32, (rows,), "value")
        if steps is not None:
            steps = checked(steps, np.float32, (rows,), "steps")
        status = lib.ff_search_expand(
            self._search,
            rows,
            pointer(policy),
            logits,
            pointer(value),
            ffi.NULL if steps is None else pointer(steps),
        )
        self._check(status)
        self._rows = 0

    def _check(self, status: int) -> int:
        if status >= 0:
            return status
        if status == lib.FF_BAD_EVALUATION:
            raise FadefourError(
                "the evaluator gave numbers that are not finite, a value outside -1 .. 1, steps "
                "outside 0 .. max_steps, or no weight on any legal move: check the network"
            )
        if status == lib.FF_BAD_ORDER:
            raise RuntimeError("select() and expand() must alternate; reset() clears a search")
        raise RuntimeError(f"search kernel: code {status}")

    # ---- the roots --------------------------------------------------------------

    @property
    def leaf_trees(self) -> NDArray[np.int32]:
        """Which tree each row of the last ``select`` belongs to, int32 [rows]."""
        return self._leaf_trees[: self._rows].copy()

    def visits(self) -> NDArray[np.uint32]:
        """Visits of the root's moves, uint32 [trees, actions]."""
        visits = np.empty((self.trees, self.game.actions), dtype=np.uint32)
        lib.ff_search_roots(self._search, pointer(visits), ffi.NULL, ffi.NULL)
        return visits

    def priors(self) -> NDArray[np.float32]:
        """Priors of the root's moves, noise included, float32 [trees, actions]."""
        priors = np.empty((self.trees, self.game.actions), dtype=np.float32)
        lib.ff_search_roots(self._search, ffi.NULL, pointer(priors), ffi.NULL)
        return priors

    def clean_priors(self) -> NDArray[np.float32]:
        """Priors of the root's moves as the evaluator gave them, float32 [trees, actions]."""
        priors = np.empty((self.trees, self.game.actions), dtype=np.float32)
        lib.ff_search_clean_priors(self._search, pointer(priors))
        return priors

    def targets(self) -> NDArray[np.float32]:
        """What a policy learns from each root, float32 [trees, actions]: the visits, or weights in
        their place where proven results decide; they need not sum to 1."""
        targets = np.empty((self.trees, self.game.actions), dtype=np.float32)
        lib.ff_search_targets(self._search, pointer(targets))
        return targets

    def proofs(self) -> Proofs:
        """What the trees have proven (with the option ``prove``)."""
        packed = np.empty((self.trees, self.game.actions), dtype=np.uint16)
        lib.ff_search_proofs(self._search, pointer(packed))
        return Proofs.unpacked(packed, self._gather("root_proof", np.uint16))

    def spared(self) -> NDArray[np.uint64]:
        """Simulations granted since the reset and not made, because the root was proven, uint64
        [trees]."""
        return self._gather("spared", np.uint64)

    def action_values(self) -> NDArray[np.float32]:
        """Mean values of the root's moves for the side to move, 0 without a visit.

        float32 [trees, actions].
        """
        means = np.empty((self.trees, self.game.actions), dtype=np.float32)
        lib.ff_search_roots(self._search, ffi.NULL, ffi.NULL, pointer(means))
        return means

    def root_values(self) -> NDArray[np.float32]:
        """The mean value of each root for its side to move, float32 [trees]."""
        return self._gather("root_mean", np.float32)

    def outcomes(self) -> NDArray[np.float32]:
        """What a value learns from each root, float32 [trees]: win - loss as the search expects it
        for the side to move, without the steps that ``root_values`` are mixed with. By Gumbel the
        mean over the improved policy."""
        outcomes = np.empty(self.trees, dtype=np.float32)
        lib.ff_search_outcomes(self._search, pointer(outcomes))
        return outcomes

    def root_visits(self) -> NDArray[np.uint32]:
        """Visits of each root, its own evaluation included, uint32 [trees]."""
        return self._gather("root_visits", np.uint32)

    def plies(self) -> NDArray[np.int32]:
        """Each root's move number, int32 [trees]."""
        return self._gather("root_ply", np.int32)

    def results(self) -> NDArray[np.int8]:
        """How each root stands, int8 [trees], the values of ``Result``; the ply cap counts."""
        return self._gather("result", np.int8)

    def forgotten(self) -> NDArray[np.uint32]:
        """How often each tree dropped a kept subtree for lack of room, uint32 [trees]."""
        return self._gather("forgotten", np.uint32)

    def counts(self) -> WalkCounts:
        """What the walks met since the reset; for diagnosing starved nodes."""
        fields = ("walked", "open", "starved")
        trees = [self._search.tree[i] for i in range(self.trees)]
        return WalkCounts(
            *(np.array([list(getattr(t, name)) for t in trees], np.uint64) for name in fields)
        )

    def states(self) -> States:
        """Each root's state, uint8 [trees, state_bytes]."""
        size = self.game.state_bytes
        roots = [ffi.buffer(self._search.tree[i].states, size) for i in range(self.trees)]
        return np.frombuffer(b"".join(roots), dtype=np.uint8).reshape(self.trees, size).copy()

    def _gather(self, field: str, dtype: Any) -> NDArray[Any]:
        trees = self._search.tree
        return np.array([getattr(trees[i], field) for i in range(self.trees)], dtype=dtype)

    # ---- moves ------------------------------------------------------------------

    def _temperatures(self, temperature: ArrayLike | None) -> NDArray[np.float32]:
        if temperature is None:
            return self.config.temperature_at(self.plies())
        given = np.broadcast_to(np.asarray(temperature, dtype=np.float32), self.trees)
        if not (np.isfinite(given) & (given >= 0)).all():
            raise InputError(f"temperature {temperature}: use numbers from 0 up")
        return np.ascontiguousarray(given)

    def policy(self, temperature: ArrayLike | None = 1.0) -> NDArray[np.float32]:
        """softmax(log(target) / T) of each root, float32 [trees, actions]; zeros without visits.

        temperature: one number, float32 [trees], or None for the config's schedule.
        """
        policy = np.empty((self.trees, self.game.actions), dtype=np.float32)
        lib.ff_search_policies(
            self._search, pointer(self._temperatures(temperature)), pointer(policy)
        )
        return policy

    def choose(self, temperature: ArrayLike | None = None) -> NDArray[np.int32]:
        """Draws a move per tree from its policy, int32 [trees]; -1 where a root has no visits.

        Temperature 0 is the most visited move, the lowest action among equals; proven results come
        before visits (``targets``).
        """
        actions = np.empty(self.trees, dtype=np.int32)
        lib.ff_search_choose(
            self._search, pointer(self._temperatures(temperature)), pointer(actions)
        )
        return actions

    def advance(self, actions: ArrayLike) -> NDArray[np.int8]:
        """Plays a move in each tree, int [trees], -1 for none; returns the results as ``results``.

        With ``reuse`` the subtree of the move is kept, its visits included.
        """
        played = np.asarray(actions, dtype=np.int64)
        if played.shape != (self.trees,):
            raise ValueError(f"actions have shape {played.shape}: it must be [{self.trees}]")
        for tree, action in enumerate(played.tolist()):
            if action == -1:
                continue
            status = lib.ff_search_advance(self._search, tree, action)
            if status == lib.FF_BAD_ACTION:
                legal = self.game.legal_moves(self.states()[tree])
                raise InputError(f"action {action} is not legal in tree {tree}: legal are {legal}")
            self._check(status)
        return self.results()
