"""Certificates: real ones with their header, their arrays, headers of arrays or any bytes changed.

A certificate that is read says what its file says; it passes the check exactly if a plain walk over
its list finds no way to beat the player; and what is said of it is one line.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import Any

import numpy as np
from fixed_players import class_of, fixed

from azfit.grading.certificate import (
    REFUTED,
    Certificate,
    read_certificate,
    write_certificate,
)
from azfit.grading.certificate_check import check_certificate
from azfit.grading.certify import certify
from fuzz.forged_archives import archive, changed
from fuzz.untrusted import Input, edited_json, refused, same_json, scratch_folder
from solver import FadefourError, Rules
from solver.rules import Position

Row = tuple[int, ...]

PATH = scratch_folder() / "certificate.npz"
DIGEST_FITS, HEADER_OF_ARRAY, RAW_CHANGES, PACKED, ANY_BYTES = 1, 2, 4, 8, 16


def stored(certificate: Certificate, compact: bool = False) -> dict[str, Any]:
    """The arrays of its file, and its header as JSON."""
    with np.load(write_certificate(PATH, certificate, compact=compact)) as file:
        arrays = {name: file[name] for name in file.files}
    arrays["about"] = json.loads(arrays["about"].tobytes())
    return arrays


def bases() -> list[dict[str, Any]]:
    """Nobody can win with two pieces and three in a row; with two in a row the player can lose."""
    drawn, lost = fixed(Rules(3, 2, 3)), fixed(Rules(3, 2, 2))
    proofs = [certify(drawn, "x")[0], certify(drawn, "y")[0], certify(lost, "x")[0]]
    assert [proof.kind == REFUTED for proof in proofs] == [False, False, True]
    plain = Certificate(**{**vars(proofs[1]), "symmetric": False})
    return [stored(proof) for proof in (*proofs, plain)]


BASES = bases()


def forged(source: Input, options: int) -> tuple[bytes, Any]:
    """A certificate's file, and what its header says."""
    base = BASES[source.below(len(BASES))]
    arrays = {name: array for name, array in base.items() if name != "about"}
    chosen = sorted(arrays)[source.below(len(arrays))]
    content = changed(arrays[chosen].tobytes(), source)
    arrays[chosen] = np.frombuffer(content, arrays[chosen].dtype).reshape(arrays[chosen].shape)
    text = edited_json(base["about"], source)
    if options & DIGEST_FITS:
        digest = hashlib.sha256(b"".join(arrays[name].tobytes() for name in sorted(arrays)))
        text = text.replace(base["about"]["sha256"], digest.hexdigest())
    headed = ["about", *sorted(arrays)][source.below(len(arrays) + 1)]
    header = source.piece() if options & HEADER_OF_ARRAY else b""
    arrays["about"] = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
    names = ("about", "line", "moves", *(arrays.keys() & {"nodes", "queues"}))
    in_order = {name: arrays[name] for name in names}
    return archive(in_order, {headed: header}, packed=bool(options & PACKED)), text


def check(data: bytes) -> bool:
    source = Input(data)
    options = source.byte()
    content, text = (source.rest(), None) if options & ANY_BYTES else forged(source, options)
    if options & RAW_CHANGES:
        content = changed(content, source)
    PATH.write_bytes(content)
    try:
        certificate = read_certificate(PATH)
    except FadefourError as error:
        return refused(error, PATH.name)
    if text is not None and not options & RAW_CHANGES:
        about, stated = json.loads(text), certificate.to_dict()
        for key in stated.keys() - {"file", "line"}:
            assert same_json(about[key], stated[key]), key
    try:
        verdict = check_certificate(certificate)
    except FadefourError as error:
        assert certificate.is_compact
        return refused(error, PATH.name)
    assert str(verdict).isprintable(), str(verdict)
    json.dumps(verdict.to_dict(), allow_nan=False)
    if certificate.rules.n == 3 and certificate.rules.m == 2:
        assert verdict.ok == holds(certificate), verdict.problem
    return True


