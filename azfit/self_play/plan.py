"""What a run is about to do, in a few lines for its user; and how long that takes, once an
iteration has shown it."""

from __future__ import annotations

from collections.abc import Sequence

from azfit.self_play.config import MAX_WORKERS, SelfPlayConfig
from azfit.self_play.defaults import Choice
from azfit.self_play.state import SelfPlayRun
from solver.wording import counted, duration

# Starting workers takes some seconds; in an iteration of this length that is no matter.
STARTING_SECONDS = 60.0


def plan_in_words(run: SelfPlayRun, choices: Sequence[Choice] = ()) -> list[str]:
    """choices: what was chosen for a new run."""
    lines = [_subject(run), f"each iteration: {_iteration(run.config)}"]
    if choices:
        settings = ", ".join(choice.setting for choice in choices)
        lines.append(f"chosen: {settings} (why: {run.folder / 'choices.json'})")
    return lines


def _subject(run: SelfPlayRun) -> str:
    config, network = run.config, run.best.config
    beginning = f"after iteration {run.iteration:,}, " if run.iteration else ""
    workers = "a worker per processor"
    if config.workers != MAX_WORKERS:
        workers = counted(int(config.workers), "worker")
    return (
        f"learning {config.game}: {beginning}{_budget(config)}, {network.kind} of {network.width} "
        f"x {network.blocks} ({counted(run.best.parameter_count, 'parameter')}), {workers}"
    )


def _budget(config: SelfPlayConfig) -> str:
    if config.minutes is not None:
        return f"{config.minutes:g} minute{'' if config.minutes == 1 else 's'}"
    assert config.iterations is not None
    return counted(config.iterations, "iteration")


def _iteration(config: SelfPlayConfig) -> str:
    drawn, share = (
        config.epochs * config.drawn_of(config.buffer),
        config.epochs * config.replay_ratio,
    )
    gate = f"accepted from {config.accept:.0%}" if config.gate else "no gate"
    return "; ".join(
        [
            f"{counted(config.games_per_iteration, 'game')} with {_search(config)}",
            f"{share:.0%} of the newest {config.buffer:,} positions learned, at most {drawn:,}",
            f"a match of {config.eval_games:,} games, {gate}",
        ]
    )


def _search(config: SelfPlayConfig) -> str:
    caps = config.search_config.caps
    if caps is None:
        return f"{counted(config.sims, 'simulation')} per move"
    many = f"{caps.full:,} simulations for {caps.share:.0%} of the moves"
    return f"{many} and {caps.fast:,} for the others"


class Pace:
    """Says once how long an iteration takes, and how many fit or how long the others take: after
    the first one or, if starting the workers may have been much of its time, after the second."""

    def __init__(self) -> None:
        self._iterations, self._is_said = 0, False

    def after(self, run: SelfPlayRun) -> str | None:
        """After an iteration of this run; None if there is nothing to say."""
        config, phases = run.config, run.line.phase_seconds
        assert phases is not None
        self._iterations += 1
        is_known = self._iterations > 1 or phases.total >= STARTING_SECONDS
        if self._is_said or not is_known or not run.has_more:
            return None
        self._is_said = True
        if config.minutes is not None:
            more = max(1, round((60 * config.minutes - run.seconds) / max(phases.total, 0.01)))
            rest = f"about {more:,} more fit into the {_budget(config)}"
        else:
            assert config.iterations is not None
            more = config.iterations - run.iteration
            rest = (
                f"about {duration(more * phases.total)} for the {counted(more, 'iteration')} left"
            )
        took = f"an iteration takes about {duration(phases.total)}"
        return f"{took}; {rest} (training takes longer as the buffer fills)"
