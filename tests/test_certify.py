"""The exact best response, compared with walks in plain Python and with brute force over 3x3."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import brute_force
import numpy as np
import pytest
from fixed_players import (
    Fixed,
    HashedNetwork,
    class_of,
    fixed,
    network_player,
    perfect,
)
from slow import slow

from azfit.drop_oldest_players import CanonicalPlayer, TablePlayer, drop_oldest_of, game_of
from azfit.grading.certificate import (
    REFUTED,
    UNBEATEN,
    write_certificate,
)
from azfit.grading.certificate_check import check_certificate
from azfit.grading.certify import certify
from azfit.grading.conversion import conversion
from azfit.players import Player, RandomPlayer
from solver import InputError, Position, Rules, open_table, solve, write_table
from solver.table import DenseTable

Truth = dict[brute_force.Position, brute_force.Value]


def walk(player: Player, side: str) -> tuple[set[str], int | None]:
    """Positions with the player to move, and the plies of a shortest loss: by plain Python."""
    seen: set[str] = set()
    frontier, plies = [drop_oldest_of(player).rules.start()], 0
    while frontier:
        after: dict[str, Position] = {}
        for position in frontier:
            if position.is_over and position.to_move == side:
                return seen, plies
            cells = position.legal_moves()
            if cells and position.to_move == side:
                cells = [player.move(position)]
                seen.add(str(position))
            for cell in cells:
                reached = position.play(cell)
                if str(reached) not in seen:
                    after[str(reached)] = reached
        frontier, plies = list(after.values()), plies + 1
    return seen, None


def test_the_tables_x_is_unbeaten_and_its_y_holds_13_plies_on_3x3(table33: DenseTable) -> None:
    x, y = certify(perfect(table33))
    assert (x.kind, x.sides, x.line) == (UNBEATEN, "x", ())
    assert (y.kind, y.sides, len(y.line)) == (REFUTED, "y", 13)
    assert x.positions == x.visited > 13 and y.positions == 0


@pytest.mark.parametrize("side", ["x", "y"])
@pytest.mark.parametrize("seed", range(4))
def test_walks_equal_plain_walks_on_every_board(table33: DenseTable, side: str, seed: int) -> None:
    """Seed 0 is the table; a player that is not canonical is followed on all boards."""
    player = Fixed(table33.rules, seed) if seed else TablePlayer(table33)
    (certificate,) = certify(player, side)
    seen, loss = walk(player, side)
    assert (certificate.kind == REFUTED) == (loss is not None)
    if loss is None:
        assert certificate.positions == len(seen)
    else:
        assert len(certificate.line) == loss


@pytest.mark.parametrize("seed", range(3))
def test_canonical_walks_find_equally_short_lines(table33: DenseTable, seed: int) -> None:
    for side in ("x", "y"):
        player = fixed(table33.rules, seed)
        (certificate,) = certify(player, side)
        seen, loss = walk(player, side)
        assert len(certificate.line) == (loss or 0)
        if loss is None:
            positions = [Position.parse(text, table33.rules) for text in seen]
            assert certificate.positions == len(
                {class_of(p.mover, p.opponent, 3) for p in positions}
            )


def test_a_refutation_loses_what_truth_says_could_be_held(
    table33: DenseTable, truth33: Truth
) -> None:
    (certificate,) = certify(fixed(table33.rules, 1), "x")
    position, values = table33.rules.start(), []
    for cell in certificate.line:
        position = position.play(cell)
        result = truth33[position.x, position.y, "xy".index(position.to_move)][0]
        values.append(result if position.to_move == "x" else -result)
    assert position.is_over and values[-1] == -1
    assert table33.probe(table33.rules.start()).result == "win"


def test_a_random_network_is_refuted_on_4x4_with_a_line_that_probe_confirms(
    table44: DenseTable, tmp_path: Path
) -> None:
    player = network_player(HashedNetwork(16), table44.rules, sha256="ab" * 32)
    for certificate in certify(player):
        assert certificate.kind == REFUTED and certificate.smallest_margin is not None
        position = table44.rules.start()
        values = [table44.probe(position)]
        for cell in certificate.line:
            if position.to_move == certificate.sides:
                assert player.move(position) == cell
            position = position.play(cell)
            values.append(table44.probe(position))
        assert values[0].result == "draw" and values[-1] == ("loss", 0)
        assert position.to_move == certificate.sides
        path = write_certificate(tmp_path / f"{certificate.sides}.npz", certificate)
        assert check_certificate(path, player).ok
        with pytest.raises(InputError, match="SHA-256 abababababab"):
            check_certificate(path, fixed(table44.rules))
        shorter = replace(certificate, line=certificate.line[:-1])
        assert not check_certificate(write_certificate(path, shorter)).ok


def test_one_certificate_serves_both_colours_if_neither_can_be_beaten(tmp_path: Path) -> None:
    """Two pieces make no line of three: all play is endless, every reply must still be listed."""
    rules = Rules(3, 2, 3)
    write_table(tmp_path, solve(rules))
    player = perfect(open_table(tmp_path, rules))
    (both,) = certify(player)
    assert (both.kind, both.sides) == (UNBEATEN, "xy")
    path = write_certificate(tmp_path / "both.npz", both)
    check = check_certificate(path, player)
    assert check.ok and check.replies > both.positions
    seen = set()
    for side in ("x", "y"):
        for text in walk(player, side)[0]:
            position = Position.parse(text, rules)
            seen.add(class_of(position.mover, position.opponent, 3))
    assert both.positions == len(seen)


@slow
def test_the_tables_player_is_unbeaten_as_both_on_4x4(table44: DenseTable, tmp_path: Path) -> None:
    (both,) = certify(perfect(table44))
    assert (both.kind, both.sides, both.positions) == (UNBEATEN, "xy", 14_727_515)
    assert check_certificate(write_certificate(tmp_path / "both.npz", both)).ok


def test_a_player_that_draws_its_moves_has_no_best_response(table33: DenseTable) -> None:
    drawing = RandomPlayer(game_of(table33.rules), np.random.default_rng(0))
    with pytest.raises(InputError, match="draws its moves"):
        certify(drawing)
    with pytest.raises(InputError, match="draws its moves"):
        conversion(CanonicalPlayer(drawing), table33)
    with pytest.raises(InputError, match="side 'z'"):
        certify(perfect(table33), "z")
