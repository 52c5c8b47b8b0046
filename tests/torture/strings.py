"""Random strings for every parser: what people type, and the text files that they edit.

A string is taken, and then what was made of it prints as a string that is taken again and means the
same; or it is refused in one printable line. A third of the strings are any characters, a third
are made of the characters of good ones, a third are good ones with a few characters changed.
"""

from __future__ import annotations

import io
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from unittest import mock

import click
import numpy as np
from conftest import run_cli
from fuzz.positions import VARIANTS, check_connect4, check_drop_oldest
from fuzz.untrusted import refused

from azfit import main
from azfit.games import game_by_name
from azfit.players import RandomPlayer
from azfit.playing.play import play_game
from solver.errors import FadefourError
from solver.gomoku import GomokuPosition
from solver.rules import Rules
from torture.campaign import Setting, Trial, Verdict
from torture.functions import READS, Read
from torture.inputs import Inputs
from torture.judging import ONE_LINE

STRINGS = 100_000  # for each parser
AT_A_TIME = 2_000
LONGEST = 60  # characters that are drawn one by one
MOST_CHANGES = 4
ANY = (
    *(range(0x20), range(0x20, 0x7F), range(0x7F, 0x500), range(0x660, 0x66A)),
    *(range(0x2000, 0x2070), range(0xD800, 0xE000), range(0x1D400, 0x1D800), range(0x110000)),
)
"""Control characters, ASCII, letters, digits of another script, spaces, halves of characters."""

Parse = Callable[[str, Path], bool]


@dataclass(frozen=True)
class Parser:
    """A parser, and strings that it takes."""

    name: str
    takes: Parse
    """Whether it takes the string; in a folder of its own. Another exception is a finding."""
    good: tuple[str, ...]


def trials(setting: Setting, inputs: Inputs) -> Iterator[Trial]:
    for parser in setting.share_of(parsers(inputs), "parsers", times=30):
        count = setting.count(STRINGS)
        for first in range(0, count, AT_A_TIME):
            batch = range(first, min(first + AT_A_TIME, count))
            yield Trial(
                f"random strings, {parser.name}",
                f"strings {batch[0]} to {batch[-1]}",
                lambda here, to=parser, numbers=batch: _all_given(setting, to, numbers, here),
                len(batch),
            )


def _all_given(setting: Setting, parser: Parser, numbers: range, here: Path) -> Verdict:
    problems: list[str] = []
    taken = 0
    for number in numbers:
        text = drawn(setting.random("strings", parser.name, number), parser.good)
        try:
            taken += parser.takes(text, here)
        except Exception as error:
            problems.append(f"{text!r}: {error!r}")
    return Verdict("refused", tuple(problems), len(numbers), {"taken": taken})


# ---- strings ------------------------------------------------------------------------------------


def drawn(draw: random.Random, good: tuple[str, ...]) -> str:
    """A random string."""
    way, example = draw.randrange(3), draw.choice(good)
    if way == 0:
        return "".join(_any_character(draw) for _ in range(draw.randrange(LONGEST)))
    if way == 1:
        return "".join(draw.choice(example or "-") for _ in range(draw.randrange(LONGEST)))
    for _ in range(draw.randint(1, MOST_CHANGES)):
        example = _changed(draw, example, draw.choice(good))
    return example


def _any_character(draw: random.Random) -> str:
    return chr(draw.choice(draw.choice(ANY)))


def _changed(draw: random.Random, text: str, other: str) -> str:
    """With a piece of it left out, repeated, or replaced by a piece of another or any character."""
    first, end = sorted(draw.randrange(len(text) + 1) for _ in range(2))
    end = min(end, first + draw.choice((0, 1, 1, 2, 8)))
    place = draw.randrange(len(other) + 1)
    pieces = (
        *("", text[first:end] * 2, text[first:end] * draw.randrange(300)),
        *(other[place : place + draw.choice((1, 2, 8))], _any_character(draw)),
    )
    return text[:first] + draw.choice(pieces) + text[end:]


# ---- parsers ------------------------------------------------------------------------------------


