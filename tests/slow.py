"""Tests that take minutes run only when they are asked for: FADEFOUR_SLOW_TESTS=1."""

import os

import pytest

ASKED_FOR = os.environ.get("FADEFOUR_SLOW_TESTS") == "1"

slow = pytest.mark.skipif(not ASKED_FOR, reason="minutes: set FADEFOUR_SLOW_TESTS=1")
