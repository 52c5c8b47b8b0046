"""An evaluator that remembers: a position met before costs a look-up instead of the network.

Games that are played side by side begin alike, and move orders meet again within a tree. What a
network says about a position never changes, so remembering changes no search. Planes are zeros and
ones in every game; the bits of those that show the pieces are the key.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from azfit.games import Game
from azfit.search import Evaluator

Floats = NDArray[np.float32]

BYTES = 1 << 26  # of answers; the keys take two or three times as much again


class EvaluationCache:
    """Callable as the evaluator it wraps; the policy must be logits [B, actions]."""

    def __init__(self, evaluator: Evaluator, game: Game, room: int | None = None) -> None:
        """room: positions remembered; when it is full all are forgotten, and a batch that is
        larger is not remembered at all."""
        self._evaluator, self._actions = evaluator, game.actions
        self._stone_planes = game.stone_planes
        width = game.actions + 4
        self._room = room or BYTES // (4 * width)
        self._answers = np.empty((self._room, width), np.float32)
        self._places: dict[bytes, int] = {}
        self.asked, self.computed = 0, 0

    def __call__(self, planes: Floats) -> tuple[Floats, Floats, Floats]:
        """Policy logits [B, actions], win/draw/loss [B, 3], expected plies [B]."""
        count = len(planes)
        if count > self._room:
            return self._ask(planes)
        stones = planes[:, : self._stone_planes].reshape(count, -1)
        bits = np.packbits(stones != 0, axis=1)
        width, data = bits.shape[1], bits.tobytes()
        keys = [data[i : i + width] for i in range(0, count * width, width)]
        if len(self._places) + count > self._room:
            self._places.clear()
        places = list(map(self._places.get, keys))
        if None in places:
            first_rows: dict[bytes, int] = {}
            for row, key in enumerate(keys):
                if places[row] is None:
                    first_rows.setdefault(key, row)
            self._learn(first_rows, planes)
            places = list(map(self._places.get, keys))
        self.asked += count
        answers = self._answers[np.array(places, np.intp)]
        a = self._actions
        return answers[:, :a], answers[:, a : a + 3], answers[:, a + 3]

    def _ask(self, planes: Floats) -> tuple[Floats, Floats, Floats]:
        policy, wdl, steps = self._evaluator(planes)
        assert steps is not None
        return policy, wdl, steps

    def _learn(self, first_rows: dict[bytes, int], planes: Floats) -> None:
        """Asks about the first row of each of these positions.

        An evaluator may fail, so a position is not known before its answer is.
        """
        policy, wdl, steps = self._ask(planes[list(first_rows.values())])
        places = range(len(self._places), len(self._places) + len(first_rows))
        rows = self._answers[places.start : places.stop]
        rows[:] = np.concatenate([policy, wdl, steps[:, None]], axis=1)
        self._places.update(zip(first_rows, places, strict=True))
        self.computed += len(first_rows)
