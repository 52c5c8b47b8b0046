"""The games: drop-oldest D(n, m, k), Connect Four, Gomoku; rules and features live in C.

A state is uint8 [state_bytes], an opaque value of the game; states of one game are equal
positions exactly if their bytes are equal. Many states are uint8 [count, state_bytes].
Values and planes speak for the side to move. ``csrc/game.h`` states what every game promises.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from azfit.kernels import checked, ffi, index_of, lib, pointer
from solver.connect4 import COLUMN_BITS, Connect4Position, Connect4Stones
from solver.errors import InputError
from solver.gomoku import GomokuPosition
from solver.index import check_arrays, check_nodes
from solver.rules import Position, Rules
from solver.wording import quoted

State: TypeAlias = NDArray[np.uint8]
"""uint8 [state_bytes]."""

States: TypeAlias = NDArray[np.uint8]
"""uint8 [count, state_bytes]."""

Cells: TypeAlias = NDArray[np.int8]

GOMOKU_SIZES = (9, 11, 13, 15, 19)


class Result(enum.IntEnum):
    """The result of a state."""

    GOING_ON = 0
    MOVER_WON = 1
    """The player who moved last has won; the side to move has lost."""
    DRAWN = 2


class Game:
    """A game behind the C interface. Use ``DropOldest``, ``Connect4``, ``Gomoku``."""

    _threats: tuple[str, ...] = ()
    """What the planes after the pieces show, each for both sides."""

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel
        """The C game, ``ff_game *``; constant, and shared by all searches."""
        self.name: str = ffi.string(kernel.name).decode()
        self.actions: int = kernel.actions
        self.state_bytes: int = kernel.state_bytes
        self.code_length: int = kernel.code_length
        self.rows: int = kernel.rows
        self.columns: int = kernel.columns
        self.plane_shape: tuple[int, int, int] = (kernel.planes, kernel.rows, kernel.columns)
        self.stone_planes: int = kernel.stone_planes
        """Planes that show the pieces, the first ones; those after them show threats."""
        self.symmetries: int = kernel.symmetries
        self.max_plies: int = kernel.max_plies
        """The default ply cap: a game that reaches it counts as a draw."""
        self.typical_moves: int = kernel.typical_moves
        """Legal moves in the middle of a game; Dirichlet's alpha is 10 / typical_moves."""
        self.cell_image = self._images(kernel.cell_image, self.rows * self.columns)
        """intp [symmetries, cells]: transform t carries cell c to cell_image[t, c]."""
        self.action_image = self._images(kernel.action_image, self.actions)
        """intp [symmetries, actions]: and action a to action_image[t, a]."""

    def _images(self, table: Any, width: int) -> NDArray[np.intp]:
        rows = [[table[t][i] for i in range(width)] for t in range(self.symmetries)]
        images = np.array(rows, dtype=np.intp)
        images.flags.writeable = False
        return images

    def __repr__(self) -> str:
        return f"game_by_name({self.name!r})"

    def __reduce__(self) -> tuple[Callable[[str], Game], tuple[str]]:
        """A copy, in this process or another, is the game of the same name."""
        return game_by_name, (self.name,)

    @property
    def plane_names(self) -> list[str]:
        """What each plane of ``planes`` shows."""
        shown = ["stones", *self._threats]
        return [f"the {owner}'s {what}" for what in shown for owner in ("mover", "opponent")]

    # ---- one state --------------------------------------------------------------

    def start(self) -> State:
        """The state before the first move, uint8 [state_bytes]."""
        state = np.zeros(self.state_bytes, dtype=np.uint8)
        self.kernel.start(self.kernel, pointer(state))
        return state

    def state(self, position: Any) -> State:
        """The state of a position as people write it in this game, uint8 [state_bytes]."""
        raise InputError(f"{self.name} does not know {position!r}: give a state")

    def legal_moves(self, state: State) -> list[int]:
        """The legal actions in rising order; none once the game is over."""
        return [int(action) for action in np.flatnonzero(self.legal_masks(self._single(state))[0])]

    def play(self, state: State, action: int) -> State:
        """The state after this action, as a new array."""
        after, _ = self.play_many(self._single(state), np.array([action], dtype=np.int32))
        played: State = after[0]
        return played

    def result(self, state: State) -> Result:
        """Whether play goes on, the last mover has won, or it is a draw."""
        return Result(int(self.results(self._single(state))[0]))

    def to_move(self, state: State) -> int:
        """0 for the first player (X), 1 for the second."""
        return int(self.sides(self._single(state))[0])

    def play_all(self, actions: Iterable[int], state: State | None = None) -> State:
        """The state after these actions, from the start or from ``state``."""
        reached = self.start() if state is None else state
        for action in actions:
            reached = self.play(reached, action)
        return reached

    def _single(self, state: State) -> States:
        return checked(state, np.uint8, (self.state_bytes,), "state")[None]

    # ---- many states ------------------------------------------------------------

    def check_states(self, states: States, count: int | None = None) -> States:
        """The states as the kernels read them: contiguous, on an address divisible by 8.

        Raises InputError if one of them is not a state of this game: the kernels trust the
        states that they are given.
        """
        states = checked(states, np.uint8, (count, self.state_bytes), "states")
        if states.ctypes.data % 8:
            states = states.copy()
        good = lib.ff_check_states(self.kernel, pointer(states), len(states))
        if good < len(states):
            raise InputError(
                f"states[{good}] is not a state of {self.name}: its bytes are damaged or belong to "
                "another game"
            )
        return states

    def legal_masks(self, states: States) -> NDArray[np.bool_]:
        """bool [count, actions]: which actions are legal."""
        states = self.check_states(states)
        masks = np.empty((len(states), self.actions), dtype=np.uint8)
        lib.ff_legal_masks(self.kernel, pointer(states), len(states), pointer(masks))
        return masks.view(np.bool_)

    def results(self, states: States) -> NDArray[np.int8]:
        """int8 [count], the values of ``Result``."""
        states = self.check_states(states)
        results = np.empty(len(states), dtype=np.int8)
        lib.ff_results(self.kernel, pointer(states), len(states), pointer(results))
        return results

    def sides(self, states: States) -> NDArray[np.int8]:
        """int8 [count]: the side to move, 0 or 1."""
        states = self.check_states(states)
        sides = np.empty(len(states), dtype=np.int8)
        lib.ff_sides(self.kernel, pointer(states), len(states), pointer(sides))
        return sides

    def play_many(
        self, states: States, actions: NDArray[np.int32]
    ) -> tuple[States, NDArray[np.int8]]:
        """Plays one action (int32 [count]) in each state: new states, and their results."""
        after = self.check_states(states).copy()
        actions = checked(actions, np.int32, (len(after),), "actions")
        results = np.empty(len(after), dtype=np.int8)
        played = lib.ff_play_actions(
            self.kernel, pointer(after), pointer(actions), len(after), pointer(results)
        )
        if played < len(after):
            legal = [self.action_name(a) for a in self.legal_moves(after[played])]
            listed = "legal are " + " ".join(legal) if legal else "the game is over"
            raise InputError(f"{self._described(int(actions[played]))} is not legal here: {listed}")
        return after, results

    def planes(
        self, states: States, transforms: NDArray[np.uint8] | None = None
    ) -> NDArray[np.float32]:
        """Features float32 [count, planes, rows, columns], for the side to move.

        transforms: uint8 [count], the symmetry that carries each board; the policy goes with
        ``carry_policy``.
        """
        states = self.check_states(states)
        planes = np.empty((len(states), *self.plane_shape), dtype=np.float32)
        carried = ffi.NULL
        if transforms is not None:
            transforms = checked(transforms, np.uint8, (len(states),), "transforms")
            if len(transforms) and int(transforms.max()) >= self.symmetries:
                raise ValueError(
                    f"transform {transforms.max()}: {self.name} has 0 to {self.symmetries - 1}"
                )
            carried = pointer(transforms)
        lib.ff_fill_planes(self.kernel, pointer(states), len(states), carried, pointer(planes))
        return planes

    def planes_seen_by(self, side: int, state: State) -> NDArray[np.float32]:
        """Features float32 [planes, rows, columns] with the pieces of ``side`` first, whoever is to
        move; for the side to move they are those of ``planes``."""
        planes: NDArray[np.float32] = self.planes(self._single(state))[0]
        if side == self.to_move(state):
            return planes
        # Pieces by owner; threats in pairs, the mover's and the opponent's.
        pieces, threats = np.split(planes, [self.stone_planes])
        exchanged = threats.reshape(-1, 2, self.rows, self.columns)[:, ::-1]
        pieces = np.roll(pieces, len(pieces) // 2, axis=0)
        return np.concatenate([pieces, exchanged.reshape(threats.shape)])

    def carry_policy(self, policy: NDArray[Any], transforms: NDArray[np.uint8]) -> NDArray[Any]:
        """Policies [count, actions], each carried by its transform (uint8 [count])."""
        carried = np.empty_like(policy)
        np.put_along_axis(carried, self.action_image[transforms], policy, axis=1)
        return carried

    # ---- codes ------------------------------------------------------------------

    def encode(self, states: States) -> NDArray[np.int8]:
        """Portable codes int8 [count, code_length]; csrc/game.h gives each game's layout."""
        states = self.check_states(states)
        codes = np.empty((len(states), self.code_length), dtype=np.int8)
        lib.ff_encode_states(self.kernel, pointer(states), len(states), pointer(codes))
        return codes

    def decode(self, codes: NDArray[np.int8]) -> States:
        """The states of these codes (int8 [count, code_length])."""
        codes = checked(codes, np.int8, (None, self.code_length), "codes")
        states = np.zeros((len(codes), self.state_bytes), dtype=np.uint8)
        built = lib.ff_decode_states(self.kernel, pointer(codes), len(codes), pointer(states))
        if built < len(codes):
            raise InputError(f"code {codes[built].tolist()} is not a position of {self.name}")
        return states

    # ---- names ------------------------------------------------------------------

    def action_name(self, action: int) -> str:
        """What people call this action: a cell such as ``c2``, or a column."""
        if not 0 <= action < self.actions:
            raise InputError(f"action {action}: {self.name} has 0 to {self.actions - 1}")
        return self._name(action)

    def _name(self, action: int) -> str:
        return f"{chr(ord('a') + action % self.columns)}{action // self.columns + 1}"

    def action(self, name: str) -> int:
        """The action of this name."""
        for action in range(self.actions):
            if self._name(action) == name.strip().lower():
                return action
        first, last = self._name(0), self._name(self.actions - 1)
        raise InputError(f"move {name!r}: moves of {self.name} are {first} to {last}")

    def _described(self, action: int) -> str:
        return self._name(action) if 0 <= action < self.actions else f"action {action}"


class DropOldest(Game):
    """Drop-oldest tic-tac-toe D(n, m, k); an action is a cell, ``a1`` = 0."""

    def __init__(self, n: int = 4, m: int = 4, k: int = 4) -> None:
        self.rules = Rules(n, m, k)
        kernel = ffi.new("ff_game *")
        if lib.ff_drop_oldest_init(kernel, n, m, k) != lib.FF_OK:
            raise InputError(f"{self.rules}: the kernels refuse these rules")
        super().__init__(kernel)

    @property
    def plane_names(self) -> list[str]:
        return [
            f"the {owner}'s piece that leaves with the {owner}'s move {number} from now"
            for owner in ("mover", "opponent")
            for number in range(1, self.rules.m + 1)
        ]

    def state(self, position: Position) -> State:
        """The state of a position, uint8 [state_bytes]."""
        if not isinstance(position, Position):
            raise InputError(f"{position!r} is not a position of drop-oldest")
        if position.rules != self.rules:
            raise InputError(f"'{position}' is of {position.rules}, not of {self.rules}")
        m = self.rules.m
        code = np.full((1, self.code_length), -1, dtype=np.int8)
        code[0, : len(position.x)] = position.x
        code[0, m : m + len(position.y)] = position.y
        code[0, 2 * m] = "xy".index(position.to_move)
        if position.is_impossible:
            raise InputError(f"'{position}' cannot occur: the side to move has a line already")
        state: State = self.decode(code)[0]
        return state

    def states(self, x: Cells, y: Cells, to_move: Cells) -> States:
        """The states of positions: x, y int8 [count, m] (-1 for no piece), to_move int8 [count]."""
        count = check_arrays(x, y, to_move, self.rules)
        return self.decode(np.concatenate([x, y, to_move.reshape(count, 1)], axis=1))

    def arrays(self, states: States) -> tuple[Cells, Cells, Cells]:
        """The positions of states, as ``states`` takes them."""
        codes, m = self.encode(states), self.rules.m
        return codes[:, :m].copy(), codes[:, m : 2 * m].copy(), codes[:, 2 * m].copy()

    def states_of_nodes(self, nodes: NDArray[np.uint64]) -> States:
        """The states of canonical positions, by node (uint64 [count]); full ones, X to move."""
        nodes = check_nodes(nodes, self.rules)
        states = np.empty((len(nodes), self.state_bytes), dtype=np.uint8)
        built = lib.ff_drop_oldest_states(
            self.kernel, index_of(self.rules), pointer(nodes), len(nodes), pointer(states)
        )
        if built < len(nodes):
            raise InputError(
                f"node {nodes[built]} of {self.rules} cannot occur: the side to move has a line"
            )
        return states

    def position(self, state: State) -> Position:
        """The position of a state, for its notation and for the table."""
        m = self.rules.m
        code = self.encode(self._single(state))[0].tolist()
        x, y = ([cell for cell in queue if cell >= 0] for queue in (code[:m], code[m : 2 * m]))
        return Position(tuple(x), tuple(y), "y" if code[2 * m] else "x", self.rules)


class Connect4(Game):
    """Connect Four, 7 columns of 6; an action is a column, called ``1`` to ``7``."""

    _threats = ("cells that would complete four",)

    def __init__(self) -> None:
        kernel = ffi.new("ff_game *")
        lib.ff_connect4_init(kernel)
        super().__init__(kernel)

    def state(self, position: Connect4Position) -> State:
        """The state of a position, uint8 [state_bytes]; column 1 is action 0."""
        if not isinstance(position, Connect4Position):
            raise InputError(f"{position!r} is not a position of Connect Four")
        code = np.zeros((1, self.code_length), dtype=np.int8)
        for ply, column in enumerate(position.columns):
            row = position.columns[:ply].count(column)
            code[0, row * self.columns + column - 1] = -1 if ply % 2 else 1
        code[0, -1] = position.to_move
        state: State = self.decode(code)[0]
        return state

    def stones(self, state: State) -> Connect4Stones:
        """The stones of a state, for the solver."""
        code = self.encode(self._single(state))[0]
        cells, side = code[:-1], int(code[-1])
        first, second = (_bitboard(cells == owner) for owner in (1, -1))
        return Connect4Stones(second if side else first, first | second)

    def _name(self, action: int) -> str:
        return str(action + 1)


def _bitboard(cells: NDArray[np.bool_]) -> int:
    """Cells by row * 7 + column as the solver numbers them: column * 7 + row."""
    occupied = np.flatnonzero(cells).tolist()
    return sum(1 << (cell % 7 * COLUMN_BITS + cell // 7) for cell in occupied)


class Gomoku(Game):
    """Free-style Gomoku, five or more in a row win; an action is a cell, ``a1`` = 0."""

    _threats = ("cells that would complete five", "cells that would make a four")

    def __init__(self, size: int = 15) -> None:
        kernel = ffi.new("ff_game *")
        if size not in GOMOKU_SIZES or lib.ff_gomoku_init(kernel, size) != lib.FF_OK:
            sizes = ", ".join(map(str, GOMOKU_SIZES))
            raise InputError(f"Gomoku on {size} lines: use one of {sizes}")
        super().__init__(kernel)

    def state(self, position: GomokuPosition) -> State:
        """The state of a position on a board of this size, uint8 [state_bytes]."""
        if not isinstance(position, GomokuPosition) or position.size != self.rows:
            raise InputError(f"{position!r} is not a position of {self.name}")
        code = np.append(position.cells, np.int8(position.to_move))
        state: State = self.decode(code[None])[0]
        return state


@cache
def game_by_name(name: str) -> Game:
    """The game of this identifier: ``drop-4-4-4`` (n, m, k), ``connect4``, ``gomoku-15``."""
    if drop := re.fullmatch(f"drop-{_NUMBER}-{_NUMBER}-{_NUMBER}", name):
        return DropOldest(*map(int, drop.groups()))
    if name == "connect4":
        return Connect4()
    if gomoku := re.fullmatch(f"gomoku-{_NUMBER}", name):
        return Gomoku(int(gomoku[1]))
    raise InputError(f"game {quoted(name)}: use drop-N-M-K, connect4 or gomoku-SIZE")


_NUMBER = "(0|[1-9][0-9]{0,8})"  # one spelling for each: a game has one name

GAME_NUMBERS = ("n", "m", "k", "size")


def full_name(game: Any, numbers: dict[str, int]) -> Any:
    """ "drop" with n, m, k, or "gomoku" with size, as ``game_by_name`` takes it. Without a name the
    game is drop-oldest."""
    if game in (None, "drop") and "size" not in numbers:
        n, m = numbers.get("n", 4), numbers.get("m", 4)
        return f"drop-{n}-{m}-{numbers.get('k', n)}"
    if game == "gomoku" and not numbers.keys() - {"size"}:
        return f"gomoku-{numbers.get('size', 15)}"
    if numbers:
        given = ", ".join(f"{name}={value}" for name, value in numbers.items())
        raise InputError(f"{given}: n, m and k are for drop, size is for gomoku")
    return game
