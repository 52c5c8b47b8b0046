"""Certificates that a player cannot be beaten, or how it is: what they say, and their file.

A proof is a list of positions with the player to move, and the player's move in each. It holds if

1. the list has the start: the empty board for X, every board after one move for Y;
2. no position on it has a line;
3. after the player's move, and after every legal reply to it, the game is won by the player or
   the position is on the list again; in particular no reply completes a line.

Then no sequence of replies whatsoever ends in a loss. A list that is ``symmetric`` has one
position for each class of mirror images and turns: it speaks for a player that treats them alike.
Positions are seen from the player's side, whatever the colour: (player's queue; other queue).

A refutation is a line of moves from the empty board that ends with the player's loss.

The file is a compressed ``.npz`` without pickles: ``about`` (JSON as uint8), ``line`` int8 [plies],
``moves`` int8 [N], or [0] in a compact file, whose moves come from the checkpoint; and the
positions, either ``nodes``, a bit for every canonical position in the order of its rank (symmetric
lists), or ``queues`` int8 [2m, N] (player's queue, then the other, oldest first, -1 for no piece;
sorted, by column). How positions are packed proves nothing and can spoil nothing: the check
(``azfit.grading.certificate_check``) judges the list that comes out.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from azfit.drop_oldest_players import game_of
from azfit.players import PlayerInfo
from solver.archives import Archive, open_archive
from solver.drawing import line_of
from solver.errors import InputError, NoRoomError
from solver.index import find_nodes, look_up_positions, node_count, symmetry_of
from solver.machine import available_memory
from solver.playout import Positions
from solver.rules import Rules
from solver.storage import write_atomically
from solver.wording import quoted

Queues = NDArray[np.int8]

FORMAT, VERSION = "fadefour certificate", 2
UNBEATEN, REFUTED = "unbeaten", "refuted"
SIDES = ("x", "y", "xy")
AT_A_TIME = 1 << 20

# Limits of what is read, far above what any player needs.
MOST_BYTES = 4_000_000_000
MOST_ABOUT_BYTES = 1 << 20
MOST_PLIES = 1 << 20
LONGEST_NAME = 1000

_TYPES: dict[str, tuple[type, ...]] = {
    "symmetric": (bool,),
    "positions": (int,),
    "visited": (int,),
    "smallest_margin": (float, int, type(None)),
    "player": (str,),
    "sims": (int, type(None)),
    "proves": (bool,),
    "canonical": (bool,),
    "checkpoint_sha256": (str, type(None)),
}


@dataclass(frozen=True)
class Certificate:
    """A proof or a refutation for one player; see the top of this file."""

    kind: str
    """``unbeaten`` or ``refuted``."""
    rules: Rules
    sides: str
    """The colours that it is about: ``x``, ``y`` or ``xy``."""
    player: PlayerInfo
    symmetric: bool
    queues: Queues
    """int8 [N, 2m]: the positions, player's queue first; none for a refutation."""
    moves: Queues
    """int8 [N]: the player's move in each; none in a compact certificate."""
    line: tuple[int, ...] = ()
    """The moves of a refutation, from the empty board."""
    smallest_margin: float | None = None
    """How far the player's closest decision was from another move, if it says; see ``Choices``."""
    visited: int = 0
    """Positions with the player to move that the walk met."""
    path: Path | None = field(default=None, compare=False)

    @property
    def positions(self) -> int:
        return len(self.queues)

    @property
    def is_compact(self) -> bool:
        """Whether the moves are left out: then they are the checkpoint's to give."""
        return len(self.queues) > 0 and not len(self.moves)

    @property
    def line_names(self) -> list[str]:
        return [self.rules.cell_name(cell) for cell in self.line]

    def __str__(self) -> str:
        sides = " and ".join(self.sides.upper())
        if self.kind == REFUTED:
            line = line_of(self.rules.start(), self.line)
            return f"{self.player.name} can be beaten as {sides}: {line}"
        return (
            f"no opponent can beat {self.player.name} as {sides}: {self.positions:,} boards "
            "with its move to make, closed under every reply, none of them lost"
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "rules": self.rules.tag,
            "sides": self.sides,
            **self.player.to_dict(),
            "symmetric": self.symmetric,
            "positions": self.positions,
            "visited": self.visited,
            "smallest_margin": self.smallest_margin,
            "line": self.line_names,
            "file": None if self.path is None else str(self.path),
        }


# ---- the file -----------------------------------------------------------------------------------


def listed_positions(rules: Rules, queues: Queues) -> Positions:
    """Positions int8 [N, 2m] as seen by the player, with the colours that their sizes imply."""
    player, other = queues[:, : rules.m], queues[:, rules.m :]
    is_y = (player >= 0).sum(axis=1) < (other >= 0).sum(axis=1)
    x = np.where(is_y[:, None], other, player)
    y = np.where(is_y[:, None], player, other)
    return Positions.from_arrays(rules, x, y, is_y.astype(np.int8))


