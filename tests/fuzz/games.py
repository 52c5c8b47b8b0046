"""Files of self-play games: real games with their head, their arrays or their frames changed.

What is read can be written and read again, and is the same. It can be learned from, shown and
diagnosed: positions of the game, each with a search, moves that the game has, values that are
numbers. Whoever appends to such a file loses none of its games.
"""

from __future__ import annotations

import json
import random
import struct
import zlib
from pathlib import Path

import numpy as np
from synthetic_runs import episode

from azfit.diagnosis.stored_games import read_games
from azfit.games import Game, game_by_name
from azfit.self_play.episode import (
    MAGIC,
    Episode,
    EpisodeFile,
    read_episodes,
    read_with_rest,
    summarised,
)
from azfit.self_play.game_files import GameFiles
from azfit.web.runs import game_entry
from fuzz.forged_archives import changed
from fuzz.untrusted import Input, refused, scratch_folder
from solver import FadefourError

FOLDER = scratch_folder()
PATH = FOLDER / "games" / "000000.games"
PATH.parent.mkdir()
GAMES = [game_by_name(name) for name in ("drop-3-2-2", "connect4", "gomoku-9")]
HEAD = 41  # bytes of a game before its arrays (azfit/self_play/episode.py)
CHECKSUM_FITS, RAW_CHANGES, ANY_BYTES, CUT, UNPACKED = 1, 2, 4, 8, 16


def unpacked(frame: bytes) -> bytes:
    return zlib.decompress(frame[12:])


def random_game(game: Game, seed: int) -> Episode:
    draw, moves, state = random.Random(seed), list[int](), game.start()
    while len(moves) < 6 and (legal := game.legal_moves(state)):
        moves.append(draw.choice(legal))
        state = game.play(state, moves[-1])
    return episode(game, moves, [], winner=draw.choice((-1, 0, 1)), number=seed)


EPISODES = [[random_game(game, seed) for seed in range(3)] for game in GAMES]
BODIES = [[unpacked(known.to_bytes()) for known in listed] for listed in EPISODES]


def frame_from(source: Input, options: int, bodies: list[bytes]) -> bytes:
    """Of a game, its head, arrays and length changed as the input says."""
    way, number = source.byte(), source.byte() % len(bodies)
    if way & 1:
        body = source.piece()
    else:
        head, arrays = bodies[number][:HEAD], bodies[number][HEAD:]
        body = (changed(head, source) if way & 2 else head) + changed(arrays, source)
        body += source.piece() if way & 4 else b""
    packed = body if options & UNPACKED else zlib.compress(body, 1)
    checksum = zlib.crc32(packed) if options & CHECKSUM_FITS else source.below(1 << 32)
    return struct.pack("<4sII", MAGIC, len(packed), checksum) + packed


def check(data: bytes) -> bool:
    source = Input(data)
    options, kind = source.byte(), source.below(len(GAMES))
    if options & ANY_BYTES:
        content = source.rest()
    else:
        frames = [frame_from(source, options, BODIES[kind]) for _ in range(source.byte() % 4)]
        content = b"".join(frames)
        if options & RAW_CHANGES:
            content = changed(content, source)
        if options & CUT:
            content = content[: source.below(len(content) + 1)] + bytes(source.byte())
    PATH.write_bytes(content)
    return check_file(PATH, GAMES[kind], EPISODES[kind][0])


def check_file(path: Path, game: Game, another: Episode) -> bool:
    try:
        episodes, rest = read_with_rest(path, game)
    except FadefourError as error:
        return refused(error, path.name)
    before = path.read_bytes()
    whole = before[: len(before) - rest]
    assert [e.to_bytes() for e in read_episodes(path, game)] == [e.to_bytes() for e in episodes]
    numbers = [known.number for known in episodes]
    assert numbers == sorted(set(numbers))
    for known in episodes:
        assert Episode.from_body(known.to_bytes()[12:], game).to_bytes() == known.to_bytes()
        names = [game.action_name(action) for action in range(game.actions)]
        json.dumps(game_entry(known, names), allow_nan=False)
    stored = read_games(FOLDER, game)
    assert len(stored.episodes) == len(episodes) and bool(stored.cut) == bool(rest)
    if episodes:
        check_learning(game, episodes)
    games = EpisodeFile(path)
    assert path.read_bytes() == whole, "only the rest is cut off"
    games.append(another.to_bytes())
    games.close()
    assert path.read_bytes() == whole + another.to_bytes()
    assert {*numbers, another.number} == {known.number for known in read_episodes(path, game)}
    return bool(episodes)


def check_learning(game: Game, episodes: list[Episode]) -> None:
    summary = summarised(episodes)
    assert summary.played == len(episodes)
    json.dumps(summary.mean_plies, allow_nan=False)
    files = GameFiles(FOLDER / "games", game, 90, len(episodes))
    files.load(1)
    learned = sum(known.learned for known in episodes)
    assert files.buffer.size == min(90, learned) and summary.positions == learned
    if not learned:
        return
    batch = files.buffer.batch(np.arange(files.buffer.size), np.random.default_rng(1))
    assert np.isfinite(batch.policy).all() and np.allclose(batch.policy.sum(axis=1), 1)
    assert batch.values is not None and np.isfinite(batch.values).all()
    assert set(batch.wdl.tolist()) <= {0, 1, 2} and (batch.left >= 1).all()
    assert set(batch.sides.tolist()) <= {0, 1}


def seeds() -> list[bytes]:
    fits, kinds = CHECKSUM_FITS, range(len(GAMES))
    return [
        *(bytes([fits, kind, 3, 0, 0, 0, 0, 1, 0, 0, 2, 0]) for kind in kinds),
        *(bytes([fits, kind, 1, 2, 0, 1, at, 5, 0]) for kind in kinds for at in range(0, 37, 3)),
        *(bytes([fits, 0, 1, 0, 0, 1, at, 200]) for at in range(0, 250, 12)),
        *(bytes([fits, 1, 1, 0, 0, 1, at // 256, at % 256, 255]) for at in range(0, 500, 30)),
        *(bytes([fits, kind, 1, 4, 0, 0, 6, *[1] * 6]) for kind in kinds),
        *(bytes([fits | CUT, 0, 2, 0, 0, 0, 0, 1, 0, at, 200, 0]) for at in range(3)),
        *(bytes([fits | RAW_CHANGES, 0, 2, 0, 0, 0, 0, 1, 0, 1, at, 9]) for at in range(0, 90, 9)),
        *(bytes([fits | UNPACKED, 0, 1, 1, 0, 5, 1, 2, 3, 4, 5]), bytes([0, 0, 1, 0, 0, 0])),
        *(bytes([ANY_BYTES, 0]) + text for text in (b"", b"FFG1", MAGIC, b"\0" * 9, b"PK")),
    ]
