"""Networks by name: ``shipped``, a checkpoint file, or the folder of a run.

``shipped`` is the network for drop-oldest that comes with fadefour; ``shipped-connect4`` and
``shipped-gomoku`` are those for the other games. Where a command knows the game, ``shipped`` is
enough: ``shipped_for``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from azfit.checkpoint_header import game_of_checkpoint
from azfit.games import DropOldest, Game
from azfit.players import TREES, NetworkPlayer, Player, SearchPlayer
from azfit.search_config import SearchConfig
from solver.errors import InputError, MissingTableError
from solver.extras import need
from solver.machine import available_cores

if TYPE_CHECKING:
    from azfit.inference import NetworkEvaluator
    from azfit.network import Network

SHIPPED = "shipped"
BEST = "best.safetensors"

# Boards on which threads are measured; what is fastest for them is so for the larger batches of a
# grade, too.
MEASURED_BATCH = 1 << 12

# Part of the package, each with its description and grade beside it, the first with a certificate.
# There may be none for a game.
SHIPPED_FOLDER = Path(__file__).resolve().parent / "shipped"
SHIPPED_FILE = SHIPPED_FOLDER / "network_4x4_m4.safetensors"
SHIPPED_FILES = {
    SHIPPED: SHIPPED_FILE,
    f"{SHIPPED}-connect4": SHIPPED_FOLDER / "network_connect4.safetensors",
    f"{SHIPPED}-gomoku": SHIPPED_FOLDER / "network_gomoku.safetensors",
}
_HOW_TO_TRAIN = {"connect4": "train-from-oracle", "gomoku": "self-play"}


def need_torch() -> None:
    for package in ("torch", "safetensors"):
        need(package, "this")


def shipped_for(name: str, game: str | None) -> str:
    """``shipped`` as the name of the network for this kind of game (drop, connect4, gomoku; None:
    drop); any other name as it is."""
    return f"{SHIPPED}-{game}" if name == SHIPPED and game in _HOW_TO_TRAIN else name


def is_shipped(name: str | Path) -> bool:
    """Whether it names a network that comes with fadefour, or could."""
    return name in SHIPPED_FILES


def shipped_names() -> list[str]:
    """Of the networks that are there."""
    return [name for name, path in SHIPPED_FILES.items() if path.exists()]


def checkpoint_path(name: str | Path) -> Path:
    """The checkpoint file that is meant by ``name``.

    ``shipped`` is the network that comes with the project, for 4 x 4, ``shipped-connect4`` one for
    Connect Four; the folder of a run means its best network; anything else is a file.
    """
    if is_shipped(name):
        return _shipped_file(str(name))
    if name == "":
        raise InputError("'' is not a network: give a checkpoint, a run's folder, or 'shipped'")
    path = Path(name)
    if not path.is_dir():
        return path
    best = path / BEST
    if best.exists():
        return best
    saved = sorted((path / "checkpoints").glob("step-*.safetensors"))
    if saved:
        raise MissingTableError(f"run '{path}' has no {BEST} yet: give '{saved[-1]}' instead")
    raise MissingTableError(f"folder '{path}' has no {BEST}: give the folder of a run, or a file")


def _shipped_file(name: str) -> Path:
    path = SHIPPED_FILES[name]
    if not path.exists() and (game := name.removeprefix(f"{SHIPPED}-")) in _HOW_TO_TRAIN:
        raise MissingTableError(
            f"no network for {game} comes with fadefour: train one with 'fadefour "
            f"{_HOW_TO_TRAIN[game]} --game {game} --run DIR', and give DIR"
        )
    return path


def certificate_path(path: Path) -> Path:
    """The certificate file that is meant: ``shipped`` is that of the network of this name."""
    return SHIPPED_FILE.with_suffix(".certificate.npz") if str(path) == SHIPPED else path


def network_path(name: str | Path) -> Path:
    """What people call the network by: the folder of its run, or its file without the suffix."""
    path = Path(name)
    return path.resolve() if path.is_dir() else checkpoint_path(name).with_suffix("")


def game_of_network(name: str | Path) -> Game:
    """The game that the network of this name plays; its weights are not read."""
    need_torch()
    return game_of_checkpoint(checkpoint_path(name))


def load_player(
    checkpoint: str | Path,
    sims: int | None = None,
    threads: int | None = None,
    *,
    backend: str | None = None,
    max_plies: int | None = None,
    prove: bool | None = None,
    lcb: float = 0.0,
) -> Player:
    """The network of a checkpoint as a player; this needs torch (the extra ``learn``).

        player = azfit.load_player("shipped")
        cell = player.move(Position.parse("a1b2/c3 y"))

    checkpoint: ``"shipped"`` (the network for 4 x 4 that comes with the project),
    ``"shipped-connect4"``, a ``.safetensors`` file, or the folder of a run, whose best network is
    meant. Any game.
    sims: search with this many simulations per move; None: the network alone.
    threads: None: what is fastest for torch here, by a measurement of half a second.
    backend: what runs the network, see ``azfit.inference``; None: torch, on which all published
    grades and proofs rest.
    prove, lcb: as in ``SearchConfig``, for a search; None: a search proves what it can.
    max_plies: a search counts a game that reaches this ply as a draw; None: the game's own cap.

    A player of drop-oldest is canonical: symmetric boards get symmetric moves.
    """
    if sims is not None and sims < 1:
        raise InputError(f"sims={sims}: use at least 1, or None for the network alone")
    loaded = load_network(checkpoint, threads, backend=backend)
    if threads is None:
        loaded.evaluator.choose_threads(TREES if sims else MEASURED_BATCH, available_cores())
    return loaded.player(sims, max_plies, prove=prove, lcb=lcb)


@dataclass(frozen=True)
class LoadedNetwork:
    """A network in memory, from which players with any number of simulations can be made."""

    name: str
    network: Network
    evaluator: NetworkEvaluator
    sha256: str

    def player(
        self,
        sims: int | None = None,
        max_plies: int | None = None,
        *,
        prove: bool | None = None,
        lcb: float = 0.0,
    ) -> Player:
        """As ``load_player`` makes it."""
        if sims is None and (prove is not None or lcb):
            raise InputError(
                "--prove, --no-prove and --lcb are for a search: give --sims, or leave them out"
            )
        game, evaluator = self.network.game, self.evaluator
        if sims is None:
            player: Player = NetworkPlayer(game, evaluator, name=self.name, sha256=self.sha256)
        else:
            steps = float(self.network.config.max_plies)
            config = SearchConfig(
                sims=sims, max_steps=steps, max_plies=max_plies, prove=prove is not False, lcb=lcb
            )
            player = SearchPlayer(game, evaluator, config, name=self.name, sha256=self.sha256)
        if not isinstance(game, DropOldest):
            return player
        from azfit.drop_oldest_players import CanonicalPlayer

        return CanonicalPlayer(player)


def load_network(
    checkpoint: str | Path, threads: int | None = None, *, backend: str | None = None
) -> LoadedNetwork:
    """The network of a checkpoint; this needs torch."""
    need_torch()
    from azfit.checkpoint import load_checkpoint
    from azfit.inference import NetworkEvaluator

    network, about = load_checkpoint(checkpoint_path(checkpoint))
    evaluator = NetworkEvaluator(network, backend, threads)
    return LoadedNetwork(network_path(checkpoint).name, network, evaluator, str(about["sha256"]))
