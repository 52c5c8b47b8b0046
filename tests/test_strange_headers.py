"""Files that are whole, with checksums that fit, but whose headers no program wrote.

Each was found by fuzzing (``make fuzz``): it ended in a traceback, in a message of several lines or
of thousands of characters, in one that did not name the file, or never.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fixed_players import fixed
from synthetic_runs import episode, write_games
from tiny_self_play import tiny

from azfit.checkpoint import load_checkpoint, read_tensors, save_checkpoint, write_tensors
from azfit.games import game_by_name
from azfit.grading.certificate import read_certificate, write_certificate
from azfit.grading.certify import certify
from azfit.grading.connect4.labels import LabelFile
from azfit.network import Network
from azfit.network_config import NetworkConfig
from azfit.oracle.config import TrainingConfig
from azfit.oracle.connect4.dataset import Dataset
from azfit.oracle.connect4.labelling import DTYPES, Rows
from azfit.oracle.run import Run
from azfit.oracle.table_teacher import TableTeacher
from azfit.self_play.episode import read_episodes
from azfit.self_play.game_files import GameFiles
from azfit.self_play.iteration import read_iterations
from azfit.self_play.state import SelfPlayRun
from solver import CorruptTableError, DenseTable, FadefourError, InputError, Rules
from solver.connect4 import Connect4Position
from solver.connect4.book import MAGIC, Book, BookScores
from solver.connect4.labels import Label

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")


def assert_refused(read: Callable[[], object], *names: str) -> str:
    """One line that can be printed, is not long, and names all this."""
    with pytest.raises(FadefourError) as refused:
        read()
    message = str(refused.value)
    assert message.isprintable() and len(message) < 1000, message[:2000]
    for name in names:
        assert name in message
    return message


# ---- certificates -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nobody can win with two pieces and three in a row."""
    [proof] = certify(fixed(Rules(3, 2, 3)), "x")
    return write_certificate(tmp_path_factory.mktemp("certificate") / "proof.npz", proof)


def with_header(certificate: Path, path: Path, **changes: Any) -> Path:
    with np.load(certificate) as file:
        arrays = {name: file[name] for name in file.files}
    about = json.loads(arrays["about"].tobytes()) | changes
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    np.savez_compressed(path, **arrays)
    return path


@pytest.mark.parametrize(
    "changes",
    [
        *({"n_m_k": [9, 2, 3]}, {"n_m_k": ["3", 2, 3]}, {"n_m_k": [3.5, 2, 3]}),
        *({"player": "two\nlines"}, {"player": "\x1b[31mred"}, {"player": "long " * 1000}),
        *({"smallest_margin": float("nan")}, {"smallest_margin": 10**400}),
    ],
    ids=lambda changes: str(changes)[:30],
)
def test_a_certificate_that_says_something_strange_is_refused(
    certificate: Path, tmp_path: Path, changes: dict[str, Any]
) -> None:
    path = with_header(certificate, tmp_path / "strange.npz", **changes)
    assert_refused(lambda: read_certificate(path), "strange.npz", "is not a valid certificate")


def test_the_name_of_an_array_is_shown_without_what_cannot_be_printed(
    certificate: Path, tmp_path: Path
) -> None:
    path = tmp_path / "strange.npz"
    path.write_bytes(certificate.read_bytes())
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("\x1b[2J.npy", certificate.read_bytes()[:0])
    assert_refused(lambda: read_certificate(path), "strange.npz")
    with np.load(certificate) as arrays:
        np.savez(path, **{"\x1b[2J": arrays["line"]}, **arrays)
    assert_refused(lambda: read_certificate(path), "strange.npz", r"\x1b[2J")


# ---- networks -----------------------------------------------------------------------------------

SMALL = NetworkConfig("drop-3-2-2", width=1, blocks=0, max_plies=1)


def new_checkpoint(
    path: Path,
    about: dict[str, Any] | None = None,
    rename: dict[str, str] | None = None,
    shape: list[int] | None = None,
) -> Path:
    """A small network with its description changed, tensors renamed, or one reshaped."""
    save_checkpoint(path, Network(SMALL))
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    entries, numbers = json.loads(data[8 : 8 + length]), data[8 + length :]
    description = json.loads(entries.pop("__metadata__")["about"]) | (about or {})
    del description["about_sha256"]
    entries = {(rename or {}).get(name, name): entry for name, entry in entries.items()}
    if shape is not None:
        entries["body.first.bias"]["shape"] = shape
    digest = hashlib.sha256()
    for name, entry in sorted(entries.items()):
        first, end = entry["data_offsets"]
        head = f"{name} torch.float32 {entry['shape']}\n"
        digest.update(head.encode("utf-8", "surrogatepass") + numbers[first:end])
    description["sha256"] = digest.hexdigest()
    header = json.dumps({"__metadata__": {"about": json.dumps(description)}, **entries}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + numbers)
    return path


