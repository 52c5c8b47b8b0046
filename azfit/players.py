"""Players: states of a game in, a move for each out, many states at once.

A player sees a state from the side to move, so one answer serves both colours. Unless it draws
its moves at random, its move depends on the state alone: the same board gets the same move in a
grade, in a proof and in a game.

    player = azfit.load_player("shipped")
    player.move(Position.parse("a1b2/c3 y"))    # a cell
    player.choose(states).actions               # int32 [N]

``azfit.drop_oldest_players`` adds what drop-oldest has beyond other games: symmetric boards
treated alike, and the table's perfect play.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from azfit.games import Game, Result, State, States
from azfit.search import Evaluation, Evaluator, Search
from azfit.search_config import SearchConfig
from solver.connect4 import Connect4Position
from solver.errors import FadefourError, InputError
from solver.gomoku import GomokuPosition
from solver.rules import Position

Actions = NDArray[np.int32]
Floats = NDArray[np.float32]
Plies = NDArray[np.int64]

# Rows given to a network at once: large enough for its matrix products, and for boards that
# share the network's work (see azfit.inference) to come together.
BATCH = 1 << 15

# Trees searched side by side, and the nodes of all of them: their memory stays below a gigabyte.
TREES = 1 << 10
NODES = 1 << 20


@dataclass(frozen=True)
class Choices:
    """What a player says about N states."""

    actions: Actions
    """int32 [N]: the moves."""
    wdl: Floats | None = None
    """float32 [N, 3]: probabilities of win, draw, loss for the side to move."""
    steps: Floats | None = None
    """float32 [N]: expected plies to the end; means nothing where the position is a draw."""
    margin: Floats | None = None
    """float32 [N]: how far the move is ahead of the next best one, in logits or visits. Sums in
    another order (another batch size, another machine) may swap moves that are nearly equal."""
    chances: NDArray[np.float64] | None = None
    """float64 [N, actions]: how likely each move was, for a player that draws its moves."""


@dataclass(frozen=True)
class Opinion:
    """What a network says about one state, and what its search found."""

    action: int
    """The move it plays."""
    policy: Floats
    """float32 [actions]: probabilities, 0 for moves that are not legal."""
    wdl: Floats
    """float32 [3]: probabilities of win, draw, loss for the side to move."""
    steps: float
    """Expected plies to the end."""
    visits: NDArray[np.uint32] | None = None
    """uint32 [actions]: of a search; None without one."""
    means: Floats | None = None
    """float32 [actions]: mean values of the search for the side to move, 0 without a visit."""


@dataclass(frozen=True)
class PlayerInfo:
    """Which player it was: part of grades, certificates and conversions."""

    name: str
    game: str
    sims: int = 0
    """Simulations per move; 0 without a search."""
    canonical: bool = False
    """Whether symmetric boards get symmetric moves, whatever the network says."""
    checkpoint_sha256: str | None = None
    proves: bool = False
    """Whether its search proves results (``SearchConfig.prove``)."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "player": self.name,
            "sims": self.sims,
            "proves": self.proves,
            "canonical": self.canonical,
            "checkpoint_sha256": self.checkpoint_sha256,
        }


