"""Builds the C kernels into extension modules (cffi, API mode).

What Python may call is declared once, in the C headers, between the comments ``/* cdef */``
and ``/* end cdef */``; this file collects those parts. ``pip install`` builds through
``BuildKernels`` (see pyproject.toml); ``python csrc/build.py [solver|azfit]`` builds in place.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

import cffi
from setuptools import Distribution, Extension
from setuptools.command.build_ext import build_ext

CSRC = Path(__file__).resolve().parent
ROOT = CSRC.parent


# Each module's parts, in the order in which their headers build on others: NAME.h, NAME.c or both.
RULES = ["rules", "symmetry", "work", "values", "index", "nodes", "moves", "labels"]
SOLVER = [
    *("retrograde", "fill", "swap", "records", "read_records"),
    *("audit", "audit_places", "connect4_solver"),
]
LEARNING = ["sampler", "game", "drop_oldest", "connect4", "gomoku", "search", "search_root"]
MODULES = {"solver": [*RULES, *SOLVER], "azfit": [*RULES, *LEARNING]}

# The package is compiled where it is installed, so the compiler may use all of this machine.
# FADEFOUR_CFLAGS replaces these flags (for a wheel that travels: "-O3 -march=x86-64-v2"). What a
# compiler warns of depends on its version and on the machine, so a warning stops no installation;
# `make sanitize` compiles with -Werror.
DEFAULT_CFLAGS = "-O3 -march=native -std=c11 -Wall -Wextra"


def files(package: str, suffix: str) -> list[str]:
    """The module's files of this kind."""
    names = [name + suffix for name in MODULES[package]]
    return [name for name in names if (CSRC / name).exists()]


def declarations(headers: list[str]) -> str:
    parts = []
    for header in headers:
        text = (CSRC / header).read_text()
        parts += re.findall(r"/\* cdef \*/(.*?)/\* end cdef \*/", text, flags=re.DOTALL)
    return "\n".join(parts)


def extension(package: str, generated: Path) -> Extension:
    """The extension ``package._kernels``; its generated C file goes under ``generated``."""
    headers, sources = files(package, ".h"), files(package, ".c")
    flags = shlex.split(os.environ.get("FADEFOUR_CFLAGS", DEFAULT_CFLAGS))
    ffi = cffi.FFI()
    ffi.cdef(declarations(headers))
    ffi.set_source(
        f"{package}._kernels",
        "\n".join(f'#include "{header}"' for header in headers),
        sources=[f"csrc/{source}" for source in sources],
        depends=[f"csrc/{header.name}" for header in CSRC.glob("*.h")],
        include_dirs=["csrc"],
        extra_compile_args=flags,
        extra_link_args=[flag for flag in flags if flag.startswith("-fsanitize")],
    )
    return ffi.distutils_extension(os.path.relpath(generated, ROOT))


class BuildKernels(build_ext):  # type: ignore[misc]
    """setuptools' build_ext, for the extensions above."""

    packages = tuple(MODULES)

    def finalize_options(self) -> None:
        os.chdir(ROOT)  # sources are named relative to it
        self.distribution.ext_modules = [
            extension(package, ROOT / "build" / "generated") for package in self.packages
        ]
        super().finalize_options()


def build_in_place(packages: list[str]) -> None:
    command = BuildKernels(Distribution({"name": "fadefour"}))
    command.packages = tuple(packages)
    command.inplace = True
    command.build_temp = f"build/{'-'.join(packages)}"  # two builds at once share no object file
    command.ensure_finalized()
    command.run()


if __name__ == "__main__":
    build_in_place(sys.argv[1:] or list(MODULES))
