"""What self-play should be run with: values by game, budget and cores, each with its reason.

The recipes are those of docs/self_play.md, measured on two cores; what depends on the budget is
scaled so that a run has some dozens of iterations, of which a short one needs smaller ones.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from azfit.games import DropOldest, Game

# A run that is cut into fewer iterations learns from few networks' games; more are no gain.
AIMED_ITERATIONS = 25


@dataclass(frozen=True)
class Choice:
    """The value of an option, and why."""

    option: str
    value: Any
    reason: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.option.replace('_', '-')} {self.value}: {self.reason}"


@dataclass(frozen=True)
class Budget:
    """How long a run is: minutes or iterations, and the cores that play."""

    minutes: float | None
    iterations: int | None
    cores: int

    def games(self, each_minute: float, usual: int) -> int:
        """Games of the whole run. each_minute: of a core, as measured; usual: of an iteration, for
        a budget in iterations."""
        if self.minutes is not None:
            return max(1, round(each_minute * self.minutes * self.cores))
        return usual * (self.iterations or AIMED_ITERATIONS)


def between(low: int, value: float, high: int) -> int:
    return max(low, min(high, round(value)))


def choices(game: Game, budget: Budget) -> list[Choice]:
    """The best that is known for this game and budget."""
    if isinstance(game, DropOldest):
        if game.rules.n * game.rules.m <= 9:
            return [*_small_board(), *_without_gate(2, 0)]
        return [*_drop_oldest(budget), *_without_gate(2, 0)]
    if game.name == "connect4":
        return [*_connect4(budget), *_without_gate(4, 2)]
    return [*_gomoku(game, budget), *_without_gate(10, 0)]


def _without_gate(eval_games: int, pool_games: int) -> list[Choice]:
    cheap = "matches only rate the networks here, so a few games are enough"
    full = "as in all recipes that were measured"
    return [
        Choice("gate", False, "matches of good players end even, and rejecting costs iterations"),
        Choice("eval_games", eval_games, cheap),
        Choice("pool_games", pool_games, cheap),
        Choice("dropout", 0.0, full),
        Choice("policy_lr_scale", 1.0, full),
    ]


def _games(games: int, parallel_of: int, budget: Budget, low: int, high: int) -> list[Choice]:
    """Games per iteration, and side by side, of a run of this many games."""
    each = between(low, games / AIMED_ITERATIONS, high)
    side_by_side = between(8, each / (2 * budget.cores), parallel_of)
    return [
        Choice(
            "games_per_iteration",
            each,
            f"about {games:,} games fit into the budget, and {AIMED_ITERATIONS} iterations or more "
            f"are wanted, of at most {high} games",
        ),
        Choice(
            "parallel_games",
            side_by_side,
            "half of them at a time: large batches for the network, and no long wait for the last",
        ),
        Choice("workers", budget.cores, "games take most of the time, and training waits for them"),
    ]


def _connect4(budget: Budget) -> list[Choice]:
    # 67,000 games of 21 positions in an hour on two cores.
    games, positions = budget.games(558, 200), 21
    play = _games(games, 125, budget, 20, 500)
    buffer = between(5_000, games / 4 * positions, 300_000)
    ratio = between(1, 100 * 4 * play[0].value * positions / buffer, 100) / 100
    return [
        Choice("width", 32, "a smaller network plays four times the games of 64 x 4 in an hour"),
        Choice("blocks", 3, "as for the width"),
        Choice("temp_moves", 42, "moves drawn on all plies: 6.6 % blunders instead of 8.9 %"),
        Choice("random_plies", 12, "it also meets the positions of weaker players"),
        *play,
        Choice("buffer", buffer, "the newest quarter of the run's positions, at most 300,000"),
        Choice("replay_ratio", ratio, "each position is drawn four times; eleven overfit"),
        Choice("epochs", 1, "as for the replay ratio"),
    ]


def _drop_oldest(budget: Budget) -> list[Choice]:
    # 47,400 games in half an hour on two cores.
    return [
        *_games(budget.games(790, 300), 150, budget, 20, 300),
        Choice("replay_ratio", 0.5, "measured on 4 x 4: no blunder in play after half an hour"),
        Choice("epochs", 1, "as for the replay ratio"),
    ]


def _small_board() -> list[Choice]:
    proven = "measured on 3 x 3: the win from the start is proven after seconds"
    return [
        Choice("sims", 50, proven),
        Choice("games_per_iteration", 100, proven),
        Choice("width", 64, proven),
        Choice("replay_ratio", 1.0, "all of a small buffer is to be learned"),
        Choice("epochs", 2, proven),
        Choice("batch_size", 128, proven),
        Choice("workers", 1, "starting more takes longer than the games"),
    ]


def _gomoku(game: Game, budget: Budget) -> list[Choice]:
    cells = game.rows * game.columns
    return [
        Choice("width", 32, "measured on 15 x 15"),
        Choice("blocks", 2, "measured on 15 x 15"),
        Choice("sims", between(100, cells * 4 / 3, 500), "more than there are moves to try"),
        Choice("fpu_at_noised_root", False, "so that the root tries every move"),
        *_games(budget.games(20, 40), 20, budget, 8, 40),
        Choice("batch_size", 128, "few positions at first"),
        Choice("replay_ratio", 0.5, "measured on 15 x 15"),
        Choice("epochs", 2, "measured on 15 x 15"),
    ]
