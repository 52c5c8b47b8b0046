"""The historical bug, rebuilt on purpose: need counters and predecessor walks that disagree.

A retrograde solver over canonical positions gives each position A a counter of the moves not yet
known to lose, and takes off it while walking back from every settled win B. Between the classes of
A and B there may be several moves, or several un-moves, and in general not equally many:

    moves(A -> class of B) * |stabiliser of B|  =  un-moves(B -> class of A) * |stabiliser of A|

So the counter (`need`) and the walk (`walk`) must count the same thing. Each can count "moves",
with repeats, or "distinct" canonical positions:

    need      walk
    distinct  distinct   right
    moves     distinct   wrong: counters too high, losses missed, then wins missed behind them
    distinct  moves      wrong: counters too low, losses that are none
    moves     moves      wrong too, by the equation: too high where A is the more symmetric of the
                         two, too low where B is

Measured over all canonical positions, reachable or not (`python tests/mismatched_counting.py`,
about three seconds; others with `python tests/mismatched_counting.py n m k`):

    need/walk                    counters wrong                   results wrong
                        moves/     moves/  distinct/      moves/     moves/  distinct/
              classes   distinct   moves   moves          distinct   moves   moves
    D(3,3,3)   16,030       16       16       0              2          2       0
    D(3,2,2)      418       12       12       0              4          4       0
    D(3,3,2)    2,530       12       12       0              4          4       0
    D(4,2,2)    7,567       67       67      44              2          2       0
    D(5,2,2)   59,603      698      698     540              5          5       0   (15 seconds)
    D(4,3,3)  1,451,113     33       33       0             11         11       0   (5 minutes)

The wrong results are losses and wins called draws, never the reverse. D(3,3,3) misses the loss in
12 after X's b1 and with it the first player's win in 13: the empty board is called a draw. Two
labels of 16,030, but one is the answer to the game. D(3,2,2) shows the bug best for its size: 4
labels of 418, the losses after each of X's three first moves and the start. D(4,3,3) misses 9
losses and 2 wins, and 2 positions get a wrong depth only, the start among them: won in 7, not 5.
In the others no depth is wrong where the result is right.

Why so few: several moves from A share a class only if a symmetry fixes all pieces that the move
keeps, and a reflection fixes n cells at most. A full position keeps 2m-1 pieces. Where 2m-1 > n,
as in D(3,3,3) and D(4,4,4), the full positions and all results among them are therefore untouched,
and only positions of at most n pieces can go wrong. There un-moves never repeat either (lifting
the newest piece is one un-move), so distinct/moves is harmless and moves/moves equals
moves/distinct. Where 2m-1 <= n, A and B can both have trivial stabilisers and still be joined by
several moves (44 positions of D(4,2,2)): the stabiliser that matters is that of the kept pieces.
There distinct/moves does break the counters, but in D(4,2,2) and D(5,2,2) no label suffers.

So multiplicities alone cannot make a 4x4 player "attack but never defend": too few labels suffer.
A counter that also counts the vacated cell, one move too many on every full position, while the
walk does not (`vacated_cell_counts`) does: it mislabels 8,024 of the 16,030 of D(3,3,3), 3,034
missed losses and 4,990 missed wins, and hardly a loss is left to defend against.
"""

import sys
from collections import Counter
from collections.abc import Callable, Collection
from functools import cache
from typing import Literal, NamedTuple, TypeAlias

from brute_force import (
    DRAW,
    LOSS,
    START,
    WIN,
    Position,
    Queue,
    Value,
    all_positions,
    is_impossible,
    is_over,
    legal_sizes,
    successors,
)

Counting: TypeAlias = Literal["moves", "distinct"]

Symmetry: TypeAlias = tuple[int, ...]
"""For each cell, the cell it goes to."""

