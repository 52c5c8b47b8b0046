"""The check of a certificate, from the rules alone.

It uses the plain numpy rules of ``solver.playout`` and the eight symmetries as derived here: no
table, no index, no C kernel, nothing of what found the proof. Only the unpacking of the file
(``azfit.grading.certificate``) uses the index; whatever list that gives is what is judged here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from azfit.drop_oldest_players import drop_oldest_of, states_of
from azfit.grading.certificate import (
    REFUTED,
    Certificate,
    Queues,
    listed_positions,
    read_certificate,
)
from azfit.players import Player
from solver.errors import InputError
from solver.playout import Positions, has_line, is_won, legal_moves, piece_masks, play, successors
from solver.progress import Progress, Silent
from solver.rules import Rules

Keys = NDArray[np.uint64]

AT_A_TIME = 1 << 16

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
    source: Certificate | Path,
    player: Player | None = None,
    *,
    progress: Progress | None = None,
) -> Check:
    """Verifies a certificate from the rules alone, and its moves if a player is given.

    source: a certificate, or its file; CorruptTableError for a file that is none. InputError if
    the certificate is not for this player: then it says nothing about it, right or wrong.
    """
    certificate = source if isinstance(source, Certificate) else read_certificate(source)
    if player is not None:
        _check_player(certificate, player)
    elif certificate.is_compact:
        raise InputError(f"{_name(certificate)} leaves the moves to its checkpoint: give that too")
    report, replies = progress or Silent(), 0
    try:
        if certificate.kind == REFUTED:
            _check_line(certificate, player)
        else:
            report.begin("check", certificate.positions, "position")
            replies = _check_proof(certificate, player, report)
            report.end(f"{replies:>14,} replies")
    except _DoesNotHoldError as refused:
        return Check(certificate, str(refused), replies, player is not None)
    return Check(certificate, None, replies, player is not None)


def _name(certificate: Certificate) -> str:
    return "the certificate" if certificate.path is None else f"'{certificate.path}'"


def _check_player(certificate: Certificate, player: Player) -> None:
    """InputError unless the certificate is for this player."""
    name, rules, stated = _name(certificate), drop_oldest_of(player).rules, certificate.player
    if certificate.rules != rules:
        raise InputError(
            f"{name} is for {certificate.rules.name}, but {player.name} plays {rules.name}: give "
            "the network that it was made for"
        )
    if stated.checkpoint_sha256 != player.sha256:
        raise InputError(
            f"{name} was made for '{stated.name}' (SHA-256 {_short(stated.checkpoint_sha256)}), "
            f"not for {player.name} ({_short(player.sha256)}): give that network"
        )
    if stated.sims != player.sims:
        raise InputError(
            f"{name} was made with {stated.sims} simulations per move, not {player.sims}: "
            + (f"use --sims {stated.sims}" if stated.sims else "leave --sims out")
        )
    if stated.proves != player.proves:
        raise InputError(
            f"{name} was made {'with' if stated.proves else 'without'} proofs in the search: use "
            f"{'--prove' if stated.proves else '--no-prove'}"
        )
    if certificate.symmetric and not player.canonical:
        raise InputError(
            f"{name} is for a player that treats symmetric boards alike, but {player.name} does not"
        )


def _short(sha256: str | None) -> str:
    return "none" if sha256 is None else f"{str(sha256)[:12]}..."


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
        batch = positions.take(rows)
        chosen = None if player is None else _chosen(player, batch)
        moves = chosen if certificate.is_compact else certificate.moves[rows]
        assert moves is not None
        replies += _check_closed(batch, moves, keys, certificate.symmetric)
        if player is not None and chosen is not None:
            _compare(batch, moves, chosen)
            _check_images(player, batch, moves, rows)
        report.reach(int(rows[-1]) + 1)
    return replies


def _chosen(player: Player, positions: Positions) -> Queues:
    """The player's moves, int8 [N]."""
    states = states_of(drop_oldest_of(player), positions)
    return player.choose(states).actions.astype(np.int8)


def _check_sizes(certificate: Certificate) -> None:
    """Checks that every entry is a position: cells on the board, none twice, possible sizes."""
    rules, queues = certificate.rules, certificate.queues
    player, other = queues[:, : rules.m], queues[:, rules.m :]
    good = ((queues >= -1) & (queues < rules.cells)).all(axis=1)
    for queue in (player, other):
        good &= ~((queue[:, :-1] < 0) & (queue[:, 1:] >= 0)).any(axis=1)
    own, others = (player >= 0).sum(axis=1), (other >= 0).sum(axis=1)
    good &= (own == others) | (own + 1 == others)
    ordered = np.sort(queues, axis=1)
    good &= ~((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1)
    if not good.all():
        row = int(np.flatnonzero(~good)[0])
        raise _DoesNotHoldError(f"entry {row}, {queues[row].tolist()}, is not a position")
    lines = has_line(piece_masks(queues.reshape(-1, 2, rules.m)), rules).any(axis=1)
    if lines.any():
        row = int(np.flatnonzero(lines)[0])
        raise _DoesNotHoldError(
            f"entry {row}, {queues[row].tolist()}, is not in play: it has a line"
        )


def _listed_keys(positions: Positions, symmetric: bool) -> Keys:
    chunks = range(0, len(positions), AT_A_TIME)
    rows = [np.arange(first, min(first + AT_A_TIME, len(positions))) for first in chunks]
    keys = [_keys(positions.take(batch), symmetric) for batch in rows]
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


def _check_images(
    player: Player, positions: Positions, moves: Queues, rows: NDArray[np.int64]
) -> None:
    """A canonical player must move alike on other images of the boards."""
    if not player.canonical:
        return
    image = (_images(positions.rules).astype(np.int8) - 1)[rows % 8]
    at = np.arange(len(rows))
    turned = Positions(
        positions.rules, image[at[:, None, None], positions.queues], positions.to_move
    )
    after = play(turned, _chosen(player, turned))
    same = _keys(after, True) == _keys(play(positions, moves), True)
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
