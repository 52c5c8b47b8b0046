"""The games of an iteration: played when it begins or, with --overlap, while the one before it is
still being learned from and judged.

Overlapped or not, which network plays an iteration is decided by the run's history alone
(``SelfPlayRun.player_of``), so a run can be repeated, and resumed, to the same end.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Self

from azfit.self_play.episode import EpisodeFile
from azfit.self_play.iteration_log import IterationLog
from azfit.self_play.state import SelfPlayRun
from azfit.self_play.workers import Workers

LOOK_SECONDS = 0.1  # between two looks at how many games have ended


class IterationGames:
    """The games of one iteration; each is on disk as soon as it ends."""

    def __init__(self, run: SelfPlayRun, workers: Workers, iteration: int) -> None:
        self.iteration = iteration
        self._path = run.games.path(iteration)
        played = {episode.number for episode in run.games.read(iteration)}
        missing = sorted(set(range(run.config.games_per_iteration)) - played)
        self.ended = len(played)
        name = "ahead" if run.config.overlap else "best"
        workers.set_network(name, run.player_of(iteration))
        self._games = workers.play_games(missing, iteration, name)

    def play(self, advance: Callable[[], object] = lambda: None) -> None:
        with contextlib.closing(EpisodeFile(self._path)) as file:
            for _, frame in self._games:
                file.append(frame)
                self.ended += 1
                advance()

    def stop(self) -> None:
        """What has not ended is left to be played again."""
        self._games.stop()


class PlayAhead:
    """Plays the games of the next iteration on a thread, as long as the ``with`` block."""

    def __init__(self, run: SelfPlayRun, workers: Workers) -> None:
        self._run, self._workers = run, workers
        self._games: IterationGames | None = None
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._games is not None and self._thread is not None:
            self._games.stop()
            self._thread.join()

    def begin(self) -> None:
        """Begins with the games of the next iteration, if there is one, and only once."""
        run, following = self._run, self._run.iteration + 1
        has_next = run.config.iterations is None or following < run.config.iterations
        if run.config.overlap and has_next and self._games is None:
            self._games = IterationGames(run, self._workers, following)
            self._thread = threading.Thread(target=self._play, args=(self._games,), daemon=True)
            self._thread.start()

    def _play(self, games: IterationGames) -> None:
        try:
            games.play()
        except BaseException as error:  # raised again where the games are waited for
            self._error = error

    def finish(self, log: IterationLog) -> None:
        """Until all games of this iteration have ended, begun ahead or not."""
        games, total = self._games, self._run.config.games_per_iteration
        if games is None or self._thread is None:
            games = IterationGames(self._run, self._workers, self._run.iteration)
            log.begin("self-play", total, "game", games.ended)
            games.play(log.advance)
            return
        assert games.iteration == self._run.iteration
        shown = games.ended
        log.begin("self-play", total, "game", shown)
        while self._thread.is_alive():
            self._thread.join(LOOK_SECONDS)
            log.advance(games.ended - shown)
            shown = games.ended
        self._games = self._thread = None
        if self._error is not None:
            raise self._error
