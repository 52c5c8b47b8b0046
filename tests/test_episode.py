"""Games of self-play: what is recorded against plain replays, and the files that keep them."""

from __future__ import annotations

import io
import os
import struct
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluators import Hashed
from plain_games import GOING_ON, MOVER_WON, PlainConnect4, PlainDrop, PlainGame, PlainGomoku
from search_noise import noise_share

from azfit import Search, SearchConfig, game_by_name
from azfit.search import Evaluator
from azfit.self_play.episode import DRAWN, Episode, EpisodeFile, frames, read_episodes
from azfit.self_play.play_games import as_uint16, play_games
from azfit.self_play.replay import ReplayBuffer
from azfit.self_play.surprise import copies
from solver.errors import CorruptTableError, InputError, NoRoomError

MOST_PLIES = {"drop-3-3-3": 14, "drop-4-4-4": 100, "connect4": 42, "gomoku-9": 81}
PLAIN: list[PlainGame] = [PlainDrop(3, 3, 3), PlainDrop(4, 4, 4), PlainConnect4(), PlainGomoku(9)]
every_game = pytest.mark.parametrize("plain", PLAIN, ids=lambda plain: plain.name)


def evaluator(name: str) -> Evaluator:
    hashed = Hashed(game_by_name(name))

    def evaluate(planes: Any) -> Any:
        weights, values, steps = hashed(planes)
        assert steps is not None
        return np.log(weights), values, np.minimum(steps, MOST_PLIES[name])

    return evaluate


def played(
    name: str,
    numbers: range = range(6),
    parallel: int = 4,
    seed: int = 3,
    random_plies: int = 0,
    surprise_weight: float = 0.0,
    **changes: Any,
) -> list[Episode]:
    """Games by number; the evaluator is a hash of the position, so they are all kinds of games."""
    options = {"sims": 12, "max_plies": MOST_PLIES[name], "temp_moves": 4} | changes
    games = play_games(
        game_by_name(name),
        evaluator(name),
        SearchConfig(**options),
        numbers,
        seed=seed,
        iteration=7,
        parallel=parallel,
        random_plies=random_plies,
        surprise_weight=surprise_weight,
    )
    return sorted(games, key=lambda episode: episode.number)


def assert_same(episode: Episode, other: Episode) -> None:
    for name in ("opening", "codes", "visits", "actions", "values", "walks", "counts"):
        first, second = getattr(episode, name), getattr(other, name)
        assert first.dtype == second.dtype and np.array_equal(first, second), name
    for name in ("iteration", "number", "winner"):
        assert getattr(episode, name) == getattr(other, name)


@every_game
def test_recorded_games_are_games_of_the_plain_rules(plain: PlainGame) -> None:
    winners = set()
    for episode in played(plain.name, range(10)):
        state, movers = plain.start(), []
        for ply, action in enumerate(episode.actions.tolist()):
            assert plain.result(state) == GOING_ON
            assert episode.codes[ply].tolist() == plain.code(state)
            legal = plain.legal(state)
            assert action in legal
            assert set(np.flatnonzero(episode.visits[ply]).tolist()) <= set(legal)
            assert episode.visits[ply, action] > 0
            movers.append(plain.to_move(state))
            state = plain.play(state, action)
        assert episode.sides.tolist() == movers
        won = plain.result(state) == MOVER_WON
        assert episode.winner == (movers[-1] if won else DRAWN)
        if not won:
            assert plain.result(state) != GOING_ON or episode.plies == MOST_PLIES[plain.name]
        outcome = {True: 0, False: 2}
        wanted = [outcome[mover == movers[-1]] if won else 1 for mover in movers]
        assert episode.wdl.tolist() == wanted
        assert episode.left.tolist() == [len(movers) - ply for ply in range(len(movers))]
        assert (np.abs(episode.values) <= 1).all()
        winners.add(episode.winner)
    assert len(winners) > 1, "all games ended alike: the test sees too little"


