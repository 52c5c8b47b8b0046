"""How the C kernels become extension modules (cffi, API mode): files, declarations, flags.

What Python may call is declared once, in the C headers, between the comments ``/* cdef */``
and ``/* end cdef */``; this file collects those parts. ``pip install`` builds through setup.py;
``python csrc/build.py`` builds in place, for this checkout.

Two environment variables choose what is built:

FADEFOUR_BUILDS  processors to compile for, as -march knows them: one module of each package for
                 each. Where the kernels are compiled on the machine that runs them this is
                 ``native``, which may use all of it; a wheel has ``x86-64-v2 x86-64-v3`` and
                 solver/kernel_builds.py takes the best that can run.
FADEFOUR_CFLAGS  replaces all other flags of the compiler (sanitizers, coverage).
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sysconfig
from pathlib import Path

import cffi
from setuptools import Distribution

CSRC = Path(__file__).resolve().parent
ROOT = CSRC.parent

# Each module's parts, in the order in which their headers build on others: NAME.h, NAME.c or both.
RULES = ["rules", "symmetry", "work", "values", "index", "nodes", "moves", "labels"]
SOLVER = [
    *("retrograde", "fill", "swap", "records", "read_records"),
    *("results", "results_settle", "results_file"),
    *("audit", "audit_places", "results_audit", "explore", "connect4_solver"),
    *("gomoku_board", "gomoku_tactics"),
]
LEARNING = [
    *("sampler", "game", "drop_oldest", "connect4", "gomoku"),
    *("search", "search_gumbel", "search_proof", "search_root"),
    *("tower", "tower_plain", "tower_fast"),
]
PARTS = {"solver": [*RULES, *SOLVER], "azfit": [*RULES, *LEARNING]}

# What a compiler warns of depends on its version and on the machine, so a warning stops no
# installation; `make sanitize` compiles with -Werror. A multiplication and an addition are not
# contracted into one rounding, so that every build computes the same.
CFLAGS = "-O3 -g0 -std=c11 -ffp-contract=off -Wall -Wextra"


def files(package: str, suffix: str) -> list[str]:
    """The module's files of this kind."""
    names = [name + suffix for name in PARTS[package]]
    return [name for name in names if (CSRC / name).exists()]


def declarations(headers: list[str]) -> str:
    parts = []
    for header in headers:
        text = (CSRC / header).read_text()
        parts += re.findall(r"/\* cdef \*/(.*?)/\* end cdef \*/", text, flags=re.DOTALL)
    return "\n".join(parts)


def flags(build: str) -> list[str]:
    """The compiler's flags for the processor ``build``."""
    if "FADEFOUR_CFLAGS" in os.environ:
        return shlex.split(os.environ["FADEFOUR_CFLAGS"])
    return [*shlex.split(CFLAGS), f"-march={build}", *noting_what_is_needed()]


def noting_what_is_needed() -> list[str]:
    """The flag by which the module says what it needs of an x86 processor. The system then refuses
    to load it into a lesser one, where it would die of an illegal instruction. GCC has the flag
    since 11; elsewhere modules are built without."""
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    trial = [*compiler, "-mneeded", "-E", "-x", "c", os.devnull, "-o", os.devnull]
    try:
        subprocess.run(trial, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return ["-mneeded"]


def interface(package: str, build: str) -> cffi.FFI:
    """The module of a package for a processor, as cffi builds it."""
    headers, compiler_flags = files(package, ".h"), flags(build)
    ffi = cffi.FFI()
    ffi.cdef(declarations(headers))
    ffi.set_source(
        f"{package}._kernels_{build.replace('-', '_')}",
        "\n".join(f'#include "{header}"' for header in headers),
        sources=[f"csrc/{source}" for source in files(package, ".c")],
        depends=[f"csrc/{header.name}" for header in CSRC.glob("*.h")],
        include_dirs=["csrc"],
        extra_compile_args=compiler_flags,
        extra_link_args=[
            flag for flag in compiler_flags if flag.startswith(("-fsanitize", "--coverage"))
        ],
    )
    return ffi


BUILDS = os.environ.get("FADEFOUR_BUILDS", "native").split()
INTERFACES = {
    f"{package}_{build}": interface(package, build) for package in PARTS for build in BUILDS
}
globals().update(INTERFACES)  # cffi finds each by the name of a variable of this file
CFFI_MODULES = [f"csrc/build.py:{name}" for name in INTERFACES]


def build_in_place() -> None:
    os.chdir(ROOT)  # sources are named relative to it
    distribution = Distribution({"name": "fadefour", "cffi_modules": CFFI_MODULES})
    distribution.finalize_options()  # cffi adds the modules
    command = distribution.get_command_obj("build_ext")
    command.inplace = command.force = True  # whatever flags the last build had
    command.parallel = len(INTERFACES)  # modules at a time
    distribution.run_command("build_ext")


if __name__ == "__main__":
    build_in_place()
