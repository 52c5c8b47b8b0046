"""Runs that end with a blank picture. The curves of a small run take longer to draw than the run
takes, and most tests never look at them; those that do use the fixture ``drawn_curves``.

Everything else happens as always: metrics are read, panels made, the file written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import pytest

from azfit import curves
from azfit.curves.panels import Panel

PNG = b"\x89PNG"

_draw_finished_run = curves.draw_finished_run
_is_drawn = False


def install() -> None:
    """Before anything imports ``draw_finished_run`` by name."""
    curves.draw_finished_run = _end_with_a_blank_picture


@contextmanager
def really_drawn() -> Iterator[None]:
    global _is_drawn  # noqa: PLW0603
    _is_drawn = True
    try:
        yield
    finally:
        _is_drawn = False


def _end_with_a_blank_picture(folder: Path, stream: TextIO | None) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if not _is_drawn:
            patch.setattr(curves, "draw_panels", _write_blank)
        _draw_finished_run(folder, stream)


def _write_blank(panels: Sequence[Panel], png: Path, title: str) -> None:
    png.write_bytes(PNG)
