"""The libraries that adapters are for: with FADEFOUR_ALL_LIBRARIES=1, as in CI, one that is missing
fails its tests; elsewhere they are skipped, and say so."""

from __future__ import annotations

import importlib
import os
from typing import Any

import pytest


def library(name: str) -> Any:
    """The module, for the top of a test file or of a test."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        reason = (
            f"{name} is not installed ({error}): pip install -c constraints.txt -e '.[all,test]'"
        )
        if os.environ.get("FADEFOUR_ALL_LIBRARIES") == "1":
            raise ImportError(reason) from None
        pytest.skip(reason, allow_module_level=True)
