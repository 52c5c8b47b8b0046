"""Does a player win its won positions against every defence, or can it be made to run in circles?

The player's moves are fixed in all won canonical positions. A move either ends the game, or gives
the win away, or leaves the opponent in a lost position, every reply to which is a won position
again. That is a graph over the won positions. A position converts if all its paths end in a win;
how many plies that takes at most is its longest path. What does not convert can be led to a
position where the player lets the win go, or round in circles for ever, or both.

Positions are taken by rising depth: a move that makes progress leads to positions which are
settled already, so only moves that dawdle leave edges to be kept, and a perfect player none.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import tee
from typing import Any

import numpy as np
from numpy.typing import NDArray

from azfit.drop_oldest_players import check_same_rules, dense, game_of, on_canonical_boards
from azfit.players import Player, PlayerInfo
from solver.errors import InputError
from solver.index import find_nodes, look_up_positions, position_of
from solver.playout import Positions, is_won, play, successors
from solver.probing import Table
from solver.progress import Progress, Silent
from solver.rules import Position, Rules
from solver.table import DenseTable
from solver.values import IMPOSSIBLE

Nodes = NDArray[np.uint64]
Edges = tuple[NDArray[np.int64], NDArray[np.int64]]
"""From and to: nodes, both int64 [E]."""

AT_A_TIME = 1 << 15
NOT_YET, CONVERTS, LEAVES = 0, 1, 2


@dataclass(frozen=True)
class Conversion:
    """How the won positions end against the best possible defence."""

    player: PlayerInfo
    rules: Rules
    won: int
    converts: int
    leaves_at_once: int
    """The move itself gives the win away."""
    can_be_led_out: int
    """The move keeps the win, but replies lead to a position where the player gives it away."""
    can_cycle: int
    """Replies can continue for ever without the player winning."""
    only_cycle: int
    """Of these, the ones that cannot be led out: never lost, never won."""
    longest: int
    """Plies of the longest conversion."""
    longest_position: Position | None
    cycling_position: Position | None
    """One from which the opponent can keep playing for ever."""
    plies: NDArray[np.uint16]
    """uint16 [nodes]: plies until the win at the latest, 0 where the position does not convert."""
    seconds: float

    @property
    def start_plies(self) -> int:
        """Plies in which it wins from the start at the latest; 0 if it does not."""
        return int(self.plies[0])  # the empty board is node 0

    def __str__(self) -> str:
        counts = (
            f"of {self.won:,} won positions {self.converts:,} are won against every defence, in at "
            f"most {self.longest} plies; {self.leaves_at_once:,} are given away at once, "
            f"{self.can_be_led_out:,} can be led out of the win, {self.only_cycle:,} can only be "
            "led in circles"
        )
        if not self.start_plies:
            return counts
        return (
            f"{counts}\nwon from the start: as X it wins against every defence, in at most "
            f"{self.start_plies} plies"
        )

    def to_dict(self) -> dict[str, Any]:
        counts = ("won", "converts", "leaves_at_once", "can_be_led_out", "can_cycle", "only_cycle")
        examples = {
            name: None if getattr(self, name) is None else str(getattr(self, name))
            for name in ("longest_position", "cycling_position")
        }
        return {
            **self.player.to_dict(),
            "rules": self.rules.tag,
            **{name: getattr(self, name) for name in counts},
            "longest_plies": self.longest,
            "start_plies": self.start_plies,
            **examples,
            "seconds": round(self.seconds, 3),
        }


def won_nodes(table: DenseTable) -> Iterator[Nodes]:
    """The won nodes by rising depth, in batches."""
    counts = np.bincount(table.bytes, minlength=256)
    for value in range(2, IMPOSSIBLE, 2):
        if counts[value]:
            nodes = np.flatnonzero(table.bytes == value).astype(np.uint64)
            for first in range(0, len(nodes), AT_A_TIME):
                yield nodes[first : first + AT_A_TIME]


class _Graph:
    """States of the won nodes, and the edges that could not be settled when they were met."""

    def __init__(self, table: DenseTable) -> None:
        self._table = table
        self.state = np.zeros(len(table.bytes), np.uint8)
        self.plies = np.zeros(len(table.bytes), np.uint16)
        self._open: list[Edges] = []

    def add(self, nodes: Nodes, boards: Positions, moves: NDArray[np.int8]) -> None:
        """The player's moves in these nodes, on their canonical boards."""
        rules, at = self._table.rules, nodes.astype(np.int64)
        after = play(boards, moves)
        done = is_won(after)
        self.state[at[done]], self.plies[at[done]] = CONVERTS, 1
        going_on = np.flatnonzero(~done)
        after = after.take(going_on)
        reached, _ = find_nodes(*after.arrays, rules)
        lost = self._table.bytes[reached] % 2 == 1  # for the opponent, who is to move
        self.state[at[going_on[~lost]]] = LEAVES
        kept = at[going_on[lost]]
        replies = successors(after.take(lost))
        targets, _ = find_nodes(*replies.positions.arrays, rules)
        self._add_edges(kept, kept[replies.parent], targets.astype(np.int64))

    def _add_edges(self, kept: NDArray[np.int64], source: Any, target: Any) -> None:
        is_open = self.state[target] != CONVERTS
        self._deepen(source[~is_open], target[~is_open])
        waiting = np.unique(source[is_open])
        settled = kept[~np.isin(kept, waiting)]
        self.state[settled] = CONVERTS
        self._open.append((source[is_open], target[is_open]))

    def _deepen(self, source: NDArray[np.int64], target: NDArray[np.int64]) -> None:
        """A path through a converting target takes two plies more than the target."""
        np.maximum.at(self.plies, source, self.plies[target] + np.uint16(2))

    def settle(self) -> Edges:
        """Settles what follows from what is settled, to the end; returns the edges left over."""
        source = np.concatenate([np.empty(0, np.int64), *(edges[0] for edges in self._open)])
        target = np.concatenate([np.empty(0, np.int64), *(edges[1] for edges in self._open)])
        self._open = []
        while len(source):
            known = self.state[target] == CONVERTS
            if not known.any():
                break
            self._deepen(source[known], target[known])
            before, source, target = source[known], source[~known], target[~known]
            settled = np.setdiff1d(before, source)
            self.state[settled] = CONVERTS
        self.plies[self.state != CONVERTS] = 0
        return source, target