PAIRINGS: tuple[tuple[Counting, Counting], ...] = (
    ("distinct", "distinct"),
    ("moves", "distinct"),
    ("moves", "moves"),
    ("distinct", "moves"),
)
SHOWN = ((3, 3, 3), (3, 2, 2), (3, 3, 2), (4, 2, 2))


class Graph(NamedTuple):
    """The canonical positions, and by number every move and every un-move, repeats included."""

    positions: list[Position]
    moves: list[list[int]]
    unmoves: list[list[int]]


@cache
def symmetries(n: int) -> frozenset[Symmetry]:
    """Return the eight board symmetries: the quarter turns of the board and of its transpose."""
    tables = set()
    board = [[row * n + column for column in range(n)] for row in range(n)]
    for turned in (board, [list(column) for column in zip(*board, strict=True)]):
        for _ in range(4):
            turned[:] = [list(row) for row in zip(*reversed(turned), strict=True)]
            tables.add(tuple(cell for row in turned for cell in row))
    return frozenset(tables)


@cache
def symmetries_to_least(n: int) -> list[list[Symmetry]]:
    """For each cell, list the symmetries that take it to the smallest cell of its orbit."""
    every = symmetries(n)
    return [[s for s in every if s[c] == min(t[c] for t in every)] for c in range(n * n)]


def transform(position: Position, symmetry: Symmetry) -> Position:
    """Move every piece by the symmetry; ages and side to move stay."""
    x, y, to_move = position
    return tuple(map(symmetry.__getitem__, x)), tuple(map(symmetry.__getitem__, y)), to_move


def canonical(position: Position, n: int) -> Position:
    """Return the smallest of the eight images of the position, compared as tuples."""
    x = position[0]
    if not x:
        return position  # only the empty board has no X, and it is its own image
    # X's oldest piece is compared first, so only the symmetries that make it least can win.
    return min(transform(position, symmetry) for symmetry in symmetries_to_least(n)[x[0]])


def predecessors(position: Position, n: int, m: int, k: int) -> list[Position]:
    """List the positions one un-move away, one per un-move.

    An un-move lifts the previous mover's newest piece and, where the queue is full, either puts
    a dropped oldest piece back on any empty cell or lets the queue have been one shorter. (The
    lifted cell is no place for the dropped piece: it was empty when the move was chosen.)
    """
    x, y, to_move = position
    mover = 1 - to_move
    queue = x if mover == 0 else y
    if not queue:
        return []
    before: list[Queue] = [queue[:-1]]
    if len(queue) == m:
        empty = [cell for cell in range(n * n) if cell not in x and cell not in y]
        before += [(dropped, *queue[:-1]) for dropped in empty]
    parents: list[Position] = [(q, y, 0) if mover == 0 else (x, q, 1) for q in before]
    sizes = legal_sizes(m)
    return [
        p for p in parents if (len(p[0]), len(p[1]), mover) in sizes and not is_impossible(p, n, k)
    ]


@cache
def graph(n: int, m: int, k: int) -> Graph:
    """Return all canonical positions of D(n, m, k), reachable or not, with moves and un-moves."""
    positions = [p for p in all_positions(n, m, k) if canonical(p, n) == p]
    number = {position: i for i, position in enumerate(positions)}

    def edges(step: Callable[[Position, int, int, int], list[Position]]) -> list[list[int]]:
        return [[number[canonical(q, n)] for q in step(p, n, m, k)] for p in positions]

    return Graph(positions, edges(successors), edges(predecessors))


