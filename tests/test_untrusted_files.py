"""Damaged and missing files are refused in one line; no manifest, however odd, does worse."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from damaged_files import (
    DAMAGE,
    edit_manifest,
    take_manifest_of_other_variant,
)
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from solver import (
    CorruptTableError,
    DenseTable,
    FadefourError,
    MissingTableError,
    Rules,
    open_records,
    open_table,
)
from solver.manifest import check_whole

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")
RULES33 = Rules(3, 3, 3)
REMEDY = "run 'fadefour test'"
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


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *((("version",), 1.0), (("version",), True), (("bytes",), "5,006"), (("bytes",), True)),
        *((("rules", "n"), "3"), (("rules", "m"), 3.7), (("kind",), ["table"])),
        *((("counts",), [["nodes", 9910]]), (("checksums", "block_bytes"), 65536.0)),
        *((("checksums", "crc32"), "a"), (("checksums", "sha256"), 0)),
    ],
    ids=str,
)
def test_an_entry_of_another_type_is_refused_not_converted(
    copy33: Path, field: tuple[str, ...], value: Any
) -> None:
    def edit(body: dict[str, Any]) -> None:
        inner = body if len(field) == 1 else body[field[0]]
        inner[field[-1]] = value

    edit_manifest(copy33 / TABLE, edit)
    with pytest.raises(CorruptTableError, match=TABLE):
        DenseTable(copy33 / TABLE)


def test_a_message_repeats_a_long_entry_in_part(copy33: Path) -> None:
    edits = [{"version": "x" * 5000}, {"kind": "x" * 5000}, {"rules": {"n": 10**4000, "m": 3}}]
    for edit in edits:
        edit_manifest(copy33 / TABLE, lambda body, edit=edit: body.update(edit))
        with pytest.raises(CorruptTableError, match=TABLE) as refused:
            DenseTable(copy33 / TABLE)
        assert len(str(refused.value)) < 1000
