"""Nothing lost: whole files or none, whatever kills the writer, fills the disk or writes too."""

from __future__ import annotations

import multiprocessing
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from command_line import SCRIPT, VARIANT33
from conftest import KilledAtLine
from folders import names_in, snapshot

from solver import (
    InputError,
    MissingTableError,
    NoRoomError,
    Rules,
    manifest,
    storage,
)
from solver.manifest import NewFile, check_whole, open_manifest
from solver.storage import writing_in

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")
RULES33 = Rules(3, 3, 3)
REMEDY = "run 'fadefour test'"
EveryKill = Callable[[Callable[[Path], object], Callable[[Path], object]], Iterator[Path]]
CHILD = multiprocessing.get_context("fork")


def content(version: int) -> bytes:
    """What the tests write as a version of a file: another length and other bytes each time."""
    return random.Random(version).randbytes(1000 + 37 * version)


def write_version(path: Path, version: int) -> None:
    data = content(version)
    with NewFile(path, "test", RULES33, len(data)) as new:
        new.write(data[:500])
        new.write(data[500:])
        new.commit({"version": version})


def read_version(path: Path) -> int | None:
    """The version found at ``path``, after checking that it is that version to the byte."""
    try:
        manifest = open_manifest(path, "test", REMEDY, RULES33)
    except MissingTableError:
        return None
    check_whole(path, manifest, REMEDY)
    version = int(manifest.counts["version"])
    assert path.read_bytes() == content(version)
    return version


def nothing(folder: Path) -> None:
    pass


def write_old(folder: Path) -> None:
    write_version(folder / "file", 1)


def write_new(folder: Path) -> None:
    write_version(folder / "file", 2)


def read(folder: Path) -> None:
    read_version(folder / "file")


def remove(folder: Path) -> None:
    manifest.remove(folder / "file")


@pytest.fixture
def every_kill(tmp_path: Path, killed_at_line: KilledAtLine) -> EveryKill:
    """One folder for every line of either module at which work can be killed, killed there."""

    def folders(
        prepare: Callable[[Path], object], work: Callable[[Path], object]
    ) -> Iterator[Path]:
        kills = 0
        for module in (manifest, storage):
            number = 0
            while True:
                folder = tmp_path / f"killed-at-{module.__name__}-{number}"
                folder.mkdir()
                prepare(folder)
                if not killed_at_line(number, module, partial(work, folder)):
                    break
                yield folder
                number += 1
            kills += number
        assert kills > 5, "the kill points were not reached"

    return folders


# ---- kill -9 ------------------------------------------------------------------------------------


@pytest.mark.parametrize("old", [None, 1])
def test_kill_at_any_line_leaves_the_old_version_or_the_new_one(
    every_kill: EveryKill, old: int | None
) -> None:
    versions = set()
    for folder in every_kill(nothing if old is None else write_old, write_new):
        removed = Path(shutil.copytree(folder, folder / "removed"))
        manifest.remove(removed / "file")
        assert names_in(removed) == set(), "litter outlives the file"
        removed.rmdir()
        version = read_version(folder / "file")
        assert version in (old, 2), folder.name
        versions.add(version)
        write_version(folder / "file", 3)
        assert read_version(folder / "file") == 3
        assert names_in(folder) == {"file", "file.json"}, "litter outlives the next writer"
    assert versions == {old, 2}, "kills before and after the decision were both met"