def test_the_small_checkpoint_loads_unless_something_is_changed(tmp_path: Path) -> None:
    network, _ = load_checkpoint(new_checkpoint(tmp_path / "net.safetensors"))
    assert network.config == SMALL


@pytest.mark.parametrize(
    "changes",
    [
        {"about": {"rules": "\0"}},
        {"about": {"rules": "long " * 1000}},
        {"about": {"version": "long " * 1000}},
        {"about": {"network": {**SMALL.to_dict(), "two\nlines": 1}}},
        {"about": {"network": {**SMALL.to_dict(), "long " * 1000: 1}}},
        {"about": {"network": {**SMALL.to_dict(), "game": "drop-03-2-2"}}},
        {"about": {"network": {**SMALL.to_dict(), "game": "drop-\u0663-2-2"}}},
        {"rename": {"body.first.bias": "a\nb"}},
    ],
    ids=lambda changes: str(changes)[:60],
)
def test_a_checkpoint_that_says_something_strange_is_refused(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    path = new_checkpoint(tmp_path / "net.safetensors", **changes)
    assert_refused(lambda: load_checkpoint(path), "net.safetensors")


def test_a_tensor_whose_name_is_no_text_is_refused(tmp_path: Path) -> None:
    path = new_checkpoint(tmp_path / "net.safetensors", rename={"body.first.bias": "\ud800"})
    assert_refused(lambda: read_tensors(path), "net.safetensors")


def test_a_tensor_with_a_million_dimensions_is_refused_at_once(tmp_path: Path) -> None:
    """Their product, a number of three million bits, took minutes."""
    path = new_checkpoint(tmp_path / "net.safetensors", shape=[9] * 1_000_000)
    assert_refused(lambda: load_checkpoint(path), "impossible tensors")


@pytest.mark.parametrize(
    "name",
    ["drop-03-3-3", "drop-\u0663-\u0663-\u0663", "gomoku-015", "drop-" + "1" * 5000 + "-3-3"],
)
def test_a_game_has_one_name(name: str) -> None:
    with pytest.raises(InputError, match="use drop-N-M-K") as refused:
        game_by_name(name)
    assert len(str(refused.value)) < 200


# ---- Connect Four -------------------------------------------------------------------------------


def book_of(path: Path, keys: list[int], **changes: Any) -> Path:
    """A book of one ply with these further positions, its header changed, its checksum right."""
    body = bytes(2) + b"".join(struct.pack("<Q", key) for key in keys) + bytes(len(keys))
    body = BookScores.unknown(0).to_bytes()[-1:] + body[2:]
    about = {"plies": 0, "seconds": {"0": 1.5}, "further": len(keys)} | changes
    about["sha256"] = hashlib.sha256(body).hexdigest()
    path.write_bytes(MAGIC + json.dumps(about).encode() + b"\n" + body)
    return path


def test_a_small_book_is_read_unless_something_is_changed(tmp_path: Path) -> None:
    assert Book(book_of(tmp_path / "a.book", [3, 7])).contents.further == {3: 0, 7: 0}


@pytest.mark.parametrize(
    "changes",
    [
        *({"seconds": {"0": "long " * 1000}}, {"seconds": {"0": 10**400}}, {"plies": 10**400}),
        *({"seconds": {"0": float("nan")}}, {"seconds": {"0": float("inf")}}),
        *({"seconds": {"0": -1}}, {"seconds": {"two\nlines": 1}}, {"keys": [7, 3]}),
        {"keys": [3, 3]},
    ],
    ids=lambda changes: str(changes)[:40],
)
def test_a_book_that_says_something_strange_is_refused(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    path = book_of(tmp_path / "a.book", **{"keys": [3, 7], **changes})
    assert_refused(lambda: Book(path).contents, "a.book")


LATE = Connect4Position.parse("1212122121213434344343436565655656567")
"""One column has room; the rest is as good as anything else here."""


def labelled(**changes: Any) -> Rows:
    """A row with labels that it could have, or with some of them changed."""
    row = {"movers": LATE.mover, "stones": LATE.stones, "scores": 0, "keeping": 64, "optimal": 64}
    row |= {"sources": 0, "seconds": 0.5} | changes
    return Rows(*(np.array([row.get(name, 0)]).astype(dtype) for name, dtype in DTYPES.items()))


def test_a_row_with_possible_labels_is_read(tmp_path: Path) -> None:
    Dataset(tmp_path).append(labelled())
    assert len(Dataset(tmp_path)) == 1


@pytest.mark.parametrize(
    "changes",
    [
        *({"movers": LATE.mover ^ 1}, {"movers": LATE.stones}, {"stones": LATE.stones ^ 2}),
        *({"stones": LATE.stones | 1 << 60}, {"stones": 0, "movers": 0, "keeping": 128}),
        *({"stones": 0b1001, "movers": 0b1}, {"stones": 0x204081 * 15, "movers": 0x204081 * 5}),
        *({"scores": 5}, {"scores": -4}, {"scores": 22}, {"scores": -128}),
        *({"optimal": 0}, {"optimal": 0, "keeping": 0}, {"keeping": 65}, {"optimal": 32}),
        *({"sources": 200}, {"seconds": -1.0}, {"seconds": float("nan")}),
        {"seconds": float("inf")},
    ],
    ids=str,
)
def test_labelled_positions_that_cannot_be_are_refused(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    """Training met them later, or learned from them."""
    Dataset(tmp_path).append(labelled(**changes))
    assert_refused(lambda: Dataset(tmp_path), "positions-000000.npz", "row 0 has")


@pytest.mark.parametrize(
    "known", [(0, 0, 0), (0, 1, 2), (0, 128, 128), (22, 1, 1), (-(2**15), 1, 1)]
)
def test_labels_that_no_position_has_are_refused(tmp_path: Path, known: tuple[int, ...]) -> None:
    path = tmp_path / "labels.npz"
    for label in (Label(3, 5, 4), Label(*known)):
        labels = LabelFile(tmp_path / "new.npz")
        labels.add(LATE, label)
        labels.save()
        (tmp_path / "new.npz").rename(path)
        if label.score == 3:
            assert LabelFile(path).known == {str(LATE): label}
    assert_refused(lambda: LabelFile(path), "labels.npz", "labels that no position has")


# ---- runs ---------------------------------------------------------------------------------------


def change_state(path: Path, tensors: dict[str, Any] | None = None, **about: Any) -> None:
    """Writes the state of a run again, with checksums that fit."""
    stored, described = read_tensors(path)
    write_tensors(path, stored | (tensors or {}), described | about)


def stepped(network: Network, optimiser: torch.optim.Optimizer) -> None:
    for parameter in network.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimiser.step()


@pytest.fixture
def self_play(tmp_path: Path) -> SelfPlayRun:
    """A run whose state was saved after a step of training."""
    run = SelfPlayRun(tiny(width=1, blocks=0), tmp_path)
    stepped(run.candidate, run.trainer.optimiser)
    run.save()
    return run


def test_the_state_of_self_play_is_taken_up(self_play: SelfPlayRun) -> None:
    change_state(self_play.state_path, pool=[[0, 1.5]], seconds=7.0)
    again = SelfPlayRun(self_play.config, self_play.folder)
    again.load()
    assert again.pool == [(0, 1.5)] and again.seconds >= 7


@pytest.mark.parametrize(
    "about",
    [
        *({"iteration": 10**400}, {"iteration": 10**12}, {"iteration": -1}, {"iteration": "3"}),
        *(
            {"iteration": float("inf")},
            {"pool": []},
            {"pool": [[10**300, 0.0]]},
            {"pool": [[5, 0]]},
        ),
        *({"pool": [[0, float("nan")]]}, {"seconds": -1.0}, {"seconds": float("nan")}),
        *({"phase": ["play"]}, {"line": {"iteration": 10**400, "seconds": 10**400}}),
        {"line": {"watch": {"start": "long " * 1000}}},
    ],
    ids=lambda about: str(about)[:40],
)
def test_a_strange_state_of_self_play_is_refused(
    self_play: SelfPlayRun, about: dict[str, Any]
) -> None:
    change_state(self_play.state_path, **about)
    assert_refused(SelfPlayRun(self_play.config, self_play.folder).load, "resume.safetensors")


@pytest.mark.parametrize("key", ["step", "exp_avg"])
def test_the_state_of_an_optimiser_must_fit_its_network(self_play: SelfPlayRun, key: str) -> None:
    """The run began, and the first step of training ended it."""
    stored, about = read_tensors(self_play.state_path)
    place = next(name for name in stored if name.startswith(f"optimiser.{key}."))
    change_state(self_play.state_path, {place: torch.zeros(3, 5)})
    run = SelfPlayRun(self_play.config, self_play.folder)
    assert place in assert_refused(run.load, "resume.safetensors")
    write_tensors(self_play.state_path, {n: t for n, t in stored.items() if n != place}, about)
    assert_refused(run.load, "resume.safetensors")


def test_a_billion_iterations_without_games_are_loaded_at_once(tmp_path: Path) -> None:
    """Each of them was looked for on disk."""
    games = GameFiles(tmp_path, game_by_name("drop-3-3-3"), 90, 5)
    (tmp_path / "\u00b2.games").write_bytes(b"")  # a digit, but not a number
    games.load(10**9)
    games.remove_unneeded()
    assert games.buffer.size == 0


GAME = game_by_name("drop-3-3-3")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"actions": np.array([4, 99], np.int16)}, "moves that drop-3-3-3 has not"),
        ({"actions": np.array([4, -1], np.int16)}, "moves that drop-3-3-3 has not"),
        ({"opening": np.array([9], np.int16)}, "moves that drop-3-3-3 has not"),
        ({"visits": np.zeros((2, 9), np.uint16)}, "a position without a search"),
        ({"values": np.array([0, np.nan], np.float32)}, "a value that is not a number"),
        ({"codes": np.full((2, 7), 5, np.int8)}, "not a position of drop-3-3-3"),
    ],
    ids=str,
)
def test_a_game_that_nobody_played_is_refused_when_it_is_read(
    tmp_path: Path, change: dict[str, Any], what: str
) -> None:
    """The explorer ended in a traceback, a resumed run in a message without the file's name."""
    played = episode(GAME, [4, 0], [], winner=0)
    path = write_games(tmp_path, [played])
    assert len(read_episodes(path, GAME)) == 1
    path.write_bytes(replace(played, **change).to_bytes())
    assert_refused(lambda: read_episodes(path, GAME), path.name, what)


