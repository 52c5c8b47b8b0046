"""Certificates: written, read, checked from the rules alone, refused when anything was changed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixed_players import (
    Fixed,
    HashedNetwork,
    Key,
    class_of,
    fixed,
    network_player,
    perfect,
)

from azfit.drop_oldest_players import CanonicalPlayer, TablePlayer, game_of
from azfit.games import States
from azfit.grading.certificate import (
    REFUTED,
    Certificate,
    canonical,
    read_certificate,
    write_certificate,
)
from azfit.grading.certificate_check import check_certificate
from azfit.grading.certify import certify
from azfit.players import Choices, Plies, SearchPlayer
from azfit.search_config import SearchConfig
from solver import (
    CorruptTableError,
    InputError,
    MissingTableError,
    Rules,
)
from solver.table import DenseTable


@pytest.fixture(scope="module")
def proof(table33: DenseTable) -> Certificate:
    """That the table's X cannot be beaten on 3x3."""
    (certificate,) = certify(perfect(table33), "x")
    return certificate


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
