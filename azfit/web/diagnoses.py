"""Diagnoses of runs: ``diagnose --json`` in a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from azfit.run_listing import RunFolder
from azfit.web.errors import ApiError, stopping, too_busy

DIAGNOSIS_SECONDS = 900.0

MESSAGE = "fadefour: "
"""How a line begins that says what is wrong with a run; anything else is a failure of ours."""


def last_written(path: Path) -> float | None:
    """When a file was last written, in seconds since 1970."""
    try:
        return os.stat(path).st_mtime
    except OSError:
        return None


@dataclass
class _Kept:
    """A diagnosis, and the state of the run that it is of."""

    updated: float | None
    answer: dict[str, Any]


class Diagnoses:
    """``diagnose --json`` in a process of its own, one at a time: it searches for seconds to
    minutes, needs torch, and can be ended when nobody waits for it any longer."""

    def __init__(self, data: Path) -> None:
        self._data, self._kept = data, dict[str, _Kept]()
        self._busy = self._stopping = False
        self._process: asyncio.subprocess.Process | None = None

    async def of(self, name: str, run: RunFolder) -> dict[str, Any]:
        updated = last_written(run.metrics)
        kept = self._kept.get(name)
        if kept is not None and kept.updated == updated:
            return kept.answer
        if self._busy:
            raise too_busy("another diagnosis")
        self._busy = True
        try:
            answer = await self._diagnose(run.path)
        finally:
            self._busy = False
        answer["subject"] = name
        self._kept[name] = _Kept(updated, answer)
        return answer

    def stop(self) -> None:
        """Ends the diagnosis that is under way: the server stops."""
        self._stopping = True
        self._kill()

    def _kill(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()

    async def _diagnose(self, path: Path) -> dict[str, Any]:
        command = [
            sys.executable,
            "-c",
            "from azfit.main import main; main()",
            "diagnose",
            str(path),
        ]
        process = self._process = await asyncio.create_subprocess_exec(
            *command,
            *("--data", str(self._data), "--json"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        if self._stopping:  # meanwhile
            self._kill()
        try:
            out, err = await asyncio.wait_for(process.communicate(), DIAGNOSIS_SECONDS)
        except TimeoutError:
            what = f"the diagnosis takes longer than {DIAGNOSIS_SECONDS:.0f} s"
            raise ApiError(422, what, "run 'fadefour diagnose' in a terminal") from None
        finally:
            self._kill()
        if self._stopping:
            raise stopping()
        if process.returncode is not None and process.returncode < 0:
            what = f"the diagnosis was ended by signal {-process.returncode}"
            raise ApiError(422, what, "run 'fadefour diagnose' in a terminal")
        if process.returncode != 0:
            printed = err.decode("utf-8", "replace").strip()
            line = printed.rpartition("\n")[2]
            if not line.startswith(MESSAGE):
                raise RuntimeError(f"diagnose failed:\n{printed}")
            raise ApiError(404, line.removeprefix(MESSAGE), "see 'fadefour diagnose RUN'")
        answer: dict[str, Any] = json.loads(out)
        return answer
