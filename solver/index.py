"""Positions up to symmetry: canonical form, the transform that gives it, and node numbers.

A node is a position seen by the side to move, up to the eight symmetries of the board
(``csrc/index.h`` has the mathematics). Slice s holds the nodes with s pieces; nodes are numbered
slice by slice. Transform t carries the piece on cell c to ``Symmetry(n).image[t, c]``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.errors import InputError
from solver.kernels import ffi, index_of, lib, pointer
from solver.rules import Position, Rules

Int8Array = NDArray[np.int8]
Uint64Array = NDArray[np.uint64]


@dataclass(frozen=True)
class Symmetry:
    """The eight symmetries of an n x n board as tables.

    ``image`` uint8 [8, n*n]; ``inverse`` uint8 [8]; ``compose`` uint8 [8, 8], where
    ``compose[s, t]`` is t first, then s.
    """

    image: NDArray[np.uint8]
    inverse: NDArray[np.uint8]
    compose: NDArray[np.uint8]

    def apply(self, transform: int, position: Position) -> Position:
        image = self.image[transform]
        return Position(
            tuple(int(image[cell]) for cell in position.x),
            tuple(int(image[cell]) for cell in position.y),
            position.to_move,
            position.rules,
        )

    def written(self, transform: int, position: Position) -> str:
        """The notation of the image, sooner than by ``apply``."""
        return position.written_with(self.image_names[transform])

    @cached_property
    def image_names(self) -> list[list[str]]:
        """[8][n*n]: the name of each cell's image."""
        names = Rules(math.isqrt(self.image.shape[1]), 2, 2).cell_names
        return [[names[cell] for cell in image] for image in self.image]


@cache
def symmetry_of(rules: Rules) -> Symmetry:
    tables = index_of(rules).symmetry
    image = np.array([[tables.image[t][c] for c in range(rules.cells)] for t in range(8)], np.uint8)
    inverse = np.array([tables.inverse[t] for t in range(8)], np.uint8)
    compose = np.array([[tables.compose[s][t] for t in range(8)] for s in range(8)], np.uint8)
    for table in (image, inverse, compose):
        table.flags.writeable = False
    return Symmetry(image, inverse, compose)


def slice_sizes(rules: Rules) -> list[int]:
    """How many nodes each slice has, s = 0 .. 2m."""
    index = index_of(rules)
    return [int(index.sequences[s]) for s in range(2 * rules.m + 1)]


def slice_bases(rules: Rules) -> list[int]:
    """The first node of each slice, and behind them the number of all nodes."""
    index = index_of(rules)
    return [int(index.slice_base[s]) for s in range(2 * rules.m + 2)]


def node_count(rules: Rules) -> int:
    return slice_bases(rules)[-1]


def position_at(x: Int8Array, y: Int8Array, to_move: Int8Array, row: int, rules: Rules) -> Position:
    """The position in one row of arrays: x and y int8 [N, m], -1 for no piece; to_move int8 [N],
    0 for X."""
    queues = [tuple(int(cell) for cell in queue[row] if cell >= 0) for queue in (x, y)]
    return Position(queues[0], queues[1], "y" if to_move[row] else "x", rules)


def check_arrays(x: Int8Array, y: Int8Array, to_move: Int8Array, rules: Rules) -> int:
    """The number of positions, once type and shape are right."""
    _check_array("to_move", to_move, np.int8, (np.size(to_move),))
    for name, array in (("x", x), ("y", y)):
        _check_array(name, array, np.int8, (len(to_move), rules.m))
    return len(to_move)


def _check_array(
    name: str, array: NDArray[Any], dtype: type[np.generic], shape: tuple[int, ...]
) -> None:
    if not isinstance(array, np.ndarray):
        given = f"of type {type(array).__name__}"
    elif array.dtype == dtype and array.shape == shape:
        return
    else:
        given = f"{array.dtype} {list(array.shape)}"
    raise InputError(f"{name} is {given}: expected an array of {np.dtype(dtype)} {list(shape)}")