class Player(ABC):
    """Chooses moves in states of one game that are still in play."""

    sims: int = 0
    """Simulations per move; 0 without a search."""
    proves: bool = False
    """Whether its search proves results."""
    canonical: bool = False
    """Whether symmetric boards get symmetric moves, whatever the network says."""
    sha256: str | None = None
    """SHA-256 of the checkpoint's weights, for a player that has one."""

    def __init__(self, game: Game, name: str) -> None:
        self.game, self.name = game, name

    @abstractmethod
    def choose(self, states: States, plies: Plies | None = None) -> Choices:
        """Moves for states in play, uint8 [N, state_bytes].

        plies: how many moves were played before each, int64 [N]; None: 0. A search counts a game
        that reaches its ply cap as a draw; nothing else depends on it.
        """

    def choose_many(self, batches: Iterable[States]) -> Iterator[Choices]:
        """Moves for each batch of states, in order; some players work on several at a time."""
        return map(self.choose, batches)

    def move(self, position: State | Position | Connect4Position | GomokuPosition) -> int:
        """The move in one position, as an action of the game (``game.action_name`` names it).

        position: a state, or of drop-oldest a ``Position``, of Connect Four a
        ``Connect4Position``, of Gomoku a ``GomokuPosition``.
        """
        state = position if isinstance(position, np.ndarray) else self.game.state(position)
        if self.game.result(state) != Result.GOING_ON:
            raise InputError("the game is over: there is no move to choose")
        return int(self.choose(state[None]).actions[0])

    def opinion(self, state: State, watch: Callable[[], object] = lambda: None) -> Opinion:
        """All that a player with a network has to say about one state in play.

        watch: called before each evaluation of the network; what it raises ends the search.
        """
        raise InputError(f"{self.name} has no network, and so no opinion")

    @property
    def info(self) -> PlayerInfo:
        return PlayerInfo(
            self.name, self.game.name, self.sims, self.canonical, self.sha256, self.proves
        )


class NetworkPlayer(Player):
    """The network alone: the legal move with the highest logit, the lowest among equals."""

    def __init__(
        self,
        game: Game,
        evaluator: Evaluator,
        *,
        name: str = "network",
        sha256: str | None = None,
    ) -> None:
        super().__init__(game, name)
        self.sha256, self._evaluator = sha256, evaluator

    def choose(self, states: States, plies: Plies | None = None) -> Choices:
        return _joined([self._evaluate(states[rows]) for rows in _batches(len(states), BATCH)])

    def _evaluate(self, states: States) -> Choices:
        masked, value, steps = self._masked(states)
        actions = masked.argmax(axis=1)
        rows = np.arange(len(actions))
        best = masked[rows, actions]
        masked[rows, actions] = -np.inf
        margin = (best - masked.max(axis=1)).astype(np.float32)
        return Choices(actions.astype(np.int32), _wdl(value), steps, margin)

    def _masked(self, states: States) -> tuple[Floats, Floats, Floats | None]:
        """Logits, -inf for moves that are not legal; value and steps."""
        logits, value, steps = self._evaluator(self.game.planes(states))
        legal = self.game.legal_masks(states)
        if not legal.any(axis=1).all():
            raise InputError(f"{self.name}: a game is over, there is no move to choose")
        masked = np.where(legal, logits, -np.inf)
        if not np.isfinite(masked.max(axis=1)).all() or not np.isfinite(value).all():
            raise FadefourError(f"{self.name} gives numbers that are not finite: retrain it")
        return masked, value, steps

    def opinion(self, state: State, watch: Callable[[], object] = lambda: None) -> Opinion:
        watch()
        masked, value, steps = self._masked(state[None])
        weights = np.exp(masked[0] - masked[0].max())
        policy = np.asarray(weights / weights.sum(), np.float32)
        return Opinion(int(masked[0].argmax()), policy, *_known(_wdl(value), steps))


