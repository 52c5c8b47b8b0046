"""The one way to matplotlib, which is optional and never opens a window."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver.extras import missing
from solver.storage import write_atomically


def pyplot() -> Any:
    """matplotlib.pyplot, drawing to files; one clear line if it is not installed."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        raise missing("matplotlib", "drawing") from None
    return plt


def rgb_array(figure: Any) -> NDArray[np.uint8]:
    """The figure as pixels, uint8 [height, width, 3], and closes it."""
    try:
        figure.canvas.draw()
        return np.asarray(figure.canvas.buffer_rgba())[:, :, :3].copy()
    finally:
        pyplot().close(figure)


def save_png(figure: Any, path: Path) -> None:
    """Writes the figure, whole or not at all, and closes it."""
    image = io.BytesIO()
    try:
        figure.savefig(image, format="png")
    finally:
        pyplot().close(figure)
    write_atomically(path, image.getvalue())