def _that_end(state: NDArray[np.uint8], edges: Edges) -> NDArray[np.bool_]:
    """The nodes whose every path ends, in a win or by leaving it; bool [nodes]."""
    source, target = edges
    ends = np.asarray(state != NOT_YET)
    while len(source):
        held = ~ends[target]
        settled = np.setdiff1d(source, source[held])
        if not len(settled):
            break
        ends[settled] = True
        source, target = source[held], target[held]
    return ends


def _led_out(state: NDArray[np.uint8], edges: Edges) -> NDArray[np.bool_]:
    """The nodes from which a path leads to one where the win is given away, itself included."""
    source, target = edges
    out = np.asarray(state == LEAVES)
    while True:
        new = source[out[target] & ~out[source]]
        if not len(new):
            return out
        out[new] = True


def conversion(player: Player, table: Table, *, progress: Progress | None = None) -> Conversion:
    """Follows every defence from every won position; the player must be canonical."""
    exact, report, began = dense(table), progress or Silent(), time.monotonic()
    check_same_rules(player, table)
    if not player.canonical:
        raise InputError(
            f"{player.name} treats symmetric boards differently: conversion is worked out for "
            "canonical positions, so use a canonical player"
        )
    exact.check_all()
    game, asked = game_of(table.rules), on_canonical_boards(player)
    graph, done = _Graph(exact), 0
    won = int(np.isin(exact.bytes, np.arange(2, IMPOSSIBLE, 2, dtype=np.uint8)).sum())
    report.begin("conversion", won, "position")
    batches, states = tee(won_nodes(exact))
    answers = asked.choose_many(game.states_of_nodes(nodes) for nodes in states)
    for nodes, choices in zip(batches, answers, strict=True):
        boards = Positions.from_arrays(table.rules, *look_up_positions(nodes, table.rules))
        if choices.chances is not None:
            raise InputError(f"{player.name} draws its moves: only fixed moves convert")
        graph.add(nodes, boards, choices.actions.astype(np.int8))
        done += len(nodes)
        report.reach(done)
    result = _conversion(player, exact, graph, won, began)
    report.end(f"{result.converts:,} of {won:,} convert")
    return result


def _conversion(
    player: Player, table: DenseTable, graph: _Graph, won: int, began: float
) -> Conversion:
    edges = graph.settle()
    is_source = np.zeros(len(graph.state), np.bool_)
    is_source[edges[0]] = True
    cycles = is_source & ~_that_end(graph.state, edges)
    out = _led_out(graph.state, edges)
    leaves = int((graph.state == LEAVES).sum())
    longest = int(graph.plies.max())
    slowest = (graph.plies == longest) & (graph.plies > 0)
    examples = [np.flatnonzero(kind)[:1] for kind in (slowest, cycles)]
    shown = [position_of(int(node[0]), table.rules) if len(node) else None for node in examples]
    return Conversion(
        player.info,
        table.rules,
        won,
        converts=int((graph.state == CONVERTS).sum()),
        leaves_at_once=leaves,
        can_be_led_out=int(out.sum()) - leaves,
        can_cycle=int(cycles.sum()),
        only_cycle=int((cycles & ~out).sum()),
        longest=longest,
        longest_position=shown[0],
        cycling_position=shown[1],
        plies=graph.plies,
        seconds=time.monotonic() - began,
    )
