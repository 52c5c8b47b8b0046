"""Whatever is given as a file: one line, exit code 2, little memory, and nothing is changed."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import struct
import subprocess
import sys
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from command_line import VARIANT33
from conftest import Outcome, run_cli
from fixed_players import perfect
from limited_memory import limit_memory, run_with_memory

from azfit.checkpoint import load_checkpoint, save_checkpoint, write_tensors
from azfit.games import game_by_name
from azfit.grading.certificate import read_certificate, write_certificate
from azfit.grading.certify import certify
from azfit.network import Network, NetworkConfig
from azfit.self_play.episode import read_episodes
from solver import CorruptTableError, DenseTable, Rules
from solver.archives import open_archive

CHILD = multiprocessing.get_context("fork")
SMALL = NetworkConfig("drop-3-3-3", width=8, blocks=1)
Make = Callable[[Path], object]


def assert_one_line(outcome: Outcome, *words: str) -> None:
    assert (outcome.code, outcome.out) == (2, ""), outcome.err
    assert re.fullmatch(r"fadefour: [^\n]+\n", outcome.err), outcome.err
    for word in words:
        assert word in outcome.err


# ---- sizes --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate33(solved33: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("certificate") / "proof.npz"
    with DenseTable(solved33 / "solved_3x3_m3.table") as table:
        [proof] = certify(perfect(table), "x")
    return write_certificate(path, replace(proof, symmetric=False))


@pytest.fixture(scope="module")
def checkpoint33(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_checkpoint(tmp_path_factory.mktemp("net") / "net.safetensors", Network(SMALL))


def about_of(certificate: Path) -> dict[str, Any]:
    with np.load(certificate) as arrays:
        return dict(json.loads(arrays["about"].tobytes()))


def npy(dtype: str, shape: tuple[int, ...], data: bytes = b"") -> bytes:
    """A .npy file of the oldest version, by hand."""
    text = repr({"descr": dtype, "fortran_order": False, "shape": shape}).encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def pack(path: Path, members: dict[str, bytes | tuple[bytes, int]]) -> None:
    """A zip of these members; (beginning, so many zeros) is written without holding them."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in members.items():
            begin, zeros = content if isinstance(content, tuple) else (content, 0)
            with archive.open(name, "w", force_zip64=True) as member:
                member.write(begin)
                for _ in range(zeros >> 20):
                    member.write(bytes(1 << 20))


def zeros_sha256(*lengths: int) -> str:
    import hashlib

    digest = hashlib.sha256()
    for length in lengths:
        for _ in range(length >> 20):
            digest.update(bytes(1 << 20))
    return digest.hexdigest()


