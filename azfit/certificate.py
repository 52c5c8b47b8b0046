"""Certificates that a player cannot be beaten, or how it is: the file, and a check of its own.

A proof is a list of positions with the player to move, and the player's move in each. It holds if

1. the list has the start: the empty board for X, every board after one move for Y;
2. no position on it has a line;
3. after the player's move, and after every legal reply to it, the game is won by the player or
   the position is on the list again; in particular no reply completes a line.

Then no sequence of replies whatsoever ends in a loss. A list that is ``symmetric`` has one
position for each class of mirror images and turns: it speaks for a player that treats them alike.
Positions are seen from the player, colours are not told apart: (player's queue; other queue).

A refutation is a line of moves from the empty board that ends with the player's loss.

The check uses the plain numpy rules of ``solver.playout`` and the eight symmetries as derived
here: no table, no index, no C kernel, nothing of what found the proof.

The file is a compressed ``.npz`` without pickles: ``about`` (JSON as uint8), ``queues`` int8
[2m, N] (player's queue, then the other, oldest first, -1 for no piece; sorted, by column),
``moves`` int8 [N], ``line`` int8 [plies].
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from azfit.players import Player
from solver.drawing import line_of
from solver.errors import CorruptTableError, MissingTableError
from solver.playout import Positions, has_line, is_won, legal_moves, piece_masks, play, successors
from solver.progress import Progress, Silent
from solver.rules import Rules
from solver.storage import write_atomically

Keys = NDArray[np.uint64]
Queues = NDArray[np.int8]

FORMAT, VERSION = "fadefour certificate", 1
UNBEATEN, REFUTED = "unbeaten", "refuted"
SIDES = ("x", "y", "xy")
AT_A_TIME = 1 << 16


@dataclass(frozen=True)
class Certificate:
    """What was found out about a player; see the top of this file."""

    kind: str
    """``unbeaten`` or ``refuted``."""
    rules: Rules
    sides: str
    """The colours of which it speaks: ``x``, ``y`` or ``xy``."""
    player: dict[str, Any]
    symmetric: bool
    queues: Queues
    """int8 [N, 2m]: the positions, player's queue first; none for a refutation."""
    moves: Queues
    """int8 [N]: the player's move in each."""
    line: tuple[int, ...] = ()
    """Of a refutation: the moves from the empty board."""
    smallest_margin: float | None = None
    """How far the player's closest decision was from another move, if it says; see Answers."""
    visited: int = 0
    """Positions with the player to move that the walk met."""
    path: Path | None = field(default=None, compare=False)

    @property
    def positions(self) -> int:
        return len(self.moves)

    @property
    def line_names(self) -> list[str]:
        return [self.rules.cell_name(cell) for cell in self.line]

    def __str__(self) -> str:
        sides = " and ".join(self.sides.upper())
        if self.kind == REFUTED:
            line = line_of(self.rules.start(), self.line)
            return f"{self.player['player']} can be beaten as {sides}: {line}"
        return (
            f"no opponent can beat {self.player['player']} as {sides}: {self.positions:,} boards "
            "with its move to make, closed under every reply, none of them lost"
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "rules": self.rules.tag,
            "sides": self.sides,
            **self.player,
            "symmetric": self.symmetric,
            "positions": self.positions,
            "visited": self.visited,
            "smallest_margin": self.smallest_margin,
            "line": self.line_names,
            "file": None if self.path is None else str(self.path),
        }


# ---- the file -----------------------------------------------------------------------------------


def _digest(queues: Queues, moves: Queues, line: Queues) -> str:
    whole = hashlib.sha256()
    for array in (queues, moves, line):
        whole.update(np.ascontiguousarray(array).tobytes())
    return whole.hexdigest()


def write_certificate(path: Path, certificate: Certificate) -> Path:
    """Writes the file; it appears whole or not at all."""
    order = np.lexsort(certificate.queues.T[::-1])
    queues = np.ascontiguousarray(certificate.queues[order].T)
    moves, line = certificate.moves[order], np.array(certificate.line, np.int8)
    rules = certificate.rules
    about = {
        "format": FORMAT,
        "version": VERSION,
        "n_m_k": [rules.n, rules.m, rules.k],
        "sha256": _digest(queues, moves, line),
        **certificate.to_dict(),
    }
    text = np.frombuffer(json.dumps(about).encode(), np.uint8)
    packed = io.BytesIO()
    np.savez_compressed(packed, about=text, queues=queues, moves=moves, line=line)
    write_atomically(path, packed.getvalue())
    return path


