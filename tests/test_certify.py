"""The exact best response, its certificates, and conversion.

Sources of truth: brute force over 3x3, walks and fixpoints in plain Python, probing.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import brute_force
import numpy as np
import pytest
from fixed_players import (
    Chosen,
    Fixed,
    HashedNetwork,
    Key,
    Spoiled,
    cells_chosen,
    class_of,
    dawdler,
    fixed,
    network_player,
    perfect,
)
from slow import slow

from azfit.drop_oldest_players import CanonicalPlayer, TablePlayer, drop_oldest_of, game_of
from azfit.games import States
from azfit.grading.certificate import (
    REFUTED,
    UNBEATEN,
    Certificate,
    canonical,
    read_certificate,
    write_certificate,
)
from azfit.grading.certificate_check import check_certificate
from azfit.grading.certify import certify
from azfit.grading.conversion import Conversion, conversion
from azfit.players import Choices, Player, Plies, RandomPlayer, SearchPlayer
from azfit.search_config import SearchConfig
from solver import (
    CorruptTableError,
    InputError,
    MissingTableError,
    Position,
    Rules,
    Solution,
    open_table,
    solve,
    write_table,
)
from solver.index import position_of
from solver.playout import Positions
from solver.table import DenseTable

Truth = dict[brute_force.Position, brute_force.Value]


def opened(folder: Path, rules: Rules) -> DenseTable:
    table = open_table(folder, rules)
    assert isinstance(table, DenseTable)
    return table


@pytest.fixture(scope="module")
def table33(solved33: Path, rules33: Rules) -> DenseTable:
    return opened(solved33, rules33)


@pytest.fixture(scope="module")
def table44(solution44: Solution, tmp_path_factory: pytest.TempPathFactory) -> DenseTable:
    folder = tmp_path_factory.mktemp("solved44")
    write_table(folder, solution44)
    return opened(folder, solution44.rules)


@pytest.fixture(scope="module")
def proof(table33: DenseTable) -> Certificate:
    """That the table's X cannot be beaten on 3x3."""
    (certificate,) = certify(perfect(table33), "x")
    return certificate


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


# ---- the best response --------------------------------------------------------------------------


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
    player = perfect(opened(tmp_path, rules))
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


# ---- certificates -------------------------------------------------------------------------------


def test_a_proof_is_checked_and_survives_writing(
    proof: Certificate, table33: DenseTable, tmp_path: Path
) -> None:
    path = write_certificate(tmp_path / "proof.npz", proof)
    assert check_certificate(path).ok and check_certificate(path, perfect(table33)).ok
    again = read_certificate(path)
    expected = canonical(proof)[0]
    assert (again.queues == expected.queues).all() and (again.moves == expected.moves).all()
    assert classes_in(again) == classes_in(proof) and len(classes_in(proof)) == proof.positions
    assert again.to_dict() == proof.to_dict() | {"file": str(path)}
    assert list(tmp_path.iterdir()) == [path]


def classes_in(certificate: Certificate) -> set[Key]:
    """The listed positions without their orientation."""
    m, classes = certificate.rules.m, set()
    for queues in certificate.queues.tolist():
        pieces = [tuple(c for c in queue if c >= 0) for queue in (queues[:m], queues[m:])]
        classes.add(class_of(pieces[0], pieces[1], certificate.rules.n))
    return classes


def test_a_list_of_boards_is_written_as_boards(proof: Certificate, tmp_path: Path) -> None:
    path = write_certificate(tmp_path / "boards.npz", replace(proof, symmetric=False))
    boards = sorted(map(tuple, proof.queues.tolist()))
    assert list(map(tuple, read_certificate(path).queues.tolist())) == boards


