"""Exported positions in the tools that people open them with, and what their card says."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import VARIANT33, Fadefour
from libraries import library
from plain_moves import Truth, in_play

from solver import __version__
from solver.dataset_card import dataset_card
from solver.export_report import ExportOptions, ExportReport, PartCounts
from solver.rules import Rules

COLUMNS = ("x", "y", "to_move", "result", "plies", "optimal", "keeping")
PARTS = ("train", "validation")
Parts = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def folder(solved33: Path, tmp_path_factory: pytest.TempPathFactory, fadefour: Fadefour) -> Path:
    """All of 3 x 3 as Parquet, in several shards."""
    library("pyarrow")
    out = tmp_path_factory.mktemp("exported") / "positions"
    command = ("export", *VARIANT33, "--data", solved33, "--out", out, "--shard", "3000")
    assert fadefour(*command, "--format", "parquet", "--validation", "0.1").code == 0
    return out


@pytest.fixture(scope="module")
def expected(solved33: Path, tmp_path_factory: pytest.TempPathFactory, fadefour: Fadefour) -> Parts:
    """The same positions from the .npz export, which tests/test_export.py holds against brute
    force: part -> column -> values."""
    out = tmp_path_factory.mktemp("exported") / "positions"
    command = ("export", *VARIANT33, "--data", solved33, "--out", out, "--validation", "0.1")
    assert fadefour(*command).code == 0
    return {part: dict(np.load(out / part / "00000.npz")) for part in PARTS}


def same(column: Any, values: Any) -> bool:
    return bool(np.array_equal(np.stack([np.asarray(entry) for entry in column]), values))


def test_pandas_opens_a_part_as_it_is(folder: Path, expected: Parts) -> None:
    pandas = library("pandas")
    for part in PARTS:
        frame = pandas.read_parquet(folder / part)
        assert tuple(frame.columns) == COLUMNS
        for name in COLUMNS:
            assert same(frame[name], expected[part][name]), name


def test_polars_opens_a_part_as_it_is(folder: Path, expected: Parts) -> None:
    polars = library("polars")
    for part in PARTS:
        frame = polars.read_parquet(folder / part)
        assert tuple(frame.columns) == COLUMNS
        for name in COLUMNS:
            assert np.array_equal(frame[name].to_numpy(), expected[part][name]), name
            assert frame[name].to_numpy().dtype == expected[part][name].dtype


def test_datasets_opens_the_folder_with_its_splits(
    folder: Path, expected: Parts, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    datasets = library("datasets")
    loaded = datasets.load_dataset(str(folder), cache_dir=str(tmp_path))
    assert not [record for record in caplog.records if "card" in record.getMessage()]
    assert tuple(loaded) == PARTS
    for part in PARTS:
        assert tuple(loaded[part].column_names) == COLUMNS
        columns = loaded[part].with_format("numpy")
        for name in COLUMNS:
            assert np.array_equal(columns[name][:], expected[part][name]), name


def test_the_splits_of_the_card_are_checked_by_datasets(folder: Path, tmp_path: Path) -> None:
    """A card that promises another number of positions is refused: it is read."""
    datasets = library("datasets")
    card = folder / "README.md"
    kept = card.read_text(encoding="utf-8")
    wrong = kept.replace("num_examples: ", "num_examples: 1", 1)
    try:
        card.write_text(wrong, encoding="utf-8")
        with pytest.raises(datasets.exceptions.NonMatchingSplitsSizesError):
            datasets.load_dataset(str(folder), cache_dir=str(tmp_path))
    finally:
        card.write_text(kept, encoding="utf-8")


# ---- the card -----------------------------------------------------------------------------------


def front_matter(card: str) -> dict[str, Any]:
    yaml = library("yaml")
    _, head, _ = card.split("---\n", 2)
    return dict(yaml.safe_load(head))


def test_the_card_counts_what_brute_force_counts(folder: Path, truth33: Truth) -> None:
    card = (folder / "README.md").read_text(encoding="utf-8")
    report = json.loads((folder / "export.json").read_text())
    total: Counter[str] = Counter()
    for part in PARTS:
        total.update(report["results"][part])
        won, drawn, lost = (report["results"][part][name] for name in ("win", "draw", "loss"))
        positions = report["positions"][part]
        assert positions == won + drawn + lost
        assert f"| {part} | {positions:,} | {won:,} | {drawn:,} | {lost:,} |" in card
    truth = Counter(truth33[position][0] for position, _ in in_play(truth33))
    assert total == {"win": truth[1], "draw": truth[0], "loss": truth[-1]}


def test_the_card_says_what_a_hub_asks(folder: Path) -> None:
    card = (folder / "README.md").read_text(encoding="utf-8")
    report = json.loads((folder / "export.json").read_text())
    head = front_matter(card)
    assert head["license"] == "mit" and head["size_categories"] == ["1K<n<10K"]
    assert head["configs"][0]["data_files"] == [
        {"split": part, "path": f"{part}/*.parquet"} for part in PARTS
    ]
    assert [(split["name"], split["num_examples"]) for split in head["dataset_info"]["splits"]] == [
        (part, report["positions"][part]) for part in PARTS
    ]
    for column in COLUMNS:
        assert f"\n| `{column}` | " in card
    assert report["rules"]["tag"] in card and report["table_sha256"] in card
    assert f"fadefour {__version__}" in card


def test_the_command_on_the_card_makes_the_same_export_again(
    folder: Path, solved33: Path, tmp_path: Path, fadefour: Fadefour
) -> None:
    card = (folder / "README.md").read_text(encoding="utf-8")
    command = card.split("`fadefour ")[1].split("`")[0].replace("DIR", str(tmp_path / "again"))
    assert fadefour(*command.split(), "--data", solved33).code == 0
    for path in [*folder.glob("*/*"), folder / "README.md", folder / "export.json"]:
        assert (tmp_path / "again" / path.relative_to(folder)).read_bytes() == path.read_bytes()


def report_of(train: int, held_out: int, **options: Any) -> ExportReport:
    counts = {"train": PartCounts(train, 0, 0), "validation": PartCounts(0, held_out, 0)}
    return ExportReport(Rules(4, 4, 3), ExportOptions(**options), "0" * 64, counts, [])


def test_a_part_without_positions_is_no_split() -> None:
    head = front_matter(dataset_card(report_of(10, 0, format="parquet", validation=0.0)))
    assert [files["split"] for files in head["configs"][0]["data_files"]] == ["train"]
    assert [split["name"] for split in head["dataset_info"]["splits"]] == ["train"]


def test_a_sample_and_other_formats_are_called_so() -> None:
    card = dataset_card(report_of(900, 100, sample=1000, seed=7))
    assert "--sample 1000 --seed 7" in card and "drawn at random" in card
    head = front_matter(card)
    assert "configs" not in head and "numpy.load" in card
    assert "4×4, 4 pieces each, 3 in a row" in head["pretty_name"]


@pytest.mark.parametrize(
    ("positions", "category"),
    [(1, "n<1K"), (999, "n<1K"), (1000, "1K<n<10K"), (72_000_000, "10M<n<100M"),
     (5_770_754_867, "1B<n<10B")],
)  # fmt: skip
def test_sizes_have_the_names_of_the_hub(positions: int, category: str) -> None:
    card = dataset_card(report_of(positions, 0, validation=0.0))
    assert front_matter(card)["size_categories"] == [category]
