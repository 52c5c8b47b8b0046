"""Gomoku as text and JSON: the board, and what ``probe`` says about a position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from solver.gomoku.forced import ForcedPlay, Stops
from solver.gomoku.position import GomokuPosition
from solver.gomoku.tactics import NODES, PLIES, Answer, Attack, GomokuTactics
from solver.wording import counted, counted_plies

STONES = "XO"
"""The first player's and the second player's."""

MOST_SHOWN = 20
"""Undecided moves."""

FOURS, THREES = "fours", "fours and threes"


def board(position: GomokuPosition) -> str:
    """The board as it stands; X is the first player, O the second."""
    size, shown = position.size, {0: "·", 1: STONES[0], -1: STONES[1]}
    cells = [shown[stone] for stone in position.cells.tolist()]
    rows = [
        f"  {row + 1:>2} | " + " ".join(cells[row * size : (row + 1) * size])
        for row in reversed(range(size))
    ]
    rows.append("     +" + "--" * size)
    rows.append("       " + " ".join(position.name_of(column)[0] for column in range(size)))
    return "\n".join(rows)


@dataclass(frozen=True)
class Forcing:
    """Whether a side that is to move wins by force, and how."""

    side: str
    means: str
    """What was searched last: ``fours``, or ``fours and threes`` if fours alone do not win."""
    fours: str
    """What is known of fours alone: win, none or unknown."""
    threes: str | None
    """And of fours and threes within the bound; None if it was not searched."""
    bound: int
    """Plies, for fours and threes."""
    plies: int | None = None
    line: tuple[str, ...] = ()
    """Of a win, the moves of both sides against the longest defence."""

    @property
    def wins(self) -> bool:
        return self.plies is not None

    def __str__(self) -> str:
        """As in ``wins by fours in 5 plies``."""
        if self.plies is not None:
            return f"wins by {self.means} in {counted_plies(self.plies)}"
        words = {
            Answer.NONE: f"no win by {self.means}",
            Answer.NOT_WITHIN: f"no win by {self.means} within {counted_plies(self.bound)}",
            Answer.UNKNOWN: f"no win by {self.means} found: the limit of nodes was reached",
        }
        said = words[Answer(self.fours if self.threes is None else self.threes)]
        if self.fours == Answer.UNKNOWN and self.threes not in (None, Answer.UNKNOWN):
            said += "; by fours alone the limit of nodes was reached"
        return said


@dataclass(frozen=True)
class GomokuReport:
    """Everything ``probe`` says about a position."""

    position: GomokuPosition
    mover: Forcing | None
    """Does the side to move win? None once the game is over."""
    threat: Forcing | None
    """Would the opponent win, if it were to move? None if the mover wins first."""
    stops: tuple[str, ...]
    """The moves after which the opponent no longer wins by the means of the threat."""
    undecided: tuple[str, ...]
    """The moves for which the limit of nodes was reached."""
    nodes: int

    @classmethod
    def of(
        cls,
        tactics: GomokuTactics,
        position: GomokuPosition,
        *,
        plies: int = PLIES,
        most_nodes: int = NODES,
    ) -> GomokuReport:
        """plies: the bound of wins by fours and threes; most_nodes: the limit of each search."""
        before = tactics.nodes
        if position.is_over:
            return cls(position, None, None, (), (), 0)
        fours = ForcedPlay(tactics, most_nodes=most_nodes)
        threes = ForcedPlay(tactics, threes=True, plies=plies, most_nodes=most_nodes)
        mover, _ = _forcing(position, position.to_move, fours, threes)
        threat, stops = None, Stops()
        if not mover.wins:
            threat, play = _forcing(position, 1 - position.to_move, fours, threes)
            if threat.wins:
                stops = play.stops(position.cells, position.to_move)
        name = position.name_of
        return cls(
            position,
            mover,
            threat,
            tuple(map(name, stops.moves)),
            tuple(map(name, stops.unknown)),
            tactics.nodes - before,
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "position": str(self.position),
            "size": self.position.size,
            "to_move": _side(self.position.to_move),
            "over": self.position.is_over,
            "mover": None if self.mover is None else asdict(self.mover),
            "threat": None if self.threat is None else asdict(self.threat),
            "stops": list(self.stops),
            "undecided": list(self.undecided),
            "nodes": self.nodes,
        }

    @property
    def headline(self) -> str:
        side = STONES[self.position.to_move]
        if self.mover is None:
            ending = "lost: the game is over" if self.position.is_won else "draw: the board is full"
            return f"{self.position}: {side} to move, {ending}"
        return f"{self.position}: {side} to move, {self.mover}"

    def __str__(self) -> str:
        lines = [self.headline, "", board(self.position)]
        if self.mover is not None and self.mover.wins:
            lines += ["", f"Line: {_line(self.position.to_move, self.mover.line)}"]
        if self.threat is not None:
            opponent = STONES[1 - self.position.to_move]
            lines += ["", f"If {opponent} were to move: {self.threat}"]
            if self.threat.wins:
                lines += [f"  {_line(1 - self.position.to_move, self.threat.line)}", ""]
                lines.append(self._stopping())
        return "\n".join(lines)

    def _stopping(self) -> str:
        side, threat = STONES[self.position.to_move], self.threat
        assert threat is not None
        if self.stops:
            said = f"{counted(len(self.stops), 'move')} of {side} stop this: {' '.join(self.stops)}"
            said = said.replace("stop this", "stops this") if len(self.stops) == 1 else said
        elif not self.undecided:
            said = f"No move of {side} stops this: lost"
        else:
            said = f"No move of {side} is known to stop this"
        if self.undecided:
            limit = f"{counted(len(self.undecided), 'move')} not decided within the limit of nodes"
            shown = f": {' '.join(self.undecided)}" if len(self.undecided) <= MOST_SHOWN else ""
            said += f"\n{limit}{shown}"
        return said


def _side(side: int) -> str:
    return STONES[side].lower()


def _forcing(
    position: GomokuPosition, side: int, fours: ForcedPlay, threes: ForcedPlay
) -> tuple[Forcing, ForcedPlay]:
    """By fours if they win, else by fours and threes; and which of the two it is."""
    by_fours = fours.attack(position.cells, side)
    by_threes = None if by_fours.wins else threes.attack(position.cells, side)
    play: ForcedPlay = fours if by_threes is None else threes
    attack: Attack = by_fours if by_threes is None else by_threes
    line = play.line(position.cells, side) if attack.wins else []
    forcing = Forcing(
        side=_side(side),
        means=FOURS if by_threes is None else THREES,
        fours=str(by_fours.answer),
        threes=None if by_threes is None else str(by_threes.answer),
        bound=threes.plies,
        plies=attack.plies,
        line=tuple(map(position.name_of, line)),
    )
    return forcing, play


def _line(first: int, names: Sequence[str]) -> str:
    return "  ".join(f"{STONES[(first + i) % 2]} {name}" for i, name in enumerate(names))
