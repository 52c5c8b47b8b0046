"""PUCT once more, for one tree, recursive, with objects: what tests hold the C search against.

The formulas are those of docs and DESIGN, evaluated in single precision and in the order in which
they are written, so that equal scores are equal here and there and visits can be compared one by
one. Nothing here is imported from the product.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from plain_games import GOING_ON, MOVER_WON, PlainGame

F = np.float32
ZERO, ONE = F(0), F(1)

# planes -> weights of all actions, value, expected steps or None
PlainEvaluator = Callable[[NDArray[np.float32]], tuple[NDArray[np.float32], F, F | None]]


@dataclass
class PlainNode:
    state: Any
    ply: int
    visits: int = 0
    mean: F = ZERO  # for the side to move
    final: bool = False
    prior: dict[int, F] = field(default_factory=dict)
    children: dict[int, PlainNode] = field(default_factory=dict)
    seen: F = ZERO

    def count(self, value: F) -> F:
        self.visits += 1
        self.mean = F(self.mean + F(F(value - self.mean) / F(self.visits)))
        return value


@dataclass
class PlainSearch:
    game: PlainGame
    evaluate: PlainEvaluator
    c_init: float = 1.4
    c_base: float = 1e5
    fpu_reduction: float = 0.2
    fpu_clamp: bool = True
    fpu_dynamic: bool = False
    fpu_at_noised_root: bool = True
    lambda_steps: float = 0.1
    max_steps: float = 100
    max_plies: int = 100
    noised: bool = False
    walked: list[int] = field(default_factory=lambda: [0, 0])
    open: list[int] = field(default_factory=lambda: [0, 0])
    starved: list[int] = field(default_factory=lambda: [0, 0])

    def begin(self, state: Any, ply: int) -> None:
        self.root = PlainNode(state, ply)
        self._expand(self.root)

    def add_noise(self, priors: NDArray[np.float32]) -> None:
        """The root gets these priors, whatever their source."""
        self.noised = True
        self.root.seen = F(0)
        for action in self.root.prior:
            self.root.prior[action] = F(priors[action])
            if action in self.root.children:
                self.root.seen = F(self.root.seen + self.root.prior[action])

    def advance(self, action: int) -> None:
        self.root = self.root.children[action]
        self.noised = False

    def simulate(self) -> None:
        self._walk(self.root)

    def visits(self, actions: int) -> list[int]:
        children = self.root.children
        return [children[a].visits if a in children else 0 for a in range(actions)]

    def _walk(self, node: PlainNode) -> F:
        """The value of one simulation for the side to move at this node."""
        if node.final:
            return node.count(node.mean)
        if node.visits == 0:
            return self._expand(node)
        action = self._choice(node)
        if action not in node.children:
            node.seen = F(node.seen + node.prior[action])
            node.children[action] = self._child(node, action)
        return node.count(F(-self._walk(node.children[action])))

    def _child(self, node: PlainNode, action: int) -> PlainNode:
        child = PlainNode(self.game.play(node.state, action), node.ply + 1)
        result = self.game.result(child.state)
        if result != GOING_ON or child.ply >= self.max_plies:
            child.final = True
            child.mean = F(-1) if result == MOVER_WON else F(0)
        return child

    def _expand(self, node: PlainNode) -> F:
        weights, value, steps = self.evaluate(self.game.planes(node.state))
        legal = self.game.legal(node.state)
        total = F(0)
        for action in legal:
            total = F(total + weights[action])
        node.prior = {action: F(weights[action] / total) for action in legal}
        if steps is not None:
            share = F(self.lambda_steps)
            left = F(F(F(2) * steps) / F(self.max_steps)) - ONE
            value = F(ONE - share) * value - F(share * np.sign(value)) * left
        return node.count(min(ONE, max(F(-1), F(value))))

    def _untried(self, node: PlainNode) -> F:
        reduction = F(self.fpu_reduction)
        if node is self.root and self.noised and not self.fpu_at_noised_root:
            reduction = F(0)
        if self.fpu_dynamic:
            reduction = F(reduction * F(F(node.mean + ONE) * F(0.5)))
        side = self.game.to_move(node.state)
        value = F(node.mean - F(reduction * np.sqrt(node.seen)))
        self.open[side] += 1
        self.starved[side] += bool(value < -1)
        return max(F(-1), value) if self.fpu_clamp else value

    def _choice(self, node: PlainNode) -> int:
        c = float(F(self.c_init)) + math.log((node.visits + self.c_base + 1) / self.c_base)
        exploration = F(c * math.sqrt(node.visits))
        self.walked[self.game.to_move(node.state)] += 1
        untried = self._untried(node) if len(node.children) < len(node.prior) else F(0)
        best_action, best_score = -1, F(-np.inf)
        for action, prior in node.prior.items():
            child = node.children.get(action)
            q = untried if child is None else F(-child.mean)
            tried = F(1 + (0 if child is None else child.visits))
            score = F(q + F(F(exploration * prior) / tried))
            if score > best_score:
                best_action, best_score = action, score
        return best_action
