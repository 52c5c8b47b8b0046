"""Optional packages: what needs one, how to get it, and that ``make wheel`` asks for each."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import check_packages
import pytest

from solver import extras
from solver.errors import InputError

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
FOR_DEVELOPERS = {"test", "lint", "coverage"}


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


def refusal(*arguments: str) -> str:
    with pytest.raises(InputError) as refused:
        extras.need(*arguments)
    return str(refused.value)


def test_a_package_that_is_there_is_not_asked_for() -> None:
    extras.need("numpy", "everything")


@pytest.mark.usefixtures("nothing_installed")
def test_where_pip_installed_fadefour_it_is_pip_that_adds_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(extras, "IN_CHECKOUT", False)
    assert refusal("torch", "training") == (
        "training needs torch: run pip install 'fadefour[learn]'"
    )
    assert refusal("pyarrow", "--format parquet", "use --format npz") == (
        "--format parquet needs pyarrow: run pip install 'fadefour[parquet]', or use --format npz"
    )


@pytest.mark.usefixtures("nothing_installed")
def test_in_a_checkout_make_does_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "IN_CHECKOUT", True)
    assert refusal("torch", "training") == (
        "training needs torch: run 'make learn' or pip install -c constraints.txt -e '.[learn]'"
    )


@pytest.mark.parametrize("package", extras.EXTRAS)
def test_the_extra_brings_the_package_and_make_installs_it(package: str) -> None:
    extra = extras.EXTRAS[package]
    assert any(line.startswith(f"{package}>=") for line in PROJECT["optional-dependencies"][extra])
    assert f"fadefour[{extra}]" in PROJECT["optional-dependencies"]["all"]
    targets = [line.partition(":")[0] for line in (ROOT / "Makefile").read_text().splitlines()]
    assert extra in " ".join(targets).split()


@pytest.mark.parametrize(
    ("adapter", "package", "extra"),
    [("openspiel", "pyspiel", "openspiel"), ("pettingzoo", "gymnasium", "pettingzoo")],
)
def test_an_adapter_without_its_library_says_how_to_get_it(
    adapter: str, package: str, extra: str
) -> None:
    program = f"import sys; sys.modules[{package!r}] = None; import azfit.adapters.{adapter}"
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT
    )
    last = ended.stderr.strip().splitlines()[-1]
    assert last.startswith(f"ImportError: azfit.adapters.{adapter} needs ")
    assert f"make {extra}" in last


def test_every_extra_for_users_is_documented_and_asked_of_the_packages() -> None:
    offered = set(PROJECT["optional-dependencies"]) - FOR_DEVELOPERS
    assert offered == check_packages.OFFERED
    page = (ROOT / "docs" / "installation.md").read_text()
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    assert offered <= set(re.findall(r"`(\w+)`", " ".join(rows)))


def test_every_file_beside_the_modules_is_asked_of_the_packages() -> None:
    compiled = {".py", ".pyc", ".so", ".c", ".o"}
    inside = [path for name in ("solver", "azfit") for path in (ROOT / name).rglob("*")]
    beside = {path for path in inside if path.is_file() and path.suffix not in compiled}
    assert {str(path.relative_to(ROOT)) for path in beside} == set(check_packages.DATA_FILES)
