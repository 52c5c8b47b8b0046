"""Random openings: for matches, where each is played from both sides, and for self-play."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from azfit.games import Game, Result
from solver.errors import InputError

# After this many draws without a new opening, none is assumed to be left: of n equally likely
# openings, one stays unseen in 20 n draws with probability e^-20.
TRIES_IN_VAIN, TRIES_AN_OPENING = 200, 20

Opening: TypeAlias = tuple[int, ...]


def random_opening(game: Game, plies: int, random: np.random.Generator) -> Opening | None:
    """This many random moves; None if they end the game."""
    state, opening = game.start(), []
    for _ in range(plies):
        action = int(random.choice(game.legal_moves(state)))
        state = game.play(state, action)
        opening.append(action)
        if game.result(state) != Result.GOING_ON:
            return None
    return tuple(opening)


def random_openings(
    game: Game, count: int, plies: int, random: np.random.Generator
) -> list[Opening]:
    """Openings that do not end the game, no two of them equal up to symmetry: the same players
    would play the same games again. Fewer than ``count`` if there are no more."""
    openings: dict[Opening, Opening] = {}
    in_vain = 0
    while len(openings) < count and in_vain < TRIES_IN_VAIN + TRIES_AN_OPENING * len(openings):
        opening = random_opening(game, plies, random)
        in_vain += 1
        if opening is not None and (kind := up_to_symmetry(game, opening)) not in openings:
            openings[kind], in_vain = opening, 0
    if not openings:
        raise InputError(f"opening_plies={plies}: random games of {game.name} end before that")
    return list(openings.values())


def up_to_symmetry(game: Game, opening: Opening) -> Opening:
    """The least of the opening's images."""
    return min(tuple(int(image[action]) for action in opening) for image in game.action_image)


def varied_opening(game: Game, most: int, random: np.random.Generator) -> Opening:
    """0 to ``most`` random moves; where they end the game, their number is drawn again too."""
    while True:
        opening = random_opening(game, int(random.integers(most + 1)), random)
        if opening is not None:
            return opening