def read_certificate(path: Path) -> Certificate:
    """Reads a file and trusts nothing in it beyond its form; ``check_certificate`` judges it."""
    if not path.exists():
        raise MissingTableError(f"'{path}' does not exist: run 'fadefour certify' to make one")
    try:
        with np.load(path, allow_pickle=False) as stored:
            about = json.loads(bytes(stored["about"]).decode())
            queues, moves, line = (stored[name] for name in ("queues", "moves", "line"))
        return _built(path, about, queues, moves, line)
    except (KeyError, TypeError, ValueError, OSError, EOFError) as error:
        raise CorruptTableError(f"'{path}' is no certificate ({error}): make it again") from error
    except (zipfile.BadZipFile, zlib.error) as error:
        raise CorruptTableError(f"'{path}' is damaged ({error}): make it again") from error


def _built(
    path: Path, about: dict[str, Any], queues: Queues, moves: Queues, line: Queues
) -> Certificate:
    if about["format"] != FORMAT or about["version"] != VERSION:
        raise ValueError(f"format {about['format']!r} version {about['version']!r}")
    rules = Rules(*map(int, about["n_m_k"]))
    if about["rules"] != rules.tag:
        raise ValueError(f"other rules: {about['rules']!r}")
    if about["kind"] not in (UNBEATEN, REFUTED) or about["sides"] not in SIDES:
        raise ValueError(f"kind {about['kind']!r}, sides {about['sides']!r}")
    shapes = {"queues": (2 * rules.m, len(moves)), "moves": (len(moves),), "line": (len(line),)}
    for name, array in (("queues", queues), ("moves", moves), ("line", line)):
        if array.dtype != np.int8 or array.shape != shapes[name]:
            raise ValueError(f"{name} is {array.dtype} {list(array.shape)}")
    if about["sha256"] != _digest(queues, moves, line) or about["positions"] != len(moves):
        raise ValueError("its lists are not those it was made with")
    player = {name: about[name] for name in ("player", "sims", "canonical", "checkpoint_sha256")}
    return Certificate(
        about["kind"],
        rules,
        about["sides"],
        player,
        bool(about["symmetric"]),
        np.ascontiguousarray(queues.T),
        moves,
        tuple(int(cell) for cell in line),
        about["smallest_margin"],
        int(about["visited"]),
        path,
    )


# ---- keys ---------------------------------------------------------------------------------------


@cache
def _images(rules: Rules) -> NDArray[np.uint64]:
    """uint64 [8, cells + 1]: 1 + the cell to which each symmetry carries a cell; 0 for no piece."""
    cells = np.arange(rules.cells).reshape(rules.n, rules.n)
    turned = [np.rot90(board, turns) for board in (cells, cells.T) for turns in range(4)]
    rows = [[*(board.ravel() + 1), 0] for board in turned]
    return np.array(rows, np.uint64)


def _keys(positions: Positions, symmetric: bool) -> Keys:
    """One number per position as its mover sees it, or per class of symmetric ones; uint64 [N].

    Five bits for each piece; of symmetric positions the smallest number counts.
    """
    images = _images(positions.rules)[: 8 if symmetric else 1]
    pieces = np.concatenate([positions.mover, positions.opponent], axis=1).T
    smallest = np.full(len(positions), np.iinfo(np.uint64).max, np.uint64)
    for image in images:
        packed = np.zeros(len(positions), np.uint64)
        for cells in pieces:
            packed = packed << np.uint64(5) | image[cells]
        smallest = np.minimum(smallest, packed)
    return smallest


def listed_positions(rules: Rules, queues: Queues) -> Positions:
    """Positions int8 [N, 2m] as seen by the player, with the colours that their sizes imply."""
    player, other = queues[:, : rules.m], queues[:, rules.m :]
    is_y = (player >= 0).sum(axis=1) < (other >= 0).sum(axis=1)
    x = np.where(is_y[:, None], other, player)
    y = np.where(is_y[:, None], player, other)
    return Positions.from_arrays(rules, x, y, is_y.astype(np.int8))


# ---- the check ----------------------------------------------------------------------------------


