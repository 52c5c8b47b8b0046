"""Packages that not everything needs, and how to get one that is missing."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from solver.errors import InputError

# Whether this is a checkout of fadefour, where make installs; else pip has installed it.
IN_CHECKOUT = (Path(__file__).resolve().parents[1] / "csrc" / "build.py").exists()

# The extra (pyproject.toml) that brings a package; the Makefile has a target of the same name.
EXTRAS = {
    "matplotlib": "plot",
    "pyarrow": "parquet",
    "torch": "learn",
    "safetensors": "learn",
    "onnx": "learn",
    "onnxruntime": "learn",
    "open_spiel": "openspiel",
    "pettingzoo": "pettingzoo",
    "starlette": "serve",
    "uvicorn": "serve",
    "httptools": "serve",
    "ray": "cluster",
}


def need(package: str, what: str, otherwise: str = "") -> None:
    """Raises ``missing`` unless the package is installed; it is not imported yet."""
    if importlib.util.find_spec(package) is None:
        raise missing(package, what, otherwise)


def missing(package: str, what: str, otherwise: str = "") -> InputError:
    """The error that names what needs the package, how to get it, and what to do without it."""
    remedies = [f"run {install(EXTRAS[package])}", *([otherwise] if otherwise else [])]
    return InputError(f"{what} needs {package}: {', or '.join(remedies)}")


def install(extra: str) -> str:
    """The commands that install an extra: in a checkout make or pip, else pip."""
    if IN_CHECKOUT:
        return f"'make {extra}' or pip install -c constraints.txt -e '.[{extra}]'"
    return f"pip install 'fadefour[{extra}]'"