def test_a_game_depends_on_its_number_and_not_on_its_neighbours() -> None:
    alone = [
        episode
        for number in range(6)
        for episode in played("drop-3-3-3", range(number, number + 1))
    ]
    for parallel in (1, 4, 6):
        together = played("drop-3-3-3", range(6), parallel)
        assert [episode.number for episode in together] == list(range(6))
        for episode, other in zip(alone, together, strict=True):
            assert_same(episode, other)
    assert any(episode.actions.tolist() != alone[0].actions.tolist() for episode in alone[1:])
    other_seed = played("drop-3-3-3", seed=4)
    assert any(
        episode.actions.tolist() != other.actions.tolist()
        for episode, other in zip(alone, other_seed, strict=True)
    )


@every_game
def test_games_after_random_moves(plain: PlainGame) -> None:
    """They begin within the game, at all distances, and go by the move number of the game."""
    most = 6
    lengths: set[int] = set()
    for episode in played(plain.name, range(40), random_plies=most, temp_moves=4):
        before = len(episode.opening)
        assert before <= most and episode.length <= MOST_PLIES[plain.name]
        state = plain.start()
        for ply, action in enumerate([*episode.opening.tolist(), *episode.actions.tolist()]):
            if ply >= before:
                assert episode.codes[ply - before].tolist() == plain.code(state)
            assert plain.result(state) == GOING_ON
            state = plain.play(state, action)
        drawn = max(0, 4 - before)  # by temperature; later moves are the most visited
        assert (episode.actions == episode.visits.argmax(axis=1))[drawn:].all()
        lengths.add(before)
    assert len(lengths) > 4
    alone = played(plain.name, range(5, 6), random_plies=most, temp_moves=4)[0]
    together = played(plain.name, range(9), random_plies=most, temp_moves=4)[5]
    assert_same(alone, together)


def test_no_games_are_no_games() -> None:
    assert played("drop-3-3-3", range(0)) == []


def test_late_moves_are_the_most_visited_and_early_ones_are_drawn() -> None:
    early_other = 0
    for episode in played("connect4", range(12), temp_moves=5):
        best = episode.visits.argmax(axis=1)
        early_other += int((episode.actions[:5] != best[:5]).sum())
        assert (episode.actions[5:] == best[5:]).all()
    assert early_other > 5


def test_noise_reaches_the_roots_by_their_move_number() -> None:
    """All noise on the first two plies and none later: then visits are as without any."""
    game = game_by_name("connect4")
    quiet = SearchConfig(sims=12, max_plies=42, noise_eps=0.0, reuse=False)
    options: Any = {"noise_eps": 1.0, "noise_eps_min": 0.0, "temperature": 0.0, "reuse": False}
    disturbed = 0
    for episode in played("connect4", range(4), noise_steps=2, **options):
        search = Search(game, episode.plies, quiet)
        search.reset(game.decode(episode.codes), plies=np.arange(episode.plies))
        search.run(evaluator("connect4"))
        same = (search.visits() == episode.visits).all(axis=1)
        disturbed += int((~same[:2]).sum())
        assert same[2:].all()
    assert disturbed > 2


def test_fast_moves_are_played_without_noise_and_not_learned() -> None:
    game = game_by_name("connect4")
    quiet = SearchConfig(sims=6, max_plies=42, noise_eps=0.0, reuse=False)
    options: Any = {"full_share": 0.3, "full_sims": 18, "fast_sims": 6, "reuse": False}
    full = fast = 0
    for episode in played("connect4", range(20), noise_eps=1.0, **options):
        assert episode.visits.sum(axis=1).tolist() == [18 if c else 6 for c in episode.counts]
        assert episode.learned == episode.counts.sum()
        full, fast = full + episode.learned, fast + episode.plies - episode.learned
        search = Search(game, episode.plies, quiet)
        search.reset(game.decode(episode.codes), plies=np.arange(episode.plies))
        search.run(evaluator("connect4"))
        assert ((search.visits() == episode.visits).all(axis=1) | (episode.counts == 1)).all()
        stored = Episode.from_body(episode.to_bytes()[12:], game)
        assert_same(stored, episode)
        buffer = ReplayBuffer(game, 1000)
        buffer.add(episode)
        rows = np.flatnonzero(episode.counts)
        assert buffer.codes[: buffer.size].tolist() == episode.codes[rows].tolist()
        assert buffer.left[: buffer.size].tolist() == episode.left[rows].tolist()
    assert 0.2 < full / (full + fast) < 0.4
    alone = played("connect4", range(5, 6), noise_eps=1.0, **options)[0]
    assert_same(alone, played("connect4", range(9), noise_eps=1.0, **options)[5])


