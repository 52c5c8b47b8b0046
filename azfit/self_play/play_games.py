"""Games that a network plays against itself, many trees side by side.

Game number g of iteration i draws from its own seed, (seed, i, g): how it goes depends on the
network and on nothing else, whichever worker plays it, alongside whichever others (sums in another
order may round differently, as always with floats).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from azfit.games import Game, Result
from azfit.playing.openings import Opening, varied_opening
from azfit.search import Evaluator, Search
from azfit.search_config import SearchConfig
from azfit.self_play.episode import DRAWN, Episode


def game_seed(seed: int, iteration: int, number: int) -> int:
    """The seed of a game's tree, uint64."""
    return int(np.random.SeedSequence([seed, iteration, number]).generate_state(1, np.uint64)[0])


def as_uint16(visits: NDArray[np.uint32]) -> NDArray[np.uint16]:
    """Visits of a root; where they are too many for 16 bits, all are scaled down alike."""
    most = np.iinfo(np.uint16).max
    if visits.max() > most:
        visits = (visits * (most / visits.max())).astype(np.uint32)
    return visits.astype(np.uint16)


class _Table:
    """One place where games are played, one after another."""

    def __init__(self, number: int, opening: Opening) -> None:
        self.number, self.opening = number, opening
        self.codes: list[NDArray[np.int8]] = []
        self.visits: list[NDArray[np.uint16]] = []
        self.actions: list[int] = []
        self.values: list[float] = []

    def record(
        self, code: NDArray[np.int8], visits: NDArray[np.uint16], value: float, action: int
    ) -> None:
        self.codes.append(code)
        self.visits.append(visits)
        self.values.append(value)
        self.actions.append(action)

    def finish(self, iteration: int, result: int, walks: NDArray[np.uint32]) -> Episode:
        last_mover = int(self.codes[-1][-1])
        return Episode(
            iteration,
            self.number,
            np.array(self.opening, np.int16),
            np.array(self.codes, np.int8),
            np.array(self.visits, np.uint16),
            np.array(self.actions, np.int16),
            np.array(self.values, np.float32),
            last_mover if result == Result.MOVER_WON else DRAWN,
            walks,
        )


def play_games(
    game: Game,
    evaluate: Evaluator,
    config: SearchConfig,
    numbers: Sequence[int],
    *,
    seed: int,
    iteration: int,
    parallel: int,
    random_plies: int = 0,
) -> Iterator[Episode]:
    """Plays the games of these numbers, ``parallel`` at a time; yields each when it ends. A game
    begins after 0 to ``random_plies`` random moves, which are not learned."""
    waiting = list(reversed(numbers))
    trees = min(parallel, len(waiting))
    if not trees:
        return
    search = Search(game, trees, config)
    tables: list[_Table | None] = [None] * trees

    def seat(places: list[int]) -> None:
        """The next games begin at these places; where none is left, the place stays empty."""
        for place in places:
            tables[place] = None
            if waiting:
                number = waiting.pop()
                word = game_seed(seed, iteration, number)
                opening = varied_opening(game, random_plies, np.random.default_rng(word))
                tables[place] = _Table(number, opening)
                search.reset(
                    game.play_all(opening)[None], plies=len(opening), seeds=word, trees=[place]
                )

    seat(list(range(trees)))
    while any(tables):
        search.run(evaluate)
        visits, values, actions = search.visits(), search.root_values(), search.choose()
        codes = game.encode(search.states())
        for place, table in enumerate(tables):
            if table is not None:
                counted = as_uint16(visits[place])
                table.record(codes[place], counted, float(values[place]), int(actions[place]))
        results = search.advance(actions)
        ended = [p for p, t in enumerate(tables) if t is not None and results[p]]
        if ended:
            counts = search.counts()
            for place in ended:
                walks = np.array([c[place] for c in counts], np.uint64).astype(np.uint32)
                table = tables[place]
                assert table is not None
                yield table.finish(iteration, int(results[place]), walks)
            seat(ended)
