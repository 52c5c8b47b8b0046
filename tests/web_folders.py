"""A folder of tables and a folder of runs, as a server finds them."""

from __future__ import annotations

import json
from pathlib import Path

from small_networks import save_small_network
from synthetic_runs import episode, write_config, write_games
from tiny_self_play import tiny

from azfit.games import game_by_name
from azfit.oracle.config import TrainingConfig
from azfit.self_play.loop import self_play
from solver.connect4.answers import ANSWERS, FEWEST_NODES, AnswerFile
from solver.connect4.sets import read_set

OPENINGS = Path(__file__).with_name("connect4_openings.txt")
"""A game and the moves beside it, in lines of MOVES SCORE: minutes of the solver's work."""


def write_openings(folder: Path) -> None:
    """Keeps these scores where a server looks for them."""
    with AnswerFile(folder / ANSWERS) as answers:
        for position, score in read_set(OPENINGS):
            assert score is not None
            answers.put(position.mover, position.stones, score, FEWEST_NODES)


def write_runs(folder: Path) -> Path:
    """Two iterations of self-play on 3 x 3, a run from the table, networks of the other games."""
    self_play(tiny(iterations=2), folder / "small", stream=None)
    learned = folder / "learned"
    learned.mkdir()
    (learned / "config.json").write_text(json.dumps(TrainingConfig().to_dict()))
    lines = [{"kind": "training", "step": step, "seconds": 1.0, "loss": 0.5} for step in (1, 2)]
    (learned / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for name, game in (("four", "connect4"), ("five", "gomoku-9")):
        write_config(folder / name, game=game)
        save_small_network(folder / name / "best.safetensors", game)
    game = game_by_name("connect4")
    write_games(folder / "four", [episode(game, [3, 3, 3, 2, 3, 2, 3], [], winner=0)])
    (folder / "not a run").mkdir()
    return folder
