"""Networks as ONNX models: for ONNX Runtime behind the search, and for others to use."""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping, Sequence

import torch
from torch import nn

INPUT = "planes"


def onnx_bytes(module: nn.Module, plane_shape: Sequence[int], outputs: Sequence[str]) -> bytes:
    """A module, planes float32 [B, *plane_shape] in, as a model; the batch size B is free."""
    example = torch.zeros((2, *plane_shape))
    out = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter warns of its own future
        torch.onnx.export(
            module.eval(),
            (example,),
            out,  # type: ignore[arg-type] # the stubs know of file names only
            input_names=[INPUT],
            output_names=list(outputs),
            dynamic_axes={name: {0: "batch"} for name in (INPUT, *outputs)},
            dynamo=False,
        )
    return out.getvalue()


def described(model: bytes, about: str, metadata: Mapping[str, str]) -> bytes:
    """The model with a description and metadata, as ONNX Runtime shows them."""
    import onnx

    parsed = onnx.load_from_string(model)
    parsed.producer_name, parsed.doc_string = "fadefour", about
    onnx.helper.set_model_props(parsed, dict(metadata))
    onnx.checker.check_model(parsed, full_check=True)
    return bytes(parsed.SerializeToString())