def test_a_full_search_is_by_default_that_of_all_moves_and_a_fast_one_a_sixth() -> None:
    caps = SearchConfig(sims=60, full_share=0.5).caps
    assert caps is not None and (caps.full, caps.fast) == (60, 10)
    assert SearchConfig(sims=60, full_sims=9, fast_sims=3).caps is None
    assert SearchConfig(sims=60, full_share=0.5, full_sims=600).for_matches().most_sims == 60


@pytest.mark.parametrize("weight", [0.5, 1.0])
def test_surprising_positions_are_learned_more_often(weight: float) -> None:
    """By the formula, from the network's own policy and the targets of the game itself; the mean
    number of copies over many draws, and nothing for moves that were only played."""
    game = game_by_name("connect4")
    options: Any = {"full_share": 0.5, "fast_sims": 5, "noise_eps": 0.5}
    plain = played("connect4", range(30), 15, **options)
    weighed = played("connect4", range(30), 15, surprise_weight=weight, **options)
    deviations = []
    for before, after in zip(plain, weighed, strict=True):
        assert np.array_equal(before.actions, after.actions)
        states = game.decode(before.codes)
        priors = np.exp(evaluator("connect4")(game.planes(states))[0]) * game.legal_masks(states)
        expected, total = np.zeros(before.plies), before.learned
        for ply in np.flatnonzero(before.counts):
            prior = priors[ply] / priors[ply].sum()
            target = before.visits[ply] / before.visits[ply].sum()
            expected[ply] = sum(
                t * np.log(t / p) for t, p in zip(target, prior, strict=True) if t > 0
            )
        if expected.sum() > 0:
            expected *= total / expected.sum()
        wanted = (1 - weight) * before.counts + weight * expected
        assert not after.counts[before.counts == 0].any()
        assert (np.abs(after.counts - wanted) < 1 + 1e-6).all()
        deviations += (after.counts - wanted).tolist()
    assert abs(np.mean(deviations)) < 4 * np.std(deviations) / np.sqrt(len(deviations))
    assert any(episode.counts.max() > 1 for episode in weighed)
    alone = played("connect4", range(5, 6), surprise_weight=weight, **options)[0]
    assert_same(alone, weighed[5])
    assert_same(Episode.from_body(alone.to_bytes()[12:], game), alone)


def test_copies_are_rounded_so_that_their_mean_is_right() -> None:
    surprises, learned = [0.0, 1.0, 3.0, 9.0], [True, True, True, False]
    random = np.random.default_rng(5)
    drawn = np.array([copies(surprises, learned, 0.5, random) for _ in range(4000)])
    # Three learned positions: half of them evenly, half by 0, 1/4 and 3/4 of the surprise.
    wanted = np.array([0.5, 0.5 + 0.375, 0.5 + 1.125, 0.0])
    assert np.abs(drawn.mean(axis=0) - wanted).max() < 5 * 0.5 / np.sqrt(4000)
    assert copies([0.0, 0.0], [True, True], 1.0, random).tolist() == [1, 1]
    assert copies([1.0], [False], 1.0, random).tolist() == [0]


def test_the_share_of_noise_falls_evenly_to_its_least() -> None:
    config = SearchConfig(noise_eps=0.5, noise_eps_min=0.1, noise_steps=12)
    shares = [noise_share(config, ply) for ply in range(20)]
    wanted = [0.1 + 0.4 * max(0.0, 1 - ply / 12) for ply in range(20)]
    assert shares == pytest.approx(wanted)
    assert noise_share(SearchConfig(noise_eps=0.25), 99) == pytest.approx(0.25)