def test_a_compact_certificate_asks_its_checkpoint_for_the_moves(
    table33: DenseTable, proof: Certificate, tmp_path: Path
) -> None:
    class Signed(TablePlayer):
        sha256 = "ab" * 32

    class Resigning(Signed):
        """Knows better everywhere."""

        def choose(self, states: States, plies: Plies | None = None) -> Choices:
            return Fixed(table33.rules, 3).choose(states)

    signer = CanonicalPlayer(Signed(table33))
    [signed] = certify(signer, "x")
    path = write_certificate(tmp_path / "compact.npz", signed, compact=True)
    whole = write_certificate(tmp_path / "whole.npz", signed)
    assert path.stat().st_size < whole.stat().st_size
    assert read_certificate(path).is_compact and not read_certificate(whole).is_compact
    with pytest.raises(InputError, match="leaves the moves to its checkpoint"):
        check_certificate(path)
    assert check_certificate(path, signer).ok
    assert not check_certificate(path, CanonicalPlayer(Resigning(table33))).ok
    with pytest.raises(InputError, match="compact"):
        write_certificate(path, proof, compact=True)  # of a player without a checkpoint


def test_no_position_can_be_left_out(proof: Certificate, tmp_path: Path) -> None:
    for row in range(proof.positions):
        less = replace(
            proof, queues=np.delete(proof.queues, row, 0), moves=np.delete(proof.moves, row)
        )
        check = check_certificate(write_certificate(tmp_path / "less.npz", less))
        assert not check.ok and check.problem is not None
        assert "not listed" in check.problem or "missing" in check.problem


def test_no_move_can_be_changed(proof: Certificate, table33: DenseTable, tmp_path: Path) -> None:
    player = perfect(table33)
    held_anyway = 0
    for row in range(0, proof.positions, 11):
        for cell in range(9):
            if cell == proof.moves[row]:
                continue
            moves = proof.moves.copy()
            moves[row] = cell
            path = write_certificate(tmp_path / "changed.npz", replace(proof, moves=moves))
            held_anyway += check_certificate(path).ok
            assert not check_certificate(path, player).ok
    # Another move may keep to the listed positions, and is then a proof for another player.
    assert held_anyway < proof.positions / 11


@pytest.mark.parametrize("cell", [-1, 9])
def test_a_move_beside_the_board_is_refused(proof: Certificate, tmp_path: Path, cell: int) -> None:
    moves = np.full(proof.positions, cell, np.int8)
    beside = replace(proof, moves=moves, symmetric=False)
    check = check_certificate(write_certificate(tmp_path / "beside.npz", beside))
    assert f"cell {cell} is not a legal move" in str(check.problem)


@pytest.mark.parametrize(
    "change",
    [
        {"sides": "xy"},
        {"sides": "y"},
        {"n_m_k": [3, 3, 2]},
        {"n_m_k": [3, 3, 2], "rules": Rules(3, 3, 2).tag},
        {"symmetric": False},
        {"kind": REFUTED},
    ],
    ids=str,
)
def test_no_claim_can_be_changed(proof: Certificate, tmp_path: Path, change: Any) -> None:
    path = write_certificate(tmp_path / "claim.npz", proof)
    with np.load(path) as stored:
        arrays = dict(stored)
    about = json.loads(bytes(arrays["about"]).decode()) | change
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    np.savez(path, **arrays)
    try:
        assert not check_certificate(path).ok
    except CorruptTableError as refused:
        assert "certificate" in str(refused)  # its lists do not even have the form


@pytest.mark.parametrize(
    "entry",
    [[0, 0, -1, 1, 2, -1], [-1, 0, -1, 1, 2, -1], [0, 1, 2, 3, 4, 5], [0, -1, -1] + [-1] * 3],
)
def test_entries_that_are_no_position_in_play_are_refused(
    proof: Certificate, tmp_path: Path, entry: list[int]
) -> None:
    more = replace(
        proof,
        queues=np.concatenate([proof.queues, np.array([entry], np.int8)]),
        moves=np.append(proof.moves, np.int8(8)),
        symmetric=False,  # as a list of boards: a list of nodes can only hold positions
    )
    check = check_certificate(write_certificate(tmp_path / "more.npz", more))
    assert not check.ok and "entry" in str(check.problem)


