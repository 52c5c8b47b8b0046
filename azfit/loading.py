"""Networks by name: ``shipped``, a checkpoint file, or the folder of a run."""

from __future__ import annotations

from pathlib import Path

from azfit.games import DropOldest
from azfit.players import TREES, NetworkPlayer, Player, SearchPlayer
from azfit.search_config import SearchConfig
from solver.errors import InputError, MissingTableError
from solver.extras import need
from solver.machine import available_cores

SHIPPED = "shipped"
BEST = "best.safetensors"

# Boards on which threads are measured; the batches of a grade are larger and like the same number.
MEASURED_BATCH = 1 << 12

_SHIPPED_FILE = Path(__file__).resolve().parent.parent / "data" / "network_4x4_m4.safetensors"


def need_torch() -> None:
    for package in ("torch", "safetensors"):
        need(package, "this")


def checkpoint_path(name: str | Path) -> Path:
    """The checkpoint file that is meant by ``name``.

    ``shipped`` is the network that comes with the project, for 4 x 4; the folder of a run means
    its best network; anything else is a file.
    """
    if name == SHIPPED:
        return _SHIPPED_FILE
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


def player_name(name: str | Path) -> str:
    """What the player of this checkpoint is called: its file's name, or its run's."""
    path = Path(name)
    return path.resolve().name if path.is_dir() else checkpoint_path(name).stem


def load_player(
    checkpoint: str | Path,
    sims: int | None = None,
    threads: int | None = None,
    *,
    backend: str | None = None,
    max_plies: int | None = None,
) -> Player:
    """The network of a checkpoint as a player; this needs torch (``make learn``).

        player = azfit.load_player("shipped")
        cell = player.move(Position.parse("a1b2/c3 y"))

    checkpoint: ``"shipped"`` (the network for 4 x 4 that comes with the project), a
    ``.safetensors`` file, or the folder of a run, whose best network is meant. Any game.
    sims: search with this many simulations per move; None: the network alone.
    threads: for torch; None: what is fastest here, by a measurement of half a second.
    backend: what runs the network, see ``azfit.inference``; None: torch, on which all published
    grades and proofs rest.
    max_plies: a search counts a game that reaches this ply as a draw; None: the game's own cap.

    A player of drop-oldest is canonical: symmetric boards get symmetric moves.
    """
    need_torch()
    from azfit.checkpoint import load_checkpoint
    from azfit.inference import NetworkEvaluator

    if sims is not None and sims < 1:
        raise InputError(f"sims={sims}: use at least 1, or None for the network alone")
    network, about = load_checkpoint(checkpoint_path(checkpoint))
    evaluator = NetworkEvaluator(network, backend, threads)
    if threads is None:
        evaluator.choose_threads(TREES if sims else MEASURED_BATCH, available_cores())
    name, sha256 = player_name(checkpoint), str(about["sha256"])
    if sims is None:
        player: Player = NetworkPlayer(network.game, evaluator, name=name, sha256=sha256)
    else:
        config = SearchConfig(
            sims=sims, max_steps=float(network.config.max_plies), max_plies=max_plies
        )
        player = SearchPlayer(network.game, evaluator, config, name=name, sha256=sha256)
    if not isinstance(network.game, DropOldest):
        return player
    from azfit.drop_oldest_players import CanonicalPlayer

    return CanonicalPlayer(player)
