"""The corpus of ``make fuzz``, replayed without a fuzzer: what was found once stays fixed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from fuzz import run
from fuzz.figures import Figures, Round, table
from fuzz.targets import CSRC, TARGETS, Target

C_TARGETS = [target for target in TARGETS if target.is_c]
PYTHON_TARGETS = [target for target in TARGETS if not target.is_c]
FLAGS = ("-g", "-std=gnu11", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
MOST_BYTES = 1_000_000

by_name = pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)


def test_the_shares_of_the_runs_add_up() -> None:
    assert sum(target.share for target in TARGETS) == pytest.approx(1)


def test_counts_add_up_over_interruptions(tmp_path: Path) -> None:
    target, path = TARGETS[0], tmp_path / "figures.json"
    for runs, coverage in ((700, 90), (1300, 110), (50, 100)):
        figures = Figures(path)
        done = Round(runs, runs // 10, 2.0, 40, first_coverage=80, coverage=coverage, failed=False)
        figures.of(target).add(done)
        figures.save()
    tally = Figures(path).of(target)
    assert (tally.runs, tally.accepted, tally.seconds, tally.rounds) == (2050, 205, 6.0, 3)
    assert tally.coverage - tally.first_coverage == 30
    assert "| 2,050 |" in table(Figures(path), {target: []})


def test_what_is_missing_is_named_with_the_way_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(run, "find_spec", lambda name: None)
    assert run.main([]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert "apt-get install clang libclang-rt-dev" in first and "pip install atheris" in second
    assert run.missing(C_TARGETS) + run.missing(PYTHON_TARGETS) == run.missing(TARGETS)


def test_the_corpus_is_small() -> None:
    assert sum(target.corpus_path.stat().st_size for target in TARGETS) < MOST_BYTES


@by_name
def test_every_target_has_a_corpus_in_order(target: Target) -> None:
    inputs = target.corpus()
    assert len(inputs) >= 10
    assert inputs == sorted(set(inputs), key=lambda data: (len(data), data))
    assert max(map(len, inputs)) <= target.longest


@pytest.mark.parametrize("target", PYTHON_TARGETS, ids=lambda target: target.name)
def test_inputs_of_python_are_accepted_or_refused(target: Target) -> None:
    check = target.check()
    accepted = [check(data) for data in [*target.seeds(), *target.corpus()]]
    assert {True, False} <= set(accepted), "the corpus has both"


@pytest.mark.parametrize("target", C_TARGETS, ids=lambda target: target.name)
def test_inputs_of_c_keep_the_laws(target: Target, tmp_path: Path) -> None:
    program, inputs, accepted = (tmp_path / name for name in ("replay", "inputs", "accepted"))
    sources = [*target.sources(), target.sources()[0].with_name("replay.c")]
    subprocess.run(["cc", *FLAGS, f"-I{CSRC}", *sources, "-o", program], check=True)
    corpus = [*target.seeds(), *target.corpus()]
    inputs.write_bytes(b"".join(len(data).to_bytes(4, "little") + data for data in corpus))
    accepted.write_bytes(bytes(8))
    environment = {"FUZZ_ACCEPTED": str(accepted), "ASAN_OPTIONS": "detect_leaks=0"}
    ended = subprocess.run(
        [program, inputs], env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert 0 < int.from_bytes(accepted.read_bytes(), "little") < len(corpus)