# ---- the plain check ----------------------------------------------------------------------------


def holds(certificate: Certificate) -> bool:
    """Whether play over plain positions finds nothing against the certificate."""
    rules, symmetric = certificate.rules, certificate.symmetric
    if certificate.kind == REFUTED:
        return is_lost(certificate)
    rows = [tuple(queues) for queues in certificate.queues.tolist()]
    listed = {key_of_row(row, rules, symmetric) for row in rows}
    start = rules.start()
    starts = {"x": [start], "y": [start.play(cell) for cell in start.legal_moves()]}
    needed = {key(p, symmetric) for side in certificate.sides for p in starts[side]}
    for row, move in zip(rows, certificate.moves.tolist(), strict=True):
        needed |= after_move(row, move, rules, symmetric)
    return needed <= listed


NEVER = frozenset({"cannot be on any list"})


@lru_cache(100_000)
def position_of_row(row: Row, rules: Rules) -> Position | None:
    """As the player sees it: of the first colour where the sizes are equal."""
    queues = [[c for c in part if c != -1] for part in (row[: rules.m], row[rules.m :])]
    if row != tuple(c for queue in queues for c in queue + [-1] * (rules.m - len(queue))):
        return None
    player, other = map(tuple, queues)
    is_y = len(player) < len(other)
    try:
        position = Position(*((other, player, "y") if is_y else (player, other, "x")), rules)
    except FadefourError:
        return None
    return None if position.is_over or position.is_impossible else position


def key(position: Position, symmetric: bool) -> Any:
    pair = (position.mover, position.opponent)
    return class_of(*pair, position.rules.n) if symmetric else pair


@lru_cache(100_000)
def key_of_row(row: Row, rules: Rules, symmetric: bool) -> Any:
    position = position_of_row(row, rules)
    return None if position is None else key(position, symmetric)


@lru_cache(100_000)
def after_move(row: Row, move: int, rules: Rules, symmetric: bool) -> frozenset[Any]:
    """What must be listed because of this entry."""
    position = position_of_row(row, rules)
    if position is None or move not in position.legal_moves():
        return NEVER
    after = position.play(move)
    replies = [after.play(reply) for reply in after.legal_moves()]
    if any(reply.is_over for reply in replies):
        return NEVER
    return frozenset(key(reply, symmetric) for reply in replies)


def is_lost(certificate: Certificate) -> bool:
    position = certificate.rules.start()
    for cell in certificate.line:
        if cell not in position.legal_moves():
            return False
        position = position.play(cell)
    return position.is_over and position.to_move == certificate.sides


def seeds() -> list[bytes]:
    headers = [
        b"{'descr': '|i1', 'fortran_order': False, 'shape': (1,), }\n",
        b"{'descr': 'O', 'fortran_order': False, 'shape': (9,)}",
        *(b"[" * 90, b"{'descr': [('a', '<f8', 9)], 'shape': (-1,)}", b"\\x", b"1" * 60),
    ]
    return [
        *(bytes([DIGEST_FITS, base, 0, 0, 0]) for base in range(len(BASES))),
        *(bytes([DIGEST_FITS | PACKED, base, 1, 1, 0, 3, 0]) for base in range(len(BASES))),
        *(bytes([DIGEST_FITS, 3, 2, 2, 5, 7, 40, 9, 0]), bytes([0, 2, 0, 1, 0, 1, 0])),
        *(bytes([DIGEST_FITS, place % 4, 0, 0, 1, place, 40 + place]) for place in range(20)),
        *(bytes([2, 0, 0, 0, 0, at % 4, len(h)]) + h for at, h in enumerate(headers)),
        *(bytes([4, 0, 0, 0, 0, 0, 2, at, 3, at, 255]) for at in range(0, 250, 31)),
        *(b"\x10PK\5\6" + bytes(18), b"\x10"),
    ]
