"""The learning commands as a user types them: train, grade, certify, play, and bad input."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from solver import Rules, solve, write_table

ROOT = Path(__file__).resolve().parent.parent


def fadefour(*arguments, stdin=""):
    command = [sys.executable, str(ROOT / "cli.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, input=stdin, check=False)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A folder with the table of 3x3 and a network trained on it by the quick preset."""
    folder = tmp_path_factory.mktemp("learning")
    write_table(folder, solve(Rules(3, 3, 3)))
    trained = fadefour(
        *("train-from-oracle", "--n", 3, "--m", 3, "--data", folder, "--run", folder / "run"),
        *("--preset", "quick", "--threads", 1, "--json"),
    )
    assert trained.returncode == 0, trained.stderr
    assert json.loads(trained.stdout)["held_out_keeping"] == 1.0
    return folder


@pytest.fixture(scope="module")
def checkpoint(run):
    return max((run / "run" / "checkpoints").glob("*.safetensors"))


def test_3x3_is_learned_to_perfect_play_graded_and_certified(run, checkpoint):
    """Graded over all positions by the table; as X proven unbeatable; the proof checked."""
    graded = fadefour("grade", checkpoint, "--n", 3, "--m", 3, "--data", run, "--all", "--json")
    assert graded.returncode == 0, graded.stderr
    overall = json.loads(graded.stdout)["grades"][0]["overall"]
    assert overall["positions"] == 951 + 5719 + 1674
    assert overall["keeping"] == 1.0
    certificate = run / "x.npz"
    options = ("--n", 3, "--m", 3, "--data", run)
    proven = fadefour(
        "certify", checkpoint, *options, "--as", "x", "--out", certificate, "--convert", "--json"
    )
    assert proven.returncode == 0, proven.stderr + proven.stdout
    report = json.loads(proven.stdout)
    assert report["unbeaten"]
    assert report["conversion"]["leaves_at_once"] == 0
    for with_moves in ((), (checkpoint,)):
        checked = fadefour("certify", *with_moves, *options, "--check", certificate)
        assert checked.returncode == 0, checked.stderr + checked.stdout


def test_y_loses_3x3_and_certify_says_how(run, checkpoint):
    refuted = fadefour(
        "certify", checkpoint, "--n", 3, "--m", 3, "--as", "y", "--json", "--out", run / "y.npz"
    )
    assert refuted.returncode == 1
    assert len(json.loads(refuted.stdout)["certificates"][0]["line"]) >= 13


def test_a_network_plays(run, checkpoint):
    played = fadefour(
        "play", "--n", 3, "--m", 3, "--data", run, "--against", checkpoint, stdin="hint\nb1\nquit\n"
    )
    assert played.returncode == 0, played.stderr
    assert "Y plays" in played.stdout


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (("grade", "none.safetensors"), "none.safetensors"),
        (("grade", "CHECKPOINT", "--all", "--sample", 5), "--sample"),
        (("certify", "CHECKPOINT", "--n", 4, "--m", 4), "3x3_m3"),
        (("grade", "CHECKPOINT", "--sims", 0), "--sims 0"),
        (("grade", "JUNK"), "junk.safetensors"),
        (("grade", "PICKLE"), "hostile.pt"),
        (("certify",), "CHECKPOINT"),
        (("certify", "--check", "JUNK"), "junk.safetensors"),
        (("play", "--against", "none.safetensors"), "none.safetensors"),
        (("train-from-oracle", "--run", "RUN"), "--resume"),
        (("train-from-oracle", "--run", "NEW", "--batch", 0), "batch=0"),
        (("train-from-oracle", "--run", "NEW", "--steps", 5, "--minutes", 1), "minutes or steps"),
        (("train-from-oracle", "--run", "NEW", "--resume"), "not a run to resume"),
    ],
)
def test_bad_input_gets_one_line_and_exit_code_2(run, checkpoint, tmp_path, arguments, names):
    junk, pickled = tmp_path / "junk.safetensors", tmp_path / "hostile.pt"
    junk.write_bytes(b"\x00" * 100)
    pickled.write_bytes(b"cos\nsystem\n(S'echo executed'\ntR.")
    named = {
        "CHECKPOINT": checkpoint,
        "JUNK": junk,
        "PICKLE": pickled,
        "RUN": run / "run",
        "NEW": tmp_path / "new",
    }
    typed = [named.get(str(argument), argument) for argument in arguments]
    variant = () if "--n" in typed or "--resume" in typed else ("--n", 3, "--m", 3)
    ended = fadefour(*typed, *variant, "--data", run)
    assert ended.returncode == 2, ended.stdout
    assert ended.stdout == ""
    assert len(ended.stderr.strip().splitlines()) == 1
    assert names in ended.stderr
    assert not (tmp_path / "new").exists()
