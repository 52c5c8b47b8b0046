"""Optional packages: what needs one, and how to get it."""

from __future__ import annotations

from pathlib import Path

import pytest

from solver import extras
from solver.errors import InputError


def without_packages(name: str) -> None:
    return None


def test_a_missing_package_is_named_with_the_way_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    extras.need("numpy", "everything")
    monkeypatch.setattr("importlib.util.find_spec", without_packages)
    with pytest.raises(InputError) as refused:
        extras.need("torch", "training")
    assert str(refused.value) == (
        "training needs torch: run 'make learn' or 'pip install -c constraints.txt torch'"
    )
    with pytest.raises(InputError) as refused:
        extras.need("pyarrow", "--format parquet", "use --format npz")
    assert str(refused.value) == (
        "--format parquet needs pyarrow: run 'pip install -c constraints.txt pyarrow', "
        "or use --format npz"
    )
    monkeypatch.setattr(extras, "_ROOT", tmp_path)  # installed: no Makefile, no constraints
    with pytest.raises(InputError) as refused:
        extras.need("torch", "training")
    assert str(refused.value) == "training needs torch: run 'pip install torch'"


@pytest.mark.parametrize("command", sorted(set(extras._MAKE.values())))
def test_the_make_command_exists(command: str) -> None:
    makefile = (Path(__file__).parents[1] / "Makefile").read_text()
    assert f"\n{command.removeprefix('make ')}:" in makefile