def canonical(certificate: Certificate) -> tuple[Certificate, NDArray[np.uint64]]:
    """A symmetric certificate with every class on its canonical board, rising, and its nodes."""
    rules, queues = certificate.rules, certificate.queues
    nodes = np.empty(len(queues), np.uint64)
    transforms = np.empty(len(queues), np.uint8)
    for first in range(0, len(queues), AT_A_TIME):
        rows = slice(first, first + AT_A_TIME)
        nodes[rows], transforms[rows] = find_nodes(
            *listed_positions(rules, queues[rows]).arrays, rules
        )
    order = np.argsort(nodes)
    moves = certificate.moves
    if len(moves):
        moves = symmetry_of(rules).image[transforms, moves][order].astype(np.int8)
    return replace(certificate, queues=_boards(rules, nodes[order]), moves=moves), nodes[order]


def _boards(rules: Rules, nodes: NDArray[np.uint64]) -> Queues:
    """The canonical boards of these nodes as the player sees them, int8 [N, 2m]."""
    boards = [np.empty((0, 2 * rules.m), np.int8)]
    for first in range(0, len(nodes), AT_A_TIME):
        arrays = look_up_positions(nodes[first : first + AT_A_TIME], rules)
        positions = Positions.from_arrays(rules, *arrays)
        boards.append(np.concatenate([positions.mover, positions.opponent], axis=1))
    return np.concatenate(boards)


def _packed(certificate: Certificate) -> tuple[Certificate, dict[str, Any]]:
    """The certificate in the order of its file, and the arrays that list its positions."""
    if certificate.symmetric:
        certificate, nodes = canonical(certificate)
        listed = np.zeros(node_count(certificate.rules), np.bool_)
        listed[nodes.astype(np.int64)] = True
        return certificate, {"nodes": np.packbits(listed)}
    order = np.lexsort(certificate.queues.T[::-1])
    queues = certificate.queues[order]
    ordered = replace(certificate, queues=queues, moves=certificate.moves[order])
    return ordered, {"queues": np.ascontiguousarray(queues.T)}


def _digest(arrays: dict[str, Any]) -> str:
    whole = hashlib.sha256()
    for name in sorted(arrays):
        whole.update(np.ascontiguousarray(arrays[name]).tobytes())
    return whole.hexdigest()


def write_certificate(path: Path, certificate: Certificate, *, compact: bool = False) -> Path:
    """Writes the file; it appears whole or not at all. compact: without the moves."""
    if compact and certificate.player.checkpoint_sha256 is None:
        raise InputError("a compact certificate leaves the moves to a checkpoint: there is none")
    certificate, arrays = _packed(certificate)
    arrays["moves"] = certificate.moves[:0] if compact else certificate.moves
    arrays["line"] = np.array(certificate.line, np.int8)
    rules = certificate.rules
    about = {
        "format": FORMAT,
        "version": VERSION,
        "n_m_k": [rules.n, rules.m, rules.k],
        "sha256": _digest(arrays),
        **certificate.to_dict(),
    }
    text = np.frombuffer(json.dumps(about).encode(), np.uint8)
    packed = io.BytesIO()
    np.savez_compressed(packed, about=text, **arrays)
    write_atomically(path, packed.getvalue())
    return path


def read_certificate(path: Path) -> Certificate:
    """Reads a file and trusts nothing in it beyond its form; ``check_certificate`` judges it.

    What the file holds is compared with what its rules allow before it is unpacked.
    """
    remedy = "run 'fadefour certify' to make one"
    with open_archive(path, MOST_BYTES, "certificate", remedy) as stored:
        return _built(path, stored.read_json("about", MOST_ABOUT_BYTES), stored)


