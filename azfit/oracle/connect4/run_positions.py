"""Games of self-play runs, whose positions are labelled like others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from azfit.games import game_by_name
from azfit.oracle.connect4.dataset import Dataset
from azfit.oracle.connect4.positions import shares_by_ply
from azfit.self_play.config_sources import read_config
from azfit.self_play.episode import read_episodes
from azfit.self_play.game_files import files_of_games
from solver.connect4 import COLUMN_BITS, COLUMNS, ROWS
from solver.connect4.keys import keys_of, stone_counts
from solver.errors import InputError
from solver.hashing import mix

SEED = 1  # of the order of the games

Bitboards = NDArray[np.uint64]


def run_positions(runs: Sequence[Path], first_ply: int, dataset: Dataset) -> list[Bitboards]:
    """The games that these runs keep, in random order: of each the positions to be labelled,
    uint64 [N, 2].

    A position is given once, and not if the dataset has it. Of every ply the share that is drawn
    elsewhere, too; which positions these are depends on them alone, so what is left out now is left
    out the next time, and a game's positions stay together.
    """
    games = [game for run in runs for game in _games(run)]
    if not games:
        return []
    positions = bitboards(np.concatenate(games))
    numbers = np.repeat(np.arange(len(games)), [len(game) for game in games])
    keys = keys_of(positions[:, 0], positions[:, 1])
    shares = np.array(shares_by_ply(first_ply))
    plies = stone_counts(positions[:, 1])
    in_range = plies < len(shares)
    drawn = mix(keys) < shares[np.where(in_range, plies, 0)] * 2.0**64
    is_first = np.zeros(len(keys), np.bool_)
    is_first[np.unique(keys, return_index=True)[1]] = True
    chosen = np.flatnonzero(in_range & drawn & is_first & dataset.lacks(keys))
    ends = np.flatnonzero(np.diff(numbers[chosen])) + 1
    parts = np.split(positions[chosen], ends) if len(chosen) else []
    order = np.random.default_rng(SEED).permutation(len(parts))
    return [parts[number] for number in order]


def _games(run: Path) -> Iterator[NDArray[np.int8]]:
    """The positions of each of its games, int8 [N, code_length]."""
    game = game_by_name(read_config(run).game)
    if game.name != "connect4":
        raise InputError(f"'{run}' plays {game.name}: give a run of connect4")
    files = files_of_games(run / "games")
    episodes = [episode for path in files for episode in read_episodes(path, game)]
    if not episodes:
        raise InputError(f"'{run}' has no games yet: give another run")
    return (episode.codes for episode in episodes)


def bitboards(codes: NDArray[np.int8]) -> Bitboards:
    """Movers and stones of positions as ``Connect4.encode`` writes them, uint64 [N, 2]."""
    movers_sign = np.where(codes[:, -1] == 0, 1, -1)
    bitboards = np.zeros((len(codes), 2), np.uint64)
    for column in range(COLUMNS):
        for row in range(ROWS):
            cell, bit = codes[:, row * COLUMNS + column], np.uint64(column * COLUMN_BITS + row)
            bitboards[:, 0] |= (cell == movers_sign).astype(np.uint64) << bit
            bitboards[:, 1] |= (cell != 0).astype(np.uint64) << bit
    return bitboards
