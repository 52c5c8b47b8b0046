"""Opening books of Connect Four: small ones with their header, scores or further positions changed.

A book that is read gives its own bytes back, apart from the header; what it says of a position is
a score that a position can have, and the one that the file has in that place.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import random

import numpy as np

from fuzz.forged_archives import changed
from fuzz.untrusted import Input, edited_json, refused, scratch_folder
from solver import FadefourError
from solver.connect4 import Connect4Stones
from solver.connect4.book import (
    BOOK,
    HIGHEST_SCORE,
    MAGIC,
    UNKNOWN,
    Book,
    BookScores,
    book_in,
    positions_of,
)
from solver.connect4.keys import key_of

PATH = scratch_folder() / BOOK
MOST_PLIES = 3
DIGEST_FITS, RAW_CHANGES, ANY_BYTES, MORE_FURTHER = 1, 2, 4, 8


def played(plies: int, seed: int) -> Connect4Stones:
    """In play, after this many moves."""
    draw, position = random.Random(seed), Connect4Stones(0, 0)
    while position.plies < plies:
        position = position.play(draw.choice(position.legal_moves()))
        if position.is_over:
            position = Connect4Stones(0, 0)
    return position


POSITIONS = [played(seed % 12, seed) for seed in range(60)]


def small_book(plies: int) -> bytes:
    scores = BookScores.unknown(plies)
    for ply, part in enumerate(scores.scores):
        part[:] = [(ply + 3 * row) % 37 - HIGHEST_SCORE for row in range(len(part))]
    scores.scores[-1][::5] = UNKNOWN
    later = [position for position in POSITIONS if position.plies > plies][:3]
    scores.further = {key_of(position.mover, position.stones): 1 for position in later}
    scores.seconds = {ply: 0.5 * ply for ply in range(plies + 1)}
    return scores.to_bytes()


BASES = [small_book(plies) for plies in range(MOST_PLIES + 1)]


def forged(source: Input, options: int) -> bytes:
    line, _, body = BASES[source.below(len(BASES))][len(MAGIC) :].partition(b"\n")
    body, about = changed(body, source), json.loads(line)
    if options & MORE_FURTHER:
        keys = [source.take(8).ljust(8, b"\0") for _ in range(source.below(5))]
        listed = sum(len(positions_of(ply).keys) for ply in range(about["plies"] + 1))
        body = body[:listed] + b"".join(keys) + bytes(source.byte() for _ in keys)
        about["further"] = len(keys)
    if options & DIGEST_FITS:
        about["sha256"] = hashlib.sha256(body).hexdigest()
    text = edited_json(about, source).encode("utf-8", "surrogatepass")
    content = MAGIC + text + b"\n" + body
    return changed(content, source) if options & RAW_CHANGES else content


def check(data: bytes) -> bool:
    source = Input(data)
    options = source.byte()
    content = source.rest() if options & ANY_BYTES else forged(source, options)
    PATH.write_bytes(content)
    book = Book(PATH)
    try:
        scores = book.contents
    except FadefourError as error:
        return refused(error, PATH.name)
    body = content[len(MAGIC) :].partition(b"\n")[2]
    again = scores.to_bytes()
    assert again[len(MAGIC) :].partition(b"\n")[2] == body, "its own bytes"
    assert BookScores.from_bytes(again).to_bytes() == again
    assert scores.known <= len(body) and -1 <= scores.complete_plies <= scores.plies
    for position in POSITIONS:
        value = book.get(position.mover, position.stones)
        assert value == plain_score(scores.plies, body, position)
    with contextlib.suppress(FadefourError):
        book_in(PATH.parent)
    return True


def plain_score(plies: int, body: bytes, position: Connect4Stones) -> int | None:
    """What the drawing of the file says of a position."""
    key, counts = key_of(position.mover, position.stones), [
        len(positions_of(ply).keys) for ply in range(plies + 1)
    ]  # fmt: skip
    if position.plies <= plies:
        row = positions_of(position.plies).keys.tolist().index(key)
        score = np.frombuffer(body, np.int8)[sum(counts[: position.plies]) + row]
        return None if score == UNKNOWN else int(score)
    count = (len(body) - sum(counts)) // 9
    keys = np.frombuffer(body, "<u8", count, sum(counts)).tolist()
    scores = np.frombuffer(body, np.int8, count, sum(counts) + 8 * count).tolist()
    return dict(zip(keys, scores, strict=True)).get(key)


def seeds() -> list[bytes]:
    return [
        *(bytes([DIGEST_FITS, base, 0, 0]) for base in range(4)),
        *(
            bytes([DIGEST_FITS, 0, 0, 1, place, way])
            for place in range(9)
            for way in range(4, 60, 5)
        ),
        *(bytes([DIGEST_FITS, base, 2, 9, 40, 3, 200, 0]) for base in range(4)),
        *(bytes([0, base, 1, 1, 1, 0]) for base in range(4)),
        bytes([DIGEST_FITS | MORE_FURTHER, 0, 0, 2, *range(7), 0, *range(8), 1, 2, 0]),
        bytes([DIGEST_FITS | MORE_FURTHER, 0, 0, 2, *range(16), 90, 2, 0]),
        *(bytes([DIGEST_FITS | RAW_CHANGES, 0, 0, 0, 1, place, 3]) for place in range(0, 120, 9)),
        *(bytes([ANY_BYTES]) + start for start in (b"", MAGIC, MAGIC + b"{}\n", BASES[0])),
    ]
