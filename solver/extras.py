"""Packages that not everything needs, and how to get one that is missing."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from solver.errors import InputError

_ROOT = Path(__file__).resolve().parent.parent
_MAKE = {"matplotlib": "make build", "torch": "make learn", "safetensors": "make learn"}


def need(package: str, what: str, otherwise: str = "") -> None:
    """Raises ``missing`` unless the package is installed; it is not imported yet."""
    if importlib.util.find_spec(package) is None:
        raise missing(package, what, otherwise)


def missing(package: str, what: str, otherwise: str = "") -> InputError:
    """The error that names what needs the package, how to get it, and what to do without it."""
    remedies = [install(package), *([otherwise] if otherwise else [])]
    return InputError(f"{what} needs {package}: {', or '.join(remedies)}")


def install(package: str) -> str:
    """The command that installs a package: by make in a checkout of fadefour, else by pip."""
    if not (_ROOT / "Makefile").exists():
        return f"run 'pip install {package}'"
    pip = f"'pip install -c constraints.txt {package}'"
    return f"run '{_MAKE[package]}' or {pip}" if package in _MAKE else f"run {pip}"