def solve_canonical(
    n: int, m: int, k: int, need: Counting, walk: Counting, *, vacated_cell_counts: bool = False
) -> dict[Position, Value]:
    """Solve by retrograde analysis with need counters, counted as asked, layer by layer.

    A settled loss makes every undecided predecessor a win. A settled win takes one off the counter
    of each undecided predecessor, per un-move or once; a counter at zero says: all moves lose.
    """
    positions, moves, unmoves = graph(n, m, k)
    needed = [len(counted(after, need)) for after in moves]
    if vacated_cell_counts:
        needed = [count + (len(p[p[2]]) == m) for count, p in zip(needed, positions, strict=True)]
    values: list[Value] = [(DRAW, None)] * len(positions)
    layer = [i for i, position in enumerate(positions) if is_over(position, n, k)]
    for i in layer:
        values[i] = (LOSS, 0)
    plies = 0
    while layer:
        plies += 1
        layer_is_lost = plies % 2 == 1
        deeper = []
        for settled in layer:
            for i in counted(unmoves[settled], walk):
                if values[i] != (DRAW, None):
                    continue
                needed[i] -= not layer_is_lost
                if layer_is_lost or needed[i] == 0:
                    values[i] = (WIN if layer_is_lost else LOSS, plies)
                    deeper.append(i)
        layer = deeper
    return dict(zip(positions, values, strict=True))


def counted(steps: list[int], counting: Counting) -> Collection[int]:
    """Return the steps as they are, or each destination once."""
    return steps if counting == "moves" else set(steps)


def miscounted(n: int, m: int, k: int, need: Counting, walk: Counting) -> tuple[int, int]:
    """Count the canonical positions whose counter starts too high, and too low.

    Compared with all that the walks can ever take off it: too high misses losses, too low invents
    them. This is the broken law itself, whether or not a label happens to suffer.
    """
    _, moves, unmoves = graph(n, m, k)
    high = low = 0
    for i, after in enumerate(moves):
        needed = len(counted(after, need))
        taken_off = sum(list(counted(unmoves[settled], walk)).count(i) for settled in set(after))
        high += needed > taken_off
        low += needed < taken_off
    return high, low


def label_changes(
    right: dict[Position, Value], labels: dict[Position, Value]
) -> Counter[tuple[int, int]]:
    """Count the positions whose value differs, by (right result, result found).

    Equal results in a key mean that only the depth differs.
    """
    return Counter((right[p][0], labels[p][0]) for p in right if right[p] != labels[p])


def mislabelled(n: int, m: int, k: int, need: Counting, walk: Counting) -> tuple[int, int]:
    """Count the canonical positions with a wrong result, and those with only a wrong depth."""
    right = solve_canonical(n, m, k, "distinct", "distinct")
    changes = label_changes(right, solve_canonical(n, m, k, need, walk))
    depth_only = sum(changes[result, result] for result in (WIN, DRAW, LOSS))
    return changes.total() - depth_only, depth_only


def print_table(n: int, m: int, k: int) -> None:
    """Print a line for each way of counting D(n, m, k)."""
    right = solve_canonical(n, m, k, "distinct", "distinct")
    print(f"D({n},{m},{k}): {len(right):,} canonical positions")
    print(
        "  need      walk      too high  too low  missed losses  missed wins  false losses"
        "  other  depth  start"
    )
    for need, walk in PAIRINGS:
        high, low = miscounted(n, m, k, need, walk)
        labels = solve_canonical(n, m, k, need, walk)
        changes = label_changes(right, labels)
        missed = changes[LOSS, DRAW], changes[WIN, DRAW], changes[WIN, LOSS] + changes[DRAW, LOSS]
        depth = sum(changes[result, result] for result in (WIN, DRAW, LOSS))
        other = changes.total() - sum(missed) - depth
        print(
            f"  {need:8}  {walk:8}  {high:8}  {low:7}  {missed[0]:13}  {missed[1]:11}"
            f"  {missed[2]:12}  {other:5}  {depth:5}  {labels[START]}"
        )


def main(arguments: list[str]) -> None:
    """Print the tables of the variants shown by default, or of the one given as n m k."""
    if arguments:
        n, m, k = map(int, arguments)
        print_table(n, m, k)
    else:
        for n, m, k in SHOWN:
            print_table(n, m, k)


if __name__ == "__main__":
    main(sys.argv[1:])