class _DoesNotHoldError(Exception):
    """Why a certificate does not hold."""


@dataclass(frozen=True)
class Check:
    """Whether a certificate holds, and if not, why."""

    certificate: Certificate
    problem: str | None
    replies: int
    """Replies of the opponent that were gone through."""
    moves_asked: bool
    """Whether the moves were compared with a player's."""

    @property
    def ok(self) -> bool:
        return self.problem is None

    def __str__(self) -> str:
        if not self.ok:
            return f"the certificate does NOT hold: {self.problem}"
        moves = ", and its moves are the network's" if self.moves_asked else ""
        replies = f" ({self.replies:,} replies followed)" if self.replies else ""
        return f"the certificate holds{replies}{moves}: {self.certificate}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "problem": self.problem,
            "replies": self.replies,
            "moves_compared_with_player": self.moves_asked,
            "certificate": self.certificate.to_dict(),
        }


def check_certificate(
    path: Path,
    player: Player | None = None,
    *,
    rules: Rules | None = None,
    progress: Progress | None = None,
) -> Check:
    """Verifies a certificate from the rules alone, and its moves if a player is given.

    Raises CorruptTableError for a file that is none. ``rules`` and a player with a checkpoint
    must be those of the certificate.
    """
    certificate = read_certificate(path)
    report, replies = progress or Silent(), 0
    try:
        _check_claims(certificate, player, rules)
        if certificate.kind == REFUTED:
            _check_line(certificate, player)
        else:
            report.begin(f"check {path.name}", certificate.positions, "position")
            replies = _check_proof(certificate, player, report)
            report.end(f"{replies:>14,} replies")
    except _DoesNotHoldError as refused:
        return Check(certificate, str(refused), replies, player is not None)
    return Check(certificate, None, replies, player is not None)


def _check_claims(certificate: Certificate, player: Player | None, rules: Rules | None) -> None:
    for wanted in (rules, None if player is None else player.rules):
        if wanted is not None and wanted != certificate.rules:
            raise _DoesNotHoldError(f"it is for {certificate.rules.name}, not for {wanted.name}")
    if player is None:
        return
    if certificate.symmetric and not player.canonical:
        raise _DoesNotHoldError("it speaks for a player that treats symmetric boards alike")
    stated, found = certificate.player["checkpoint_sha256"], player.sha256
    if stated != found:
        raise _DoesNotHoldError(f"it is for the checkpoint with SHA-256 {stated}, not {found}")
    if certificate.player["sims"] != player.sims:
        raise _DoesNotHoldError(
            f"it is for {certificate.player['sims']} sims, not for {player.sims}"
        )


def _check_line(certificate: Certificate, player: Player | None) -> None:
    position = certificate.rules.start()
    for cell in certificate.line:
        if position.to_move == certificate.sides and player is not None:
            chosen = player.move(position)
            if chosen != cell:
                names = [certificate.rules.cell_name(move) for move in (cell, chosen)]
                raise _DoesNotHoldError(
                    f"in '{position}' it says {names[0]}, the player {names[1]}"
                )
        if cell not in position.legal_moves():
            raise _DoesNotHoldError(f"cell {cell} is not a legal move in '{position}'")
        position = position.play(cell)
    if not position.is_over or position.to_move != certificate.sides:
        raise _DoesNotHoldError(
            f"its line ends in '{position}', which {certificate.sides} has not lost"
        )


def _check_proof(certificate: Certificate, player: Player | None, report: Progress) -> int:
    _check_sizes(certificate)
    positions = listed_positions(certificate.rules, certificate.queues)
    keys = _listed_keys(positions, certificate.symmetric)
    _check_start(certificate, keys)
    replies = 0
    for first in range(0, len(positions), AT_A_TIME):
        rows = np.arange(first, min(first + AT_A_TIME, len(positions)))
        replies += _check_closed(
            positions.take(rows), certificate.moves[rows], keys, certificate.symmetric
        )
        if player is not None:
            _check_moves(player, positions.take(rows), certificate.moves[rows], rows)
        report.reach(int(rows[-1]) + 1)
    return replies


