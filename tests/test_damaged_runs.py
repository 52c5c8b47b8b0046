"""diagnose, inspect-buffer and plot of runs with damaged files: one line, exit code 2."""

import json
import os
import shutil

import numpy as np
import pytest
from synthetic_runs import episode, healthy_line, write_config, write_games, write_lines

from azfit.curves import drawing
from azfit.games import game_by_name

CONNECT4 = game_by_name("connect4")
COMMANDS = ("diagnose", "inspect-buffer", "plot")


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "run"
    write_config(folder, game="connect4")
    write_lines(folder, [healthy_line(i) for i in range(12)])
    games = [episode(CONNECT4, [3, 3], [{3: 10}, {3: 9, 2: 1}], -1, n) for n in range(4)]
    write_games(folder, games)
    return folder


@pytest.fixture
def unsaved(monkeypatch):
    """Pictures are drawn but not written, which takes longest."""
    plots = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.setattr(drawing, "save_png", lambda figure, png: plots.close(figure))


def refused(outcome, *words):
    assert outcome.code == 2, outcome
    assert outcome.out == "" and len(outcome.err.strip().splitlines()) == 1, outcome.err
    for word in words:
        assert word in outcome.err, outcome.err
    return True


def test_a_whole_run_is_accepted_by_all_three(fadefour, run):
    pytest.importorskip("matplotlib")
    for command in COMMANDS:
        outcome = fadefour(command, run)
        assert outcome.code == 0 and outcome.err == "", outcome


# ---- files ---------------------------------------------------------------------------


def replaced_by(kind, path):
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "link to itself":
        path.symlink_to(path)
    elif kind == "deep JSON":
        path.write_text("[" * 200_000 + "\n{}\n")
    else:
        path.write_bytes(b"\x00\xff\xfe" * 100 + b"\n\n")


READS = {
    "config.json": COMMANDS,
    "metrics.jsonl": COMMANDS,
    "games/000000.games": ("diagnose", "inspect-buffer"),
    "best.safetensors": ("diagnose",),
}


@pytest.mark.parametrize("kind", ["folder", "pipe", "link to itself", "deep JSON", "garbage"])
@pytest.mark.parametrize("name", READS)
def test_what_is_no_readable_file_is_refused_in_one_line(fadefour, run, name, kind):
    replaced_by(kind, run / name)
    for command in READS[name]:
        assert refused(fadefour(command, run), name.split("/")[-1])


@pytest.mark.parametrize("kind", ["pipe", "link to itself", "garbage"])
def test_games_must_be_a_folder(fadefour, run, kind):
    replaced_by(kind, run / "games")
    for command in ("diagnose", "inspect-buffer"):
        assert refused(fadefour(command, run), "games")


def test_a_file_without_permission_is_not_said_to_need_removal(fadefour, run, monkeypatch):
    """Root may read everything, so the system is made to refuse."""
    plain_open = os.open

    def refusing(path, *arguments, **options):
        if str(path).endswith(refused_name):
            raise PermissionError(13, "Permission denied", str(path))
        return plain_open(path, *arguments, **options)

    monkeypatch.setattr(os, "open", refusing)
    for refused_name, commands in READS.items():
        if refused_name == "best.safetensors":
            continue
        for command in commands:
            outcome = fadefour(command, run)
            assert refused(outcome, "Permission denied", refused_name)
            assert "remove" not in outcome.err and "restore" not in outcome.err


# ---- entries of metrics.jsonl --------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("games", 5),
        ("games.open", [1]),
        ("games.first_wins", "many"),
        ("fresh.first.confusion", [[1, 2]]),
        ("fresh.second.kl", None),
        ("training.kl", float("nan")),
        ("match.wins", [1, 2, 3]),
        ("match.score", {}),
        ("watch.start", []),
        ("iteration", "x"),
    ],
)
def test_a_damaged_entry_is_named(fadefour, run, key, value):
    change_line(run, key, value)
    for command in ("diagnose", "plot"):
        assert refused(fadefour(command, run), "line 5", "metrics.jsonl", key)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("watch.start.policy", [1.0]),
        ("watch.start.policy", [0.0] * 7),
        ("watch.reply.policy", [-1.0] * 7),
        ("watch.reply.policy", [1e308] * 7),
        ("watch.start.moves", [99]),
        ("watch.reply.moves", [0, 1, 0, 1, 0, 1, 0]),
    ],
)
def test_a_watched_position_that_is_none_of_the_game_is_named(fadefour, run, key, value):
    change_line(run, key, value)
    for command in ("diagnose", "plot"):
        assert refused(fadefour(command, run), key.rpartition(".")[0], "iteration 5", "connect4")


@pytest.mark.parametrize(
    ("key", "value"),
    [("games.positions", 0), ("games.open", [0, 0]), ("match.games", 0), ("games.played", 0)],
)
@pytest.mark.usefixtures("unsaved")
def test_entries_of_zero_divide_nothing(fadefour, run, key, value):
    change_line(run, key, value)
    for command in COMMANDS:
        assert fadefour(command, run).code == 0


@pytest.mark.parametrize("key", ["games", "fresh", "training", "match", "accepted", "watch"])
@pytest.mark.usefixtures("unsaved")
def test_parts_that_a_line_lacks_are_left_out(fadefour, run, key):
    change_line(run, key, None, remove=True)
    for command in COMMANDS:
        assert fadefour(command, run).code == 0


def change_line(run, key, value, remove=False):
    """One entry of the fifth line."""
    path = run / "metrics.jsonl"
    lines = path.read_text().splitlines()
    line = json.loads(lines[4])
    *outer, last = key.split(".")
    entries = line
    for name in outer:
        entries = entries[name]
    if remove:
        del entries[last]
    else:
        entries[last] = value
    lines[4] = json.dumps(line)
    path.write_text("\n".join(lines) + "\n")


# ---- what is asked for ---------------------------------------------------------------


def test_a_path_that_is_no_run_is_refused(fadefour, tmp_path):
    for name in ("x" * 300, "nowhere"):
        for command in COMMANDS:
            assert refused(fadefour(command, tmp_path / name), name)
    assert refused(fadefour("plot", ""), "empty")


@pytest.mark.parametrize("sims", ["0", "-1", "1000001", "1e3", "9" * 30])
def test_simulations_out_of_range_are_refused(fadefour, run, sims):
    assert refused(fadefour("diagnose", run, f"--sims={sims}"), f"--sims {sims}", "1,000,000")


@pytest.mark.parametrize("command", ["diagnose", "plot"])
def test_a_picture_that_cannot_be_written_is_refused(fadefour, run, tmp_path, command, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(np, "polyfit", None)  # whoever begins the work fails here
    os.mkfifo(tmp_path / "pipe.png")
    for target in (tmp_path, tmp_path / "pipe.png", "/dev/null", run / "config.json" / "one.png"):
        assert refused(fadefour(command, run, "--png", target), "cannot write")
