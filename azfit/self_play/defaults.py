"""What self-play runs with by default: values by game, budget and cores, each with its reason.

They are those of docs/self_play.md, measured on two cores. What depends on the budget is scaled so
that a run of any length has some dozens of iterations.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from azfit.games import DropOldest, Game
from azfit.playing.arena import most_plies

# A run that is cut into fewer iterations learns from few networks' games; more are no gain.
AIMED_ITERATIONS = 25

# Minutes times cores from which a larger network pays in Connect Four.
LONG_CONNECT4 = 90


IN_WORDS = {
    "search": "puct; gomoku gumbel",
    "sims": "100; drop 50 if n m <= 9; gomoku 32, with puct 100 to 500 by size",
    "fpu_at_noised_root": "on; gomoku off",
    "temp_moves": "drop all, or 10 if n m <= 9; connect4 42, gomoku 12",
    "games_per_iteration": "by game and budget",
    "random_plies": "drop 4 m, or 0 if n m <= 9; connect4 12, gomoku 0",
    "parallel_games": "by game, budget and workers",
    "workers": "cores; drop 1 if n m <= 9",
    "buffer": "by budget; drop 500000",
    "replay_ratio": "by budget; drop 0.5, or 1.0 if n m <= 9",
    "epochs": "1; drop 2 if n m <= 9",
    "batch_size": "512; drop 128 if n m <= 9",
    "value_mix": "0.5; drop 0 if n m <= 9",
    "surprise_weight": "0.5; drop 0 if n m <= 9",
    "policy_lr_scale": "1.0",
    "dropout": "0.0",
    "gate": "off",
    "eval_games": "2; connect4 4, gomoku 10; with --gate 50",
    "pool_games": "0; connect4 2; with --gate 10",
    "width": "drop 256, or 64 if n m <= 9; connect4 32, long runs 48; gomoku 32",
    "blocks": "drop 2, connect4 3, long runs 4; gomoku 2",
    "threats": "on; drop off",
}
"""The options that are chosen for some game, as --help gives their defaults."""


@dataclass(frozen=True)
class Choice:
    """The value of an option, and why."""

    option: str
    value: Any
    reason: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def setting(self) -> str:
        """Option and value, as they would be typed."""
        name = self.option.replace("_", "-")
        if isinstance(self.value, bool):
            return name if self.value else f"no-{name}"
        return f"{name} {self.value:g}" if isinstance(self.value, float) else f"{name} {self.value}"

    def __str__(self) -> str:
        return f"{self.setting}: {self.reason}"


@dataclass(frozen=True)
class Wish:
    """What is asked for, as far as other options depend on it."""

    minutes: float | None
    iterations: int | None
    """The budget is one of the two."""
    cores: int
    """That play."""
    games_per_iteration: int | None = None
    gate: bool = False
    max_plies: int | None = None
    search: str | None = None

    def games(self, each_minute: float, usual: int) -> int:
        """Games of the whole run. each_minute: of a core, as measured; usual: of an iteration, for
        a budget in iterations."""
        if self.minutes is not None:
            return max(1, round(each_minute * self.minutes * self.cores))
        return (self.games_per_iteration or usual) * (self.iterations or AIMED_ITERATIONS)


def between(low: int, value: float, high: int) -> int:
    return max(low, min(high, round(value)))


def choices(game: Game, wish: Wish) -> list[Choice]:
    """The best that is known for this game and budget."""
    if isinstance(game, DropOldest):
        if game.rules.n * game.rules.m <= 9:
            return [*_small_board(), *_matches(wish, 2, 0)]
        return [*_drop_oldest(game, wish), *_matches(wish, 2, 0)]
    if game.name == "connect4":
        return [*_connect4(wish), *_matches(wish, 4, 2)]
    return [*_gomoku(game, wish), *_matches(wish, 10, 0)]


def _matches(wish: Wish, eval_games: int, pool_games: int) -> list[Choice]:
    """No gate and short matches, unless a gate is asked for; and what all games have in common."""
    full = "as in all runs that were measured"
    common = [Choice("dropout", 0.0, full), Choice("policy_lr_scale", 1.0, full)]
    if wish.gate:
        return common
    cheap = "matches only rate the networks here, so a few games are enough"
    return [
        Choice("gate", False, "matches of good players end even, and rejecting costs iterations"),
        Choice("eval_games", eval_games, cheap),
        Choice("pool_games", pool_games, cheap),
        *common,
    ]


def _games(each_minute: float, usual: int, most: int, wish: Wish, rounds: int) -> list[Choice]:
    """Games per iteration, at most ``most`` or, for a budget in iterations, the usual number; and
    side by side, so that a worker plays its games in ``rounds``."""
    games = wish.games(each_minute, usual)
    each, reason = wish.games_per_iteration or usual, "the usual number for so many iterations"
    if wish.minutes is not None:
        fitting = between(min(20, most // 5), games / AIMED_ITERATIONS, most)
        each = wish.games_per_iteration or fitting
        reason = (
            f"about {games:,} games fit into the budget, and {AIMED_ITERATIONS} iterations or more "
            f"are wanted, of at most {most} games"
        )
    share = "all" if rounds == 1 else "half"
    return [
        Choice("games_per_iteration", each, reason),
        Choice(
            "parallel_games",
            between(8, each / (rounds * wish.cores), 200),
            f"{share} of a worker's games at a time, for large batches of the network",
        ),
        Choice("workers", wish.cores, "games take most of the time, and training waits for them"),
    ]


def _replay(games: int, positions: int, each: int, wish: Wish) -> list[Choice]:
    """A buffer for so many games, which have so many positions, ``each`` of them played in an
    iteration; and what is drawn from it."""
    buffer = between(5_000, games * positions, 1_000_000)
    ratio = between(1, 10_000 * 4 * each * positions / buffer, 10_000) / 10_000
    reach = "all positions of the run" if wish.minutes is None else "on fast cores the newest third"
    return [
        Choice("buffer", buffer, f"{reach}, at most a million"),
        Choice("replay_ratio", ratio, "four draws of a position in a full buffer; eleven overfit"),
        Choice("epochs", 1, "as for the replay ratio"),
    ]


def _connect4(wish: Wish) -> list[Choice]:
    # A core plays 1,000 games of 18 positions per minute and learns from them, or 3,000 if its
    # processor multiplies bfloat16 (csrc/tower.h).
    play = _games(1_000, 200, 500, wish, rounds=2)
    width, blocks, size = 32, 3, "a smaller network plays three times the games of 64 x 4"
    if wish.minutes is not None and wish.minutes * wish.cores >= LONG_CONNECT4:
        width, blocks, size = 48, 4, "in so much time a larger network learns more than 32 x 3"
    return [
        Choice("width", width, size),
        Choice("blocks", blocks, "as for the width"),
        Choice("temp_moves", 42, "moves drawn on all plies: 6.6 % blunders instead of 8.9 %"),
        Choice(
            "random_plies",
            min(12, (wish.max_plies or 42) // 2),
            "it also meets the positions of weaker players",
        ),
        *play,
        *_replay(wish.games(1_000, 200), 18, play[0].value, wish),
        Choice("threats", True, "fewer blunders at the same time, alone and with search"),
        Choice("value_mix", 0.5, "5.4 % blunders instead of 6.3 % after three minutes"),
        Choice("surprise_weight", 0.5, "5.9 % blunders instead of 6.3 % on average over seeds"),
    ]


def _drop_oldest(game: DropOldest, wish: Wish) -> list[Choice]:
    # 47,400 games in half an hour on two cores.
    plies = wish.max_plies or most_plies(game)
    varied = "varied games: 0.4 % blunders over all positions instead of 1.2 % after three minutes"
    mixed = "with the other of the two, 1.2 % blunders instead of 1.6 % after three minutes"
    return [
        Choice("random_plies", min(4 * game.rules.m, plies // 2), varied),
        Choice("temp_moves", plies, varied),
        Choice("value_mix", 0.5, mixed),
        Choice("surprise_weight", 0.5, mixed),
        *_games(790, 300, 300, wish, rounds=1),
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


def _gomoku(game: Game, wish: Wish) -> list[Choice]:
    # A core plays 9 million games by the square of the cells in a minute (1,400 on 9 x 9) and
    # learns from them if its processor multiplies bfloat16 (csrc/tower.h), others a third of that.
    cells = game.rows * game.columns
    each_minute = 3_000_000 / cells**2
    play = _games(each_minute, 150, 150, wish, rounds=2)
    blunders = "after three minutes on 9 x 9"
    if wish.search == "puct":
        search = [
            Choice("sims", between(100, cells * 4 / 3, 500), "more than there are moves to try"),
            Choice("fpu_at_noised_root", False, "so that the root tries every move"),
        ]
    else:
        search = [
            Choice("search", "gumbel", f"2 % blunders instead of 4 % {blunders}"),
            Choice("sims", 32, "enough for sequential halving over 16 moves"),
        ]
    return [
        Choice("width", 32, "measured on 9 x 9 and 15 x 15"),
        Choice("blocks", 2, "as for the width"),
        Choice("threats", True, f"5 % blunders instead of 25 % {blunders}"),
        *search,
        *play,
        *_replay(wish.games(each_minute, 150), round(0.4 * cells), play[0].value, wish),
        Choice("value_mix", 0.5, f"with the next, 4 % blunders instead of 5 % {blunders}"),
        Choice("surprise_weight", 0.5, "as for the value mix"),
    ]
