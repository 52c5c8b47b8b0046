"""Search with an evaluator that knows nothing finds the wins that the exact table promises."""

import numpy as np
import pytest

from azfit import DropOldest, Search, SearchConfig
from solver.index import position_of


def chosen_by_search(positions, sims):
    game = DropOldest(4, 4, 4)
    search = Search(game, len(positions), SearchConfig(sims=sims, noise_eps=0.0), seed=1)
    search.reset(np.stack([game.state(position) for position in positions]))
    search.run_constant(0.0)
    return search.choose(temperature=0.0)


@pytest.mark.parametrize(("plies", "sims"), [(1, 32), (3, 1000)])
def test_forced_wins_of_the_table_are_found(table44, plies, sims):
    """Uniform priors and value 0 everywhere: only the exact ends of games guide the search."""
    nodes = np.flatnonzero(table44.bytes == plies + 1)
    drawn = np.random.default_rng(plies).choice(nodes, 40, replace=False)
    positions = [position_of(int(node), table44.rules) for node in drawn]
    for position, cell in zip(positions, chosen_by_search(positions, sims), strict=True):
        assert table44.probe(position.play(int(cell))).result == "loss", str(position)


def test_threats_are_parried(table44):
    """Drawn positions in which all moves but one lose at once: search plays the one."""
    draws = np.random.default_rng(5).choice(
        np.flatnonzero(table44.bytes == 0), 60_000, replace=False
    )
    wins = []
    for node in draws:
        position = position_of(int(node), table44.rules)
        moves = table44.moves(position)
        losing = [move for move in moves if move.result == "loss"]
        if len(losing) == len(moves) - 1 and all(move.plies == 2 for move in losing):
            wins.append((position, moves[0].cell))
        if len(wins) == 30:
            break
    assert len(wins) == 30
    positions = [position for position, _ in wins]
    cells = chosen_by_search(positions, 400)
    assert [int(cell) for cell in cells] == [cell for _, cell in wins]
