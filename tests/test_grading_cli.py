"""grade, certify, match and play as a user types them: what is read from a checkpoint, what is
refused and when, and that a verdict is never lost."""

from __future__ import annotations

import io
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from damaged_files import flip_bit
from small_networks import save_small_network

from azfit.grading import certificate as certificate_module
from azfit.grading import certify as certify_module
from azfit.grading import grade as grade_module
from azfit.grading import grade_command as command_module
from azfit.inference import NetworkEvaluator
from azfit.loading import load_player
from solver import Rules, open_table
from solver.errors import InputError

Command = Callable[..., Any]


@pytest.fixture(autouse=True, scope="module")
def no_measurement() -> Iterator[None]:
    """Half a second for every network that is loaded: tests/test_players.py sees to it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NetworkEvaluator, "choose_threads", lambda self, boards, most: None)
        yield


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("networks")
    saved = {
        name: save_small_network(folder / f"{name}.safetensors", game, seed)
        for name, game, seed in (
            ("small", "drop-3-3-3", 0),
            ("other", "drop-3-3-3", 1),
            ("large", "drop-4-4-4", 0),
            ("four", "connect4", 0),
            ("gomoku", "gomoku-9", 0),
        )
    }
    saved["run"] = save_small_network(folder / "run" / "best.safetensors", "drop-3-3-3").parent
    return saved


def refused(ended: Any, *words: Any) -> None:
    """Bad use: one line that has these words, exit code 2, nothing on stdout."""
    assert (ended.code, ended.out) == (2, ""), ended
    assert len(ended.err.strip().splitlines()) == 1, ended.err
    for word in words:
        assert str(word) in ended.err, ended.err
    assert "Traceback" not in ended.err


# ---- what a checkpoint says needs no typing -----------------------------------------------------


def test_the_variant_is_read_from_the_network(
    fadefour: Command, networks: dict[str, Path], solved33: Path, tmp_path: Path
) -> None:
    graded = fadefour("grade", networks["small"], "--data", solved33, "--json")
    assert graded.code == 0, graded.err
    (grade,) = json.loads(graded.out)["grades"]
    assert grade["overall"]["positions"] == 8344
    out = tmp_path / "proof.npz"
    certified = fadefour("certify", networks["small"], "--as", "x", "--out", out, "--json")
    assert certified.code == 1 and certified.err.count("\n") <= 1, certified.err
    checked = fadefour("certify", networks["small"], "--check", out)
    assert checked.code == 0 and "holds" in checked.out, checked


def test_a_grade_with_proofs_and_bounds_is_that_of_the_player_with_them(
    fadefour: Command, networks: dict[str, Path], solved33: Path
) -> None:
    """The report names the options, and the moves are those of a player made with them."""
    common = ("grade", networks["small"], "--data", solved33, "--sample", 300, "--sims", 40)
    blunders = set()
    with open_table(solved33, Rules(3, 3, 3)) as table:
        for prove, lcb in ((False, 0.0), (True, 0.0), (True, 5.0)):
            options = ("--no-prove",) * (not prove) + ("--lcb", lcb) * bool(lcb)
            graded = fadefour(*common, *options, "--json")
            assert graded.code == 0, graded.err
            (entry,) = json.loads(graded.out)["grades"]
            player = load_player(networks["small"], 40, 1, prove=prove, lcb=lcb)
            assert (
                entry["player"]
                == player.name
                == "small + 40 sims" + (", no proofs" * (not prove) + ", lcb 5" * bool(lcb))
            )
            expected = grade_module.grade(player, table, sample=300, seed=entry["seed"])
            assert entry["overall"]["blunders"] == expected.overall.errors
            blunders.add(expected.overall.errors)
    assert len(blunders) > 1


def test_a_run_is_accepted_wherever_a_checkpoint_is(
    fadefour: Command,
    networks: dict[str, Path],
    solved33: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run, small = networks["run"], networks["small"]
    graded = fadefour("grade", run, small, "--data", solved33, "--json")
    first, second = json.loads(graded.out)["grades"]
    assert first["checkpoint_sha256"] == second["checkpoint_sha256"]
    assert [first["player"], second["player"]] == ["run", "small"]
    certified = fadefour("certify", run, "--as", "x")
    assert certified.code == 1
    assert (run / "x_best.certificate.npz").exists() and str(run) in certified.out
    match = fadefour("match", run, networks["other"], "--games", 2, "--sims", 0, "--json")
    assert match.code == 0 and json.loads(match.out)["games"] == 2, match.err
    surer = ("--sims", 20, "--prove", "--lcb", 5, "--json")
    match = fadefour("match", run, networks["other"], "--games", 2, *surer)
    assert match.code == 0 and json.loads(match.out)["games"] == 2, match.err
    monkeypatch.setattr("sys.stdin", io.StringIO("quit\n"))
    played = fadefour("play", "--against", run, "--data", tmp_path)
    assert played.code == 0 and "run is the other side" in played.out, played.err
    new = ("--run", tmp_path / "new", "--game", "connect4")
    refused(fadefour("self-play", "--init", run, *new), "drop-3-3-3")  # the network was read
    for command in (("grade",), ("certify",), ("match", small), ("play", "--against")):
        refused(fadefour(*command, ""), "''")  # it would be the current folder
    refused(fadefour("self-play", "--init", "", *new), "''")
    (tmp_path / "empty").mkdir()
    for command in (("grade",), ("certify",), ("match", small), ("play", "--against")):
        refused(fadefour(*command, tmp_path / "empty"), "best.safetensors")


@pytest.mark.parametrize("option", [("--n", 4), ("--m", 4), ("--k", 2)])
@pytest.mark.parametrize("command", ["grade", "certify", "check", "play"])
def test_a_typed_variant_that_is_another_is_refused(
    fadefour: Command,
    networks: dict[str, Path],
    tmp_path: Path,
    command: str,
    option: tuple[str, int],
) -> None:
    arguments: tuple[Any, ...] = (command, networks["small"])
    if command == "play":
        arguments = ("play", "--against", networks["small"])
    if command == "check":
        proof = tmp_path / "proof.npz"
        fadefour("certify", networks["small"], "--as", "x", "--out", proof)
        arguments = ("certify", "--check", proof)
    refused(fadefour(*arguments, *option, "--data", tmp_path), *option, "3x3_m3")


def test_a_typed_variant_that_is_the_networks_is_accepted(
    fadefour: Command, networks: dict[str, Path], solved33: Path
) -> None:
    typed = ("--n", 3, "--m", 3, "--k", 3)
    assert fadefour("grade", networks["small"], *typed, "--data", solved33).code == 0
    refused(fadefour("grade", networks["four"], "--n", 3, "--data", solved33), "--n 3", "connect4")


def test_networks_that_cannot_be_judged_together_or_at_all(
    fadefour: Command, networks: dict[str, Path], tmp_path: Path
) -> None:
    data = ("--data", tmp_path)
    both = fadefour("grade", networks["small"], networks["large"], *data)
    refused(both, "drop-3-3-3", "drop-4-4-4", "one at a time")
    refused(fadefour("certify", networks["gomoku"], *data), "gomoku-9", "fadefour match")
    refused(fadefour("certify", networks["four"], *data), "connect4", "fadefour grade")
    refused(fadefour("match", networks["small"], networks["four"]), "drop-3-3-3", "connect4")
    refused(fadefour("grade", networks["small"], "--game", "connect4", *data), "drop-3-3-3")
    refused(fadefour("grade", networks["small"], "--sets", "x", *data), "--sets", "Connect Four")


# ---- certify --check ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def proofs(
    fadefour: Command, networks: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> dict[int, Path]:
    """Certificates of the small network, by its simulations."""
    folder = tmp_path_factory.mktemp("proofs")
    made = {sims: folder / f"{sims}.npz" for sims in (0, 5)}
    for sims, path in made.items():
        options = ("--sims", sims) if sims else ()
        fadefour("certify", networks["small"], "--as", "y", "--out", path, *options)
        assert path.exists()
    return made


def test_a_check_takes_the_simulations_from_the_certificate(
    fadefour: Command, networks: dict[str, Path], proofs: dict[int, Path]
) -> None:
    for path in proofs.values():
        ended = fadefour("certify", networks["small"], "--check", path)
        assert ended.code == 0 and "its moves are the network's" in ended.out, ended


@pytest.mark.parametrize(
    ("sims", "network", "options", "words"),
    [
        (5, "small", ("--sims", 6), ("5 simulations per move, not 6", "--sims 5")),
        (5, "small", ("--no-prove",), ("with proofs", "use --prove")),
        (0, None, ("--no-prove",), ("--no-prove", "CHECKPOINT")),
        (5, "small", ("--sims", 5, "--n", 4), ("--n 4", "3x3_m3")),
        (0, "small", ("--sims", 5), ("0 simulations", "leave --sims out")),
        (0, "other", (), ("SHA-256",)),
        (0, "large", (), ("3x3_m3", "4x4_m4")),
        (0, "four", (), ("connect4",)),
        (0, None, ("--sims", 5), ("--sims", "CHECKPOINT")),
        (0, "small", ("--convert",), ("--convert",)),
        (0, "small", ("--out", "x.npz"), ("--out",)),
    ],
)
def test_a_mismatch_is_named_and_is_no_failed_check(
    fadefour: Command,
    networks: dict[str, Path],
    proofs: dict[int, Path],
    sims: int,
    network: str | None,
    options: tuple[Any, ...],
    words: tuple[str, ...],
) -> None:
    given = () if network is None else (networks[network],)
    refused(fadefour("certify", *given, "--check", proofs[sims], *options), *words)


# ---- what a side loses in theory ----------------------------------------------------------------


def test_certify_says_when_a_side_is_lost_from_the_start(
    fadefour: Command, networks: dict[str, Path], solved33: Path, tmp_path: Path
) -> None:
    out = ("--out", tmp_path / "proof.npz")
    ended = fadefour("certify", networks["small"], "--as", "y", *out, "--data", solved33)
    assert ended.code == 1
    assert "as Y the start is lost against best play" in ended.out
    without = fadefour("certify", networks["small"], "--as", "y", *out, "--data", tmp_path)
    assert without.code == 1 and "start is lost" not in without.out
    as_x = fadefour("certify", networks["small"], "--as", "x", *out, "--data", solved33, "--json")
    (entry,) = json.loads(as_x.out)["certificates"]
    assert entry["kind"] == "refuted" and entry["lost_in_theory"] is False


def test_a_damaged_table_is_said_after_the_verdict(
    fadefour: Command, networks: dict[str, Path], copy33: Path, tmp_path: Path
) -> None:
    """It was taken for a table that says nothing about the start."""
    flip_bit(copy33 / "solved_3x3_m3.table")
    out = ("--out", tmp_path / "proof.npz")
    ended = fadefour("certify", networks["small"], "--as", "y", *out, "--data", copy33)
    assert ended.code == 2 and "can be beaten as Y" in ended.out
    assert re.search(r"^fadefour: .*solved_3x3_m3\.table' is damaged.*\n\Z", ended.err, re.M)


# ---- targets ------------------------------------------------------------------------------------


def test_targets_are_tried_before_the_work(
    fadefour: Command,
    networks: dict[str, Path],
    solved33: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def worked(*_: Any, **__: Any) -> None:
        raise AssertionError("the work was begun")

    monkeypatch.setattr(grade_module, "grade", worked)
    monkeypatch.setattr(certify_module, "certify", worked)
    (tmp_path / "file").write_text("")
    (tmp_path / "link.npz").symlink_to(tmp_path / "elsewhere.npz")
    targets = [tmp_path, tmp_path / "file" / "x.npz", "/dev/null", tmp_path / "link.npz"]
    data = ("--data", solved33)
    for target in [*targets, tmp_path / ("long" * 100)]:
        refused(fadefour("grade", networks["small"], *data, "--png", target), "cannot write")
        refused(fadefour("certify", networks["small"], *data, "--out", target), "cannot write")
    refused(fadefour("certify", networks["small"], "--convert", "--data", tmp_path), "solve")


def test_the_certificates_of_the_two_colours_do_not_replace_each_other(
    fadefour: Command, networks: dict[str, Path], tmp_path: Path
) -> None:
    network = Path(shutil.copy(networks["small"], tmp_path))
    for colour in ("x", "y"):
        file = tmp_path / f"{colour}_small.certificate.npz"
        assert f"written to {file}\n" in fadefour("certify", network, "--as", colour).out
        assert fadefour("certify", "--check", file).code == 0
    named = tmp_path / "named.npz"
    assert f"written to {named}\n" in fadefour("certify", network, "--as", "y", "--out", named).out
    searching = fadefour("certify", network, "--as", "y", "--sims", 2)
    assert f"written to {tmp_path / 'y_small.2_sims.certificate.npz'}\n" in searching.out


def test_grade_says_what_it_drew(
    fadefour: Command, solved33: Path, networks: dict[str, Path], tmp_path: Path
) -> None:
    png = tmp_path / "grade.png"
    asked = ("grade", networks["small"], "--data", solved33, "--sample", "50", "--png", png)
    assert fadefour(*asked).out.endswith(f"\n\nwrote {png}\n") and png.exists()
    assert json.loads(fadefour(*asked, "--json").out)["png"] == str(png)


def test_grade_says_why_positions_count_for_both_sides(
    fadefour: Command, solved33: Path, networks: dict[str, Path]
) -> None:
    """6,565 with X to move and 7,953 with Y to move are more than all 8,344."""
    words = "with all 6 pieces on the board counts both for X to move and for Y to move"
    ended = fadefour("grade", networks["small"], "--data", solved33, "--all")
    assert words in ended.out


def test_a_verdict_is_printed_even_if_its_file_cannot_be_written(
    fadefour: Command,
    networks: dict[str, Path],
    solved33: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise InputError("the disk is full")

    monkeypatch.setattr(certificate_module, "write_certificate", full)
    ended = fadefour("certify", networks["small"], "--out", tmp_path / "x.npz")
    assert ended.code == 2 and "can be beaten as X" in ended.out and "written" not in ended.out
    assert ended.err.strip().splitlines()[-1] == "fadefour: the disk is full"
    monkeypatch.setattr("azfit.grading.grade_report.save_png", full)
    ended = fadefour("grade", networks["small"], "--data", solved33, "--png", tmp_path / "x.png")
    assert ended.code == 2 and "8,344" in ended.out
    assert ended.err.strip().splitlines()[-1] == "fadefour: the disk is full"


# ---- numbers ------------------------------------------------------------------------------------

HUGE = 10**30


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (("grade", "small", "--seed", -1), "--seed -1"),
        (("grade", "small", "--seed", HUGE), f"--seed {HUGE}"),
        (("grade", "small", "--sample", 0), "--sample 0"),
        (("grade", "small", "--sample", HUGE), f"--sample {HUGE}"),
        (("grade", "small", "--sample", "x"), "--sample x"),
        (("grade", "small", "--in-play", 0), "--in-play 0"),
        (("grade", "small", "--in-play", HUGE), f"--in-play {HUGE}"),
        (("grade", "small", "--blunders", -1), "--blunders -1"),
        (("grade", "small", "--blunders", 21), "--blunders 21"),
        (("grade", "small", "--opening-plies", -1), "--opening-plies -1"),
        (("grade", "small", "--opening-plies", 100), "--opening-plies 100"),
        (("grade", "small", "--sims", HUGE), f"--sims {HUGE}"),
        (("grade", "small", "--prove"), "give --sims"),
        (("grade", "small", "--no-prove"), "give --sims"),
        (("grade", "small", "--sims", 5, "--lcb", 101), "--lcb"),
        (("grade", "small", "--threads", 0), "--threads 0"),
        (("grade", "small", "--all", "--sample", 5), "--sample"),
        (("grade", "small", "--data", ""), "--data"),
        (("grade", "small", "--png", ""), "--png"),
        (("certify", "small", "--sims", 0), "--sims 0"),
        (("certify", "small", "--no-prove"), "give --sims"),
        (("certify", "small", "--out", ""), "--out"),
        (("match", "small", "other", "--seed", -1), "--seed -1"),
        (("match", "small", "other", "--games", 3), "--games 3"),
        (("match", "small", "other", "--games", HUGE), f"--games {HUGE}"),
        (("match", "small", "other", "--sims", -1), "--sims -1"),
        (("play", "--against", "small", "--sims", 0), "--sims 0"),
        (("play", "--against", "small", "--sims", -1), "--sims -1"),
        (("play", "--sims", 5), "--sims"),
        (("play", "--lcb", 5), "--lcb has no effect without a network"),
        (("play", "--prove"), "--prove has no effect without a network"),
        (("play", "--no-prove"), "--no-prove has no effect without a network"),
        (("play", "--against", "small", "--prove"), "give --sims"),
        (("play", "--against", "small", "--no-prove"), "give --sims"),
        (("match", "small", "other", "--sims", 0, "--no-prove"), "give --sims"),
        (("match", "small", "other", "--lcb", 200), "--lcb"),
        (("match", "small", "other", "--sims", 0, "--lcb", 5), "give --sims"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_numbers_out_of_range_are_named_with_the_range(
    fadefour: Command, networks: dict[str, Path], arguments: tuple[Any, ...], option: str
) -> None:
    given = [networks.get(str(argument), argument) for argument in arguments]
    refused(fadefour(*given), option)


# ---- reports ------------------------------------------------------------------------------------


def test_grade_samples_first_and_says_what_all_will_take(
    fadefour: Command, networks: dict[str, Path], solved33: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = ("--data", solved33)
    whole = fadefour("grade", networks["small"], *data)
    assert "--all" not in whole.out, "there was no need to sample"
    monkeypatch.setattr(command_module, "FIRST_LOOK", 500)
    first = fadefour("grade", networks["small"], *data)
    assert "500 drawn from 8,344" in first.out
    assert re.search(
        r"all 8,344 positions, use --all; it will take about [\d.]+ (s|min)", first.out
    )
    report = json.loads(fadefour("grade", networks["small"], *data, "--json").out)["grades"][0]
    assert report["sample"] == 500 and report["seconds_for_all"] > 0
    assert "8,344 canonical" in fadefour("grade", networks["small"], *data, "--all").out
    monkeypatch.setattr(command_module, "FIRST_LOOK_SIMS", 40)
    monkeypatch.setattr(command_module, "FEWEST_SEARCHED", 10)
    searched = fadefour("grade", networks["small"], *data, "--sims", 2)
    assert "20 drawn from 8,344" in searched.out


def test_a_grade_names_the_right_move_of_every_blunder_shown(
    fadefour: Command, networks: dict[str, Path], solved33: Path, rules33: Any
) -> None:
    from solver import Position, open_table

    arguments = ("grade", networks["small"], "--data", solved33, "--in-play", 4)
    report = json.loads(fadefour(*arguments, "--json").out)["grades"][0]
    words = fadefour(*arguments).out
    with open_table(solved33, rules33) as table:
        for grade in (report, *(match["grade"] for match in report["in_play"])):
            for blunder in grade["worst_blunders"]:
                position = Position.parse(blunder["position"], rules33)
                best = [rules33.cell_name(cell) for cell in table.best_moves(position)]
                assert sorted(blunder["right"]) == sorted(best)
    assert f"right: {' '.join(report['worst_blunders'][0]['right'])}" in words
    assert "\n1 piece " in words and "1 pieces" not in words


def test_a_match_that_runs_out_of_openings_says_so(
    fadefour: Command, networks: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("azfit.playing.match.MOST_OPENING_PLIES", 2)
    ended = fadefour("match", networks["small"], "random", "--games", 100, "--sims", 0)
    assert "24 games instead of 100: there are no more distinct openings" in ended.out
    assert "without search" in ended.out
