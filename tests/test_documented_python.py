"""Every example of docs/python.md gives what the page says."""

from __future__ import annotations

import doctest
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "python.md"


def test_the_examples_of_the_python_page() -> None:
    results = doctest.testfile(
        str(PAGE), module_relative=False, optionflags=doctest.IGNORE_EXCEPTION_DETAIL
    )
    assert results.attempted > 20
    assert results.failed == 0
