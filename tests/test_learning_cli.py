"""The learning commands as a user types them: train, grade, certify, play, and bad input."""

import io
import json

import pytest
from command_line import VARIANT33, run_script
from conftest import run_cli


@pytest.fixture(scope="module")
def checkpoint(learned33):
    return max((learned33 / "run" / "checkpoints").glob("*.safetensors"))


def test_3x3_is_learned_to_perfect_play_graded_and_certified(solved33, checkpoint, tmp_path):
    """Graded over all positions by the table; as X proven unbeatable; the proof checked."""
    options = (*VARIANT33, "--data", solved33)
    graded = run_script("grade", checkpoint, *options, "--all", "--json")
    assert graded.returncode == 0, graded.stderr
    overall = json.loads(graded.stdout)["grades"][0]["overall"]
    assert overall["positions"] == 951 + 5719 + 1674
    assert overall["keeping"] == 1.0
    certificate = tmp_path / "x.npz"
    proven = run_cli(
        "certify", checkpoint, *options, "--as", "x", "--out", certificate, "--convert", "--json"
    )
    assert proven.code == 0, proven.err + proven.out
    report = json.loads(proven.out)
    assert report["unbeaten"]
    assert report["conversion"]["leaves_at_once"] == 0
    for with_moves in ((), (checkpoint,)):
        checked = run_cli("certify", *with_moves, *options, "--check", certificate)
        assert checked.code == 0, checked.err + checked.out


def test_y_loses_3x3_and_certify_says_how(checkpoint, tmp_path):
    refuted = run_cli(
        "certify", checkpoint, *VARIANT33, "--as", "y", "--json", "--out", tmp_path / "y.npz"
    )
    assert refuted.code == 1
    assert len(json.loads(refuted.out)["certificates"][0]["line"]) >= 13


def test_a_network_plays(solved33, checkpoint, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("hint\nb1\nquit\n"))
    played = run_cli("play", *VARIANT33, "--data", solved33, "--against", checkpoint)
    assert played.code == 0, played.err
    assert "Y plays" in played.out


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
def test_bad_input_gets_one_line_and_exit_code_2(
    learned33, solved33, checkpoint, tmp_path, arguments, names
):
    junk, pickled = tmp_path / "junk.safetensors", tmp_path / "hostile.pt"
    junk.write_bytes(b"\x00" * 100)
    executed = tmp_path / "executed"
    pickled.write_bytes(f"cos\nsystem\n(S'touch {executed}'\ntR.".encode())
    named = {
        "CHECKPOINT": checkpoint,
        "JUNK": junk,
        "PICKLE": pickled,
        "RUN": learned33 / "run",
        "NEW": tmp_path / "new",
    }
    typed = [named.get(str(argument), argument) for argument in arguments]
    variant = () if "--n" in typed or "--resume" in typed else VARIANT33
    ended = run_cli(*typed, *variant, "--data", solved33)
    assert (ended.code, ended.out) == (2, "")
    assert len(ended.err.strip().splitlines()) == 1
    assert names in ended.err
    assert not (tmp_path / "new").exists() and not executed.exists()
