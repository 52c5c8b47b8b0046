"""Games that a network plays against itself, many trees side by side.

Game number g of iteration i draws from its own seed, (seed, i, g): how it goes depends on the
network and on nothing else, whichever worker plays it, alongside whichever others (sums in another
order may round differently, as always with floats).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from azfit.games import Game, Result
from azfit.playing.openings import Opening, varied_opening
from azfit.search import Evaluator, Search
from azfit.search_config import SearchConfig
from azfit.self_play.episode import DRAWN, Episode
from azfit.self_play.surprise import copies, surprise


def game_seed(seed: int, iteration: int, number: int) -> int:
    """The seed of a game's tree, uint64."""
    return int(np.random.SeedSequence([seed, iteration, number]).generate_state(1, np.uint64)[0])


def as_uint16(targets: NDArray[np.floating]) -> NDArray[np.uint16]:
    """The targets of a root: visits as they are. Where they are too many for 16 bits, or not whole
    numbers, all are scaled alike."""
    most = np.iinfo(np.uint16).max
    if targets.max() > most or (targets != np.floor(targets)).any():
        targets = targets.astype(np.float64) * (most / targets.max())
    return targets.astype(np.uint16)


class _Table:
    """One place where games are played, one after another."""

    def __init__(self, number: int, opening: Opening, seed: int) -> None:
        self.number, self.opening = number, opening
        self.random = np.random.default_rng([seed, 1])
        """For what is drawn beside the tree; the tree has its own numbers."""
        self.full = True
        """Whether the move under way is searched in full."""
        self.counts: list[int] = []
        self.surprises: list[float] = []
        """Of each position, with --surprise-weight."""
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
        self.counts.append(int(self.full))

    def weigh(self, weight: float) -> None:
        """Learns positions more or less often, by their surprises."""
        if weight:
            learned = [count > 0 for count in self.counts]
            self.counts = copies(self.surprises, learned, weight, self.random).tolist()

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
            None if all(count == 1 for count in self.counts) else np.array(self.counts, np.uint8),
        )


def search_once(search: Search, evaluate: Evaluator, tables: Sequence[_Table | None]) -> None:
    """Searches the next move of every game, with playout caps if the config has them."""
    caps = search.config.caps
    if caps is None:
        search.run(evaluate)
        return
    for table in tables:
        if table is not None:
            table.full = table.random.random() < caps.share
    full = np.array([table is not None and table.full for table in tables])
    search.run(evaluate, np.where(full, caps.full, caps.fast), quiet=~full)


def play_games(
    game: Game,
    evaluate: Evaluator,
    config: SearchConfig,
    numbers: Iterable[int],
    *,
    seed: int,
    iteration: int,
    parallel: int,
    random_plies: int = 0,
    surprise_weight: float = 0.0,
) -> Iterator[Episode]:
    """Plays the games of these numbers, ``parallel`` at a time; yields each when it ends. A game
    begins after 0 to ``random_plies`` random moves, which are not learned. surprise_weight: as in
    ``azfit.self_play.surprise``.

    A number is taken when a game can begin; an iterator that ran dry is asked again."""
    waiting = iter(numbers)
    first = list(islice(waiting, parallel))
    trees = len(first)
    if not trees:
        return
    search = Search(game, trees, config)
    tables: list[_Table | None] = [None] * trees

    def seat(places: Iterable[int], numbers: Iterator[int]) -> None:
        """The next games begin at these places; where none is left, the place stays empty."""
        for place in places:
            tables[place] = None
            if (number := next(numbers, None)) is not None:
                word = game_seed(seed, iteration, number)
                opening = varied_opening(game, random_plies, np.random.default_rng(word))
                tables[place] = _Table(number, opening, word)
                search.reset(
                    game.play_all(opening)[None], plies=len(opening), seeds=word, trees=[place]
                )

    seat(range(trees), iter(first))
    while any(tables):
        search_once(search, evaluate, tables)
        targets, values, actions = search.targets(), search.outcomes(), search.choose()
        codes = game.encode(search.states())
        priors = search.clean_priors() if surprise_weight else None
        for place, table in enumerate(tables):
            if table is not None:
                learned = as_uint16(targets[place])
                table.record(codes[place], learned, float(values[place]), int(actions[place]))
                if priors is not None:
                    table.surprises.append(surprise(targets[place], priors[place]))
        results = search.advance(actions)
        ended = [p for p, t in enumerate(tables) if t is not None and results[p]]
        if ended:
            counts = search.counts()
            for place in ended:
                walks = np.array([c[place] for c in counts], np.uint64).astype(np.uint32)
                table = tables[place]
                assert table is not None
                table.weigh(surprise_weight)
                yield table.finish(iteration, int(results[place]), walks)
            seat(ended, waiting)