@pytest.mark.parametrize("array", ["moves", "line", "queues", "extra"])
def test_a_small_certificate_that_unpacks_to_very_much_is_refused_packed(
    certificate33: Path, tmp_path: Path, array: str
) -> None:
    """Zeros in one of its arrays, a two-hundredth of them packed, with a digest that is right."""
    about, size = about_of(certificate33), 300 << 20
    members: dict[str, Any] = {
        "about.npy": b"",
        "line.npy": npy("|i1", (0,)),
        "moves.npy": npy("|i1", (0,)),
        "queues.npy": npy("|i1", (6, 0)),
    }
    shape: tuple[int, ...] = (6, size // 6) if array == "queues" else (size,)
    members[f"{array}.npy"] = (npy("|i1", shape), size)
    claimed = size // 6 if array == "queues" else 0
    about |= {"positions": claimed, "sha256": zeros_sha256(size) if array != "extra" else "x"}
    text = json.dumps(about).encode()
    members["about.npy"] = npy("|u1", (len(text),), text)
    pack(tmp_path / "bomb.npz", members)
    assert (tmp_path / "bomb.npz").stat().st_size < 2_000_000
    command = ("certify", "--check", tmp_path / "bomb.npz", *VARIANT33)
    assert_one_line(run_with_memory(100 << 20, *command), "bomb.npz")


def test_zeros_for_every_position_there_could_be_are_refused_while_they_are_read(
    certificate33: Path, tmp_path: Path
) -> None:
    """4x4: 40 million positions fit the rules; of 320 MB the first rows are enough."""
    rules, count = Rules(4, 4, 4), 40 << 20
    about = about_of(certificate33) | {"n_m_k": [4, 4, 4], "rules": rules.tag, "positions": count}
    about |= {"sha256": zeros_sha256(8 * count)}
    text = json.dumps(about).encode()
    members: dict[str, Any] = {
        "about.npy": npy("|u1", (len(text),), text),
        "line.npy": npy("|i1", (0,)),
        "moves.npy": npy("|i1", (0,)),
        "queues.npy": (npy("|i1", (8, count)), 8 * count),
    }
    pack(tmp_path / "bomb.npz", members)
    tracemalloc.start()
    try:
        with pytest.raises(CorruptTableError, match="not in order"):
            read_certificate(tmp_path / "bomb.npz")
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 8 * count + (60 << 20), "the list once, which is not filled, and little else"


ARRAYS = {
    "a declared 909 TiB": npy("<i8", (125_000_000_000_000,)),
    "more dimensions than numbers": npy("|i1", (1 << 40, 1 << 40)),
    "a negative length": npy("|i1", (-1,)),
    "a length in words": npy("|i1", ("many",)),  # type: ignore[arg-type]
    "objects": npy("|O", (1,), b"\x80\x04N."),
    "a long header": b"\x93NUMPY\x02\x00" + struct.pack("<I", 1 << 31),
    "brackets for a header": b"\x93NUMPY\x01\x00" + struct.pack("<H", 4000) + b"[" * 4000,
    "no array": b"text",
    "nothing": b"",
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_an_array_that_cannot_be_is_refused_by_its_header(tmp_path: Path, kind: str) -> None:
    pack(tmp_path / "given.npz", {"about.npy": ARRAYS[kind]})
    command = ("certify", "--check", tmp_path / "given.npz", *VARIANT33)
    assert_one_line(run_with_memory(200 << 20, *command), "given.npz")


def test_an_archive_with_very_many_members_is_refused_by_its_count(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "many.npz", "w") as archive:
        for number in range(1000):
            archive.writestr(f"{number}.npy", b"")
    with (
        pytest.raises(CorruptTableError, match="it has 1,000 members"),
        open_archive(tmp_path / "many.npz", 1 << 30, "certificate"),
    ):
        pass
    data = (tmp_path / "many.npz").read_bytes()
    for what in (data + b"comment", data[:-22] + b"PK\x06\x07" + bytes(16) + data[-22:], b""):
        (tmp_path / "many.npz").write_bytes(what)
        with (
            pytest.raises(CorruptTableError, match="not a NumPy archive"),
            open_archive(tmp_path / "many.npz", 1 << 30, "certificate"),
        ):
            pass


@pytest.mark.parametrize("flips", range(20))
def test_a_certificate_with_any_byte_changed_is_refused_or_unchanged(
    certificate33: Path, tmp_path: Path, flips: int
) -> None:
    data = bytearray(certificate33.read_bytes())
    places = np.random.default_rng(flips).integers(0, len(data), 3)
    for place in places:
        data[place] ^= 1 << (flips % 8)
    (tmp_path / "given.npz").write_bytes(data)
    outcome = run_cli("certify", "--check", tmp_path / "given.npz", *VARIANT33)
    if outcome.code:  # else the bytes do not matter, as a time in the directory
        assert_one_line(outcome, "given.npz")


def sparse(path: Path, size: int, begin: bytes = b"") -> Path:
    with open(path, "wb") as file:
        file.write(begin)
        file.truncate(size)
    return path


def header_of(tensors: dict[str, Any], about: dict[str, Any]) -> bytes:
    text = json.dumps({"__metadata__": {"about": json.dumps(about)}, **tensors}).encode()
    return struct.pack("<Q", len(text)) + text


def declared(network: dict[str, Any]) -> dict[str, Any]:
    rules = Rules(3, 3, 3).tag
    about = {"format": "fadefour network", "version": 1, "game": "drop-3-3-3", "rules": rules}
    return {**about, "network": {**SMALL.to_dict(), **network}, "sha256": "0"}


def large_checkpoint(path: Path, network: dict[str, Any], size: int) -> Path:
    """A header that is right in itself, and gigabytes of zeros that take no room on disk."""
    entry = {"dtype": "F32", "shape": [size // 4], "data_offsets": [0, size]}
    header = header_of({"body.first.weight": entry}, declared(network))
    return sparse(path, len(header) + size, header)


CHECKPOINTS: dict[str, tuple[Make, str]] = {
    "50 GB": (lambda path: sparse(path, 50 << 30), "53,687,091,200 bytes"),
    "50 GB with a header": (lambda path: large_checkpoint(path, {}, 50 << 30), "bytes"),
    "3 GB": (lambda path: large_checkpoint(path, {}, 3 << 30), "weights"),
    "3 GB for a large network": (
        lambda path: large_checkpoint(path, {"width": 8192, "blocks": 100}, 3 << 30),
        "weights",
    ),
    "a large network": (
        lambda path: path.write_bytes(header_of({}, declared({"width": 8192, "blocks": 100}))),
        "lacks weights",
    ),
    "a long header": (lambda path: sparse(path, 3 << 30, struct.pack("<Q", 2 << 30)), "header"),
    "a tensor of 909 TiB": (
        lambda path: path.write_bytes(
            header_of(
                {"a": {"dtype": "F32", "shape": [1 << 48], "data_offsets": [0, 1 << 50]}},
                declared({}),
            )
        ),
        "bytes of numbers",
    ),
}


@pytest.mark.parametrize("kind", CHECKPOINTS)
@pytest.mark.parametrize("command", ["grade", "certify", "match"])
def test_a_checkpoint_is_refused_by_its_size_and_header(
    solved33: Path, tmp_path: Path, kind: str, command: str
) -> None:
    make, words = CHECKPOINTS[kind]
    make(tmp_path / "net.safetensors")
    more = ("random", "--games", "2") if command == "match" else (*VARIANT33, "--data", solved33)
    outcome = run_with_memory(400 << 20, command, tmp_path / "net.safetensors", *more)
    assert_one_line(outcome, "net.safetensors", words)


def test_a_small_checkpoint_takes_little_memory(checkpoint33: Path) -> None:
    """Whatever the limit of one is."""
    tracemalloc.start()
    try:
        load_checkpoint(checkpoint33)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_the_header_is_compared_without_what_torch_compiles_with(checkpoint33: Path) -> None:
    """torch takes seconds to import what fills tensors that have no numbers."""
    program = (
        "import sys; from azfit.checkpoint import load_checkpoint; load_checkpoint(sys.argv[1]);"
        "print('sympy' in sys.modules)"
    )
    command = [sys.executable, "-c", program, str(checkpoint33)]
    root = Path(__file__).parents[1]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root)
    assert ended.stdout == "False\n"


# ---- files of games -----------------------------------------------------------------------------


def frame(body: bytes) -> bytes:
    return struct.pack("<4sII", b"FFG2", len(body), zlib.crc32(body)) + body


def test_a_game_that_unpacks_to_very_much_is_refused_packed(tmp_path: Path) -> None:
    packed = zlib.compressobj(1)
    body = b"".join(packed.compress(bytes(1 << 20)) for _ in range(300)) + packed.flush()
    head = struct.pack("<IIHHHHb6I", 0, 0, 0, 9, 7, 9, 0, *[0] * 6)
    for data in (body, zlib.compress(head + bytes(1 << 28))):
        (tmp_path / "a.games").write_bytes(frame(data))

        def read() -> None:
            limit_memory(60 << 20)
            try:
                read_episodes(tmp_path / "a.games", game_by_name("drop-3-3-3"))
            except CorruptTableError:
                os._exit(0)
            os._exit(1)

        child = CHILD.Process(target=read)
        child.start()
        child.join()
        assert child.exitcode == 0


def test_a_sparse_file_of_games_is_read_in_little_memory(tmp_path: Path) -> None:
    """Zeros at the end are what a crash leaves; 300 MB of them are searched, and never held."""
    sparse(tmp_path / "a.games", 300 << 20, struct.pack("<4sII", b"FFG2", (1 << 32) - 1, 0))

    def read() -> None:
        limit_memory(60 << 20)
        os._exit(len(read_episodes(tmp_path / "a.games", game_by_name("drop-3-3-3"))))

    child = CHILD.Process(target=read)
    child.start()
    child.join()
    assert child.exitcode == 0


# ---- files of another kind ----------------------------------------------------------------------


def write_state(path: Path) -> None:
    tensors = {"network.a": torch.zeros(2), "optimiser.step.a": torch.zeros(1)}
    write_tensors(path, tensors, {"format": "fadefour network", "version": 1, "step": 5})


def write_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", "text")


OTHER_KINDS: dict[str, tuple[Make, str]] = {
    "resume.safetensors": (write_state, "is the state of a run, not a network: give the run's"),
    "positions.npz": (lambda path: np.savez(path, x=np.zeros(3)), "is a NumPy archive (.npz)"),
    "proof.npz": (lambda path: np.savez(path, about=np.zeros(3)), "is a certificate, not a"),
    "letter.docx": (write_zip, "is a zip archive, not a network"),
    "net.pt": (lambda path: torch.save({}, path), "is a pickle"),
    "net.json": (
        lambda path: path.write_text("{}"),
        "is JSON, not a network: give the .safetensors",
    ),
    "notes.txt": (lambda path: path.write_text("some notes about networks"), "not a safetensors"),
}


@pytest.mark.parametrize("name", OTHER_KINDS)
@pytest.mark.parametrize("command", ["grade", "certify"])
def test_a_file_of_another_kind_is_called_what_it_is(
    solved33: Path, tmp_path: Path, name: str, command: str
) -> None:
    make, words = OTHER_KINDS[name]
    make(tmp_path / name)
    outcome = run_cli(command, tmp_path / name, *VARIANT33, "--data", solved33)
    assert_one_line(outcome, f"'{tmp_path / name}'", words)
    if "pickle" not in words:
        assert "pickle" not in outcome.err
