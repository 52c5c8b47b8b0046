"""A game in the terminal: a person against any player of any game.

Commands are lines of input, so that a pipe or a test can play as well as a person: the name of a
move such as ``b3`` is a move, everything else is in ``HELP``. Nothing a person types ends the game
by accident: what is not understood is explained and asked again, and the end of the input ends
politely.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TextIO

from azfit.boards import board, side_names
from azfit.games import Connect4, DropOldest, Result, State
from azfit.players import Player
from azfit.playing.advice import Advice, Adviser
from solver.errors import InputError
from solver.wording import quoted

DRAW_OFFERED_AFTER = 200  # plies; play that never ends is a draw, and people tire sooner
MOST_LISTED = 25  # legal moves; more are no help
PATIENCE = 2.0  # seconds without a word

HELP = """  hint     suggest a good move
  moves    list your legal moves, with exact values if they are known
  value    show what the position is worth
  board    draw the board again
  undo     take back your last move
  resign   give up
  quit     leave the game"""


@dataclass(frozen=True)
class Played:
    """How a game ended."""

    how: str
    """``line``, ``full board``, ``resigned``, ``agreed``, ``quit`` or ``end of input``."""
    winner: int | None
    """0 for the first player, 1 for the second, None for a draw or an unfinished game."""
    state: State
    """The last position."""
    moves: tuple[int, ...]


class _Over(Exception):  # noqa: N818 - an ending, no error
    """The game has ended otherwise than by the rules."""

    def __init__(self, how: str, winner: int | None = None) -> None:
        super().__init__(how)
        self.how, self.winner = how, winner


class _Session:
    """One game, its history and its conversation."""

    def __init__(
        self,
        opponent: Player,
        human: int,
        adviser: Adviser | None,
        lines: Iterator[str],
        out: TextIO,
        start: State,
    ) -> None:
        self._opponent, self._human, self._adviser = opponent, human, adviser
        self._game, self._sides = opponent.game, side_names(opponent.game)
        self._lines, self._out = lines, out
        self.history: list[State] = [start]
        self.moves: list[int] = []
        self._offer_at = DRAW_OFFERED_AFTER

    @property
    def state(self) -> State:
        return self.history[-1]

    @property
    def _to_move(self) -> int:
        return self._game.to_move(self.state)

    def say(self, text: str) -> None:
        print(text, file=self._out, flush=True)

    def run(self) -> Played:
        self.say(f"You are {self._sides[self._human]}; {self._opponent.name} is the other side.")
        self.say(f"Type a {self._place} to move there, or help.")
        try:
            while self._game.result(self.state) == Result.GOING_ON:
                if isinstance(self._game, DropOldest) and len(self.moves) >= self._offer_at:
                    self._offer_draw()
                if self._to_move == self._human:
                    self._human_turn()
                else:
                    self._reply()
        except _Over as over:
            return Played(over.how, over.winner, self.state, tuple(self.moves))
        self._draw_board()
        if self._game.result(self.state) == Result.DRAWN:
            self.say("The board is full: a draw.")
            return Played("full board", None, self.state, tuple(self.moves))
        winner = 1 - self._to_move
        self.say("You have a line: you win." if winner == self._human else "You have lost.")
        return Played("line", winner, self.state, tuple(self.moves))

    def _draw_board(self) -> None:
        self.say(board(self._game, self.state))

    def _make(self, action: int) -> None:
        self.history.append(self._game.play(self.state, action))
        self.moves.append(action)

    @contextlib.contextmanager
    def _patience(self, who: str) -> Iterator[None]:
        """Says that somebody is thinking, if it takes a while."""
        notice = threading.Timer(
            PATIENCE, self.say, [f"{who} is thinking; this may take a minute."]
        )
        notice.start()
        try:
            yield
        finally:
            notice.cancel()
            notice.join()

    def _chosen(self) -> int:
        with self._patience(self._opponent.name):
            return self._opponent.move(self.state)

    def _reply(self) -> None:
        action, side = self._chosen(), self._sides[self._to_move]
        self._make(action)
        self.say(f"{side} plays {self._game.action_name(action)}.")

    # ---- the person -------------------------------------------------------------

    def _ask(self, prompt: str) -> str:
        print(prompt, end="", file=self._out, flush=True)
        try:
            return next(self._lines).strip().lower()
        except StopIteration:
            self.say("\nEnd of input: the game stops here, unfinished. Goodbye.")
            raise _Over("end of input") from None

    def _human_turn(self) -> None:
        self._draw_board()
        before = len(self.moves)
        while len(self.moves) == before and self._to_move == self._human:
            self._obey(self._ask(f"{self._sides[self._human]} to move> "))

    def _obey(self, typed: str) -> None:
        commands: dict[str, Callable[[], None]] = {
            "hint": self._hint,
            "moves": self._list_moves,
            "value": self._value,
            "board": self._draw_board,
            "undo": self._undo,
            "resign": self._resign,
            "quit": self._quit,
            "exit": self._quit,
            "help": self._help,
            "?": self._help,
        }
        if typed in commands:
            commands[typed]()
        elif typed:
            self._try_move(typed)

    @property
    def _place(self) -> str:
        """What a move names."""
        return "column" if isinstance(self._game, Connect4) else "cell"

    def _help(self) -> None:
        example = self._game.action_name(self._game.legal_moves(self.state)[0])
        how = "drop a stone into column" if isinstance(self._game, Connect4) else "place a piece on"
        self.say(f"  {example:<8} {how} {example}\n{HELP}")

    def _try_move(self, typed: str) -> None:
        try:
            action = self._game.action(typed)
        except InputError:
            first, last = (self._game.action_name(a) for a in (0, self._game.actions - 1))
            places = f"{self._place} ({first} to {last})"
            self.say(f"{quoted(typed)} is neither a {places} nor a command: try help.")
            return
        legal = self._game.legal_moves(self.state)
        if action in legal:
            self._make(action)
            return
        choice = f" Choose one of {self._names(legal)}." if len(legal) <= MOST_LISTED else ""
        self.say(f"{typed} {self._why_not(action)}.{choice}")

    def _why_not(self, action: int) -> str:
        """Why this action is not legal."""
        if isinstance(self._game, Connect4):
            return "is full"
        if isinstance(self._game, DropOldest):
            own = self._game.position(self.state).mover
            if len(own) == self._game.rules.m and own[0] == action:
                return "is taken: your oldest piece is there until you have moved"
        return "is taken"

    def _names(self, actions: Iterable[int]) -> str:
        return " ".join(map(self._game.action_name, actions))

    # ---- what a person may ask --------------------------------------------------

    def _advice(self, adviser: Adviser) -> list[Advice]:
        with self._patience("solver"):
            return adviser.moves(self.state)

    def _hint(self) -> None:
        if self._adviser is not None:
            best = [move for move in self._advice(self._adviser) if move.is_best]
            names = self._names(sorted(move.action for move in best))
            self.say(f"Best: {names} for a {best[0].worth}.")
            hardest = [move.action for move in best if move.traps == best[0].traps]
            if best[0].traps:
                self.say(f"After {self._names(hardest)}, {best[0].mistakes}.")
        else:
            name = self._game.action_name(self._chosen())
            self.say(f"{self._opponent.name} would play {name}; nothing here can confirm it.")

    def _list_moves(self) -> None:
        if self._adviser is not None:
            moves = self._advice(self._adviser)
            width = max(len(move.worth) for move in moves)
            for move in moves:
                name = self._game.action_name(move.action)
                self.say(f"  {name}   {move.worth:<{width}}   {move.mistakes}".rstrip())
            return
        legal = self._game.legal_moves(self.state)
        some = self._names(legal) if len(legal) <= MOST_LISTED else f"any of {len(legal)} cells"
        self.say(f"You can play {some}.")

    def _value(self) -> None:
        if self._adviser is not None:
            with self._patience("solver"):
                worth = self._adviser.worth(self.state)
            self.say(f"For you this is exactly a {worth}.")
            return
        choices = self._opponent.choose(self.state[None])
        if choices.wdl is None:
            self.say("Nothing here knows, and your opponent gives no opinion.")
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
        raise _Over("resigned", 1 - self._human)

    def _quit(self) -> None:
        self.say("Goodbye.")
        raise _Over("quit")

    def _offer_draw(self) -> None:
        while True:
            answer = self._ask(f"{len(self.moves)} plies without a line. Agree to a draw? [y/n] ")
            if answer in ("y", "yes"):
                self.say("A draw.")
                raise _Over("agreed")
            if answer in ("n", "no"):
                self._offer_at = len(self.moves) + DRAW_OFFERED_AFTER
                return
            self.say("Please answer y or n.")


def play_game(
    opponent: Player,
    *,
    human: int = 0,
    adviser: Adviser | None = None,
    lines: Iterable[str],
    out: TextIO,
    start: State | None = None,
) -> Played:
    """Plays one game with the person behind ``lines`` (standard input, or any lines).

    human: the person's side, 0 moves first. With an adviser, hints and values are exact; without
    one they are the opponent's opinion. start: None for the beginning of the game.
    """
    game = opponent.game
    first = game.start() if start is None else start
    if game.result(first) != Result.GOING_ON:
        raise InputError("the game is over already: start from a position in play")
    return _Session(opponent, human, adviser, iter(lines), out, first).run()