def test_what_is_renamed_was_synced_before_and_the_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order that a power cut needs: bytes, then the decision, then the folder."""
    steps: list[tuple[str, str]] = []

    def without_numbers(name: str) -> str:
        return re.sub(r"-[0-9a-f]{16}\.", "-N.", name)

    def fsync(handle: int) -> None:
        steps.append(("sync", without_numbers(Path(f"/proc/self/fd/{handle}").readlink().name)))

    def replace(source: Path, target: Path, rename: Any = os.replace) -> None:
        steps.append(("rename", f"{without_numbers(source.name)} {target.name}"))
        rename(source, target)

    write_version(tmp_path / "file", 1)
    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    write_version(tmp_path / "file", 2)
    folder = ("sync", tmp_path.name)
    assert steps == [
        ("sync", "file.new"),
        ("sync", ".fadefour-N.writing"),
        ("rename", ".fadefour-N.writing file.json.new"),
        folder,
        ("rename", "file.new file"),
        ("rename", "file.json.new file.json"),
        folder,
    ]


def test_a_reader_killed_while_it_completes_a_replacement_loses_nothing(
    every_kill: EveryKill,
) -> None:
    def decided_not_finished(folder: Path) -> None:
        """Steps 1 and 2 of the protocol done, 3 and 4 not."""
        write_version(folder / "file", 2)
        for name in ("file", "file.json"):
            (folder / name).rename(folder / f"{name}.new")
        write_version(folder / "other", 1)
        for name in ("", ".json"):
            (folder / f"other{name}").rename(folder / f"file{name}")

    for folder in every_kill(decided_not_finished, read):
        assert read_version(folder / "file") == 2
        assert names_in(folder) == {"file", "file.json"}


def write_for_ever(path: Path, first: int, done: Any) -> None:
    version = first
    while True:
        write_version(path, version)
        done.send(version)
        version += 1


def test_kill_at_random_moments_loses_no_version_that_was_committed(tmp_path: Path) -> None:
    path, version, moments = tmp_path / "file", 0, random.Random(7)
    for _ in range(15):
        receive, send = CHILD.Pipe(duplex=False)
        child = CHILD.Process(target=write_for_ever, args=(path, version + 1, send))
        child.start()
        send.close()
        assert receive.poll(30)
        time.sleep(moments.uniform(0, 0.02))
        child.kill()
        child.join()
        committed = version
        while receive.poll():
            try:
                committed = receive.recv()
            except EOFError:
                break
        seen = read_version(path)
        assert seen in (committed, committed + 1)
        version = int(seen or 0)
    write_version(path, version + 1)
    assert names_in(tmp_path) == {"file", "file.json"}


def test_kill_while_a_file_is_removed_never_leaves_one_that_is_refused(
    every_kill: EveryKill,
) -> None:
    """The next solve meets a whole checkpoint or none: both let it go on."""
    for folder in every_kill(write_old, remove):
        if (folder / "file").exists():  # what CheckpointFile.load asks first
            assert read_version(folder / "file") == 1
        manifest.remove(folder / "file")
        assert names_in(folder) == set()


# ---- a full disk --------------------------------------------------------------------------------


def run_with_room(file_bytes: int, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The command in a process none of whose files may grow beyond so many bytes."""
    return subprocess.run(
        [sys.executable, SCRIPT, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes)),
    )


@pytest.mark.parametrize(
    ("variant", "file_bytes"),
    [
        # D(3,3,3): the table has 9,910 bytes, the X-wins 82,580.
        (VARIANT33, 0),
        (VARIANT33, 5_000),
        (VARIANT33, 82_000),
        # D(3,2,3): the table has 460 bytes, its manifest 606: the manifest is what does not fit.
        (("--n", "3", "--m", "2"), 500),
    ],
)
def test_a_full_disk_is_one_line_and_leaves_the_old_files_alone(
    tmp_path: Path, fadefour: Callable[..., Any], variant: tuple[str, ...], file_bytes: int
) -> None:
    command = ("solve", *variant, "--data", tmp_path, "--json")
    assert fadefour(*command).code == 0
    before = snapshot(tmp_path)
    ended = run_with_room(file_bytes, *command)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert re.fullmatch(r"fadefour: no room to write .*nothing was overwritten\n", ended.stderr)
    assert snapshot(tmp_path) == before


def test_a_full_disk_in_merge_keeps_the_old_game_tree(copy33: Path) -> None:
    before = snapshot(copy33)
    ended = run_with_room(100_000, "merge", *VARIANT33, "--data", copy33, "--complete", "--json")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert re.fullmatch(r"fadefour: no room to write .*game_tree.*\n", ended.stderr)
    assert snapshot(copy33) == before