def test_visits_beyond_16_bits_keep_their_shares() -> None:
    visits = np.array([0, 100_000, 50_000, 25_000], np.float32)
    scaled = as_uint16(visits)
    assert scaled.max() == 65_535
    assert scaled / scaled.sum() == pytest.approx(visits / visits.sum(), abs=1e-4)
    assert as_uint16(np.array([3, 65_535], np.float32)).tolist() == [3, 65_535]
    assert as_uint16(np.array([0.5, 0.25, 0], np.float32)).tolist() == [65_535, 32_767, 0]


# ---- files ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def episodes() -> list[Episode]:
    return played("drop-3-3-3")


GAME = game_by_name("drop-3-3-3")


def written(path: Path, episodes: list[Episode]) -> bytes:
    games = EpisodeFile(path)
    for episode in episodes:
        games.append(episode.to_bytes())
    games.close()
    return path.read_bytes()


@every_game
def test_bytes_give_back_the_game(plain: PlainGame, tmp_path: Path) -> None:
    games = played(plain.name, range(3)) + played(plain.name, range(3, 6), random_plies=4)
    written(tmp_path / "a.games", games)
    stored = read_episodes(tmp_path / "a.games", game_by_name(plain.name))
    for episode, other in zip(games, stored, strict=True):
        assert_same(episode, other)


def test_the_layout_of_a_frame_is_as_documented(episodes: list[Episode]) -> None:
    frame = episodes[0].to_bytes()
    magic, size, checksum = struct.unpack("<4sII", frame[:12])
    assert (magic, size, checksum) == (b"FFG2", len(frame) - 12, zlib.crc32(frame[12:]))
    data = zlib.decompress(frame[12:])
    assert struct.unpack("<IIHHHHb", data[:17])[:4] == (7, 0, 0, episodes[0].plies)


def test_games_of_another_version_are_refused_and_left_alone(
    tmp_path: Path, episodes: list[Episode]
) -> None:
    path = tmp_path / "a.games"
    path.write_bytes(b"FFG1" + episodes[0].to_bytes()[4:])
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"a\.games.*another version of fadefour: use that one"):
        read_episodes(path, GAME)
    with pytest.raises(InputError, match="another version"):
        EpisodeFile(path)
    assert path.read_bytes() == before


def test_games_come_by_number_and_once(tmp_path: Path, episodes: list[Episode]) -> None:
    twin = replace(episodes[2], winner=DRAWN, values=episodes[2].values * 0)
    written(tmp_path / "a.games", [episodes[4], episodes[2], twin, episodes[0]])
    stored = read_episodes(tmp_path / "a.games", GAME)
    assert [episode.number for episode in stored] == [0, 2, 4]
    assert_same(stored[1], episodes[2])


def test_a_file_cut_anywhere_gives_the_games_before_and_can_be_continued(
    tmp_path: Path, episodes: list[Episode]
) -> None:
    path = tmp_path / "a.games"
    parts = [episode.to_bytes() for episode in episodes[:3]]
    data, ends = b"".join(parts), np.cumsum([len(frame) for frame in parts]).tolist()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        whole = sum(end <= length for end in ends)
        assert len(read_episodes(path, GAME)) == whole
    for length in (0, 3, ends[0] + 5, ends[1], len(data) - 1):
        path.write_bytes(data[:length])
        whole = sum(end <= length for end in ends)
        written(path, episodes[whole:3])
        assert path.read_bytes() == data


class Growing(io.BytesIO):
    """A file that somebody writes: it ends so many bytes later at every look at it."""

    def __init__(self, data: bytes, length: int, step: int) -> None:
        super().__init__(data)
        self._length, self._step = length, step

    def read(self, size: int | None = -1, /) -> bytes:
        rest = max(0, self._length - self.tell())
        self._length += self._step
        return super().read(rest if size is None or size < 0 else min(size, rest))

    def seek(self, offset: int, whence: int = 0, /) -> int:
        if whence == os.SEEK_END:
            offset, whence = min(self._length, len(self.getvalue())) + offset, 0
        return super().seek(offset, whence)


