"""Grading a player on the positions that it reaches itself, in games against several opponents.

A game begins with a few random plies, the same ones for two games with the colours exchanged;
otherwise games between two fixed strategies would all be alike. Opponents draw their moves at
random: ``random`` from all legal moves, ``table`` from the best ones; ``itself`` is the player on
both sides. Every position in which the player was to move counts once, however often it came up:
a game that runs in circles until the ply cap would otherwise outweigh all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from azfit.drop_oldest_players import TablePlayer, check_same_rules, dense, game_of, nodes_of_states
from azfit.games import DropOldest, States
from azfit.grading.grade import AT_A_TIME, Batch, Grade, grade_batches
from azfit.grading.tally import Tally
from azfit.players import Choices, Player, Plies, RandomPlayer
from azfit.playing.arena import Score, play_pairs
from azfit.playing.openings import random_opening
from solver.errors import InputError
from solver.labels import labelled
from solver.probing import Table
from solver.progress import Progress, Silent
from solver.table import DenseTable

RANDOM, TABLE, ITSELF = OPPONENTS = ("random", "table", "itself")
OPENING_PLIES = 2
MAX_PLIES = 100
MOST_GAMES = 100_000


@dataclass(frozen=True)
class InPlay:
    """Games against one opponent, and the grade on the positions they led to."""

    opponent: str
    wins: int
    draws: int
    """Games that reached the ply cap."""
    losses: int
    """For the player; against itself, for X."""
    moves: int
    """Moves that the player made after the opening."""
    grade: Grade

    def to_dict(self) -> dict[str, Any]:
        return {
            "opponent": self.opponent,
            "wins": self.wins,
            "draws": self.draws,
            "losses": self.losses,
            "moves": self.moves,
            "grade": self.grade.to_dict(),
        }


class _Recorder(Player):
    """A player that keeps the states it is asked about.

    It is asked without the number of plies, so that it plays what is graded.
    """

    def __init__(self, player: Player) -> None:
        super().__init__(player.game, player.name)
        self._player = player
        self.states: list[States] = []

    def choose(self, states: States, plies: Plies | None = None) -> Choices:
        self.states.append(states)
        return self._player.choose(states)


def _opponent(name: str, table: DenseTable, itself: Player, rng: np.random.Generator) -> Player:
    if name == ITSELF:
        return itself
    return RandomPlayer(itself.game, rng) if name == RANDOM else TablePlayer(table, rng)


def _distinct(game: DropOldest, states: Sequence[States], table: DenseTable) -> Iterator[Batch]:
    """Each position once, on the first board on which it came up."""
    boards = np.concatenate([np.empty((0, game.state_bytes), np.uint8), *states])
    nodes, transforms = nodes_of_states(game, boards)
    nodes, rows = np.unique(nodes, return_index=True)
    for first in range(0, len(rows), AT_A_TIME):
        batch = rows[first : first + AT_A_TIME]
        met = nodes[first : first + AT_A_TIME]
        yield Batch(met, labelled(table, met), boards[batch], transforms[batch])


def grade_in_play(
    player: Player,
    table: Table,
    *,
    opponents: Sequence[str] = OPPONENTS,
    games: int = 200,
    seed: int = 0,
    opening_plies: int = OPENING_PLIES,
    progress: Progress | None = None,
) -> list[InPlay]:
    """Plays ``games`` games against each opponent, half with each colour, and grades them."""
    exact, report = dense(table), progress or Silent()
    check_same_rules(player, table)
    for opponent in opponents:
        if opponent not in OPPONENTS:
            raise InputError(f"opponent {opponent!r}: use one of {', '.join(OPPONENTS)}")
    if not 1 <= games <= MOST_GAMES or not 0 <= opening_plies < MAX_PLIES:
        raise InputError(
            f"games={games}, opening_plies={opening_plies}: play 1 to {MOST_GAMES:,} games and "
            f"open with 0 to {MAX_PLIES - 1} random plies"
        )
    exact.check_all()
    matches = []
    for opponent in opponents:
        report.begin(f"against {opponent}", games, "game")
        match = _match(player, exact, opponent, games, opening_plies, seed)
        report.end(f"{match.wins} won, {match.draws} drawn, {match.losses} lost")
        matches.append(match)
    return matches


def _match(
    player: Player,
    table: DenseTable,
    opponent: str,
    games: int,
    opening_plies: int,
    seed: int,
) -> InPlay:
    game, recorder = game_of(table.rules), _Recorder(player)
    rng = np.random.default_rng([seed, OPPONENTS.index(opponent)])
    drawn = [random_opening(game, opening_plies, rng) for _ in range(-(-games // 2))]
    openings = [opening for opening in drawn if opening is not None]
    scores = play_pairs(
        game, recorder, _opponent(opponent, table, recorder, rng), openings, MAX_PLIES
    )
    score = sum(scores, Score())
    blank = Grade(
        player.info,
        table.rules,
        f"the positions it reached in {games} games against {opponent}",
        None,
        seed,
        Tally(table.rules),
    )
    batches = _distinct(game, recorder.states, table)
    graded = grade_batches(player, table, blank, batches, Silent())
    wins, losses = sum(score.wins), sum(score.losses)
    if opponent == ITSELF:  # the player was on both sides: what counts is X
        wins, losses = score.wins[0] + score.losses[1], score.losses[0] + score.wins[1]
    moves = sum(map(len, recorder.states))
    return InPlay(opponent, wins, sum(score.draws), losses, moves, graded)
