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
    proof: tuple[int, int] | None = None
    """Result for the side to move (1 won, 0 drawn, -1 lost) and plies to the end."""
    prior: dict[int, F] = field(default_factory=dict)
    children: dict[int, PlainNode] = field(default_factory=dict)
    seen: F = ZERO
    lost_visits: dict[int, int] = field(default_factory=dict)
    """Of moves that turned out to lose: they count -1, though the move has none left."""
    own: tuple[float, float] = (0.0, 0.0)
    """Its evaluation as a value, and as an outcome: without the steps."""

    def count(self, value: F) -> F:
        self.visits += 1
        self.mean = F(self.mean + F(F(value - self.mean) / F(self.visits)))
        return value

    def known(self) -> tuple[float, float]:
        """Mean square of the values and mean outcome, by their definition."""
        if self.final or self.proof:
            return float(self.mean) ** 2, float(self.mean)
        square, outcome, total = self.own[0] ** 2, self.own[1], 1
        for action, child in self.children.items():
            squares, outcomes = child.known()
            visits = self.lost_visits.get(action, child.visits)
            square += visits * squares
            outcome -= visits * outcomes
            total += visits
        return square / total, outcome / total


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
    prove: bool = False
    forced_playouts: float = 0.0
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
        self.root.visits = max(1, self.root.visits)
        self.noised = False

    def simulate(self) -> None:
        if not self.root.proof:
            self._path = []
            self._walk(self.root)
            if self.prove:
                self._prove()

    def visits(self, actions: int) -> list[int]:
        children = self.root.children
        return [children[a].visits if a in children else 0 for a in range(actions)]

    def targets(self, actions: int) -> list[float]:
        """What a policy learns: visits, or the best proven moves, or what is not lost."""
        root, proof = self.root, self.root.proof
        proofs = {a: c.proof for a, c in root.children.items() if c.proof}
        if proof and proof[0]:
            best = {a for a, p in proofs.items() if (-p[0], p[1] + 1) == proof}
            return [float(a in best) for a in range(actions)]
        visits = self.visits(actions)
        if any(visits) and self.noised and self.forced_playouts:
            return self._pruned(visits)
        if not any(visits) and proofs:
            lost = {a for a, p in proofs.items() if p[0] == 1}
            return [float(root.prior.get(a, 0)) * (a not in lost) for a in range(actions)]
        return [float(count) for count in visits]

    def surest(self, z: float) -> int:
        """The move with the highest lower bound, by the values themselves."""
        visits = self.visits(max(self.root.prior) + 1)
        bounds = {}
        for action, child in self.root.children.items():
            if visits[action] >= 0.15 * max(visits):
                mean = -float(child.mean)
                squares = visits[action] * (child.known()[0] - mean**2)
                error = math.sqrt((1 + squares) / visits[action] / visits[action])
                bounds[action] = mean - z * error
        return max(sorted(bounds), key=lambda action: bounds[action])

    def outcome(self) -> float:
        """What the value learns."""
        return self.root.known()[1]

    def _forced(self, action: int) -> F:
        if not (self.noised and self.forced_playouts):
            return F(0)
        product = F(F(self.forced_playouts) * self.root.prior[action])
        return np.sqrt(F(product * F(self.root.visits - 1)))

    def _pruned(self, visits: list[int]) -> list[float]:
        """Without what was forced."""
        root = self.root
        best, factor = visits.index(max(visits)), self._exploration(root)

        def score(action: int, count: int) -> F:
            value = F(-root.children[action].mean)
            return F(value + F(F(factor * root.prior[action]) / F(1 + count)))

        pruned = []
        for action, count in enumerate(visits):
            left = count
            for _ in range(int(self._forced(action)) if count and action != best else 0):
                if left and score(action, left - 1) < score(best, visits[best]):
                    left -= 1
            pruned.append(float(left) if left > 1 or action == best else 0.0)
        return pruned

    # ---- proofs -----------------------------------------------------------------

    def _prove(self) -> None:
        """After a simulation: from its end upwards, what has become known for certain."""
        if not self._path[-1].proof:
            return
        path = self._path
        for at in range(len(path) - 2, -1, -1):
            node, child = path[at], path[at + 1]
            visits, total = child.visits, float(child.mean) * child.visits
            assert child.proof
            child.mean = F(child.proof[0])
            change = child.proof[0] * visits - total
            if child.proof[0] == 1:
                (action,) = (a for a, c in node.children.items() if c is child)
                node.lost_visits[action], child.visits = visits, 0
            node.proof = self._proof_of(node)
            if node.proof is None:
                for above in reversed(path[: at + 1]):
                    change = -change
                    right = float(above.mean) + change / above.visits
                    above.mean = F(min(1.0, max(-1.0, right)))
                return
        path[0].mean = F(path[0].proof[0])  # type: ignore[index]

    @staticmethod
    def _proof_of(node: PlainNode) -> tuple[int, int] | None:
        moves = [(-c.proof[0], c.proof[1] + 1) for c in node.children.values() if c.proof]
        won = [plies for value, plies in moves if value == 1]
        if won:
            return 1, min(won)
        if len(moves) < len(node.prior):
            return None
        best = max(value for value, _ in moves)
        return best, max(plies for value, plies in moves if value == best)

    # ---- walking ----------------------------------------------------------------

    def _walk(self, node: PlainNode) -> F:
        """The value of one simulation for the side to move at this node."""
        self._path.append(node)
        if node.final or node.proof:
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
            if self.prove and result != GOING_ON:
                child.proof = (int(child.mean), 0)
        return child

    def _expand(self, node: PlainNode) -> F:
        weights, value, steps = self.evaluate(self.game.planes(node.state))
        legal = self.game.legal(node.state)
        total = F(0)
        for action in legal:
            total = F(total + weights[action])
        node.prior = {action: F(weights[action] / total) for action in legal}
        outcome = float(value)
        if steps is not None:
            share = F(self.lambda_steps)
            left = F(F(F(2) * steps) / F(self.max_steps)) - ONE
            value = F(ONE - share) * value - F(share * np.sign(value)) * left
        value = min(ONE, max(F(-1), F(value)))
        node.own = (float(value), outcome)
        return node.count(value)

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

    def _exploration(self, node: PlainNode) -> F:
        c = float(F(self.c_init)) + math.log((node.visits + self.c_base + 1) / self.c_base)
        return F(c * math.sqrt(node.visits))

    def _choice(self, node: PlainNode) -> int:
        exploration = self._exploration(node)
        self.walked[self.game.to_move(node.state)] += 1
        untried = self._untried(node) if len(node.children) < len(node.prior) else F(0)
        best_action, best_score = -1, F(-np.inf)
        for action, prior in node.prior.items():
            child = node.children.get(action)
            if child and child.proof and child.proof[0] == 1:
                continue
            q = untried if child is None else F(-child.mean)
            tried = F(1 + (0 if child is None else child.visits))
            score = F(q + F(F(exploration * prior) / tried))
            if node is self.root and child and child.visits < self._forced(action):
                score = F(np.inf)
            if score > best_score:
                best_action, best_score = action, score
        return best_action


