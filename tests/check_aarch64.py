"""Runs a wheel for aarch64 under qemu, with Debian's Python for that architecture.

    python tests/check_aarch64.py dist/*_aarch64.whl

The solver's commands must write the files that they write on x86, byte for byte, and the tests of
index, labels, games, search and sampler must pass. apt and pip download what that needs into
build/aarch64 (about 35 MB); nothing is installed. On a machine without apt or qemu the wheel stays
unchecked, and this says so.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from check_packages import (
    ROOT,
    CheckFailedError,
    Installation,
    builds_of,
    check_opening_book,
    check_solver,
    check_tag,
    step,
)

FOLDER = ROOT / "build" / "aarch64"
QEMU = "qemu-aarch64-static"
DEBIAN = (
    *("python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib", "libc6", "libgcc-s1"),
    *("libstdc++6", "zlib1g", "libssl3", "libffi8", "libexpat1", "libbz2-1.0", "liblzma5"),
    *("libuuid1", "libcrypt1", "libsqlite3-0"),
)
PACKAGES = ("numpy", "cffi", "click", "tqdm", "pytest", "pytest-timeout", "hypothesis")
PLATFORMS = ("manylinux2014_aarch64", "manylinux_2_28_aarch64")
TESTS = [
    f"test_{subject}.py"
    for subject in ("index", "labels", "games", "search", "search_root", "sampler")
]


def fetch_python() -> Path:
    """The root of a Debian system that has Python and what it is linked with."""
    root, state = FOLDER / "root", FOLDER / "apt"
    unpacked, wanted = FOLDER / "root.packages", " ".join(DEBIAN)
    if unpacked.exists() and unpacked.read_text() == wanted:
        return root
    for name in ("lists/partial", "cache/archives/partial", "packages"):
        (state / name).mkdir(parents=True, exist_ok=True)
    (state / "status").touch()
    options = ["APT::Architecture=arm64", "APT::Architectures=arm64", "APT::Sandbox::User=root"]
    options += [f"Dir::State::lists={state / 'lists'}", f"Dir::State::status={state / 'status'}"]
    options += [f"Dir::Cache={state / 'cache'}"]
    apt = ["apt-get", "-qq", *(word for option in options for word in ("-o", option))]
    subprocess.run([*apt, "update"], check=True)
    subprocess.run([*apt, "download", *DEBIAN], cwd=state / "packages", check=True)
    for package in sorted((state / "packages").glob("*.deb")):
        subprocess.run(["dpkg", "-x", str(package), str(root)], check=True)
    unpacked.write_text(wanted)  # last, so that a download that was cut off is repeated
    return root


def unpack(wheels: Path, site: Path) -> None:
    for wheel in sorted(wheels.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)


def fetch_packages() -> Path:
    """A folder with the packages from the index that fadefour and its tests import."""
    site = FOLDER / "packages"
    if not site.exists():
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "-q"]
        command += [word for platform in PLATFORMS for word in ("--platform", platform)]
        command += ["--only-binary=:all:", "--python-version", "3.11", "-d", str(FOLDER / "wheels")]
        subprocess.run([*command, *PACKAGES], check=True)
        unpack(FOLDER / "wheels", site)
    return site


def unpacked(wheel: Path) -> Installation:
    """fadefour as the wheel has it; pip itself does not run under qemu in reasonable time."""
    site, root, packages = FOLDER / "site", fetch_python(), fetch_packages()
    shutil.rmtree(site, ignore_errors=True)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    python = (QEMU, "-L", str(root), str(root / "usr/bin/python3.11"))
    program = (*python, "-c", "from azfit.main import main; main()")
    return Installation(site, python, program, {"PYTHONPATH": f"{site}:{packages}"})


def check(wheel: Path) -> None:
    check_tag(wheel, "aarch64")
    with step("Python for aarch64, and the packages from the index"):
        installation = unpacked(wheel)
    (build,) = builds_of(installation)
    with step(f"  solve, merge, verify, probe, summary by the kernels {build}"):
        check_solver(installation, build)
    with step("  the opening book of Connect Four"):
        check_opening_book(installation)
    tests = Path(shutil.copytree(ROOT / "tests", installation.folder / "tests"))
    (tests / "pytest.ini").write_text(f"[pytest]\npythonpath = {tests}\ntimeout = 3600\n")
    pytest = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", str(tests / "pytest.ini"))
    for name in TESTS:
        with step(f"  {name}"):
            installation.run(*installation.python, *pytest, str(tests / name))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    options = parser.parse_args()
    lacking = [tool for tool in (QEMU, "apt-get", "dpkg") if shutil.which(tool) is None]
    if lacking:
        print(
            f"{options.wheel.name} is compiled, but unchecked: that needs {', '.join(lacking)}"
            " (on Debian: apt-get install qemu-user-static)"
        )
        return 0
    try:
        check(options.wheel.resolve())
    except CheckFailedError as failure:
        print(f"failed: {failure}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
