"""Nothing lost: whole files or none, whatever kills the writer; and no trust in what is read."""

from __future__ import annotations

import json
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
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from solver import (
    CorruptTableError,
    DenseTable,
    FadefourError,
    InputError,
    MissingTableError,
    NoRoomError,
    Rules,
    Solution,
    manifest,
    open_records,
    open_table,
    solve,
    storage,
)
from solver.checkpoint import CheckpointFile
from solver.manifest import NewFile, check_whole, open_manifest
from solver.storage import writing_in

CLI = str(Path(__file__).parents[1] / "cli.py")
VARIANT33 = ("--n", "3", "--m", "3")
RULES33 = Rules(3, 3, 3)
REMEDY = "run 'fadefour test'"
EveryKill = Callable[[Callable[[Path], object], Callable[[Path], object]], Iterator[Path]]
CHILD = multiprocessing.get_context("fork")


@pytest.fixture(autouse=True)
def without_waiting_for_the_disk() -> Iterator[None]:
    """A killed process loses nothing that it has handed to the system, so most tests go without
    fsync; that it happens, and when, is a test of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


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


def names_in(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


@pytest.fixture
def every_kill(tmp_path: Path, killed_at_line: Callable[..., bool]) -> EveryKill:
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
                if not killed_at_line(number, module, lambda here=folder: work(here)):
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
    def prepare(folder: Path) -> None:
        if old is not None:
            write_version(folder / "file", old)

    versions = set()
    for folder in every_kill(prepare, lambda here: write_version(here / "file", 2)):
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

    for folder in every_kill(decided_not_finished, lambda here: read_version(here / "file")):
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
    for folder in every_kill(
        lambda folder: write_version(folder / "file", 1),
        lambda here: manifest.remove(here / "file"),
    ):
        if (folder / "file").exists():  # what CheckpointFile.load asks first
            assert read_version(folder / "file") == 1
        manifest.remove(folder / "file")
        assert names_in(folder) == set()


# ---- a full disk --------------------------------------------------------------------------------


def run_with_room(file_bytes: int, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The command in a process none of whose files may grow beyond so many bytes."""
    return subprocess.run(
        [sys.executable, CLI, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes)),
    )


def snapshot(folder: Path) -> dict[str, bytes]:
    return {entry.name: entry.read_bytes() for entry in folder.iterdir()}


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
        [sys.executable, CLI, "solve", "--m", "5", "--stats-only", "--json"],
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


# ---- files that cannot be trusted ---------------------------------------------------------------

TABLE, XWIN, TREE = "solved_3x3_m3.table", "xwin_3x3_m3.data", "game_tree_3x3_m3.data"


def read_all(path: Path, rules: Rules | None = RULES33) -> None:
    """Opens a file as a user of the API does, and reads all of it."""
    if path.suffix == ".table":
        with open_table(path, rules) as table:
            assert isinstance(table, DenseTable)
            table.check_all()
            check_whole(path, table.manifest, REMEDY)
    else:
        kind = path.name.split("_3x3")[0]
        for _ in open_records(path, kind, rules).chunks():
            pass


