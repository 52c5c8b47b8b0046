"""Commands as processes of their own, started in a folder: killed, limited, watched to their end.

A command is either a *fresh* interpreter that runs ``cli.py``, or a *warm* fork of this process,
which has imported everything and computed nothing: to the system that is a process like any other,
without the seconds that importing torch takes. Each has a session of its own, so that whatever it
starts can be found, whoever its parent is by then.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import gc
import importlib
import io
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from command_line import SCRIPT

import cli
from azfit import main
from solver.plotting import pyplot

SECONDS = 3600.0  # for a command that hangs: on a machine that is busy one may take minutes
SECONDS_TO_END = 60.0  # for processes whose parent is gone
PIPE_BYTES = 1 << 20

Prepare = Callable[[], object]

MODULES = (
    *("azfit.self_play.loop", "azfit.self_play.run_report", "azfit.playing.match"),
    *("azfit.oracle.training", "azfit.grading.certify", "azfit.grading.certificate_check"),
    *("azfit.grading.grade", "azfit.grading.grade_report", "azfit.grading.connect4.report"),
    *("azfit.grading.connect4.labels", "azfit.diagnosis.diagnose", "azfit.diagnosis.picture"),
    *("azfit.diagnosis.buffer_report", "azfit.curves", "solver.verify", "solver.connect4.text"),
    *("azfit.oracle.connect4.run_positions", "azfit.oracle.connect4.teacher", "azfit.web.server"),
    *("azfit.adapters.onnx_export", "solver.connect4.book_making", "solver.connect4.picture"),
    *("torch._dynamo", "torch.onnx", "torch.utils.tensorboard", "matplotlib.font_manager"),
    *("onnx", "onnxruntime", "pyarrow.parquet"),
)
ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER


def warm_up() -> None:
    """Imports what the commands import, so that forks of this process have it."""
    for module in MODULES:
        importlib.import_module(module)
    pyplot().figure().savefig(io.BytesIO())
    main.add_commands()
    gc.freeze()


def adopt_orphans() -> None:
    """From now on processes whose parent is gone become children of this one, not of init."""
    ctypes.CDLL(None).prctl(ADOPT_ORPHANS, 1, 0, 0, 0)


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    command: str
    code: int
    """The exit code; minus the number of the signal that ended it; None of these: it hung."""
    out: str
    err: str
    seconds: float
    left_behind: tuple[str, ...] = ()
    """Processes that it had started and that outlived it."""

    @property
    def was_killed(self) -> bool:
        return self.code == -signal.SIGKILL

    def without(self, words: str) -> Ended:
        """As if lines with these words had not been printed."""
        kept = [line for line in self.err.splitlines(keepends=True) if words not in line]
        return replace(self, err="".join(kept))

    def __str__(self) -> str:
        said = " ".join((self.err.strip() or self.out.strip())[-300:].split())
        return f"'{self.command}' ended with {self.code}: {said}"


@dataclass
class Running:
    """A command that was started; ``end`` waits for it."""

    command: str
    pid: int
    out: int
    err: int
    began: float

    def kill(self, *, group: bool = False) -> None:
        """kill -9: the process, or it and all that it has started."""
        with contextlib.suppress(ProcessLookupError):
            (os.killpg if group else os.kill)(self.pid, signal.SIGKILL)

    def wait(self, seconds: float) -> bool:
        """Whether it has ended after at most so many seconds."""
        handle = os.pidfd_open(self.pid)
        try:
            return bool(select.select([handle], [], [], max(0.0, seconds))[0])
        finally:
            os.close(handle)

    def end(self, seconds: float = SECONDS) -> Ended:
        """Waits until it ends, and reads what it printed."""
        hangs = not self.wait(seconds)
        if hangs:
            self.kill(group=True)
        _, status = os.waitpid(self.pid, 0)
        took = time.monotonic() - self.began
        left = _left_behind(self.pid)
        out, err = _drained(self.out), _drained(self.err)
        if hangs:
            err = f"it was still running after {seconds:.0f} s\n{err}"
        return Ended(self.command, os.waitstatus_to_exitcode(status), out, err, took, left)


def start(
    folder: Path, *arguments: str | Path, fresh: bool = False, prepare: Prepare | None = None
) -> Running:
    """Starts ``fadefour`` with these arguments, in this folder.

    fresh: in a new interpreter. prepare: is called in the new process first.
    """
    words = [str(argument) for argument in arguments]
    out, err = _pipe(), _pipe()
    began = time.monotonic()
    pid = os.fork()
    if not pid:
        _become(words, folder, out[1], err[1], fresh, prepare)
    os.close(out[1])
    os.close(err[1])
    return Running(" ".join(words), pid, out[0], err[0], began)


def run(
    folder: Path, *arguments: str | Path, fresh: bool = False, prepare: Prepare | None = None
) -> Ended:
    """Runs ``fadefour`` to its end."""
    return start(folder, *arguments, fresh=fresh, prepare=prepare).end()


def apart(work: Callable[[], object]) -> None:
    """Does something in a fork, so that this process starts no threads."""
    pid = os.fork()
    if not pid:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    if status:
        raise RuntimeError(f"it ended with {os.waitstatus_to_exitcode(status)}")


# ---- in the new process -------------------------------------------------------------------------


def _become(
    words: list[str], folder: Path, out: int, err: int, fresh: bool, prepare: Prepare | None
) -> NoReturn:
    code = 1
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (out, 1), (err, 2)):
            os.dup2(source, target)
        os.closerange(3, 256)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.stdin = open(0, closefd=False)  # noqa: SIM115 - for good, as the two below
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
        os.chdir(folder)
        if prepare is not None:
            prepare()
        if fresh:
            os.execv(sys.executable, [sys.executable, SCRIPT, *words])
        code = _main(words)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _main(words: list[str]) -> int:
    """The exit code of ``main``, run as the script that workers import again."""
    sys.modules["__main__"], sys.argv = cli, ["fadefour", *words]
    try:
        main.main()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return 0


# ---- from outside -------------------------------------------------------------------------------


def _pipe() -> tuple[int, int]:
    """Room for all that a command prints: it is read when the command has ended."""
    read, write = os.pipe()
    fcntl.fcntl(read, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    os.set_blocking(read, False)
    return read, write


def _drained(pipe: int) -> str:
    parts = []
    with contextlib.suppress(BlockingIOError):  # a process that was left behind holds the pipe
        while part := os.read(pipe, PIPE_BYTES):
            parts.append(part)
    os.close(pipe)
    return b"".join(parts).decode(errors="replace")


def _left_behind(session: int) -> tuple[str, ...]:
    """What is still running in a session a while after its leader ended; it is killed."""
    until, late = time.monotonic() + SECONDS_TO_END, dict[int, str]()
    while rest := [pid for pid in _children() if _is_in(session, pid)]:
        for pid in rest:
            with contextlib.suppress(ChildProcessError):
                if not os.waitpid(pid, os.WNOHANG)[0] and time.monotonic() > until:
                    late[pid] = _command_line(pid)
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)
    return tuple(late.values())


def _children() -> list[int]:
    return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


def _is_in(session: int, pid: int) -> bool:
    try:
        return os.getsid(pid) == session
    except ProcessLookupError:
        return False


def _command_line(pid: int) -> str:
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return b" ".join(words).decode(errors="replace").strip()
