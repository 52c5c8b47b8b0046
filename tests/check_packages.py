"""Checks the sdist and the wheel that ``make wheel`` has built, each in a new environment.

    python tests/check_packages.py dist/*.tar.gz dist/*_x86_64.whl [--quick]

Nothing of the repository is used but this file; commands run in a temporary folder. Without extras
the commands of the solver work, the others name the extra that they need; every build of the
kernels (those of the wheel, one for this machine, one without vector code) writes the same files,
byte for byte; with the extra ``learn`` the shipped network is graded, and its certificate checked
by the sdist's own tests. ``--quick`` leaves out what takes longest: the build without vector code,
the extra ``learn``, and the smaller checks with newer versions of Python; the shipped network is
loaded all the same, by the torch of the Python that runs this file. A check that the machine has no
tool for is skipped, and named.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ("-c", str(ROOT / "constraints.txt"))
SCALAR = (
    "-O2 -g0 -std=c11 -ffp-contract=off -fno-tree-vectorize -fno-tree-slp-vectorize -DFF_SCALAR"
)
QEMU = "qemu-x86_64-static"
OLDEST_LIBC = "manylinux_2_17"  # what docs/installation.md promises
NEWER = ("python3.12", "python3.13", "python3.14")

VARIANTS = {"3x3_m3": ("--n", "3", "--m", "3"), "4x4_m4": ()}
SHA256 = {
    "solved_3x3_m3.table": "9dd824d70c8a224a6b7821cfceca50d32b86617c9d12c3ae921b9feb38e852e7",
    "xwin_3x3_m3.data": "5dd811ddb33a693a12da189536e0d29b476dbbf78e91f182aa803c19e619a341",
    "ywin_3x3_m3.data": "d9be270ab0d8fa33a79021c0d0e07da793f42983934b822c2c1a9960fb622a3d",
    "game_tree_3x3_m3.data": "a1fa943125bf846a2de2f45fd9763f921ea84fe6d07ec238fb271c1d7f0a4f07",
    "solved_4x4_m4.table": "e633f96714c511c5df3fc62dc3651ea758f735f7966d79b078cdaf3a6b012dfd",
    "xwin_4x4_m4.data": "c5bde2f98eef2e2e7d6f609d15d9e531fbbcb5de9ef6612a64c20c157e82e1ec",
    "ywin_4x4_m4.data": "a6b861d15dde2b5200d9e74deaa621af0c70b60fd203747298f0767ecb84b740",
    "game_tree_4x4_m4.data": "0a88c5bc756ce13338bdda9f3fcf27938565f53566f0dcf0baed6f5df8a0b577",
}

# What a user without extras types, and the extra that the answer must name.
MISSING = {
    ("grade", "shipped"): "learn",
    ("certify", "shipped"): "learn",
    ("diagnose", "shipped"): "learn",
    ("play", "--against", "shipped"): "learn",
    ("train-from-oracle", *VARIANTS["3x3_m3"], "--run", "taught"): "learn",
    ("self-play", *VARIANTS["3x3_m3"], "--run", "played"): "learn",
    ("export-onnx", "shipped", "--out", "four.onnx"): "learn",
    ("serve",): "serve",
    ("stats", *VARIANTS["3x3_m3"], "--png", "depths.png"): "plot",
    ("export", *VARIANTS["3x3_m3"], "--out", "out", "--format", "parquet"): "parquet",
    ("solve", "--results-only", *VARIANTS["3x3_m3"], "--cluster", "local"): "cluster",
}

# What is no module, and the extras that the package must offer.
DATA_FILES = (
    *("solver/py.typed", "azfit/py.typed", "solver/connect4/opening.book"),
    *(f"azfit/shipped/network_4x4_m4.{kind}" for kind in ("safetensors", "json")),
    *(f"azfit/shipped/network_4x4_m4.{kind}" for kind in ("grade.json", "certificate.npz")),
    *(f"azfit/shipped/network_connect4.{kind}" for kind in ("safetensors", "json", "grade.json")),
    *(
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "azfit" / "web" / "static").rglob("*"))
        if path.is_file()
    ),
)
OFFERED = {"learn", "plot", "parquet", "serve", "openspiel", "pettingzoo", "cluster", "all"}


class CheckFailedError(Exception):
    pass


@contextmanager
def step(what: str) -> Iterator[None]:
    """Prints what was checked, and how long it took."""
    began = time.perf_counter()
    yield
    print(f"{what:<72} {time.perf_counter() - began:6.1f} s", flush=True)


def skip(what: str, lacking: str) -> None:
    print(f"{what:<72} skipped: {lacking} is missing", flush=True)


def require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise CheckFailedError(otherwise)


@dataclass(frozen=True)
class Installation:
    """fadefour, somewhere outside the repository."""

    folder: Path  # where commands run
    python: tuple[str, ...]
    program: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, *command: str, code: int = 0, **environment: str) -> str:
        """What a command prints; it must end with this code."""
        inherited = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
        ended = subprocess.run(
            command,
            cwd=self.folder,
            env=inherited | self.environment | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        require(
            ended.returncode == code,
            f"exit code {ended.returncode} of {' '.join(command)}:\n{ended.stdout}",
        )
        return ended.stdout

    def fadefour(self, *arguments: str, code: int = 0, **environment: str) -> str:
        return self.run(*self.program, *arguments, code=code, **environment)

    def ask(self, expression: str) -> object:
        """The value of a Python expression there, by JSON."""
        names = expression.partition(".")[0]
        return json.loads(
            self.run(*self.python, "-c", f"import json, {names}; print(json.dumps({expression}))")
        )


def install(folder: Path, *requirements: str, python: str = sys.executable) -> Installation:
    """A new environment with these packages and what they need."""
    folder.mkdir()
    subprocess.run([python, "-m", "venv", str(folder / "venv")], check=True)
    binaries = folder / "venv" / "bin"
    installation = Installation(folder, (str(binaries / "python"),), (str(binaries / "fadefour"),))
    pip = (*installation.python, "-m", "pip", "--disable-pip-version-check", "install", "-q")
    installation.run(*pip, *CONSTRAINTS, *requirements)
    return installation


def build_wheel(folder: Path, sdist: Path, **environment: str) -> Path:
    """The wheel that pip makes of the sdist, in an environment of its own; pip's cache would give
    the one of an earlier build."""
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-cache-dir"]
    command += ["-w", str(folder), str(sdist)]
    subprocess.run(command, env=os.environ | environment, cwd=folder.parent, check=True)
    return next(folder.glob("*.whl"))


def check_tag(wheel: Path, machine: str) -> None:
    """One wheel for every Python from 3.11 on, and every C library from that release on."""
    _, _, python, interface, platforms = wheel.stem.split("-")
    require((python, interface) == ("cp311", "abi3"), f"{wheel.name} is for {python}-{interface}")
    oldest = f"{OLDEST_LIBC}_{machine}"
    require(oldest in platforms.split("."), f"{wheel.name} is for {platforms}, not for {oldest}")


def site_of(installation: Installation) -> Path:
    return Path(str(installation.ask("solver.__file__"))).parents[1]


def check_what_is_installed(installation: Installation) -> None:
    """Only the two packages, whole, and no word of where they were built."""
    site = site_of(installation)
    about = next(site.glob("fadefour-*.dist-info"))
    files = [line.partition(",")[0] for line in (about / "RECORD").read_text().splitlines()]
    top = {name.partition("/")[0] for name in files} - {about.name, ".."}
    require(top == {"solver", "azfit"}, f"top-level names installed: {sorted(top)}")
    for name in DATA_FILES:
        require(name in files, f"{name} is not installed")
    for name in files:
        require(not name.endswith(".so") or name.endswith(".abi3.so"), f"{name} is not abi3")
    about_text = (about / "METADATA").read_text()
    extras = {line.split()[1] for line in about_text.splitlines() if "Provides-Extra:" in line}
    require(extras >= OFFERED, f"the package lacks the extras {sorted(OFFERED - extras)}")
    for name in files:
        if name.startswith(("solver/", "azfit/")):
            require(str(ROOT).encode() not in (site / name).read_bytes(), f"{name} names {ROOT}")


def builds_of(installation: Installation) -> list[str]:
    builds = "solver.kernel_builds"
    names = installation.run(
        *installation.python,
        *("-c", f"import {builds} as b; print(*b.installed_builds())"),
    ).split()
    require(
        installation.fadefour("--version").endswith(f" (kernels: {names[0]})\n"),
        f"this machine does not run the best of {names}",
    )
    return names


def check_solver(
    installation: Installation, build: str, variants: Sequence[str] = tuple(VARIANTS)
) -> None:
    """Solves, merges, verifies and asks; the files are the same from every build."""
    folder = installation.folder / "data"
    for name in variants:
        options = (*VARIANTS[name], "--data", str(folder))
        for command in ("solve", "merge", "verify", "summary"):
            installation.fadefour(command, *options, FADEFOUR_KERNELS=build)
        answer = installation.fadefour("probe", "-/- x", *options, "--json", FADEFOUR_KERNELS=build)
        result = json.loads(answer)["result"]
        require(result == {"3x3_m3": "win", "4x4_m4": "draw"}[name], f"{name} is a {result}")
        for file in (
            f"solved_{name}.table",
            *(f"{kind}_{name}.data" for kind in ("xwin", "ywin", "game_tree")),
        ):
            with (folder / file).open("rb") as content:
                sha256 = hashlib.file_digest(content, "sha256").hexdigest()
            require(sha256 == SHA256[file], f"{file} of the build {build} has sha256 {sha256}")
    shutil.rmtree(folder)


def check_missing_extras(installation: Installation) -> None:
    installation.fadefour("solve", *VARIANTS["3x3_m3"])
    for command, extra in MISSING.items():
        answer = installation.fadefour(*command, code=2)
        remedy = f"run pip install 'fadefour[{extra}]'"
        require(remedy in answer and answer.count("\n") == 1, f"{' '.join(command)}: {answer}")


def check_opening_book(installation: Installation) -> None:
    """It is found where it was installed, and knows that the first player wins."""
    program = "from pathlib import Path; from solver.connect4.book import book_in"
    score = installation.run(
        *(*installation.python, "-c", f"{program}; print(book_in(Path('data')).get(0, 0))")
    )
    require(score == "1\n", f"the opening book gives the empty board the score {score}")


def check_lesser_processor(installation: Installation) -> None:
    """A processor without AVX2, as qemu imitates it, takes the kernels that it can run."""
    emulated = (QEMU, "-cpu", "Nehalem", *installation.python, *installation.program)
    version = installation.run(*emulated, "--version")
    require(version.endswith("(kernels: x86-64-v2)\n"), f"without AVX2: {version}")


def check_shipped_network(installation: Installation) -> None:
    """It loads as it was installed and moves; torch is that of the Python that runs this file."""
    site = site_of(installation)
    program = "import azfit; print(azfit.__file__); print(azfit.load_player('shipped').name)"
    printed = installation.run(sys.executable, "-P", "-c", program, PYTHONPATH=str(site))
    where, name = printed.splitlines()
    require(Path(where).is_relative_to(site), f"{where} was loaded, and not what is in {site}")
    require(name == "network_4x4_m4", f"the shipped network is {name}")


def check_learning(folder: Path, wheel: Path, sdist: Path) -> None:
    """The shipped network with all that it needs, and the tests that the sdist has of it."""
    installation = install(folder, f"fadefour[learn,test] @ {wheel.as_uri()}")
    installation.fadefour("solve", "--table-only")
    graded = json.loads(installation.fadefour("grade", "shipped", "--sample", "1000", "--json"))
    require(graded["grades"][0]["overall"]["keeping"] == 1.0, "the shipped network blunders")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    tests = next(folder.glob("fadefour-*/tests"))
    Path(folder / "pytest.ini").write_text(f"[pytest]\npythonpath = {tests}\ntimeout = 3600\n")
    installation.run(
        *(*installation.python, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
        *("-c", str(folder / "pytest.ini"), str(tests / "test_shipped_network.py")),
    )


def runs(python: str) -> bool:
    command = [python, "-c", "import venv"]
    return (
        shutil.which(python) is not None
        and subprocess.run(command, capture_output=True, check=False).returncode == 0
    )


def check(sdist: Path, wheel: Path, folder: Path, quick: bool) -> None:
    check_tag(wheel, platform.machine())
    with step(f"install {wheel.name}"):
        installation = install(folder / "wheel", str(wheel))
    with step("  only solver and azfit, nothing of the repository"):
        check_what_is_installed(installation)
    with step("  without extras: each command names the one that it needs"):
        check_missing_extras(installation)
    for build in builds_of(installation):
        with step(f"  solve, merge, verify, probe, summary by the kernels {build}"):
            check_solver(installation, build)
    with step("  the opening book of Connect Four"):
        check_opening_book(installation)
    if platform.machine() == "x86_64":
        lesser = "  a processor without AVX2 takes the kernels x86-64-v2"
        if shutil.which(QEMU):
            with step(lesser):
                check_lesser_processor(installation)
        else:
            skip(lesser, f"{QEMU} (on Debian: apt-get install qemu-user-static)")
    if quick:
        loading = "  the shipped network loads"
        if importlib.util.find_spec("torch"):
            with step(loading):
                check_shipped_network(installation)
        else:
            skip(loading, f"torch for {sys.executable} (in a checkout: make learn)")
    flags = {"native": {}, "without vector code": {"FADEFOUR_CFLAGS": SCALAR}}
    for name, environment in flags.items():
        if quick and environment:
            continue
        part = folder / name.replace(" ", "_")
        with step(f"build and install {sdist.name}, {name}"):
            built = build_wheel(part.with_suffix(".built"), sdist, **environment)
            installation = install(part, str(built))
            check_what_is_installed(installation)
        with step(f"  solve, merge, verify, probe, summary, {name}"):
            check_solver(installation, "native")
    if quick:
        return
    for python in filter(runs, NEWER):
        with step(f"the same wheel with {python}: 3x3"):
            installation = install(folder / python, str(wheel), python=python)
            check_solver(installation, builds_of(installation)[0], ["3x3_m3"])
    with step("with the extra learn: the shipped network, its grade and certificate"):
        check_learning(folder / "learn", wheel, sdist)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sdist", type=Path)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--quick", action="store_true", help="leave out what takes longest")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fadefour-") as name:
        try:
            check(options.sdist.resolve(), options.wheel.resolve(), Path(name), options.quick)
        except CheckFailedError as failure:
            print(f"failed: {failure}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