def test_a_full_disk_through_the_api_is_a_named_error(tmp_path: Path) -> None:
    def write_too_much() -> None:
        write_version(tmp_path / "file", 1)
        resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))
        try:
            write_version(tmp_path / "file", 2)
        except NoRoomError as error:
            os._exit(0 if "\n" not in str(error) else 3)
        os._exit(4)

    child = CHILD.Process(target=write_too_much)
    child.start()
    child.join()
    assert child.exitcode == 0
    assert read_version(tmp_path / "file") == 1
    assert names_in(tmp_path) == {"file", "file.json"}


def test_too_little_memory_is_one_line(tmp_path: Path) -> None:
    """4x4 m=5 takes over 4 GB; an address space of 3 GB cannot hold it."""
    limit = 3 << 30
    ended = subprocess.run(
        [sys.executable, SCRIPT, "solve", "--m", "5", "--stats-only", "--json"],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        cwd=tmp_path,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert re.fullmatch(r"fadefour: .*memory.*\n", ended.stderr)


# ---- two writers --------------------------------------------------------------------------------


def test_a_second_writer_is_refused_and_touches_nothing(
    copy33: Path, fadefour: Callable[..., Any]
) -> None:
    before = snapshot(copy33)
    with writing_in(copy33):
        for command in ("solve", "merge"):
            ended = fadefour(command, *VARIANT33, "--data", copy33, "--json")
            assert (ended.code, ended.out) == (2, "")
            assert re.fullmatch(
                r"fadefour: another fadefour is writing to '.*': wait .*\n", ended.err
            )
        with pytest.raises(InputError, match="another fadefour"), writing_in(copy33):
            pass
    assert snapshot(copy33) == before
    assert fadefour("merge", *VARIANT33, "--data", copy33, "--json").code == 0


def test_readers_are_not_kept_out_by_a_writer(copy33: Path, fadefour: Callable[..., Any]) -> None:
    with writing_in(copy33):
        assert fadefour("probe", "-/- x", *VARIANT33, "--data", copy33).code == 0


def test_the_lock_of_a_killed_writer_is_gone(tmp_path: Path) -> None:
    def hold(ready: Any) -> None:
        with writing_in(tmp_path):
            ready.send(True)
            time.sleep(60)

    receive, send = CHILD.Pipe(duplex=False)
    child = CHILD.Process(target=hold, args=(send,))
    child.start()
    assert receive.recv()
    with pytest.raises(InputError), writing_in(tmp_path):
        pass
    child.kill()
    child.join()
    with writing_in(tmp_path):
        assert names_in(tmp_path) == set(), "the lock is no file"


# ---- the same bytes -----------------------------------------------------------------------------


def test_the_writer_of_a_folder_finishes_what_was_decided_there(tmp_path: Path) -> None:
    """Also while it holds the folder's lock itself, as ``solve`` and ``merge`` do."""
    path = tmp_path / "file"
    with NewFile(path, "table", Rules(3, 3, 3), 3) as new:
        new.write(b"old")
        new.commit({})
    with NewFile(tmp_path / "other", "table", Rules(3, 3, 3), 3) as new:
        new.write(b"new")
        new.commit({})
    (tmp_path / "other").rename(tmp_path / "file.new")
    (tmp_path / "other.json").rename(tmp_path / "file.json.new")
    with writing_in(tmp_path):
        open_manifest(path, "table", "remedy")
    assert path.read_bytes() == b"new"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "file.json"]


def test_two_processes_do_not_write_a_file_at_once_through_the_api_either(tmp_path: Path) -> None:
    """``write_table`` and the like hold the folder for as long as they write."""
    receive, send = CHILD.Pipe(duplex=False)

    def write_slowly() -> None:
        with NewFile(tmp_path / "file", "test", RULES33, 1000) as new:
            new.write(content(0)[:500])
            send.send(True)
            time.sleep(60)

    child = CHILD.Process(target=write_slowly)
    child.start()
    assert receive.recv()
    with pytest.raises(InputError, match="another fadefour is writing"):
        write_version(tmp_path / "file", 1)
    child.kill()
    child.join()
    write_version(tmp_path / "file", 1)
    write_version(tmp_path / "file", 2)
    assert read_version(tmp_path / "file") == 2
    assert names_in(tmp_path) == {"file", "file.json"}