def parsers(inputs: Inputs) -> list[Parser]:
    return [
        *(
            Parser(f"position of {rules.name}", _drop_oldest(rules), POSITIONS)
            for rules in VARIANTS[:2]
        ),
        Parser("position of Connect Four", lambda text, _: check_connect4(text), CONNECT4),
        Parser("position of Gomoku", _gomoku, GOMOKU),
        Parser("name of a game", _game, ("drop-3-3-3", "connect4", "gomoku-15")),
        *(
            Parser(f"line typed in {name}", partial(_typed, name), (*moves, *TYPED))
            for name, moves in MOVES.items()
        ),
        Parser("option of a command", _option, OPTIONS),
        *(_file(inputs, read) for read in READS if read.name in FILES),
    ]


POSITIONS = ("-/- x", "a1/- y", "a1b2c3/a2a3 y", " A1B2/c3 Y ", "a1b1c1/a2b2c2 x")
MOVES = {"drop-3-3-3": ("a1", "b3", "c2"), "connect4": ("1", "4", "7"), "gomoku-15": ("h8", "o15")}
TYPED = ("help", "moves", "undo", "value", "hint", "board", "?")
CONNECT4 = ("", "-", "44433", "1212121", "444444")
GOMOKU = ("", "-", "h8 g7 h9", "a1 o15", "H8  g7")
OPTIONS = ("1", "3", "0.5", "data", "x", "true", "1e3", "shipped", "drop", "12:34", "cell", "-1")
FILES = (
    *("metrics", "config of self-play", "config of training", "options in TOML"),
    *("set of positions", "manifest of a table"),
)


def _drop_oldest(rules: Rules) -> Parse:
    return lambda text, _: check_drop_oldest(text, rules)


def _gomoku(text: str, _: Path) -> bool:
    try:
        position = GomokuPosition.parse(text)
    except FadefourError as error:
        return refused(error)
    assert GomokuPosition.parse(str(position)) == position
    assert len(set(position.moves)) == len(position.moves) == len(text.replace("-", "").split())
    return True


def _game(text: str, _: Path) -> bool:
    try:
        game = game_by_name(text)
    except FadefourError as error:
        return refused(error)
    assert game.name == text
    return True


def _typed(name: str, text: str, _: Path) -> bool:
    """One line of a person who then leaves."""
    out, game = io.StringIO(), game_by_name(name)
    opponent = RandomPlayer(game, np.random.default_rng(1))
    played = play_game(opponent, lines=[f"{text}\n"], out=out)
    said = out.getvalue()
    assert all(line.isprintable() for line in said.split("\n")), said
    return bool(played.moves)


def _option(text: str, _: Path) -> bool:
    """The string as the value of an option or argument of a command that then does nothing."""
    draw = random.Random(ascii(text))
    command = main.cli.commands[draw.choice(sorted(main.cli.commands))]
    option = draw.choice(command.params)
    # As the system hands words over: without zeros, bytes that are no text as half characters.
    text = os.fsdecode(text.encode("utf-8", "surrogatepass").replace(b"\0", b""))
    words = [text] if isinstance(option, click.Argument) else [option.opts[0], text]
    with mock.patch.object(click.Command, "invoke", lambda command, context: None):
        outcome = run_cli(command.name, *words)
    assert outcome.code in (0, 2), outcome
    if outcome.code == 2:
        assert not outcome.out and ONE_LINE.fullmatch(outcome.err), outcome
        assert outcome.err[:-1].isprintable(), outcome
    return outcome.code == 0


def _file(inputs: Inputs, read: Read) -> Parser:
    good = inputs.file(read.file)
    return Parser(f"text of {read.name}", partial(_read, read, good), (good.read_text(),))


def _read(read: Read, good: Path, text: str, here: Path) -> bool:
    """The string as the text of a file beside the one that it speaks of."""
    path = here / Path(read.file).name
    if not path.exists() and good.suffix == ".json" and (data := good.with_suffix("")).exists():
        path.with_suffix("").symlink_to(data)
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        read.read(path)
    except FadefourError as error:
        return refused(error)
    return True
