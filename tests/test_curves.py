"""Curves of runs: drawn without torch, with every point in the picture."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from synthetic_runs import healthy_line, write_config, write_lines

from azfit.curves import draw_run, drawing

pytest.importorskip("matplotlib")

ROOT = Path(__file__).resolve().parent.parent
PNG = b"\x89PNG"

WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None  # importing it fails, and need_torch() finds it missing
sys.path.insert(0, sys.argv.pop(1))
from azfit.main import main
main()
"""


def write_oracle_run(folder: Path, keeping: list[float]) -> None:
    """A run folder of train-from-oracle, evaluated once a minute."""
    lines = []
    for minute, share in enumerate(keeping, 1):
        about = {"step": 100 * minute, "seconds": 60.0 * minute}
        lines.append({"kind": "training", **about, "loss": 1 / minute, "kl": 0.1, "wdl": 0.2})
        for kind in ("held_out", "critical"):
            lines.append({"kind": kind, **about, "keeping": share, "wdl_accuracy": share})
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "metrics.jsonl").write_text(text)


@pytest.mark.parametrize("kind", ["oracle", "self-play"])
def test_plot_does_not_need_torch(tmp_path: Path, kind: str) -> None:
    if kind == "oracle":
        write_oracle_run(tmp_path, [0.9, 0.99])
    else:
        write_config(tmp_path, game="connect4")
        write_lines(tmp_path, [healthy_line(i) for i in range(5)])
    command = [sys.executable, "-c", WITHOUT_TORCH, str(ROOT), "plot", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "curves.png").read_bytes()[:4] == PNG


def drawn_figure(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    figures: list[Any] = []
    monkeypatch.setattr(drawing, "save_png", lambda figure, png: figures.append(figure))
    draw_run(folder)
    return figures[0]


@pytest.mark.parametrize("keeping", [[0.9, 0.99, 1.0, 1.0], [1.0, 1.0]])
def test_zero_errors_are_in_the_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keeping: list[float]
) -> None:
    write_oracle_run(tmp_path, keeping)
    figure = drawn_figure(tmp_path, monkeypatch)
    figure.canvas.draw()
    for axis in figure.axes[1:]:
        assert [label.get_text() for label in axis.get_legend().get_texts()]
        for line in axis.lines:
            points = line.get_xydata()
            assert [y for _, y in points] == pytest.approx([1 - share for share in keeping])
            left, bottom, width, height = axis.bbox.bounds
            for x, y in axis.transData.transform(points):
                assert left - 1 <= x <= left + width + 1
                assert bottom - 1 <= y <= bottom + height + 1
        assert 0.0 in axis.get_yticks()
        widths = [line.get_linewidth() for line in axis.lines]
        assert widths == sorted(set(widths), reverse=True), "equal curves would hide each other"


def test_figures_that_are_no_numbers_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_oracle_run(tmp_path, [0.9, 0.99])
    path = tmp_path / "metrics.jsonl"
    damaged = (
        '{"kind": "critical", "seconds": "soon", "keeping": 0.5}',
        '{"kind": "critical", "keeping": 0.5}',
        '{"kind": "critical", "seconds": 5, "keeping": "most"}',
        '{"kind": "critical", "seconds": 5, "keeping": NaN}',
        '{"kind": ["critical"], "seconds": 5, "keeping": 0.5}',
        '{"kind": "critical", "seconds": 1' + "0" * 400 + ', "keeping": 0.5}',
        '{"kind": "critical", "sec',
    )
    path.write_text(path.read_text() + "\n".join(damaged))
    figure = drawn_figure(tmp_path, monkeypatch)
    assert [len(line.get_xdata()) for line in figure.axes[1].lines] == [2, 2]


@pytest.mark.parametrize(
    ("name", "damage", "names"),
    [
        ("metrics.jsonl", None, "is not a run"),
        ("metrics.jsonl", "", "nothing to draw yet"),
        ("metrics.jsonl", "a directory", "metrics.jsonl"),
        ("metrics.jsonl", b"\xff\xfe\xff\n", "line 1"),
        ("metrics.jsonl", "[" * 100_000 + "\n", "line 1"),
        ("config.json", None, "does not exist"),
        ("config.json", "a directory", "is a folder"),
        ("config.json", "[" * 100_000, "nested"),
        ("config.json", '{"game": "go"}', "go"),
        ("config.json", '{"game": 5}', "which game"),
        ("config.json", b"\xff\xfe\xff", "not text"),
    ],
)
def test_a_damaged_run_gets_one_line(
    fadefour: Any, tmp_path: Path, name: str, damage: str | bytes | None, names: str
) -> None:
    write_config(tmp_path, game="connect4")
    write_lines(tmp_path, [healthy_line(0)])
    path = tmp_path / name
    path.unlink()
    if damage == "a directory":
        path.mkdir()
    elif damage is not None:
        path.write_bytes(damage.encode() if isinstance(damage, str) else damage)
    ended = fadefour("plot", tmp_path)
    assert ended.code == 2
    assert names in ended.err and len(ended.err.splitlines()) == 1


def test_plot_refuses_a_folder_name_that_is_too_long(fadefour: Any, tmp_path: Path) -> None:
    ended = fadefour("plot", tmp_path / ("x" * 300))
    assert ended.code == 2 and len(ended.err.splitlines()) == 1
