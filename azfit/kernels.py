"""The compiled kernels of the learning half, and C pointers to numpy arrays."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from solver.kernel_builds import load_kernels
from solver.kernels import new_index
from solver.rules import Rules

_kernels = load_kernels("azfit")
ffi, lib = _kernels.ffi, _kernels.lib

__all__ = ["checked", "ffi", "index_of", "lib", "pointer"]

C_TYPES = {
    np.dtype(np.float32): "float[]",
    np.dtype(np.int8): "int8_t[]",
    np.dtype(np.uint8): "uint8_t[]",
    np.dtype(np.int32): "int32_t[]",
    np.dtype(np.uint16): "uint16_t[]",
    np.dtype(np.uint32): "uint32_t[]",
    np.dtype(np.uint64): "uint64_t[]",
}


def checked(
    array: NDArray[Any], dtype: DTypeLike, shape: tuple[int | None, ...], name: str
) -> NDArray[Any]:
    """Returns the array, contiguous, if it has this dtype and shape; None in a shape is any size.

    Nothing is converted silently: a wrong dtype is usually a mistake.
    """
    if not isinstance(array, np.ndarray) or array.dtype != np.dtype(dtype):
        given = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
        raise TypeError(f"{name} is {given}: it must be a numpy array of {np.dtype(dtype)}")
    fits = len(array.shape) == len(shape) and all(
        wanted is None or size == wanted for size, wanted in zip(array.shape, shape, strict=True)
    )
    if not fits:
        wanted_shape = ", ".join("any" if size is None else str(size) for size in shape)
        raise ValueError(f"{name} has shape {array.shape}: it must be [{wanted_shape}]")
    return np.ascontiguousarray(array)


def pointer(array: NDArray[Any]) -> Any:
    """A C pointer to a contiguous array; it keeps the array alive as long as it lives itself."""
    return ffi.from_buffer(C_TYPES[array.dtype], array)


@cache
def index_of(rules: Rules) -> Any:
    """``solver.kernels.index_of`` for the kernels of this half."""
    return new_index(rules, ffi, lib)
