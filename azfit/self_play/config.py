"""The options of self-play, each declared once.

A field's ``option`` gives default, range and help; the command line, the TOML file, ``--help`` and
the run folder's config.json are all made from it, so that they cannot disagree. None as a default
means "by game" and is filled in by ``settled``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any

from azfit.games import DropOldest, Game, game_by_name
from azfit.network_config import NetworkConfig, shown
from azfit.playing.arena import most_plies
from azfit.search_config import SearchConfig
from solver.errors import InputError
from solver.machine import available_cores

MOST_ITERATIONS = 10**9

MAX_WORKERS = "max"
"""As many workers as there are processors, here or in the cluster, as they come and go."""


def option(
    default: Any,
    help_text: str,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    shown: str | None = None,
) -> Any:
    """A field with its range and its help; shown: a default that depends on the game or machine."""
    metadata = {"help": help_text, "low": low, "high": high, "choices": choices, "shown": shown}
    return field(default=default, metadata=metadata)


def default_workers() -> int:
    """All cores except one, at least 1."""
    return max(1, available_cores() - 1)


@dataclass(frozen=True)
class SelfPlayConfig:
    """Everything that decides what a self-play run learns."""

    game: str = option("drop-4-4-4", "Game: drop-N-M-K, connect4 or gomoku-SIZE.")
    seed: int = option(1, "Seed of the weights, the games and the batches.", 0, 2**63 - 1)
    iterations: int | None = option(20, "Iterations to run, over all resumes.", 1, MOST_ITERATIONS)
    minutes: float | None = option(
        None,
        "Minutes to run, instead of iterations; the last iteration is completed.",
        1e-3,
        1e7,
    )

    # ---- search -----------------------------------------------------------------
    sims: int = option(100, "Simulations per move.", 1, 1_000_000)
    search: str = option(
        "puct",
        "How the root is searched: puct, or gumbel, by sequential halving without Dirichlet noise.",
        choices=("puct", "gumbel"),
    )
    gumbel_candidates: int = option(16, "With --search gumbel: moves to begin with.", 1, 361)
    full_share: float = option(
        1.0,
        "Share of the moves that are searched in full and learned; the others are only played.",
        0.01,
        1,
    )
    full_sims: int | None = option(
        None,
        "With --full-share below 1: simulations of a full search.",
        1,
        1_000_000,
        shown="same as --sims",
    )
    fast_sims: int | None = option(
        None,
        "With --full-share below 1: simulations of the other moves, which get no noise.",
        1,
        1_000_000,
        shown="a sixth of a full search",
    )
    c_init: float = option(
        1.4, "Exploration constant: c = c_init + log((N + c_base + 1) / c_base).", 0, 1e6
    )
    c_base_factor: float = option(1000.0, "c_base is this factor times --sims.", 1e-9, 1e12)
    fpu_reduction: float = option(
        0.2, "First-play urgency: an untried move is worth V - r * sqrt(tried priors).", 0, 10
    )
    fpu_clamp: bool = option(True, "Never rate an untried move below a proven loss.")
    fpu_dynamic: bool = option(False, "Scale the FPU reduction by (V + 1) / 2.")
    fpu_at_noised_root: bool = option(True, "Apply the FPU reduction at a root with noise.")
    noise_eps: float = option(0.25, "Share of Dirichlet noise in the priors of the root.", 0, 1)
    noise_eps_min: float = option(0.1, "Share of noise after --noise-steps plies.", 0, 1)
    noise_steps: int = option(
        0, "Plies over which the noise falls to --noise-eps-min; 0 keeps it constant.", 0, 1_000_000
    )
    dirichlet_alpha: float | None = option(
        None, "Alpha of the Dirichlet noise.", 1e-6, 1e6, shown="10 / typical legal moves"
    )
    temperature: float = option(1.0, "Temperature at which the first moves are drawn.", 0, 1e6)
    temp_moves: int | None = option(
        None,
        "Plies drawn at --temperature; after them the most visited move is played.",
        0,
        10**6,
        shown="drop 10, others 12",
    )
    lambda_steps: float = option(0.1, "Weight of the steps head in a leaf's value.", 0, 1)
    max_plies: int | None = option(
        None,
        "Plies after which a game is a draw.",
        1,
        1000,
        shown="drop 10 m, or 100 if n m > 16; others the number of cells",
    )

    prove: bool = option(
        False, "Back up wins, losses and draws that the tree proves, and search them no further."
    )

    forced_playouts: float = option(
        0.0,
        "At a root with noise, give a tried move sqrt(k * P * visits), and prune the target; 2 is "
        "KataGo's k, 0 forces none.",
        0,
        100,
    )

    reuse: bool = option(True, "Keep the part of the tree below the move that was played.")

    # ---- games ------------------------------------------------------------------
    games_per_iteration: int = option(70, "Games per iteration.", 1, 10**7)
    random_plies: int = option(
        0, "Each game starts with a random number of random plies, at most this many.", 0, 1000
    )
    parallel_games: int = option(100, "Games that a worker plays at the same time.", 1, 100_000)
    workers: int | str = option(
        0,
        "Worker processes, or max: one for each core, of this machine or of the cluster.",
        0,
        1024,
        choices=(MAX_WORKERS,),
        shown="cores - 1, at least 1",
    )  # 0: by machine
    overlap: bool = option(False, "Play the next games while training and the match are under way.")
    backend: str = option(
        "auto",
        "What runs the network in workers.",
        choices=("auto", "torch", "onnx", "compile", "kernel"),
    )
    cache: bool = option(True, "Remember the evaluations of positions that were seen before.")

    # ---- replay -----------------------------------------------------------------
    buffer: int = option(500_000, "Positions in the replay buffer; the newest are kept.", 1, 10**9)
    balance_sampling: bool = option(
        False, "Draw wins, draws and losses equally often, and weight the value loss by class."
    )
    surprise_weight: float = option(
        0.0,
        "Share of the samples given to positions in proportion to how far the search's target is "
        "from the network's policy; KataGo uses 0.5; with 0, every position is learned once.",
        0,
        1,
    )
    augment: bool = option(True, "Rotate or reflect each drawn position at random.")

    # ---- training ---------------------------------------------------------------
    replay_ratio: float = option(0.1, "Share of the buffer drawn per epoch.", 1e-6, 1e3)
    epochs: int = option(5, "Epochs per iteration.", 1, 10_000)
    batch_size: int = option(512, "Positions per training step.", 1, 10**6)
    lr: float = option(3e-3, "Learning rate.", 0, 10)
    lr_schedule: str = option(
        "cosine",
        "How the learning rate falls over the run.",
        choices=("constant", "cosine", "linear"),
    )
    lr_final: float = option(0.05, "Learning rate at the end of the run, relative to --lr.", 0, 1)
    policy_lr_scale: float = option(
        0.1, "Learning rate of the policy head, relative to --lr.", 0, 100
    )
    weight_decay: float = option(1e-4, "Decoupled weight decay.", 0, 10)
    dropout: float = option(0.2, "Share of features dropped before the heads.", 0, 0.95)
    clip: float = option(1.0, "Clip gradients to this norm.", 1e-6, 1e6)
    wdl_weight: float = option(1.0, "Weight of the win/draw/loss loss.", 0, 1e3)
    value_mix: float = option(
        0.0,
        "Share of the search's value in the value target; the rest is the outcome of the game.",
        0,
        1,
    )
    reply_weight: float = option(
        0.0,
        "Weight of predicting the opponent's reply, with a head used only in training; KataGo "
        "uses 0.15; with 0 there is no such head.",
        0,
        1e3,
    )
    ema: float = option(
        0.0,
        "Play and save a moving average of the weights; each step keeps this share of the previous "
        "average. 0 uses the weights themselves.",
        0,
        0.99999,
    )
    steps_weight: float = option(0.2, "Weight of the steps loss.", 0, 1e3)
    threads: int = option(0, "Threads for training.", 0, 1024, shown="all cores")

    # ---- evaluation -------------------------------------------------------------
    lcb: float = option(
        0.0,
        "In matches, play the move with the highest lower bound, this many standard errors below "
        "its value; 0 plays the most visited move.",
        0,
        100,
    )
    gate: bool = option(True, "Keep the best network until a candidate reaches --accept.")
    eval_games: int = option(50, "Games between the candidate and the best network.", 2, 10**6)
    accept: float = option(
        0.52, "Score needed to accept a candidate; a match of even pairs passes too.", 0, 1
    )
    pool_games: int = option(
        10, "Games against each of up to three earlier best networks, for the Elo rating.", 0, 10**6
    )
    opening_plies: int = option(2, "Random plies at the start of a match game.", 0, 100)

    # ---- network ----------------------------------------------------------------
    kind: str | None = option(
        None, "Kind of network.", choices=("mlp", "tower"), shown="drop mlp, others tower"
    )
    width: int | None = option(
        None, "Features of an mlp, channels of a tower.", 1, 8192, shown="drop 256, others 64"
    )
    blocks: int | None = option(
        None, "Residual blocks.", 0, 100, shown="drop 2, connect4 4, gomoku 3"
    )
    threats: bool = option(
        False, "The network also sees which cells would complete a line (connect4, gomoku)."
    )
    keep: int = option(
        5, "Latest best networks to keep on disk, plus up to twelve earlier ones.", 1, 10**6
    )

    policy_weight: float = field(default=1.0, init=False)
    moves_weight: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        for declared in options():
            value = getattr(self, declared.name)
            _check(declared.name, value, declared.metadata, str(declared.type))
        if (self.minutes is None) == (self.iterations is None):
            raise InputError("the budget is iterations or minutes: give exactly one of them")
        for name in ("full_sims", "fast_sims"):
            if self.full_share >= 1 and getattr(self, name) is not None:
                raise InputError(
                    f"{name}={getattr(self, name)} has no effect while all moves are searched "
                    "alike: give full_share below 1 too, or use sims"
                )
        for name in ("eval_games", "pool_games"):
            if getattr(self, name) % 2:
                raise InputError(
                    f"{name}={getattr(self, name)}: use an even number, because each opening is "
                    "played from both sides"
                )
        for name in ("random_plies", "opening_plies"):
            plies = getattr(self, name)
            if self.max_plies is not None and plies > self.max_plies // 2:
                raise InputError(
                    f"{name}={plies}: games end after max_plies={self.max_plies}, and most of a "
                    f"game should be played; use at most {self.max_plies // 2}"
                )
        drop_oldest = isinstance(game_by_name(self.game), DropOldest)
        if self.backend == "kernel" and (drop_oldest or self.kind == "mlp"):
            raise InputError("backend=kernel is for towers of Connect Four and Gomoku: use auto")
        self.search_config  # noqa: B018 - its checks

    @property
    def class_weights(self) -> bool:
        return self.balance_sampling

    @property
    def search_config(self) -> SearchConfig:
        """The options of the search in self-play."""
        shared = {f.name for f in fields(SearchConfig)} & {f.name for f in options()}
        return SearchConfig(**{name: getattr(self, name) for name in shared})

    @property
    def network(self) -> NetworkConfig:
        """The network of a settled config."""
        assert self.kind and self.width and self.blocks is not None and self.max_plies
        return NetworkConfig(
            game=self.game,
            kind=self.kind,
            width=self.width,
            blocks=self.blocks,
            max_plies=self.max_plies,
            canonical=isinstance(game_by_name(self.game), DropOldest),
            hide_leaving=False,
            rate_moves=False,
            threats=self.threats,
            dropout=self.dropout,
        )

    def rate_at(self, fraction: float) -> float:
        """The learning rate at this share of the budget."""
        left = 1.0 - min(1.0, fraction)
        if self.lr_schedule == "constant":
            left = 1.0
        elif self.lr_schedule == "cosine":
            left = 0.5 * (1 - math.cos(math.pi * left))
        return self.lr * (self.lr_final + (1 - self.lr_final) * left)

    def drawn_of(self, positions: int) -> int:
        """Positions drawn in an epoch from a buffer of this size."""
        return max(1, round(self.replay_ratio * positions))

    def steps_of(self, positions: int) -> int:
        """Training steps of an epoch over a buffer of this size: each has a position at least."""
        steps = math.ceil(self.replay_ratio * positions / self.batch_size)
        return min(max(1, steps), self.drawn_of(positions))

    def to_dict(self) -> dict[str, Any]:
        return {declared.name: getattr(self, declared.name) for declared in options()}


def options() -> list[Any]:
    """The fields that are options."""
    return [declared for declared in fields(SelfPlayConfig) if "help" in declared.metadata]


def _check(name: str, value: Any, about: Any, kind: str) -> None:
    if value is None and "None" in kind:
        return
    choices, low, high = about["choices"], about["low"], about["high"]
    if choices and value in choices:
        return
    if choices and kind.startswith("str"):
        raise InputError(f"{name}={shown(value)}: use one of {', '.join(choices)}")
    if kind.startswith("bool"):
        if not isinstance(value, bool):
            raise InputError(f"{name}={shown(value)}: use true or false")
    elif kind.startswith("str"):
        if not isinstance(value, str):
            raise InputError(f"{name}={shown(value)}: use text")
    else:
        whole = kind.startswith("int")
        fits = isinstance(value, int) or (not whole and isinstance(value, float))
        if not fits or isinstance(value, bool) or not low <= value <= high:
            what = "a whole number" if whole else "a number"
            words = "".join(f", or {word}" for word in choices)
            raise InputError(f"{name}={shown(value)}: use {what} from {low} to {high}{words}")


# ---- what depends on the game --------------------------------------------------------


def by_game(game: Game) -> dict[str, Any]:
    """The defaults that a game sets."""
    plies = most_plies(game)
    if isinstance(game, DropOldest):
        shape = {"kind": "mlp", "width": 256, "blocks": 2, "threats": False}
        return {"temp_moves": 10, "max_plies": plies, **shape}
    blocks = 4 if game.name == "connect4" else 3
    shape = {"kind": "tower", "width": 64, "blocks": blocks, "threats": False}
    return {"temp_moves": 12, "max_plies": plies, **shape}


def settled(given: dict[str, Any]) -> SelfPlayConfig:
    """The config of these options, with the rest by default, by game and by machine."""
    known = {declared.name for declared in options()}
    unknown = sorted(set(given) - known)
    if unknown:
        names = ", ".join(shown(name) for name in unknown[:3])
        raise InputError(f"unknown option {names}: see 'fadefour self-play --help'")
    given = {name: value for name, value in given.items() if value is not None}
    name = given.get("game", SelfPlayConfig.game)
    if not isinstance(name, str):
        raise InputError(f"game={shown(name)}: use text")
    game = game_by_name(name)
    if "minutes" in given and "iterations" not in given:
        given["iterations"] = None
    for name, value in by_game(game).items():
        given.setdefault(name, value)
    given["workers"] = given.get("workers") or default_workers()
    given["threads"] = given.get("threads") or available_cores()
    return SelfPlayConfig(**given)
