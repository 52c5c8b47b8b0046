"""The C kernels as they were compiled for this processor.

A package has one module of kernels for each processor it was built for: a wheel has several, an
installation from source has one, compiled for the machine it was made on. The best that can run is
taken. A module also states what it needs of an x86 processor, and the GNU C library from 2.33 on
refuses to load it into a lesser one (csrc/build.py); so a checkout that was copied to another
machine gets a message there, instead of an illegal instruction.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from functools import cache
from types import ModuleType

from solver.errors import FadefourError, InputError
from solver.extras import IN_CHECKOUT
from solver.machine import processor_features

_V3 = {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"}
_V4 = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}

# As the compiler's -march names them, best first, each with what it needs of the processor beyond
# what numpy does.
BUILDS: dict[str, set[str]] = {
    "native": set(),
    "x86-64-v4": _V3 | _V4,
    "x86-64-v3": _V3,
    "x86-64-v2": set(),
    "armv8-a": set(),
}
CHOICE = "FADEFOUR_KERNELS"  # environment variable: the build to use, instead of the best
_REFUSED = "CPU ISA level is lower than required"  # the GNU C library's words


def load_kernels(package: str) -> ModuleType:
    """The kernels of ``solver`` or ``azfit``, with their ``ffi`` and ``lib``."""
    return importlib.import_module(_module(package, kernel_build()))


def installed_builds() -> list[str]:
    """Best first; not all of them need run here."""
    return [build for build in BUILDS if importlib.util.find_spec(_module("solver", build))]


@cache
def kernel_build() -> str:
    """The build that runs here, the same for both packages."""
    names = installed_builds()
    choice = os.environ.get(CHOICE)
    if choice and choice not in names:
        raise InputError(f"{CHOICE}={choice}: this installation has {', '.join(names) or 'none'}")
    features = processor_features()
    for build in [choice] if choice else names:
        if not BUILDS[build] <= features:
            continue
        try:
            importlib.import_module(_module("solver", build))
            return build
        except ImportError as error:
            if _REFUSED not in str(error):
                reason = f"cannot be loaded ({error})"
                raise FadefourError(f"the C kernels {reason}: {_remedy()}") from error
    reason = "were built for a newer processor" if names else "are not built"
    raise FadefourError(f"the C kernels {reason}: {_remedy()}")


def _module(package: str, build: str) -> str:
    return f"{package}._kernels_{build.replace('-', '_')}"


def _remedy() -> str:
    if IN_CHECKOUT:
        return "run 'make clean build'"
    return "reinstall fadefour on this machine (pip install --force-reinstall --no-cache-dir)"
