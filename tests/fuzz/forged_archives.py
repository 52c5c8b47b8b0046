"""NumPy archives (.npz) with a header of one's own for an array, or with a few bytes changed."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from fuzz.untrusted import Input

MOST_CHANGES = 6


def npy(array: Any, header: bytes) -> bytes:
    """The array as a file; with a header of one's own if there is one."""
    if not header:
        out = io.BytesIO()
        np.save(out, array)
        return out.getvalue()
    return b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header + array.tobytes()


def archive(arrays: Mapping[str, Any], headers: Mapping[str, bytes], packed: bool) -> bytes:
    """headers: of arrays whose own is not to be used."""
    out = io.BytesIO()
    kind = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    with zipfile.ZipFile(out, "w", kind) as file:
        for name, array in arrays.items():
            info = zipfile.ZipInfo(f"{name}.npy")
            info.compress_type = kind
            file.writestr(info, npy(array, headers.get(name, b"")))
    return out.getvalue()


def changed(data: bytes, source: Input) -> bytes:
    """With a few bytes changed."""
    out = bytearray(data)
    for _ in range(source.byte() % (MOST_CHANGES + 1)):
        if out:
            out[source.below(len(out))] ^= source.byte()
    return bytes(out)