def test_a_file_that_grows_while_it_is_read_is_not_damaged(episodes: list[Episode]) -> None:
    parts = [episode.to_bytes() for episode in episodes[:3]]
    data, bodies = b"".join(parts), [frame[12:] for frame in parts]
    seen = set()
    for length in range(0, len(data), 3):
        for step in (1, 20, len(parts[-1]), len(data)):
            found = [body for _, body in frames(Growing(data, length, step))]
            assert found == bodies[: len(found)]
            seen.add(len(found))
    assert seen == {0, 1, 2, 3}


def test_a_last_frame_of_zeros_is_what_a_crash_leaves(
    tmp_path: Path, episodes: list[Episode]
) -> None:
    path = tmp_path / "a.games"
    path.write_bytes(episodes[0].to_bytes() + bytes(500))
    assert [episode.number for episode in read_episodes(path, GAME)] == [0]
    last = episodes[1].to_bytes()
    for kept in (4, 12, 40, len(last) - 4):  # its length was on disk before its bytes
        path.write_bytes(episodes[0].to_bytes() + last[:kept].ljust(len(last), b"\0"))
        assert [episode.number for episode in read_episodes(path, GAME)] == [0]


@pytest.mark.parametrize("foreign", [b"\xff\xfe" * 50, b"[" * 1000, b"F", b"notes\n"])
@pytest.mark.parametrize("games", [0, 2])
def test_what_no_crash_leaves_is_reported_and_kept(
    tmp_path: Path, episodes: list[Episode], foreign: bytes, games: int
) -> None:
    path = tmp_path / "a.games"
    written(path, episodes[:games])
    path.write_bytes(path.read_bytes() + foreign)
    if foreign == b"F":  # the first byte of a game
        assert len(read_episodes(path, GAME)) == games
        return
    before = path.read_bytes()
    for opened in (lambda: read_episodes(path, GAME), lambda: EpisodeFile(path)):
        with pytest.raises(CorruptTableError, match=r"a\.games.*is not a game"):
            opened()
    assert path.read_bytes() == before


@pytest.mark.parametrize("where", [0, 5, 9, 40])
def test_damage_before_whole_games_is_reported_in_one_line(
    tmp_path: Path, episodes: list[Episode], where: int
) -> None:
    path = tmp_path / "a.games"
    data = bytearray(written(path, episodes))
    data[len(episodes[0].to_bytes()) + where] ^= 0x10
    path.write_bytes(data)
    with pytest.raises(CorruptTableError, match=r"a\.games.*damaged between bytes.*remove it"):
        read_episodes(path, GAME)


def test_games_of_another_game_are_refused(tmp_path: Path, episodes: list[Episode]) -> None:
    written(tmp_path / "a.games", episodes)
    for name in ("drop-4-4-4", "connect4", "gomoku-9"):
        with pytest.raises(CorruptTableError, match=f"it is not a game of {name}"):
            read_episodes(tmp_path / "a.games", game_by_name(name))


def test_a_frame_with_a_right_checksum_and_wrong_content_is_refused(
    tmp_path: Path, episodes: list[Episode]
) -> None:
    data = zlib.decompress(episodes[0].to_bytes()[12:])
    for content in (zlib.compress(data + b"x"), zlib.compress(data[:-1]), b"no zlib"):
        frame = struct.pack("<4sII", b"FFG2", len(content), zlib.crc32(content)) + content
        (tmp_path / "a.games").write_bytes(frame)
        with pytest.raises(CorruptTableError, match="cannot be read"):
            read_episodes(tmp_path / "a.games", GAME)


def test_a_full_disk_leaves_whole_games_only(
    tmp_path: Path, episodes: list[Episode], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.games"
    before = written(path, episodes[:2])
    games = EpisodeFile(path)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(NoRoomError, match="No space"):
        games.append(episodes[2].to_bytes())
    monkeypatch.undo()
    games.close()
    assert path.read_bytes() == before
