"""A game in the terminal: a person against the table, a network, or a network with search.

Commands are lines of input, so that a pipe or a test can play as well as a person: a cell such as
``b3`` is a move, everything else is in ``HELP``. Nothing a person types ends the game by accident:
what is not understood is explained and asked again, and the end of the input ends politely.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TextIO

from azfit.drop_oldest_players import drop_oldest_of
from azfit.players import Player
from solver.drawing import board, move_table, outcome
from solver.errors import InputError
from solver.rules import Position, Rules
from solver.table import Table

DRAW_OFFERED_AFTER = 200  # plies; play that never ends is a draw, and people tire sooner

HELP = """  b3       place a piece on b3
  hint     suggest a good move
  moves    list your legal moves, with exact values if there is a table
  value    show what the position is worth
  board    draw the board again
  undo     take back your last move
  resign   give up
  quit     leave the game"""


@dataclass(frozen=True)
class Played:
    """How a game ended."""

    result: str
    """``x``, ``y`` (who has won), ``draw`` or ``unfinished``."""
    how: str
    """``line``, ``resigned``, ``agreed``, ``quit`` or ``end of input``."""
    position: Position
    """The last position."""
    moves: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        rules = self.position.rules
        return {
            "result": self.result,
            "how": self.how,
            "position": str(self.position),
            "moves": [rules.cell_name(cell) for cell in self.moves],
        }


class _Over(Exception):  # noqa: N818 - an ending, no error
    """The game has ended otherwise than by a line."""

    def __init__(self, result: str, how: str) -> None:
        super().__init__(result, how)
        self.result, self.how = result, how


class _Session:
    """One game, its history and its conversation."""

    def __init__(
        self,
        opponent: Player,
        human: str,
        table: Table | None,
        lines: Iterator[str],
        out: TextIO,
        start: Position,
    ) -> None:
        self._opponent, self._human, self._table = opponent, human, table
        self._game = drop_oldest_of(opponent)
        self._lines, self._out = lines, out
        self.history: list[Position] = [start]
        self.moves: list[int] = []
        self._offer_at = DRAW_OFFERED_AFTER

    @property
    def position(self) -> Position:
        return self.history[-1]

    @property
    def _rules(self) -> Rules:
        return self._game.rules

    def say(self, text: str) -> None:
        print(text, file=self._out, flush=True)

    def run(self) -> Played:
        self.say(f"You are {self._human.upper()}; {self._opponent.name} is the other side.")
        self.say("Type a cell to move there, or help.")
        try:
            while self.position.legal_moves():
                if len(self.moves) >= self._offer_at:
                    self._offer_draw()
                if self.position.to_move == self._human:
                    self._human_turn()
                else:
                    self._reply()
        except _Over as over:
            return Played(over.result, over.how, self.position, tuple(self.moves))
        winner = "y" if self.position.to_move == "x" else "x"
        self.say(board(self.position))
        self.say("You have a line: you win." if winner == self._human else "You have lost.")
        return Played(winner, "line", self.position, tuple(self.moves))

    def _make(self, cell: int) -> None:
        self.history.append(self.position.play(cell))
        self.moves.append(cell)

    def _reply(self) -> None:
        cell = self._opponent.move(self.position)
        side = self.position.to_move.upper()
        self._make(cell)
        self.say(f"{side} plays {self._rules.cell_name(cell)}.")

    # ---- the person -------------------------------------------------------------

    def _ask(self, prompt: str) -> str:
        print(prompt, end="", file=self._out, flush=True)
        try:
            return next(self._lines).strip().lower()
        except StopIteration:
            self.say("\nEnd of input: the game stops here, unfinished. Goodbye.")
            raise _Over("unfinished", "end of input") from None

    def _human_turn(self) -> None:
        self.say(board(self.position))
        before = len(self.moves)
        while len(self.moves) == before and self.position.to_move == self._human:
            self._obey(self._ask(f"{self._human.upper()} to move> "))

    def _obey(self, typed: str) -> None:
        commands: dict[str, Callable[[], None]] = {
            "hint": self._hint,
            "moves": self._list_moves,
            "value": self._value,
            "board": lambda: self.say(board(self.position)),
            "undo": self._undo,
            "resign": self._resign,
            "quit": self._quit,
            "exit": self._quit,
            "help": lambda: self.say(HELP),
            "?": lambda: self.say(HELP),
        }
        if typed in commands:
            commands[typed]()
        elif typed:
            self._try_move(typed)

    def _try_move(self, typed: str) -> None:
        try:
            cell = self._rules.cell(typed)
        except InputError:
            last = self._rules.cell_name(self._rules.cells - 1)
            self.say(f"'{typed}' is neither a cell (a1 to {last}) nor a command: try help.")
            return
        if cell in self.position.legal_moves():
            self._make(cell)
            return
        own = self.position.mover
        oldest = bool(own) and own[0] == cell and self._is_full()
        why = "is taken: your oldest piece is there until you have moved" if oldest else "is taken"
        self.say(f"{typed} {why}. Choose one of {self._names()}.")

    def _is_full(self) -> bool:
        return len(self.position.mover) == self._rules.m

    def _names(self) -> str:
        return " ".join(self._rules.cell_name(cell) for cell in self.position.legal_moves())

    # ---- what a person may ask --------------------------------------------------

    def _hint(self) -> None:
        if self._table is not None:
            best = self._table.best_moves(self.position)
            value = self._table.probe(self.position)
            names = " ".join(map(self._rules.cell_name, best))
            self.say(f"Best: {names} for a {outcome(value)}.")
        else:
            cell = self._opponent.move(self.position)
            name = self._rules.cell_name(cell)
            self.say(f"{self._opponent.name} would play {name}; there is no table to confirm it.")

    def _list_moves(self) -> None:
        if self._table is not None:
            self.say(move_table(self._rules, self._table.moves(self.position)))
        else:
            self.say(f"You can play {self._names()}.")

    def _value(self) -> None:
        if self._table is not None:
            self.say(f"'{self.position}' is exactly a {outcome(self._table.probe(self.position))}.")
            return
        choices = self._opponent.choose(self._game.state(self.position)[None])
        if choices.wdl is None:
            self.say("There is no table, and your opponent gives no opinion.")
            return
        win, draw, loss = (round(100 * float(share)) for share in choices.wdl[0])
        self.say(f"{self._opponent.name} thinks: win {win} %, draw {draw} %, loss {loss} %.")

    def _undo(self) -> None:
        """Back to the person's turn before: the reply and the move before it."""
        if len(self.moves) < 2:
            self.say("You have no move to take back.")
            return
        for _ in range(2):
            self.history.pop()
            self.moves.pop()
        self.say("Taken back.")

    def _resign(self) -> None:
        self.say("You resign. Thank you for the game.")
        raise _Over("y" if self._human == "x" else "x", "resigned")

    def _quit(self) -> None:
        self.say("Goodbye.")
        raise _Over("unfinished", "quit")

    def _offer_draw(self) -> None:
        while True:
            answer = self._ask(f"{len(self.moves)} plies without a line. Agree to a draw? [y/n] ")
            if answer in ("y", "yes"):
                self.say("A draw.")
                raise _Over("draw", "agreed")
            if answer in ("n", "no"):
                self._offer_at = len(self.moves) + DRAW_OFFERED_AFTER
                return
            self.say("Please answer y or n.")


def play_game(
    opponent: Player,
    *,
    human: str = "x",
    table: Table | None = None,
    lines: Iterable[str],
    out: TextIO,
    start: Position | None = None,
) -> Played:
    """Plays one game with the person behind ``lines`` (standard input, or any lines).

    With a table, hints and values are exact; without one they are the opponent's opinion.
    """
    if human not in ("x", "y"):
        raise InputError(f"you cannot play as {human!r}: use x or y")
    played = drop_oldest_of(opponent).rules
    first = start or played.start()
    for what, rules in (("table", table and table.rules), ("position", first.rules)):
        if rules is not None and rules != played:
            raise InputError(f"the {what} is for {rules}, {opponent.name} plays {played}")
    if not first.legal_moves():
        raise InputError(f"'{first}' is over already: start from a position in play")
    return _Session(opponent, human, table, iter(lines), out, first).run()
