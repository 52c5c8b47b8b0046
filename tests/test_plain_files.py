"""Files without a manifest: whole or not at all, checked before work, read within limits."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from conftest import KilledAtLine

from solver import CorruptTableError, FadefourError, InputError, MissingTableError, storage
from solver.plotting import pyplot, save_png
from solver.storage import (
    check_writable,
    read_bytes,
    read_json,
    read_text_file,
    read_toml,
    remove_litter,
    write_atomically,
    writing_in,
)

CHILD = multiprocessing.get_context("fork")

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")


def names_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


# ---- two writers of one file --------------------------------------------------------------------


def write_often(path: Path, letter: bytes, times: int) -> None:
    for length in range(times):
        write_atomically(path, letter * (100_000 + 1_000 * length))


def test_two_writers_of_one_file_each_publish_a_whole_one(tmp_path: Path) -> None:
    path = tmp_path / "labels"
    write_atomically(path, b"a")
    writers = [
        CHILD.Process(target=write_often, args=(path, letter, 200)) for letter in (b"a", b"b")
    ]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        data = path.read_bytes()
        assert data == data[:1] * len(data), "bytes of both in one file"
        assert len(data) == 1 or len(data) % 1_000 == 0, "part of a file"
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0, "a writer lost its file to the other"
    assert names_in(tmp_path) == ["labels"]


def test_two_processes_may_draw_the_same_picture(tmp_path: Path) -> None:
    def draw() -> None:
        for _ in range(5):
            save_png(pyplot().figure(), tmp_path / "curves.png")

    artists = [CHILD.Process(target=draw) for _ in range(2)]
    for artist in artists:
        artist.start()
    for artist in artists:
        artist.join()
        assert artist.exitcode == 0
    assert names_in(tmp_path) == ["curves.png"]
    assert (tmp_path / "curves.png").read_bytes()[:4] == b"\x89PNG"


def test_a_writer_killed_at_any_line_leaves_the_old_file_and_nothing_after_the_next(
    tmp_path: Path, killed_at_line: KilledAtLine
) -> None:
    path, number = tmp_path / "file", 0
    write_atomically(path, b"old")
    while killed_at_line(number, storage, partial(write_atomically, path, b"new")):
        assert path.read_bytes() in (b"old", b"new")
        write_atomically(path, b"old")
        assert names_in(tmp_path) == ["file"]
        number += 1
    assert number > 5


def test_litter_is_what_nobody_is_writing(tmp_path: Path) -> None:
    receive, send = CHILD.Pipe(duplex=False)

    def write_slowly() -> None:
        handle, pending = storage._open_pending(tmp_path)
        send.send(pending.name)
        time.sleep(60)
        os.close(handle)

    writer = CHILD.Process(target=write_slowly)
    writer.start()
    live = receive.recv()
    dead = tmp_path / ".fadefour-0123456789abcdef.writing"
    dead.write_text("half")
    (tmp_path / "mine.writing").write_text("not ours")
    remove_litter(tmp_path)
    assert names_in(tmp_path) == sorted([live, "mine.writing"])
    os.kill(writer.pid or 0, signal.SIGKILL)
    writer.join()
    remove_litter(tmp_path)
    assert names_in(tmp_path) == ["mine.writing"]


# ---- waiting for another writer -----------------------------------------------------------------


def test_a_writer_that_waits_gets_its_turn_and_says_so_once(tmp_path: Path) -> None:
    start, started = CHILD.Event(), CHILD.Event()
    receive, send = CHILD.Pipe(duplex=False)

    def wait_and_write() -> None:
        started.set()
        start.wait()
        with writing_in(tmp_path, wait=True, notice=send.send):
            (tmp_path / "mine").write_text("written")

    writer = CHILD.Process(target=wait_and_write)
    writer.start()  # before the lock is taken: a fork would share it
    started.wait()
    with writing_in(tmp_path):
        start.set()
        assert receive.recv() == f"waiting for another fadefour that is writing to '{tmp_path}'"
        assert names_in(tmp_path) == []
    writer.join()
    assert writer.exitcode == 0
    assert names_in(tmp_path) == ["mine"]
    with writing_in(tmp_path, wait=True, notice=pytest.fail):
        pass


def test_a_writer_does_not_wait_for_itself(tmp_path: Path) -> None:
    with (
        writing_in(tmp_path),
        pytest.raises(InputError, match="another fadefour"),
        writing_in(tmp_path, wait=True),
    ):
        pass


def test_waiting_ends_with_ctrl_c(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib\n"
        "from solver.storage import writing_in\n"
        "with writing_in(pathlib.Path(sys.argv[1]), wait=True, notice=lambda line:"
        " print(line, flush=True)): pass\n"
    )
    with writing_in(tmp_path):
        waiting = subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[1],
        )
        assert waiting.stdout is not None
        assert "waiting" in waiting.stdout.readline()
        waiting.send_signal(signal.SIGINT)
        _, errors = waiting.communicate(timeout=30)
    assert "KeyboardInterrupt" in errors


# ---- targets that cannot be written -------------------------------------------------------------


def make_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # an address has at most 107 bytes
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def make_link(path: Path) -> None:
    (path.parent / "linked").write_text("kept")
    path.symlink_to("linked")


SPECIAL: dict[str, Callable[[Path], object]] = {
    "a folder": Path.mkdir,
    "a pipe": os.mkfifo,
    "a symbolic link": make_link,
    "a socket": make_socket,
}


@pytest.mark.parametrize("kind", SPECIAL)
def test_only_a_regular_file_is_replaced(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "target"
    SPECIAL[kind](path)
    before, mode = names_in(tmp_path), path.lstat().st_mode
    for write in (
        check_writable,
        lambda path: write_atomically(path, b"new"),
        lambda path: save_png(pyplot().figure(), path),
    ):
        with pytest.raises(InputError, match=f"cannot write '{path}': it is {kind}") as refused:
            write(path)
        assert "\n" not in str(refused.value)
    assert (names_in(tmp_path), path.lstat().st_mode) == (before, mode)


def test_a_device_is_not_replaced() -> None:
    for write in (check_writable, lambda path: write_atomically(path, b"new")):
        with pytest.raises(InputError, match="'/dev/null': it is a device"):
            write(Path("/dev/null"))


UNWRITABLE = {
    "/proc/nothing/x.png": "No such file",
    "/dev/null/x.png": "Not a directory",
    "a" * 300: "name too long",
    "new/" + "a" * 300 + "/x.png": "name too long",
    "a/" * 3000 + "x.png": "name too long",
}


@pytest.mark.parametrize("name", UNWRITABLE, ids=lambda name: str(name)[:30])
def test_an_unwritable_target_is_found_out_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=f"cannot write '.*{UNWRITABLE[name]}"):
        check_writable(Path(name))
    assert names_in(tmp_path) == []


def test_the_check_leaves_no_trace(tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(b"kept")
    for name in ("there", "not there", "new folder/in another/file"):
        check_writable(tmp_path / name)
    assert names_in(tmp_path) == ["there"]
    assert (tmp_path / "there").read_bytes() == b"kept"


def test_a_folder_without_permission_is_found_out_before_the_work(plain_user: Path) -> None:
    (plain_user / "closed").mkdir(mode=0o500)
    for name in ("closed/file", "closed/new/file"):
        with pytest.raises(InputError, match=r"cannot write .*Permission denied"):
            check_writable(plain_user / name)


# ---- inputs that cannot be read -----------------------------------------------------------------

READERS: list[Callable[..., Any]] = [read_bytes, read_text_file, read_json, read_toml]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("kind", [kind for kind in SPECIAL if "link" not in kind])
def test_only_a_regular_file_is_read(tmp_path: Path, kind: str, read: Callable[..., Any]) -> None:
    SPECIAL[kind](tmp_path / "given")
    with pytest.raises(InputError, match=r"cannot read settings '.*given': ") as refused:
        read(tmp_path / "given", 1000, "settings", "remove it")
    assert "remove it" not in str(refused.value)


@pytest.mark.parametrize("read", READERS)
def test_a_device_that_never_ends_is_refused(read: Callable[..., Any]) -> None:
    with pytest.raises(InputError, match="cannot read games '/dev/urandom': it is a device"):
        read(Path("/dev/urandom"), 1000, "games")


@pytest.mark.parametrize("read", READERS)
def test_a_file_beyond_the_limit_is_refused_unread(
    tmp_path: Path, read: Callable[..., Any]
) -> None:
    with open(tmp_path / "large", "wb") as sparse:
        sparse.truncate(50 << 30)
    with pytest.raises(
        CorruptTableError, match=r"too large \(53,687,091,200 bytes, the limit is 1,000\)"
    ):
        read(tmp_path / "large", 1000, "settings")
    with pytest.raises(FadefourError, match="the limit is 10 bytes"):
        read(Path("/proc/self/status"), 10, "settings")


@pytest.mark.parametrize("read", READERS)
def test_a_missing_file_is_named_with_the_remedy(tmp_path: Path, read: Callable[..., Any]) -> None:
    with pytest.raises(MissingTableError, match=r"^settings '.*none' does not exist: make one$"):
        read(tmp_path / "none", 1000, "settings", "make one")
    with pytest.raises(InputError, match=r"cannot read settings '.*File name too long"):
        read(tmp_path / ("a" * 300), 1000, "settings")


def test_a_file_without_permission_is_not_to_be_removed(plain_user: Path) -> None:
    (plain_user / "given").write_text("{}")
    (plain_user / "given").chmod(0)
    with pytest.raises(InputError, match=r"cannot read settings .*: Permission denied$"):
        read_json(plain_user / "given", 1000, "settings", "remove it")


BROKEN = {
    b"\xff\xfe": "is not text",
    b"{'": "is not valid (JSON|TOML)",
    b"a = [" + b"[" * 100_000: "nested too deeply|is not valid JSON",
    b"[" * 100_000: "nested too deeply|is not valid TOML",
    b"9" * 5_000: "is not valid (JSON|TOML)",
}


@pytest.mark.parametrize("read", [read_json, read_toml])
@pytest.mark.parametrize("data", BROKEN, ids=lambda data: str(data[:10]))
def test_what_cannot_be_parsed_is_one_line(
    tmp_path: Path, data: bytes, read: Callable[..., Any]
) -> None:
    (tmp_path / "given").write_bytes(data)
    with pytest.raises(CorruptTableError, match=BROKEN[data]) as refused:
        read(tmp_path / "given", 1 << 20, "settings", "mend it")
    assert str(refused.value).endswith(": mend it")
    assert "\n" not in str(refused.value)


def test_a_generous_limit_takes_no_memory(tmp_path: Path) -> None:
    (tmp_path / "given").write_text("{}")
    tracemalloc.start()
    try:
        assert read_json(tmp_path / "given", 1 << 40, "settings") == {}
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_what_is_whole_is_read(tmp_path: Path) -> None:
    (tmp_path / "given").write_text('{"größe": [1]}')
    assert read_json(tmp_path / "given", 16, "settings") == {"größe": [1]}
    (tmp_path / "link").symlink_to("given")
    assert read_text_file(tmp_path / "link", 16, "settings") == '{"größe": [1]}'
    (tmp_path / "given").write_text("sims = 4\n")
    assert read_toml(tmp_path / "given", 16, "settings") == {"sims": 4}