def find_nodes(
    x: Int8Array, y: Int8Array, to_move: Int8Array, rules: Rules
) -> tuple[Uint64Array, NDArray[np.uint8]]:
    """Nodes (uint64 [N]) and the transforms that make the positions canonical (uint8 [N]).

    Raises InputError for a position that the rules do not have or that cannot occur.
    """
    count = check_arrays(x, y, to_move, rules)
    nodes, transforms = np.empty(count, np.uint64), np.empty(count, np.uint8)
    x, y, to_move = map(np.ascontiguousarray, (x, y, to_move))
    good = lib.ff_find_nodes(
        index_of(rules),
        pointer(x, np.int8, count * rules.m),
        pointer(y, np.int8, count * rules.m),
        pointer(to_move, np.int8, count),
        count,
        pointer(nodes, np.uint64, count),
        pointer(transforms, np.uint8, count),
    )
    if good < count:
        raise InputError(_what_is_wrong(x, y, to_move, good, rules))
    return nodes, transforms


def _what_is_wrong(x: Int8Array, y: Int8Array, to_move: Int8Array, row: int, rules: Rules) -> str:
    where = f"row {row} (x {x[row].tolist()}, y {y[row].tolist()}, to_move {to_move[row]})"
    if to_move[row] not in (0, 1):
        return f"{where}: to_move is 0 for X or 1 for Y"
    for queue in (x[row], y[row]):
        pieces = int((queue >= 0).sum())
        if (queue[:pieces] < 0).any() or (queue[pieces:] != -1).any():
            return f"{where}: a queue lists its cells oldest first, then -1 for no piece"
    try:
        position = position_at(x, y, to_move, row, rules)
    except InputError as error:
        return f"{where}: {error}"
    return f"{where}: {impossible_message(position)}"


def impossible_message(position: Position) -> str:
    return (
        f"'{position}' cannot occur: {position.to_move.upper()} is to move "
        "but has a line already, so the game was over before"
    )


def find_node(position: Position) -> tuple[int, int]:
    """The node of one position, and the transform that makes the position canonical."""
    rules = position.rules
    m = rules.m
    x = ffi.new("int8_t[]", [*position.x, *[-1] * (m - len(position.x))])
    y = ffi.new("int8_t[]", [*position.y, *[-1] * (m - len(position.y))])
    side = ffi.new("int8_t *", position.to_move == "y")
    node, transform = ffi.new("uint64_t *"), ffi.new("uint8_t *")
    if lib.ff_find_nodes(index_of(rules), x, y, side, 1, node, transform) != 1:
        raise InputError(impossible_message(position))
    return int(node[0]), int(transform[0])


def check_nodes(nodes: Uint64Array, rules: Rules) -> Uint64Array:
    """The nodes, contiguous, if they are uint64 [N] and nodes of these rules."""
    _check_array("nodes", nodes, np.uint64, (np.size(nodes),))
    if len(nodes) and int(nodes.max()) >= node_count(rules):
        raise InputError(f"node {nodes.max()}: {rules} has nodes 0 to {node_count(rules) - 1}")
    return np.ascontiguousarray(nodes)


def look_up_positions(nodes: Uint64Array, rules: Rules) -> tuple[Int8Array, Int8Array, Int8Array]:
    """The canonical positions of nodes; a full one is given with X to move."""
    nodes, count = check_nodes(nodes, rules), len(nodes)
    x, y = np.empty((count, rules.m), np.int8), np.empty((count, rules.m), np.int8)
    to_move = np.empty(count, np.int8)
    lib.ff_look_up_positions(
        index_of(rules),
        pointer(nodes, np.uint64, count),
        count,
        pointer(x, np.int8, count),
        pointer(y, np.int8, count),
        pointer(to_move, np.int8, count),
    )
    return x, y, to_move


def look_up_codes(nodes: Uint64Array, rules: Rules) -> Uint64Array:
    """The state codes of nodes, uint64 [N]."""
    nodes = check_nodes(nodes, rules)
    codes = np.empty(len(nodes), np.uint64)
    lib.ff_look_up_codes(
        index_of(rules),
        pointer(nodes, np.uint64, len(nodes)),
        len(nodes),
        pointer(codes, np.uint64, len(nodes)),
    )
    return codes


def position_of(node: int, rules: Rules) -> Position:
    x, y, to_move = look_up_positions(np.array([node], np.uint64), rules)
    return position_at(x, y, to_move, 0, rules)


def canonicalise(position: Position) -> tuple[Position, int]:
    """The canonical position, and the transform t with ``t . position = canonical``.

    Colours stay as they are: a full position with Y to move becomes canonical as seen by Y.
    """
    _, transform = find_node(position)
    return symmetry_of(position.rules).apply(transform, position), transform
