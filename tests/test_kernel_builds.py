"""Which build of the kernels is loaded, and what is said where none can be."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable

import pytest
from conftest import run_cli

from solver import FadefourError, kernel_builds

WITHOUT_KERNELS = """
from solver import kernel_builds
kernel_builds.BUILDS.clear()
from azfit.main import main
main()
"""
TOO_NEW = ImportError("_kernels.abi3.so: CPU ISA level is lower than required")


def test_kernels_that_are_not_built_are_one_line() -> None:
    """Nearly everything imports them, but not before the program can report it."""
    command = [sys.executable, "-c", WITHOUT_KERNELS, "solve"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "fadefour: the C kernels are not built: run 'make clean build'\n"


def test_the_version_says_which_kernels_run() -> None:
    ended = run_cli("--version")
    assert ended.code == 0
    assert ended.out.endswith(f" (kernels: {kernel_builds.kernel_build()})\n")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """The build that is chosen by a processor with AVX2 where importing one would end like this."""
    features = {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "sse4_2"}

    def choose(without: str = "", **builds: ImportError | None) -> str:
        endings = {f"solver._kernels_{name}": ending for name, ending in builds.items()}

        def pretend_to_import(name: str) -> None:
            if endings[name] is not None:
                raise endings[name]

        with monkeypatch.context() as patch:
            patch.setattr(kernel_builds, "processor_features", lambda: features - {without})
            patch.setattr(importlib, "import_module", pretend_to_import)
            patch.setattr(
                importlib.util, "find_spec", lambda name: name if name in endings else None
            )
            return kernel_builds.kernel_build.__wrapped__()

    return choose


def test_the_best_build_that_can_run_is_taken(installed: Callable[..., str]) -> None:
    assert installed(x86_64_v2=None, x86_64_v3=None) == "x86-64-v3"
    assert installed(x86_64_v2=None, x86_64_v3=TOO_NEW) == "x86-64-v2"
    assert installed(x86_64_v2=None, x86_64_v3=None, native=None) == "native"
    assert installed(x86_64_v2=None, x86_64_v3=None, native=TOO_NEW) == "x86-64-v3"
    assert installed(x86_64_v2=None, x86_64_v3=None, x86_64_v4=None) == "x86-64-v3"
    assert installed(x86_64_v2=None, x86_64_v3=None, without="bmi2") == "x86-64-v2"
    assert installed(armv8_a=None) == "armv8-a"


def test_kernels_that_cannot_run_here_are_refused_with_a_remedy(
    installed: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FadefourError, match="built for a newer processor: run 'make clean build'"):
        installed(native=TOO_NEW)
    monkeypatch.setattr(kernel_builds, "IN_CHECKOUT", False)
    with pytest.raises(FadefourError, match="newer processor: reinstall fadefour"):
        installed(x86_64_v2=TOO_NEW, x86_64_v3=TOO_NEW)
    with pytest.raises(FadefourError, match=r"cannot be loaded \(libc is too old\): reinstall"):
        installed(x86_64_v2=None, x86_64_v3=ImportError("libc is too old"))


def test_a_build_can_be_chosen(
    installed: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FADEFOUR_KERNELS", "x86-64-v2")
    assert installed(x86_64_v2=None, x86_64_v3=None) == "x86-64-v2"
    with pytest.raises(
        FadefourError, match="FADEFOUR_KERNELS=x86-64-v2: this installation has nat"
    ):
        installed(native=None)
    with pytest.raises(FadefourError, match="built for a newer processor"):
        installed(x86_64_v2=TOO_NEW, native=None)