def test_a_certificate_for_another_player_is_no_failed_check(
    proof: Certificate, table33: DenseTable, table44: DenseTable, tmp_path: Path
) -> None:
    """It says nothing about this player, right or wrong: that is bad use, and named."""
    path = write_certificate(tmp_path / "proof.npz", proof)
    game = game_of(table33.rules)
    searching = CanonicalPlayer(SearchPlayer(game, HashedNetwork(9), SearchConfig(sims=7)))
    for player, named in (
        (perfect(table44), "is for 3x3_m3, but table plays 4x4_m4"),
        (network_player(HashedNetwork(9), table33.rules, sha256="cd" * 32), "cdcdcdcdcdcd"),
        (searching, "made with 0 simulations per move, not 7: leave --sims out"),
        (TablePlayer(table33), "symmetric"),
    ):
        with pytest.raises(InputError, match=named) as refused:
            check_certificate(path, player)
        assert str(path) in str(refused.value) and "\n" not in str(refused.value)
    stranger = fixed(table33.rules, 4)  # as unsigned as the table's player: its moves tell
    assert "the player" in str(check_certificate(path, stranger).problem)


def test_damaged_files_are_refused_in_one_line(proof: Certificate, tmp_path: Path) -> None:
    path = write_certificate(tmp_path / "proof.npz", proof)
    whole = path.read_bytes()
    with np.load(path) as stored:
        arrays = dict(stored)
    hostile = np.array([print], dtype=object)
    damaged: list[Any] = [whole[: len(whole) // 2], b"", b"nonsense", whole[:200] + whole[260:]]
    damaged += [arrays | {"moves": arrays["moves"][:-1]}, arrays | {"nodes": hostile}]
    damaged += [arrays | {"nodes": arrays["nodes"][:-1]}]
    damaged += [{"moves": arrays["moves"]}, arrays | {"about": np.frombuffer(b"{}", np.uint8)}]
    damaged += [arrays | {"moves": arrays["moves"][::-1]}]  # the digest tells
    for content in damaged:
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            np.savez(path, **content)
        with pytest.raises(CorruptTableError, match=r"certificate|damaged") as refused:
            check_certificate(path)
        assert "\n" not in str(refused.value)
    with pytest.raises(MissingTableError, match="certify"):
        check_certificate(tmp_path / "nowhere.npz")
    with pytest.raises(InputError, match="cannot write"):
        write_certificate(path / "is no folder.npz", proof)


# ---- conversion ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def won33(truth33: Truth, rules33: Rules) -> dict[Key, Position]:
    """A won position of every class, X to move in full ones."""
    positions: dict[Key, Position] = {}
    for (x, y, to_move), (result, _) in truth33.items():
        if result == 1 and (to_move == 0 or len(y) < 3):
            key = class_of(*((x, y) if to_move == 0 else (y, x)), 3)
            positions[key] = Position(x, y, "y" if to_move else "x", rules33)
    return positions


def plain_conversion(
    player: Player, won: dict[Key, Position], truth: Truth
) -> tuple[dict[str, int], dict[Key, int]]:
    """The counts of a Conversion, and the plies of what converts, by plain Python on classes."""
    nexts: dict[Key, set[Key]] = {}
    leaves: set[Key] = set()
    plies: dict[Key, int] = {}
    cells = cells_chosen(player, Positions.of(list(won.values()), drop_oldest_of(player).rules))
    for (key, position), cell in zip(won.items(), cells.tolist(), strict=True):
        after = position.play(cell)
        reached = (after.x, after.y, "xy".index(after.to_move))
        nexts[key] = set()
        if after.is_over:
            plies[key] = 1
        elif truth[reached][0] != -1:
            leaves.add(key)
        else:
            for x, y, side in brute_force.successors(reached, 3, 3, 3):
                nexts[key].add(class_of(*((x, y) if side == 0 else (y, x)), 3))
    waiting = set(nexts) - set(plies) - leaves
    while more := [key for key in waiting if all(after in plies for after in nexts[key])]:
        plies |= {key: 2 + max(plies[after] for after in nexts[key]) for key in more}
        waiting -= set(more)
    ends = set(plies) | leaves
    while more := [k for k in nexts if k not in ends and nexts[k] <= ends]:
        ends.update(more)
    out = set(leaves)
    while more := [k for k in nexts if k not in out and nexts[k] & out]:
        out.update(more)
    counts = {
        "won": len(nexts),
        "converts": len(plies),
        "leaves_at_once": len(leaves),
        "can_be_led_out": len(out - leaves),
        "can_cycle": len(set(nexts) - ends),
        "only_cycle": len(set(nexts) - ends - out),
    }
    return counts, plies


def converting_plies(result: Conversion) -> dict[Key, int]:
    plies = {}
    for node in np.flatnonzero(result.plies):
        position = position_of(int(node), result.rules)
        plies[class_of(position.mover, position.opponent, result.rules.n)] = int(result.plies[node])
    return plies


def test_the_table_converts_every_win_in_the_plies_promised(
    table33: DenseTable, table44: DenseTable
) -> None:
    result = conversion(perfect(table33), table33)
    assert result.converts == result.won and result.longest == 17 and result.can_cycle == 0
    won = (table33.bytes % 2 == 0) & (table33.bytes > 0)
    assert (result.plies[won] == table33.bytes[won] - 1).all() and result.won == won.sum()
    assert not result.plies[~won].any()
    assert result.longest_position is not None
    assert table33.probe(result.longest_position) == ("win", 17)
    assert result.start_plies == 13 and "won from the start" in str(result)
    assert "in at most 13 plies" in str(result)


def players(table: DenseTable) -> list[Player]:
    """One that dawdles, ones that blunder, ones that do a little of both."""
    lazy = dawdler(table)
    starts = table.best_moves(table.rules.start())
    spoiled_classes = {class_of((), (), 3), *(class_of((c,), (), 3) for c in starts)}
    mixed = Chosen(
        table.rules, lambda p: lazy.cell_for(p) if sum(p.mover) % 3 else table.moves(p)[0].cell
    )
    weak = Chosen(
        table.rules, lambda p: lazy.cell_for(p) if sum(p.mover) % 5 else table.moves(p)[-1].cell
    )
    chosen = [lazy, mixed, weak, Fixed(table.rules, 2), Spoiled(table, spoiled_classes)]
    return [CanonicalPlayer(player) for player in chosen]


@pytest.mark.parametrize("number", range(5), ids=["lazy", "mixed", "weak", "random", "spoiled"])
def test_conversion_equals_plain_fixpoints(
    table33: DenseTable, truth33: Truth, won33: dict[Key, Position], number: int
) -> None:
    player = players(table33)[number]
    result = conversion(player, table33)
    counts, plies = plain_conversion(player, won33, truth33)
    assert {name: getattr(result, name) for name in counts} == counts
    assert converting_plies(result) == plies
    assert result.longest == max(plies.values())
    assert result.converts + result.leaves_at_once <= result.won == 5719
    assert result.start_plies == plies.get(class_of((), (), 3), 0)
    assert ("won from the start" in str(result)) == bool(result.start_plies)


def test_a_player_that_dawdles_is_seen_to_run_in_circles(table33: DenseTable) -> None:
    result = conversion(CanonicalPlayer(dawdler(table33)), table33)
    assert result.leaves_at_once == result.can_be_led_out == 0
    assert result.can_cycle == result.only_cycle == result.won - result.converts > 0
    assert result.cycling_position is not None
    assert table33.probe(result.cycling_position).result == "win"
    assert result.to_dict()["can_cycle"] == result.can_cycle


def test_conversion_needs_a_canonical_player(table33: DenseTable, table44: DenseTable) -> None:
    with pytest.raises(InputError, match="canonical"):
        conversion(TablePlayer(table33), table33)
    with pytest.raises(InputError, match="the table is for"):
        conversion(perfect(table33), table44)
