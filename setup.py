"""What pyproject.toml has no words for: extension modules that cffi makes."""

import runpy

from setuptools import setup

setup(
    cffi_modules=runpy.run_path("csrc/build.py")["CFFI_MODULES"],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},  # one wheel for 3.11 and later
)