def _built(path: Path, about: dict[str, Any], stored: Archive) -> Certificate:
    if about["format"] != FORMAT or about["version"] != VERSION:
        raise ValueError(f"format {about['format']!r} version {about['version']!r}")
    rules = Rules(*about["n_m_k"])
    if about["rules"] != rules.tag:
        raise ValueError(f"other rules: {about['rules']!r}")
    if about["kind"] not in (UNBEATEN, REFUTED) or about["sides"] not in SIDES:
        raise ValueError(f"kind {about['kind']!r}, sides {about['sides']!r}")
    about.setdefault("proves", False)  # certificates from before searches proved have no such entry
    for name, types in _TYPES.items():
        if not isinstance(about[name], types) or (
            isinstance(about[name], bool) and bool not in types
        ):
            raise ValueError(f"{name} is {about[name]!r}")
    if not about["player"].isprintable() or len(about["player"]) > LONGEST_NAME:
        raise ValueError(f"player is {quoted(about['player'])}")
    if not math.isfinite(about["smallest_margin"] or 0):
        raise ValueError(f"smallest_margin is {about['smallest_margin']}")
    symmetric, count = about["symmetric"], about["positions"]
    _check_size(path, rules, symmetric, count)
    listing = "nodes" if symmetric else "queues"
    if set(stored.arrays) != {"about", "line", "moves", listing}:
        raise ValueError(f"it holds {', '.join(sorted(stored.arrays))}")
    if stored.arrays["moves"].bytes not in (0, count) or stored.arrays["line"].bytes > MOST_PLIES:
        raise ValueError("its moves or its line have the wrong length")
    if about["sha256"] != _stored_digest(stored):
        raise ValueError("its lists are not those it was made with")
    line = stored.read("line", np.int8, (stored.arrays["line"].bytes,))
    player = PlayerInfo(
        about["player"],
        game_of(rules).name,
        about["sims"],
        about["canonical"],
        about["checkpoint_sha256"],
        about["proves"],
    )
    return Certificate(
        about["kind"],
        rules,
        about["sides"],
        player,
        symmetric,
        _read_nodes(stored, rules, count) if symmetric else _read_queues(stored, rules, count),
        stored.read("moves", np.int8, (stored.arrays["moves"].bytes,)),
        tuple(line.tolist()),
        about["smallest_margin"],
        about["visited"],
        path,
    )


def _check_size(path: Path, rules: Rules, symmetric: bool, count: int) -> None:
    """Checks that this many positions are possible and fit into memory."""
    # A class has at most eight boards, and a full one is seen from either side.
    most = node_count(rules) * (1 if symmetric else 16)
    if not 0 <= count <= most:
        raise ValueError(f"it lists {count:,} positions, more than the {most:,} there can be")
    needed, free = count * (2 * rules.m + 1 + 8 * symmetric), available_memory()
    if needed > free:
        raise NoRoomError(
            f"'{path}' lists {count:,} positions: they need {needed / 1e9:.1f} GB of memory, but "
            f"only {free / 1e9:.1f} GB are free"
        )


def _stored_digest(stored: Archive) -> str:
    """As ``_digest``, without holding the arrays."""
    whole = hashlib.sha256()
    for name in sorted(set(stored.arrays) - {"about"}):
        for chunk in stored.chunks(name):
            whole.update(chunk)
    return whole.hexdigest()


def _read_nodes(stored: Archive, rules: Rules, count: int) -> Queues:
    """The boards of a list that is a bit for every node, int8 [count, 2m]."""
    nodes = np.empty(count, np.uint64)
    listed = stored.arrays["nodes"]
    if listed.dtype != np.uint8 or listed.shape != (-(-node_count(rules) // 8),):
        raise ValueError(f"nodes is {listed.dtype} {list(listed.shape)}")
    first = filled = 0
    for chunk in stored.chunks("nodes"):
        bits = np.flatnonzero(np.unpackbits(np.frombuffer(chunk, np.uint8)))
        if filled + len(bits) > count or (len(bits) and first + bits[-1] >= node_count(rules)):
            raise ValueError(f"it lists more than {count:,} positions")
        nodes[filled : filled + len(bits)] = bits + first
        filled, first = filled + len(bits), first + 8 * len(chunk)
    if filled != count:
        raise ValueError(f"it lists {filled:,} positions, not {count:,}")
    return _boards(rules, nodes)


def _read_queues(stored: Archive, rules: Rules, count: int) -> Queues:
    """The boards of a list of boards, int8 [count, 2m].

    Its columns are read side by side: that the rows rise is seen before many of them are held.
    """
    listed, width = stored.arrays["queues"], 2 * rules.m
    if listed.dtype != np.int8 or listed.shape != (width, count):
        raise ValueError(f"queues is {listed.dtype} {list(listed.shape)}")
    queues = np.empty((count, width), np.int8)
    with contextlib.ExitStack() as columns:
        opened = [columns.enter_context(stored.open("queues", i * count)) for i in range(width)]
        for first in range(0, count, AT_A_TIME):
            rows = slice(first, min(first + AT_A_TIME, count))
            for i, column in enumerate(opened):
                queues[rows, i] = np.frombuffer(column.read(rows.stop - first), np.int8)
            if not _rises(queues[max(0, first - 1) : rows.stop]):
                raise ValueError("its positions are not in order")
    return queues


def _rises(rows: Queues) -> bool:
    """Whether each row is larger than the one before, its first column counting most."""
    difference = rows[1:].astype(np.int16) - rows[:-1]
    first = (difference != 0).argmax(axis=1)
    return bool((difference[np.arange(len(first)), first] > 0).all())
