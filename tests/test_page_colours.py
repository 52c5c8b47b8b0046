"""The colours of the page can be read, light and dark, and told apart by the colour-blind.

Contrast is that of WCAG 2; colour blindness is simulated by the matrices of Machado, Oliveira and
Fernandes (2009) for complete protanopia, deuteranopia and tritanopia.
"""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

STYLE = Path(__file__).parents[1] / "azfit" / "web" / "static" / "style.css"
LIGHT, DARK = ":root {", ':root[data-theme="dark"] {'

BLINDNESS = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                   [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                     [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                   [0.004733, 0.691367, 0.303900]],
}  # fmt: skip

RESULTS = ["win", "draw", "loss"]


def palette(block: str) -> dict[str, NDArray[np.float64]]:
    """Names to linear RGB."""
    text = STYLE.read_text().partition(block)[2].partition("}")[0]
    return {name: linear(value) for name, value in re.findall(r"--([\w-]+): #(\w{6})", text)}


def linear(hexadecimal: str) -> NDArray[np.float64]:
    stored = np.array([int(hexadecimal[at : at + 2], 16) for at in (0, 2, 4)]) / 255
    return np.where(stored <= 0.04045, stored / 12.92, ((stored + 0.055) / 1.055) ** 2.4)


def luminance(colour: NDArray[np.float64]) -> float:
    return float(colour @ [0.2126, 0.7152, 0.0722])


def contrast(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def oklab(colour: NDArray[np.float64]) -> NDArray[np.float64]:
    """A space in which distances are about as large as they look (Ottosson, 2020)."""
    cones = np.cbrt(
        np.array([[0.4122214708, 0.5363325363, 0.0514459929],
                  [0.2119034982, 0.6806995451, 0.1073969566],
                  [0.0883024619, 0.2817188376, 0.6299787005]]) @ colour.clip(0, 1)
    )  # fmt: skip
    space = [[0.2104542553, 0.7936177850, -0.0040720468],
             [1.9779984951, -2.4285922050, 0.4505937099],
             [0.0259040371, 0.7827717662, -0.8086757660]]  # fmt: skip
    return np.asarray(np.array(space) @ cones)


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast(linear("000000"), linear("ffffff")) == pytest.approx(21)
    assert contrast(linear("767676"), linear("ffffff")) == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("block", [LIGHT, DARK])
def test_text_has_the_contrast_that_wcag_asks_for(block: str) -> None:
    colours = palette(block)
    pairs = [(text, paper) for text in ("text", "faint", "errs") for paper in ("page", "surface")]
    pairs += [(result, "page") for result in RESULTS]  # the verdict
    pairs += [(result, f"{result}-pale") for result in RESULTS]  # a value on its cell
    pairs += [("surface", result) for result in RESULTS]  # on the cell of the best move
    pairs += [("text", f"{result}-pale") for result in RESULTS]  # traps, a network's policy
    pairs += [("page", "accent"), ("accent", "page"), ("accent", "surface")]  # buttons, links
    too_faint = {pair: ratio for pair in pairs if (ratio := ratio_of(colours, *pair)) < 4.5}
    assert not too_faint


def ratio_of(colours: dict[str, NDArray[np.float64]], text: str, paper: str) -> float:
    return contrast(colours[text], colours[paper])


@pytest.mark.parametrize("block", [LIGHT, DARK])
@pytest.mark.parametrize("blindness", BLINDNESS)
@pytest.mark.parametrize("suffix", ["", "-pale"])
def test_results_look_different_to_the_colour_blind(
    block: str, blindness: str, suffix: str
) -> None:
    """0.02 in OKLab is about the smallest difference that is seen side by side."""
    colours, seen = palette(block), np.array(BLINDNESS[blindness])
    for one, other in combinations(RESULTS, 2):
        apart = oklab(seen @ colours[one + suffix]) - oklab(seen @ colours[other + suffix])
        assert np.linalg.norm(apart) > 0.02, (one, other)
