"""What curves show: panels with their curves, as data. Pictures and pages draw them alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

Style = Literal["line", "dashed", "dotted", "up", "cross"]
"""Lines, or marks without a line: a triangle, a cross."""

Point = tuple[float, float | None]
"""A place on the horizontal axis and a figure, if it is known there."""


@dataclass(frozen=True)
class Curve:
    """Figures in the order of the horizontal axis."""

    label: str
    x: list[float]
    y: list[float]
    side: str | None = None
    """first or second: one colour per side in every panel."""
    style: Style = "line"

    @classmethod
    def of(
        cls, label: str, points: Iterable[Point], side: str | None = None, style: Style = "line"
    ) -> Curve:
        """Without the places where nothing is known."""
        known = [(float(place), float(value)) for place, value in points if value is not None]
        return cls(label, [x for x, _ in known], [y for _, y in known], side, style)

    def scaled(self, factor: float) -> Curve:
        """The same with the horizontal axis in another unit."""
        return replace(self, x=[factor * place for place in self.x])


@dataclass(frozen=True)
class Panel:
    """Curves on one pair of axes."""

    title: str
    x_label: str
    curves: list[Curve]
    low: float | None = None
    """Where the vertical axis ends; None: where the figures do, and at 0."""
    high: float | None = None
    least_high: float = 0.0
    """The vertical axis goes at least up to this."""
    share: bool = False
    """Figures are shares, written as percentages."""
    logarithmic: bool = False
    """On a logarithmic axis that ends in a 0: zero errors are what a run hopes for."""
