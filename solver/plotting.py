"""The one way to matplotlib, which is optional and never opens a window."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from solver.errors import InputError


def pyplot() -> Any:
    """matplotlib.pyplot, drawing to files; one clear line if it is not installed."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        raise InputError(
            "drawing needs matplotlib: run 'pip install -c constraints.txt matplotlib'"
        ) from None
    return plt


def save_png(figure: Any, path: Path) -> None:
    """Writes the figure, whole or not at all, and closes it."""
    pending = path.with_name(path.name + ".writing")
    try:
        figure.savefig(pending, format="png")
        pending.replace(path)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot write '{path}': {error}") from error
    finally:
        pending.unlink(missing_ok=True)
        pyplot().close(figure)