def test_a_number_beyond_any_float_is_a_damaged_line(tmp_path: Path) -> None:
    line = json.dumps({"iteration": 1, "seconds": 10**400})
    (tmp_path / "metrics.jsonl").write_text(f"{line}\n{line}\n")
    assert_refused(lambda: read_iterations(tmp_path), "metrics.jsonl", "seconds")


@pytest.fixture
def training(table33: DenseTable, tmp_path: Path) -> Run:
    config = TrainingConfig(
        NetworkConfig("drop-3-3-3", width=1, blocks=0), minutes=None, steps=9, threads=1
    )
    run = Run(config, TableTeacher(table33), tmp_path)
    stepped(run.network, run.optimiser)
    run.save_state(metrics_lines=2)
    return run


@pytest.mark.parametrize(
    "about",
    [
        *({"metrics_lines": "2"}, {"metrics_lines": -1}, {"metrics_lines": [2]}, {"step": -1}),
        *({"step": 1.5}, {"seconds": -1}, {"seconds": float("inf")}, {"mined_rounds": None}),
        {"metrics": {}, "evaluated_step": "long " * 1000},
    ],
    ids=lambda about: str(about)[:40],
)
def test_a_strange_state_of_training_is_refused(training: Run, about: dict[str, Any]) -> None:
    change_state(training.state_path, **about)
    again = Run(training.config, training.teacher, training.folder)
    assert_refused(again.load_state, "resume.safetensors")


def test_the_table_that_a_state_claims_is_shown_without_what_cannot_be_printed(
    training: Run,
) -> None:
    change_state(training.state_path, table_sha256="two\nlines")
    again = Run(training.config, training.teacher, training.folder)
    assert_refused(again.load_state, str(training.folder), r"two\nlines")


@pytest.mark.parametrize("mined", [torch.tensor([0.5]), torch.tensor([[1]]), torch.tensor([10**9])])
def test_mined_positions_must_be_nodes_of_the_table(training: Run, mined: torch.Tensor) -> None:
    change_state(training.state_path, {"mined": mined})
    again = Run(training.config, training.teacher, training.folder)
    with pytest.raises(CorruptTableError, match=r"resume\.safetensors"):
        again.load_state()
