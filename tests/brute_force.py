"""Drop-oldest tic-tac-toe D(n, m, k) by brute force: the tests' source of truth.

No symmetry, no colour swap, no predecessors, no counters, and nothing imported from the product.
Every position is stored as it stands, with the plain list of its successors; the values come from
sweeping forwards over the undecided positions, one ply of depth at a time.

The rules: an n x n board; the mover places a piece on an empty cell (the cell of the mover's own
oldest piece is still occupied); a mover who then owns more than m pieces loses the oldest one in
the same move; after that, k in a row wins. Play that never ends is a draw.

    python tests/brute_force.py    # the known facts about 3x3, m=3, k=3, about four seconds
"""

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import permutations
from typing import TypeAlias

Queue: TypeAlias = tuple[int, ...]
"""The cells of one player's pieces, oldest first; cell = row * n + column."""

Position: TypeAlias = tuple[Queue, Queue, int]
"""X's queue, Y's queue, and the side to move: 0 is X, 1 is Y."""

Value: TypeAlias = tuple[int, int | None]
"""For the side to move: +1 win, 0 draw (endless), -1 loss; and plies to the end, None if drawn."""

START: Position = ((), (), 0)
WIN, DRAW, LOSS = 1, 0, -1


@cache
def lines(n: int, k: int) -> frozenset[frozenset[int]]:
    """Return every set of k neighbouring cells in a row, a column or a diagonal."""
    lines = set()
    for row in range(n):
        for column in range(n):
            for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                cells = [(row + i * down, column + i * right) for i in range(k)]
                if all(0 <= r < n and 0 <= c < n for r, c in cells):
                    lines.add(frozenset(r * n + c for r, c in cells))
    return frozenset(lines)


@cache
def has_line(queue: Queue, n: int, k: int) -> bool:
    """Whether these pieces contain k in a row."""
    return any(line.issubset(queue) for line in lines(n, k))


def is_over(position: Position, n: int, k: int) -> bool:
    """Whether the previous mover has a line: the side to move has lost, in 0 plies."""
    x, y, to_move = position
    return has_line(x if to_move == 1 else y, n, k)


def is_impossible(position: Position, n: int, k: int) -> bool:
    """Whether the side to move has a line, with or without the other: no play leads there."""
    x, y, to_move = position
    return has_line(x if to_move == 0 else y, n, k)


def successors(position: Position, n: int, m: int, k: int) -> list[Position]:
    """List the positions one move away, one per empty cell in cell order; none once over."""
    if is_over(position, n, k):
        return []
    x, y, to_move = position
    empty = [cell for cell in range(n * n) if cell not in x and cell not in y]
    if to_move == 0:
        kept = x[1:] if len(x) == m else x
        return [((*kept, cell), y, 1) for cell in empty]
    kept = y[1:] if len(y) == m else y
    return [(x, (*kept, cell), 0) for cell in empty]


def reachable(n: int, m: int, k: int) -> set[Position]:
    """Return every position that play from the empty board can reach, finished ones included."""
    seen = {START}
    frontier = [START]
    while frontier:
        frontier = [after for before in frontier for after in successors(before, n, m, k)]
        frontier = list(set(frontier) - seen)
        seen.update(frontier)
    return seen


@cache
def legal_sizes(m: int) -> tuple[tuple[int, int, int], ...]:
    """List the (X pieces, Y pieces, side to move) that occur: placing by turns, then both full."""
    placing = [(i + side, i, side) for i in range(m) for side in (0, 1)]
    return (*placing, (m, m, 0), (m, m, 1))


def all_positions(n: int, m: int, k: int) -> Iterator[Position]:
    """Yield every position of the legal sizes, reachable or not, without the impossible ones.

    The set is closed under moves: a successor's side to move is the previous mover of a position
    that was not over, so it has no line.
    """
    for x_size, y_size, to_move in legal_sizes(m):
        for cells in permutations(range(n * n), x_size + y_size):
            position = (cells[:x_size], cells[x_size:], to_move)
            if not is_impossible(position, n, k):
                yield position


def solve(positions: Iterable[Position], n: int, m: int, k: int) -> dict[Position, Value]:
    """Value each position under best play: the shortest win, the longest defence.

    `positions` must be closed under moves (a missing successor raises KeyError) and hold no
    impossible position. Sweep d decides the positions d plies from the end, from the definition:
    a win needs one successor that is a loss, a loss needs all successors to be wins. Since wins
    are odd and losses even, and sweep d-1 is complete, whatever sweep d decides is d plies deep.
    A sweep that decides nothing leaves nothing for the next one: the rest never ends.
    """
    ordered = list(dict.fromkeys(positions))
    number = {position: i for i, position in enumerate(ordered)}
    edges = [[number[after] for after in successors(before, n, m, k)] for before in ordered]

    plies: list[int | None] = [0 if is_over(position, n, k) else None for position in ordered]
    result = [DRAW if depth is None else LOSS for depth in plies]
    undecided = [i for i, depth in enumerate(plies) if depth is None]
    sweep, decided = 0, [i for i, depth in enumerate(plies) if depth == 0]
    while decided:
        sweep += 1
        if sweep % 2 == 1:
            decided = [i for i in undecided if any(result[after] == LOSS for after in edges[i])]
        else:
            decided = [i for i in undecided if all(result[after] == WIN for after in edges[i])]
        for i in decided:
            result[i] = WIN if sweep % 2 == 1 else LOSS
            plies[i] = sweep
        undecided = [i for i in undecided if plies[i] is None]
    return dict(zip(ordered, zip(result, plies, strict=True), strict=True))


def main() -> None:
    """Print what brute force finds for D(3, 3, 3), from the start and over all positions."""
    for name, positions in (("reachable", reachable(3, 3, 3)), ("all", all_positions(3, 3, 3))):
        values = solve(positions, 3, 3, 3)
        wins = [plies for result, plies in values.values() if result == WIN and plies is not None]
        print(
            f"{name}: {len(values):,} positions,"
            f" {sum(value == (LOSS, 0) for value in values.values()):,} finished,"
            f" {sum(value == (DRAW, None) for value in values.values()):,} draws,"
            f" deepest win {max(wins)}, start {values[START]}"
        )


if __name__ == "__main__":
    main()