def _check_sizes(certificate: Certificate) -> None:
    """That every entry is a position: cells on the board, none twice, sizes that play can give."""
    rules, queues = certificate.rules, certificate.queues
    player, other = queues[:, : rules.m], queues[:, rules.m :]
    good = ((queues >= -1) & (queues < rules.cells)).all(axis=1)
    for queue in (player, other):
        good &= ~((queue[:, :-1] < 0) & (queue[:, 1:] >= 0)).any(axis=1)
    mine, theirs = (player >= 0).sum(axis=1), (other >= 0).sum(axis=1)
    good &= (mine == theirs) | (mine + 1 == theirs)
    ordered = np.sort(queues, axis=1)
    good &= ~((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1)
    if not good.all():
        row = int(np.flatnonzero(~good)[0])
        raise _DoesNotHoldError(f"entry {row}, {queues[row].tolist()}, is no position")
    lines = has_line(piece_masks(queues.reshape(-1, 2, rules.m)), rules).any(axis=1)
    if lines.any():
        row = int(np.flatnonzero(lines)[0])
        raise _DoesNotHoldError(
            f"entry {row}, {queues[row].tolist()}, is not in play: it has a line"
        )


def _listed_keys(positions: Positions, symmetric: bool) -> Keys:
    chunks = range(0, len(positions), AT_A_TIME)
    rows = [np.arange(first, min(first + AT_A_TIME, len(positions))) for first in chunks]
    keys = [_keys(positions.take(some), symmetric) for some in rows]
    return np.sort(np.concatenate([np.empty(0, np.uint64), *keys]))


def _are_listed(wanted: Keys, keys: Keys) -> NDArray[np.bool_]:
    if not len(keys):
        return np.zeros(len(wanted), np.bool_)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.asarray(keys[place] == wanted)


def _check_start(certificate: Certificate, keys: Keys) -> None:
    empty = Positions.of([certificate.rules.start()], certificate.rules)
    starts = {"x": empty, "y": successors(empty).positions}
    for side in certificate.sides:
        listed = _are_listed(_keys(starts[side], certificate.symmetric), keys)
        if not listed.all():
            missing = starts[side].at(int(np.flatnonzero(~listed)[0]))
            raise _DoesNotHoldError(f"'{missing}' is missing, where play as {side.upper()} starts")


def _check_closed(positions: Positions, moves: Queues, keys: Keys, symmetric: bool) -> int:
    """Goes through every reply to these moves; returns how many there are."""
    inside = (moves >= 0) & (moves < positions.rules.cells)
    legal = legal_moves(positions)[np.arange(len(moves)), np.where(inside, moves, 0)] & inside
    if not legal.all():
        row = int(np.flatnonzero(~legal)[0])
        raise _DoesNotHoldError(f"cell {moves[row]} is not a legal move in '{positions.at(row)}'")
    after = play(positions, moves)
    replies = successors(after.take(~is_won(after))).positions
    lost = is_won(replies)
    if lost.any():
        raise _DoesNotHoldError(
            f"the player can be led to '{replies.at(int(np.flatnonzero(lost)[0]))}'"
        )
    listed = _are_listed(_keys(replies, symmetric), keys)
    if not listed.all():
        missing = replies.at(int(np.flatnonzero(~listed)[0]))
        raise _DoesNotHoldError(f"'{missing}' can be reached but is not listed")
    return len(replies)


def _check_moves(
    player: Player, positions: Positions, moves: Queues, rows: NDArray[np.int64]
) -> None:
    """Asks the player. A canonical one is asked about other images of the boards as well."""
    _compare(positions, moves, player.answer(positions).cells)
    if not player.canonical:
        return
    image = (_images(positions.rules).astype(np.int8) - 1)[rows % 8]
    at = np.arange(len(rows))
    turned = Positions(
        positions.rules, image[at[:, None, None], positions.queues], positions.to_move
    )
    answered = play(turned, player.answer(turned).cells)
    same = _keys(answered, True) == _keys(play(positions, moves), True)
    if not same.all():
        raise _DoesNotHoldError(
            f"the player moves otherwise in '{turned.at(int(np.flatnonzero(~same)[0]))}'"
        )


def _compare(positions: Positions, moves: Queues, chosen: Queues) -> None:
    if (moves == chosen).all():
        return
    row = int(np.flatnonzero(moves != chosen)[0])
    names = [positions.rules.cell_name(int(cell)) for cell in (moves[row], chosen[row])]
    raise _DoesNotHoldError(f"in '{positions.at(row)}' it says {names[0]}, the player {names[1]}")
