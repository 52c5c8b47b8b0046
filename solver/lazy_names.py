"""Public names of a package that are imported when they are first used.

The command line is part of the packages: it starts before numpy and the kernels are imported, and
can say in one line why they cannot be.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any


def lazy_names(package: str, names: Sequence[str], homes: Sequence[str]) -> Callable[[str], Any]:
    """A module's ``__getattr__`` that finds these names in the package's modules ``homes``, which
    are imported in this order until one has the name."""

    def find(name: str) -> Any:
        if name in names:
            for home in homes:
                module = importlib.import_module(f"{package}.{home}")
                if hasattr(module, name):
                    return getattr(module, name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find
