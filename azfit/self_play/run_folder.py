"""The folder of a self-play run: how a run begins and resumes in it, and what can go wrong."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Sequence
from pathlib import Path

from azfit.checkpoint import init_path, load_checkpoint, save_checkpoint
from azfit.checkpoint_header import SUFFIX
from azfit.network import Network, parameter_count
from azfit.self_play.config import SelfPlayConfig
from azfit.self_play.config_sources import read_config
from azfit.self_play.defaults import Choice
from azfit.self_play.iteration import read_iterations
from azfit.self_play.state import SelfPlayRun
from solver.errors import CorruptTableError, FadefourError, InputError, NoRoomError
from solver.machine import available_cores, available_memory
from solver.storage import write_atomically
from solver.wording import counted

# ---- before a run --------------------------------------------------------------------


def check_memory(config: SelfPlayConfig) -> None:
    """Refuses a network that cannot be trained here, before anything is made for it."""
    network = config.network
    # The best, the candidate, its gradient, two moments; in a worker the best and the candidate.
    workers = available_cores() if isinstance(config.workers, str) else config.workers
    copies = 5 + 2 * workers
    least = 4 * copies * parameter_count(network)
    if least > (available := available_memory()):
        raise NoRoomError(
            f"{network.blocks} blocks of width {network.width} need at least {least / 1e9:,.1f} GB "
            f"of memory with {counted(workers, 'worker')}, but only "
            f"{available / 1e9:,.1f} GB are free: use a smaller --width or fewer --blocks"
        )


def check_folder(config: SelfPlayConfig, folder: Path, resume: bool) -> None:
    """A new folder, or one that was started with this config."""
    if resume:
        if read_config(folder) != config:
            raise InputError(f"'{folder}' was started with another config: resume it with its own")
        return
    try:
        names = {path.name for path in folder.iterdir()}
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(f"cannot use '{folder}' for a run: {error.strerror}") from None
    if names & {"config.json", f"resume{SUFFIX}", "games"}:
        raise InputError(f"'{folder}' already holds a run: use --resume, or another folder")


# ---- beginning and resuming ----------------------------------------------------------


def begun(
    config: SelfPlayConfig, folder: Path, init: Network | None, choices: Sequence[Choice] = ()
) -> SelfPlayRun:
    """A new run: its config and first network are on disk."""
    init_path(folder).unlink(missing_ok=True)
    if init is not None:
        save_checkpoint(init_path(folder), init)
    if choices:
        text = json.dumps([choice.to_dict() for choice in choices], indent=1) + "\n"
        write_atomically(folder / "choices.json", text.encode())
    text = json.dumps(config.to_dict(), indent=1) + "\n"
    write_atomically(folder / "config.json", text.encode())
    return saved(SelfPlayRun(config, folder, init))


def resumed(config: SelfPlayConfig, folder: Path) -> SelfPlayRun:
    """A run as it was left, or at its beginning if it was left before its first state."""
    path = init_path(folder)
    init = load_checkpoint(path, config.game)[0] if path.exists() else None
    run = SelfPlayRun(config, folder, init)
    if not os.path.lexists(run.state_path):
        if read_iterations(folder):
            raise CorruptTableError(
                f"'{run.state_path}' is missing: restore it, or start another run with "
                f"--init '{folder}'"
            )
        return saved(run)
    run.load()
    return run


def saved(run: SelfPlayRun) -> SelfPlayRun:
    run.save_best()
    run.save()
    return run


# ---- what can go wrong ---------------------------------------------------------------


def explained(error: Exception, folder: Path) -> FadefourError | None:
    """What to tell the user if the disk or the memory fails; None for any other error."""
    finished = "what was finished is kept"
    if isinstance(error, NoRoomError):
        return NoRoomError(f"{error}; {finished}, and --resume continues from there")
    if isinstance(error, BrokenPipeError):  # nobody reads what is printed
        return None
    if isinstance(error, OSError) and not isinstance(error, FadefourError):
        where = error.filename or folder
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            return NoRoomError(
                f"no room to write '{where}' ({error.strerror}): {finished}; free some disk, "
                "then continue with --resume"
            )
        return InputError(
            f"cannot use '{where}' ({error.strerror or error}): {finished}; once that is "
            "fixed, continue with --resume"
        )
    # torch says so in a RuntimeError
    if isinstance(error, MemoryError) or "can't allocate memory" in str(error):
        return NoRoomError(
            f"there is not enough memory: {finished}; free some and continue with --resume, or "
            "start another run with a smaller --buffer, --batch-size, --width or --parallel-games"
        )
    return None
