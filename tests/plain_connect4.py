"""Connect Four scored by plain negamax, without bitboards, windows or tables of bounds.

What tests hold the solver against. Rules come from ``plain_games``; nothing is imported from the
product. Only for positions with few empty cells: about 10 take a fraction of a second.

    python tests/plain_connect4.py > tests/connect4_positions.txt

makes the positions that tests start from, in lines of MOVES SCORE.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from plain_games import DRAWN, GOING_ON, MOVER_WON, PlainConnect4

GAME = PlainConnect4()
POSITIONS = Path(__file__).with_name("connect4_positions.txt")


def state_of(columns: list[int]) -> Any:
    """The board after these columns, 1 to 7."""
    state = GAME.start()
    for column in columns:
        state = GAME.play(state, column - 1)
    return state


def plain_score(state: Any, known: dict[Any, int]) -> int:
    """22 minus the winner's stones at the end, negative for a loss, 0 for a draw."""
    if state not in known:
        result = GAME.result(state)
        stones = sum(1 for piece in state if piece)
        if result == MOVER_WON:
            known[state] = -(22 - (stones + 1) // 2)
        elif result == DRAWN:
            known[state] = 0
        else:
            known[state] = max(
                -plain_score(GAME.play(state, column), known) for column in GAME.legal(state)
            )
    return known[state]


def wins_at_once(state: Any) -> bool:
    return any(GAME.result(GAME.play(state, c)) == MOVER_WON for c in GAME.legal(state))


def random_game(draw: random.Random, plies: int) -> list[int]:
    """Columns of a random game after which play goes on and no side can win at once.

    Players take no win and leave none, where they can; careless games seldom last so long, and
    end in positions that need no search.
    """
    while True:
        state, columns = GAME.start(), []
        while len(columns) < plies:
            after = {c: GAME.play(state, c) for c in GAME.legal(state)}
            quiet = [
                c for c, s in after.items() if GAME.result(s) == GOING_ON and not wins_at_once(s)
            ]
            if not quiet:
                break
            column = draw.choice(quiet)
            state = after[column]
            columns.append(column + 1)
        if len(columns) == plies:
            return columns


def scored_games() -> list[tuple[list[int], int]]:
    """The games of ``connect4_positions.txt`` with their scores."""
    lines = [line.split() for line in POSITIONS.read_text().splitlines()]
    return [([int(column) for column in moves], int(score)) for moves, score in lines]


if __name__ == "__main__":
    draw = random.Random(1)
    for number in range(120):
        game = random_game(draw, 42 - (2 + number % 10))
        print("".join(map(str, game)), plain_score(state_of(game), {}))