def edit_manifest(path: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    manifest = path.with_name(path.name + ".json")
    body = json.loads(manifest.read_text())
    edit(body)
    manifest.write_text(json.dumps(body))


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def lengthen(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flip_bit(path: Path, offset: int = 5000, bit: int = 3) -> None:
    data = bytearray(path.read_bytes())
    data[offset] ^= 1 << bit
    path.write_bytes(data)


def take_manifest_of_other_variant(path: Path) -> None:
    """The same kind of file for k = 2, manifest and all, under this file's name."""
    folder = path.parent / "other"
    rules = Rules(3, 3, 2)
    folder.mkdir()
    data = path.read_bytes()
    with NewFile(folder / path.name, path.name.split("_3x3")[0], rules, len(data)) as new:
        new.write(data)
        new.commit({"records": len(data) // 14})
    kind = "table" if path.suffix == ".table" else path.name.split("_3x3")[0]
    edit_manifest(folder / path.name, lambda body: body.update(kind=kind))
    for name in (path.name, f"{path.name}.json"):
        (folder / name).rename(path.parent / name)
    folder.rmdir()


DAMAGE: dict[str, Callable[[Path], object]] = {
    "truncated": truncate,
    "longer": lengthen,
    "empty": empty,
    "bit flipped": flip_bit,
    "last bit flipped": lambda path: flip_bit(path, path.stat().st_size - 1, 0),
    "wrong format": lambda path: edit_manifest(path, lambda body: body.update(format="other")),
    "wrong version": lambda path: edit_manifest(path, lambda body: body.update(version=2)),
    "wrong kind": lambda path: edit_manifest(path, lambda body: body.update(kind="ywin")),
    "wrong rules tag": lambda path: edit_manifest(
        path, lambda body: body["rules"].update(tag=body["rules"]["tag"].replace("empty", "any"))
    ),
    "rules without tag": lambda path: edit_manifest(path, lambda body: body["rules"].pop("tag")),
    "impossible rules": lambda path: edit_manifest(path, lambda body: body["rules"].update(n=99)),
    "other variant": take_manifest_of_other_variant,
    "no manifest": lambda path: path.with_name(path.name + ".json").unlink(),
    "empty manifest": lambda path: path.with_name(path.name + ".json").write_text(""),
    "half a manifest": lambda path: (
        truncate(path.with_name(path.name + ".json"))
        or truncate(path.with_name(path.name + ".json"))
    ),
    "manifest of garbage": lambda path: path.with_name(path.name + ".json").write_bytes(
        bytes(range(256))
    ),
    "manifest of one long number": lambda path: path.with_name(path.name + ".json").write_text(
        "9" * 5000
    ),
    "manifest of brackets": lambda path: path.with_name(path.name + ".json").write_text(
        "[" * 100_000
    ),
    "manifest is a list": lambda path: path.with_name(path.name + ".json").write_text("[1, 2]"),
    "checksum missing": lambda path: edit_manifest(
        path, lambda body: body["checksums"]["crc32"].pop()
    ),
}


@pytest.mark.parametrize("name", [TABLE, XWIN, TREE])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_refused_in_one_line_with_file_and_remedy(
    copy33: Path, name: str, damage: str
) -> None:
    path = copy33 / name
    read_all(path)
    DAMAGE[damage](path)
    with pytest.raises(CorruptTableError) as refused:
        read_all(path)
    message = str(refused.value)
    assert "\n" not in message
    assert name in message
    assert re.search(r"run 'fadefour (solve|merge) ", message)


@pytest.mark.parametrize("name", [TABLE, XWIN, TREE])
def test_a_missing_file_is_refused_in_one_line_with_file_and_remedy(
    copy33: Path, name: str
) -> None:
    (copy33 / name).unlink()
    with pytest.raises(MissingTableError, match=re.escape(name)) as refused:
        read_all(copy33 / name)
    assert "run 'fadefour " in str(refused.value)
    assert "\n" not in str(refused.value)
    assert isinstance(refused.value, FileNotFoundError)


def test_a_game_tree_of_another_variant_in_a_folder_is_refused(copy33: Path) -> None:
    (copy33 / TABLE).unlink()
    take_manifest_of_other_variant(copy33 / TREE)
    with pytest.raises(CorruptTableError, match="game_tree_3x3_m3"):
        open_table(copy33, RULES33)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
FIELDS = [
    ("format",),
    ("version",),
    ("kind",),
    ("rules",),
    ("rules", "n"),
    ("rules", "tag"),
    ("bytes",),
    ("counts",),
    ("counts", "records"),
    ("checksums",),
    ("checksums", "sha256"),
    ("checksums", "block_bytes"),
    ("checksums", "crc32"),
    ("checksums", "crc32", 0),
]


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@example(field=("bytes",), value=float("inf"), name=TABLE)
@example(field=("rules", "n"), value=float("inf"), name=TABLE)
@example(field=("checksums", "block_bytes"), value=10**30, name=TABLE)
@example(field=("kind",), value="two\nlines", name=TABLE)
@example(field=("counts", "records"), value=None, name=XWIN)
@given(field=st.sampled_from(FIELDS), value=JSON, name=st.sampled_from([TABLE, XWIN]))
def test_no_manifest_however_odd_causes_anything_but_a_named_one_line_error(
    solved33: Path, tmp_path: Path, field: tuple[Any, ...], value: Any, name: str
) -> None:
    if not (tmp_path / name).exists():
        shutil.copy(solved33 / name, tmp_path)
    shutil.copy(solved33 / f"{name}.json", tmp_path)

    def edit(body: dict[str, Any]) -> None:
        inner: Any = body
        for step in field[:-1]:
            inner = inner[step]
        inner[field[-1]] = value

    edit_manifest(tmp_path / name, edit)
    try:
        read_all(tmp_path / name)
    except FadefourError as error:
        assert len(str(error).splitlines()) == 1


# ---- checkpoints --------------------------------------------------------------------------------


class SolveInterruptedError(Exception):
    pass


class InterruptedAt(CheckpointFile):
    """Saves after every depth, and is interrupted after one of them."""

    at_depth = -1
    resumed_from: int | None = None

    def load(self, full: Any) -> int | None:
        self.resumed_from = super().load(full)
        return self.resumed_from

    def save_if_due(self, full: Any, depth: int) -> None:
        super().save_if_due(full, depth)
        if depth == self.at_depth:
            raise SolveInterruptedError


@pytest.mark.parametrize("rules", [Rules(3, 3, 3), Rules(4, 3, 3), Rules(4, 2, 2)], ids=str)
def test_a_solve_interrupted_after_any_depth_and_resumed_gives_the_same_bytes(
    tmp_path: Path, rules: Rules
) -> None:
    whole = solve(rules)
    full_slice_deepest = 0
    for depth in range(1, 255):
        interrupted = InterruptedAt(tmp_path, rules, 0)
        interrupted.at_depth = depth
        try:
            solve(rules, checkpoints=interrupted)
        except SolveInterruptedError:
            full_slice_deepest = depth
        else:
            break
        resuming = InterruptedAt(tmp_path, rules, 0)
        resumed = solve(rules, threads=1 + depth % 2, checkpoints=resuming)
        assert resuming.resumed_from == depth
        assert np.array_equal(resumed.table, whole.table)
        resuming.discard()
        assert names_in(tmp_path) == set()
    assert full_slice_deepest >= 1


def test_a_solve_that_is_not_due_saves_nothing(tmp_path: Path) -> None:
    solve(RULES33, checkpoints=CheckpointFile(tmp_path, RULES33, 3600))
    assert names_in(tmp_path) == set()


def test_solve_killed_between_checkpoints_resumes_to_the_same_bytes(
    tmp_path: Path, solution44: Solution
) -> None:
    command = [sys.executable, CLI, "solve", "--table-only", "--data", str(tmp_path)]
    running = subprocess.Popen(
        [*command, "--checkpoint-minutes", "0"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    checkpoint = tmp_path / "solving_4x4_m4.checkpoint"
    while not checkpoint.with_name(checkpoint.name + ".json").exists():
        assert running.poll() is None, "the solve ended without a checkpoint"
        time.sleep(0.005)
    running.kill()
    running.wait()
    assert not (tmp_path / "solved_4x4_m4.table").exists()
    resumed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert resumed.returncode == 0, resumed.stderr
    assert "resume at depth" in resumed.stderr
    stored = np.fromfile(tmp_path / "solved_4x4_m4.table", np.uint8)
    assert np.array_equal(stored, solution44.table)
    assert names_in(tmp_path) == {"solved_4x4_m4.table", "solved_4x4_m4.table.json"}


CHECKPOINT_DAMAGE: dict[str, Callable[[Path], object]] = {
    name: DAMAGE[name]
    for name in ("truncated", "bit flipped", "wrong version", "no manifest", "manifest of garbage")
} | {
    "no depth": lambda path: edit_manifest(path, lambda body: body["counts"].clear()),
    "another depth": lambda path: edit_manifest(path, lambda body: body["counts"].update(depth=3)),
    "deeper": lambda path: edit_manifest(path, lambda body: body["counts"].update(depth=6)),
    "a depth in words": lambda path: edit_manifest(
        path, lambda body: body["counts"].update(depth="four")
    ),
    "of other rules": lambda path: edit_manifest(
        path, lambda body: body["rules"].update(k=2, tag=Rules(3, 3, 2).tag)
    ),
}


@pytest.mark.parametrize("damage", CHECKPOINT_DAMAGE)
def test_a_damaged_checkpoint_is_refused_in_one_line_with_the_way_out(
    tmp_path: Path, fadefour: Callable[..., Any], damage: str
) -> None:
    interrupted = InterruptedAt(tmp_path, RULES33, 0)
    interrupted.at_depth = 4
    with pytest.raises(SolveInterruptedError):
        solve(RULES33, checkpoints=interrupted)
    CHECKPOINT_DAMAGE[damage](interrupted.path)
    before = snapshot(tmp_path)
    ended = fadefour("solve", *VARIANT33, "--data", tmp_path, "--json")
    assert (ended.code, ended.out) == (2, "")
    assert re.fullmatch(r"fadefour: .*checkpoint.*: remove '.*' to start .*\n", ended.err)
    assert snapshot(tmp_path) == before


# ---- the same bytes -----------------------------------------------------------------------------


@pytest.mark.parametrize("variant", [VARIANT33, ("--n", "4", "--m", "3", "--k", "3")], ids=str)
def test_one_thread_and_two_write_the_same_bytes(
    tmp_path: Path, fadefour: Callable[..., Any], variant: tuple[str, ...]
) -> None:
    for threads in "12":
        folder = ("--data", tmp_path / threads, "--threads", threads)
        assert fadefour("solve", *variant, *folder).code == 0
        assert fadefour("merge", *variant, *folder).code == 0
    first, second = snapshot(tmp_path / "1"), snapshot(tmp_path / "2")
    assert len(first) == 8, "table, X-wins, Y-wins, game tree, and their manifests"
    assert first == second


def test_one_thread_and_two_solve_4x4_to_the_same_bytes(solution44: Solution) -> None:
    """The session's solution is the one that two threads found."""
    single_threaded = solve(solution44.rules, threads=1)
    assert np.array_equal(single_threaded.table, solution44.table)
    assert np.array_equal(single_threaded.counts, solution44.counts)


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