class SearchPlayer(Player):
    """The network with search: the most visited move, the lowest among equals.

    Every state is searched from scratch and without noise, so that its move depends on nothing
    else. Win, draw, loss and steps are the network's own opinion of the state.
    """

    def __init__(
        self,
        game: Game,
        evaluator: Evaluator,
        config: SearchConfig,
        *,
        name: str = "network",
        sha256: str | None = None,
    ) -> None:
        """config: of its options those for noise, temperature and reuse are not used."""
        how = ", no proofs" * (not config.prove) + f", lcb {config.lcb:g}" * bool(config.lcb)
        super().__init__(game, f"{name} + {config.sims} sims{how}")
        self.sims, self.proves = config.sims, config.prove
        self.sha256, self._evaluator = sha256, evaluator
        self._config = config.for_matches()
        self._search: Search | None = None

    def choose(self, states: States, plies: Plies | None = None) -> Choices:
        numbers = np.zeros(len(states), np.int64) if plies is None else plies
        trees = max(1, min(TREES, NODES // self.sims))
        parts = [self._run(states[rows], numbers[rows]) for rows in _batches(len(states), trees)]
        return _joined(parts)

    def opinion(self, state: State, watch: Callable[[], object] = lambda: None) -> Opinion:
        def evaluate(planes: Floats) -> Evaluation:
            watch()
            return self._evaluator(planes)

        choices = self._run(state[None], np.zeros(1, np.int64), evaluate)
        assert self._search
        return Opinion(
            int(choices.actions[0]),
            self._search.priors()[0],
            *_known(choices.wdl, choices.steps),
            self._search.visits()[0],
            self._search.action_values()[0],
        )

    def _run(self, states: States, plies: Plies, evaluator: Evaluator | None = None) -> Choices:
        if self._search is None or self._search.trees != len(states):
            self._search = Search(self.game, len(states), self._config)
        search, opinion = self._search, _RootOpinion(evaluator or self._evaluator)
        search.reset(states, plies=plies, seeds=0)
        search.run(opinion)
        actions = search.choose(temperature=0.0)
        if len(actions) and int(actions.min()) < 0:
            raise InputError(f"{self.name}: a game is over, there is no move to choose")
        visits = np.sort(search.visits(), axis=1).astype(np.float32)
        margin = visits[:, -1] - visits[:, -2]
        return Choices(actions, opinion.wdl, opinion.steps, margin)


class _RootOpinion:
    """Notes what the evaluator says about the roots: the first batch of a fresh search."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator, self._asked = evaluator, False
        self.wdl: Floats | None = None
        self.steps: Floats | None = None

    def __call__(self, planes: Floats) -> Any:
        policy, value, steps = self._evaluator(planes)
        if not self._asked:
            self._asked, self.wdl, self.steps = True, _wdl(value), steps
        return policy, value, steps


class RandomPlayer(Player):
    """Any legal move with equal chance."""

    def __init__(self, game: Game, rng: np.random.Generator) -> None:
        super().__init__(game, "random")
        self._rng = rng

    def choose(self, states: States, plies: Plies | None = None) -> Choices:
        legal = self.game.legal_masks(states)
        return Choices(draw(legal, self._rng), chances=equal_chances(legal))


def draw(sets: NDArray[np.bool_], rng: np.random.Generator) -> Actions:
    """One member of each set, bool [N, actions], with equal chance."""
    luck = np.where(sets, rng.random(sets.shape), -1.0)
    return np.asarray(luck.argmax(axis=1), np.int32)


def equal_chances(sets: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The chances of such a draw, float64 [N, actions]."""
    return np.asarray(sets / sets.sum(axis=1, keepdims=True))


# ---- batches ------------------------------------------------------------------------------------


def _batches(count: int, size: int) -> list[slice]:
    """Consecutive rows."""
    return [slice(first, first + size) for first in range(0, count, size)]


def _joined(parts: Sequence[Choices]) -> Choices:
    """The choices of consecutive batches as those of one batch."""
    if not parts:
        return Choices(np.empty(0, np.int32))
    if len(parts) == 1:
        return parts[0]

    def whole(arrays: Sequence[Any]) -> Any:
        return None if arrays[0] is None else np.concatenate(arrays)

    return Choices(
        whole([part.actions for part in parts]),
        whole([part.wdl for part in parts]),
        whole([part.steps for part in parts]),
        whole([part.margin for part in parts]),
    )


def _known(wdl: Floats | None, steps: Floats | None) -> tuple[Floats, float]:
    """Win, draw, loss and plies of one state, as a network gives them."""
    assert wdl is not None and steps is not None, "an evaluator without these heads"
    return wdl[0], float(steps[0])


def _wdl(value: Floats) -> Floats | None:
    """Win, draw, loss, if that is what the evaluator gives rather than a single value."""
    return value if value.ndim == 2 else None
