"""What takes minutes runs only when it is asked for: FADEFOUR_SLOW_TESTS=1, or ``make test-slow``.

A test marked ``slow`` is skipped otherwise (conftest.py). One marked ``more`` always runs, and does
more of the same when it is asked to.
"""

import os

import pytest

ASKED_FOR = os.environ.get("FADEFOUR_SLOW_TESTS") == "1"

slow = pytest.mark.slow
more = pytest.mark.more