@dataclass
class PlainGumbel(PlainSearch):
    """Sequential halving at the root; below it as above. In double precision."""

    gumbels: dict[int, float] = field(default_factory=dict)
    levels: list[int] = field(default_factory=list)
    """The visits that a candidate of each simulation has, as ``levels_of`` gives them."""

    @staticmethod
    def levels_of(candidates: int, sims: int) -> list[int]:
        if candidates == 1:
            return list(range(sims))
        visits, left = [0] * candidates, candidates
        levels: list[int] = []
        while len(levels) < sims:
            for _ in range(max(1, sims // (math.ceil(math.log2(candidates)) * left))):
                levels += visits[:left]
                visits[:left] = [count + 1 for count in visits[:left]]
            left = max(2, left // 2)
        return levels[:sims]

    def begin(self, state: Any, ply: int) -> None:
        super().begin(state, ply)
        self._own, self._own_outcome = self.root.own

    def logits(self) -> dict[int, float]:
        """log P + sigma(completed Q) of the moves that are not lost."""
        root = self.root
        alive = [a for a in root.prior if not self._is_lost(a)]
        visited = [a for a in alive if a in root.children]
        counts = {a: root.children[a].visits for a in visited}
        known = sum(float(root.prior[a]) for a in visited)
        value = self._own
        if visited:
            mean = sum(float(root.prior[a]) * -float(root.children[a].mean) for a in visited)
            total = sum(counts.values())
            value = (value + total * (mean / known)) / (1 + total)
        scale = (50.0 + max(counts.values(), default=0)) * 0.1
        return {
            a: math.log(float(root.prior[a]) + 1e-30)
            + scale * (-float(root.children[a].mean) if a in counts else value)
            for a in alive
        }

    def _is_lost(self, action: int) -> bool:
        child = self.root.children.get(action)
        return bool(child and child.proof and child.proof[0] == 1)

    def best(self, visits: int, with_gumbel: bool = True) -> int:
        logits = self.logits()
        scores = {a: value + self.gumbels[a] * with_gumbel for a, value in logits.items()}
        fitting = [a for a in scores if self.visits(max(scores) + 1)[a] == visits]
        return max(fitting or scores, key=lambda a: (scores[a], -a))

    def _choice(self, node: PlainNode) -> int:
        return self.best(self.levels.pop(0)) if node is self.root else super()._choice(node)

    def targets(self, actions: int) -> list[float]:
        if self.root.proof and self.root.proof[0]:
            return super().targets(actions)
        logits = self.logits()
        top = max(logits.values())
        return [math.exp(logits[a] - top) if a in logits else 0.0 for a in range(actions)]

    def outcome(self) -> float:
        """The mean over the improved policy of what each move is worth, completed as above."""
        root = self.root
        if root.proof:
            return float(root.proof[0])
        targets = self.targets(max(root.prior) + 1)
        tried = [a for a in root.prior if a in root.children and root.children[a].visits]
        worth = {a: -root.children[a].known()[1] for a in tried}
        mixed = self._own_outcome
        if worth:
            total = sum(root.children[a].visits for a in tried)
            known = sum(float(root.prior[a]) for a in tried)
            mean = sum(float(root.prior[a]) * worth[a] for a in tried) / known
            mixed = (mixed + total * mean) / (1 + total)
        return sum(t * worth.get(a, mixed) for a, t in enumerate(targets)) / sum(targets)
