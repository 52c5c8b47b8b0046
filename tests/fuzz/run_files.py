"""What a run's folder says in text: config.json of both kinds, a --config in TOML, metrics.jsonl.

What is accepted can be written and read again, and says the same.
"""

from __future__ import annotations

import json
from typing import Any

from synthetic_runs import healthy_line

from azfit.games import game_by_name
from azfit.metrics import read_metrics
from azfit.oracle import config as oracle
from azfit.self_play import config_sources
from azfit.self_play.config import SelfPlayConfig, settled
from azfit.self_play.iteration import read_iterations
from fuzz.untrusted import Input, edited_json, refused, same_json, scratch_folder
from solver import FadefourError

FOLDER = scratch_folder()
CONFIG, METRICS, TOML = FOLDER / "config.json", FOLDER / "metrics.jsonl", FOLDER / "options.toml"
SELF_PLAY = settled({"workers": 1, "threads": 1}).to_dict()
TRAINING = json.loads(json.dumps(oracle.TrainingConfig().to_dict()))
LINE = healthy_line(3)


def check(data: bytes) -> bool:
    source = Input(data)
    choice = source.byte()
    return (check_self_play, check_training, check_toml, check_metrics)[choice % 4](
        source, bool(choice & 4)
    )


def text_from(document: Any, source: Input, edited: bool) -> bytes:
    if not edited:
        return source.rest()
    return edited_json(document, source).encode("utf-8", "surrogatepass")


def check_self_play(source: Input, edited: bool) -> bool:
    CONFIG.write_bytes(text_from(SELF_PLAY, source, edited))
    try:
        config = config_sources.read_config(FOLDER)
    except FadefourError as error:
        return refused(error, CONFIG.name)
    return same_again(config)


def same_again(config: SelfPlayConfig) -> bool:
    """A config that says what a run is."""
    assert game_by_name(config.game).name == config.game
    assert config.network.game == config.game and config.steps_of(100) >= 1
    assert 0 <= config.rate_at(0.5) <= config.lr
    assert settled(json.loads(json.dumps(config.to_dict()))) == config
    return True


def check_training(source: Input, edited: bool) -> bool:
    CONFIG.write_bytes(text_from(TRAINING, source, edited))
    try:
        config = oracle.read_config(FOLDER)
    except FadefourError as error:
        return refused(error, CONFIG.name)
    assert game_by_name(config.network.game).name == config.network.game
    oracle.write_config(config, FOLDER)
    assert oracle.read_config(FOLDER) == config
    assert config.rate_at(5, 0.5) >= 0 and config.mining_due(1.0) <= config.mine_rounds
    return True


def check_toml(source: Input, edited: bool) -> bool:
    data = source.rest()
    if edited:
        data = b"\n".join(line.replace(b":", b"=", 1) for line in data.split(b","))
    TOML.write_bytes(data)
    try:
        config = config_sources.combine(None, TOML, {}).config
    except FadefourError as error:
        return refused(error)
    return same_again(config)


def check_metrics(source: Input, edited: bool) -> bool:
    text = text_from(LINE, source, edited)
    METRICS.write_bytes(text + b"\n" + json.dumps(LINE).encode() + b"\n" if edited else text)
    try:
        iterations = read_iterations(FOLDER)
        lines = read_metrics(METRICS)
    except FadefourError as error:
        return refused(error, METRICS.name)
    assert len(iterations) <= len(lines)
    written = "".join(json.dumps(iteration.to_dict()) + "\n" for iteration in iterations)
    METRICS.write_text(written)
    assert read_iterations(FOLDER) == iterations
    assert same_json([i.to_dict() for i in read_iterations(FOLDER)], read_metrics(METRICS))
    return len(iterations) > 0


def seeds() -> list[bytes]:
    toml = 'preset = "quick"\ngame = "connect4"\nsims = 50\nminutes = 1.5\nno-such = 1\n'
    small = json.dumps({"game": "drop-3-3-3", "sims": 8}).encode()
    return [
        *(b"\0" + small, b"\1{}", b"\2" + toml.encode(), b"\2" + toml[:60].encode(), b"\2sims=8"),
        *(b"\3" + json.dumps({"iteration": 1, "seconds": 2}).encode() + b"\n", b"\3{", b"\3\n"),
        *(bytes([4 + kind, 0]) for kind in (0, 1, 3)),
        *(
            bytes([4 + kind, 1, place, 3 * place])
            for kind in (0, 1, 3)
            for place in range(0, 60, 4)
        ),
    ]
