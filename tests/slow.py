"""Marks of tests that need not run every time.

What takes minutes runs only when it is asked for: FADEFOUR_SLOW_TESTS=1, or ``make test-slow``. A
test marked ``slow`` is skipped otherwise (conftest.py). One marked ``more`` always runs, and does
more of the same when it is asked to.

A test marked ``cluster`` starts nodes of Ray, and waits for them most of the time. One that uses a
browser is marked ``page`` (conftest.py). ``make test`` leaves these out, ``make test-cluster`` and
``make test-page`` run exactly these, and plain pytest runs them as any other.
"""

import os

import pytest

ASKED_FOR = os.environ.get("FADEFOUR_SLOW_TESTS") == "1"

slow = pytest.mark.slow
more = pytest.mark.more
cluster = pytest.mark.cluster
page = pytest.mark.page
