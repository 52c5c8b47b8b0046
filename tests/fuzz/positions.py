"""The position parsers: drop-oldest of several sizes, Connect Four, Gomoku, and names of cells.

What is parsed prints as text that parses to the same; its pieces are where the text says, and the
games that search plays agree about who is to move and whether it is over.
"""

from __future__ import annotations

import re

from azfit.games import GOMOKU_SIZES, Connect4, Game, Gomoku, Result
from fuzz.untrusted import Input, refused
from solver import FadefourError, Position, Rules
from solver.connect4 import Connect4Position
from solver.gomoku import GomokuPosition

VARIANTS = [Rules(), Rules(3, 3, 3), Rules(3, 2, 2), Rules(5, 5, 5), Rules(4, 5, 3)]
CONNECT4 = Connect4()
GOMOKU = {size: Gomoku(size) for size in GOMOKU_SIZES}
SIZES = [5, 6, *GOMOKU_SIZES]  # those that nobody trains for have no kernel


def check(data: bytes) -> bool:
    source = Input(data)
    choice = source.byte()
    text = source.rest().decode("utf-8", "surrogateescape")
    if choice % 4 == 3:
        return check_connect4(text)
    if choice % 4 == 1:
        return check_gomoku(text, SIZES[choice // 4 % len(SIZES)])
    return check_drop_oldest(text, VARIANTS[choice // 4 % len(VARIANTS)])


def check_drop_oldest(text: str, rules: Rules) -> bool:
    try:
        position = Position.parse(text, rules)
    except FadefourError as error:
        return refused(error)
    shown = str(position)
    assert Position.parse(shown, rules) == position and str(Position.parse(shown, rules)) == shown
    typed = re.sub("(?<=[a-z])0+", "", " ".join(text.lower().split()))  # a01 is read as a1
    assert shown == typed, "not what was typed"
    x, y = (queue.replace("-", "") for queue in shown.split(maxsplit=1)[0].split("/"))
    assert len(x) == 2 * len(position.x) and len(y) == 2 * len(position.y)
    assert len({*position.x, *position.y}) == len(position.x) + len(position.y)
    moves = position.legal_moves()
    for move in moves:
        assert position.play(rules.cell_name(move)) == position.play(move)
    try:
        position.play(text[:4])
    except FadefourError as error:
        refused(error)
    return True


def check_connect4(text: str) -> bool:
    try:
        position = Connect4Position.parse(text)
    except FadefourError as error:
        return refused(error)
    shown = str(position)
    assert Connect4Position.parse(shown) == position and shown == (text.strip() or "-")
    assert position.plies == position.stones.bit_count()
    for column in position.legal_moves():
        assert Connect4Position.parse(str(position.play(column))).plies == position.plies + 1
    assert_played_alike(CONNECT4, position)
    return True


def check_gomoku(text: str, size: int) -> bool:
    try:
        position = GomokuPosition.parse(text, size)
    except FadefourError as error:
        return refused(error)
    shown = str(position)
    assert GomokuPosition.parse(shown, size) == position
    words = [] if text.strip() == "-" else text.lower().split()
    assert shown == (" ".join(re.sub("(?<=[a-z])0", "", word) for word in words) or "-")
    assert len(set(position.moves)) == len(position.moves) == len(words)
    assert abs(position.cells).sum() == len(words)
    moves = position.legal_moves()
    assert len(moves) in (size**2 - len(words), 0) and not set(moves) & set(position.moves)
    if moves:
        after = position.play(moves[len(text) % len(moves)])
        assert GomokuPosition.parse(str(after), size) == after
    if size in GOMOKU:
        assert_played_alike(GOMOKU[size], position)
    return True


def assert_played_alike(game: Game, position: Connect4Position | GomokuPosition) -> None:
    """The kernel agrees; it knows where the pieces are, not how they came there."""
    state = game.state(position)
    ending = Result.DRAWN if position.is_over else Result.GOING_ON
    assert game.result(state) == (Result.MOVER_WON if position.is_won else ending)
    assert game.to_move(state) == position.to_move
    assert len(game.legal_moves(state)) == len(position.legal_moves())


def seeds() -> list[bytes]:
    drop = [*("-/- x", "a1/- y", "a1b2c3d4/a2a3b4 y", " A1B2/c3 Y "), "a1b1c1d1/a2b2c2d2 x"]
    connect4 = ["", "-", "44433", "1212121", "444444"]
    gomoku = ["-", "c3", "A1 b2 e5", "a1 b1 a2 b2 a3 b3 a4 b4 a5", "a1\tb01", "a1 a1", "s19 s1"]
    return [
        *(bytes([0]) + text.encode() for text in drop),
        *(bytes([3]) + text.encode() for text in connect4),
        *(bytes([1 + 4 * size]) + text.encode() for size in (0, 2, 6) for text in gomoku),
    ]
