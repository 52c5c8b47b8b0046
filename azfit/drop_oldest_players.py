"""What players of drop-oldest have beyond those of other games: symmetry, and the table's play.

``CanonicalPlayer`` turns every board into its canonical image first and the move back. A network
is not symmetric by construction, so without this it has up to eight behaviours for what is one
position to the table, and a grade over canonical positions would judge one of them only. With
it, what is graded is what is played, and "all canonical positions" means every position that can
ever occur. It costs one look-up per position, about a tenth of a microsecond.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from azfit.games import DropOldest, State, States, game_by_name
from azfit.players import Choices, Opinion, Player, Plies, draw, equal_chances
from solver.checked_files import NodeTable
from solver.errors import InputError
from solver.index import find_nodes, symmetry_of
from solver.labels import labelled
from solver.playout import Positions, cells_of
from solver.probing import Table
from solver.rules import Rules
from solver.table import DenseTable

Nodes = NDArray[np.uint64]
Transforms = NDArray[np.uint8]


# ---- the game behind a player, and its states ---------------------------------------------------


def game_of(rules: Rules) -> DropOldest:
    game = game_by_name(f"drop-{rules.n}-{rules.m}-{rules.k}")
    assert isinstance(game, DropOldest)
    return game


def drop_oldest_of(player: Player) -> DropOldest:
    """The player's game, which must be drop-oldest."""
    if not isinstance(player.game, DropOldest):
        raise InputError(
            f"{player.name} plays {player.game.name}: this needs a player of drop-oldest"
        )
    return player.game


def check_same_rules(player: Player, table: Table) -> None:
    """One line if the player's game is not the table's."""
    rules = drop_oldest_of(player).rules
    if rules != table.rules:
        raise InputError(f"{player.name} plays {rules}, the table is for {table.rules}")


def states_of(game: DropOldest, positions: Positions) -> States:
    """The states of positions, uint8 [N, state_bytes]."""
    return game.states(*positions.arrays)


def nodes_of_states(game: DropOldest, states: States) -> tuple[Nodes, Transforms]:
    """Nodes uint64 [N], and the transforms uint8 [N] that make the states canonical."""
    return find_nodes(*game.arrays(states), game.rules)


# ---- symmetry -----------------------------------------------------------------------------------


class CanonicalPlayer(Player):
    """Any player of drop-oldest, asked about the canonical image of each board."""

    canonical = True

    def __init__(self, inner: Player) -> None:
        super().__init__(inner.game, inner.name)
        self._drop_oldest = drop_oldest_of(inner)
        self.inner, self.sha256 = inner, inner.sha256
        self.sims, self.proves = inner.sims, inner.proves

    def choose(self, states: States, plies: Plies | None = None) -> Choices:
        game = self._drop_oldest
        nodes, transforms = nodes_of_states(game, states)
        choices = self.inner.choose(game.states_of_nodes(nodes), plies)
        return _carried_back(choices, transforms, game.rules)

    def choose_many(self, batches: Iterable[States]) -> Iterator[Choices]:
        game = self._drop_oldest
        asked: deque[Transforms] = deque()

        def canonical() -> Iterator[States]:
            for states in batches:
                nodes, transforms = nodes_of_states(game, states)
                asked.append(transforms)
                yield game.states_of_nodes(nodes)

        for choices in self.inner.choose_many(canonical()):
            yield _carried_back(choices, asked.popleft(), game.rules)

    def opinion(self, state: State, watch: Callable[[], object] = lambda: None) -> Opinion:
        game = self._drop_oldest
        nodes, transforms = nodes_of_states(game, state[None])
        said = self.inner.opinion(game.states_of_nodes(nodes)[0], watch)

        def shown(entries: NDArray[Any]) -> NDArray[Any]:
            row: NDArray[Any] = by_cell_shown(entries[None], transforms, game.rules)[0]
            return row

        symmetry = symmetry_of(game.rules)
        return replace(
            said,
            action=int(symmetry.image[symmetry.inverse[transforms[0]], said.action]),
            policy=shown(said.policy),
            visits=None if said.visits is None else shown(said.visits),
            means=None if said.means is None else shown(said.means),
        )


def on_canonical_boards(player: Player) -> Player:
    """The player to ask about boards that are canonical already: the same moves, sooner."""
    return player.inner if isinstance(player, CanonicalPlayer) else player


def _carried_back(choices: Choices, transforms: Transforms, rules: Rules) -> Choices:
    """Choices on canonical boards as choices on the boards they were made from."""
    symmetry = symmetry_of(rules)
    actions = symmetry.image[symmetry.inverse[transforms], choices.actions].astype(np.int32)
    chances = choices.chances
    if chances is not None:
        chances = by_cell_shown(chances, transforms, rules)
    return replace(choices, actions=actions, chances=chances)


def by_cell_shown(rows: NDArray[Any], transforms: Transforms | None, rules: Rules) -> NDArray[Any]:
    """Entries [N, cells] for the cells of canonical boards as entries for those of the boards that
    ``transforms`` made canonical; None: the boards were canonical."""
    if transforms is None:
        return rows
    return np.take_along_axis(rows, symmetry_of(rules).image[transforms].astype(np.intp), axis=1)


# ---- the table's play ---------------------------------------------------------------------------


def by_node(table: Table) -> NodeTable:
    """The table, if it is one that labels can be read from."""
    if not isinstance(table, NodeTable):
        raise InputError(
            f"{table.name} lists records: use the dense table, solved_{table.rules.name}.table"
        )
    return table


def dense(table: Table) -> DenseTable:
    """The table, if it is the dense one, for what needs plies."""
    if not by_node(table).has_plies:
        raise InputError(
            f"{table.name} has results without plies, which are not enough to play or to judge by "
            f"plies: use the dense table, solved_{table.rules.name}.table"
        )
    assert isinstance(table, DenseTable)
    return table


class TablePlayer(Player):
    """Perfect play: soonest win, draw, latest loss; the lowest of the best moves."""

    def __init__(self, table: Table, rng: np.random.Generator | None = None) -> None:
        """rng: draw one of the best moves instead of taking the lowest."""
        self._drop_oldest = game_of(table.rules)
        super().__init__(self._drop_oldest, "table")
        self._table, self._rng = dense(table), rng
        self._table.check_all()

    def choose(self, states: States, plies: Plies | None = None) -> Choices:
        nodes, transforms = nodes_of_states(self._drop_oldest, states)
        labels = labelled(self._table, nodes)
        rules = self._table.rules
        best = by_cell_shown(cells_of(labels.optimal, rules), transforms, rules)
        wdl = np.zeros((len(nodes), 3), np.float32)
        wdl[np.arange(len(nodes)), 1 - labels.result] = 1
        steps = np.maximum(labels.plies, 0).astype(np.float32)
        if self._rng is None:
            return Choices(best.argmax(axis=1).astype(np.int32), wdl, steps)
        return Choices(draw(best, self._rng), wdl, steps, chances=equal_chances(best))
