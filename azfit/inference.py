"""Running a network: planes in, numpy out, behind one small interface.

Back-ends: ``torch`` (eager, inference mode), ``compile`` (torch.compile), ``onnx`` (ONNX
Runtime), ``kernel`` (our own, for towers: azfit/tower_kernel.py); bench/inference_speed.py times
them.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from azfit.kernels import checked
from azfit.network import Network
from azfit.onnx_model import onnx_bytes
from azfit.torch_threads import ThreadChoice, choose_threads
from azfit.tower_kernel import TowerKernel, has_fast_path, is_plain_tower
from solver.errors import FadefourError, InputError
from solver.extras import missing

Floats = NDArray[np.float32]
Run = Callable[[Floats], tuple[Floats, Floats, Floats]]

BACKENDS = ("torch", "compile", "onnx", "kernel")

AUTO = "auto"
"""The fastest installed back-end that can run the network on this processor."""

# Whatever is graded or certified uses one back-end: sums in another order may swap moves that are
# nearly equal. This one also shares work between boards that look the same to the network.
DEFAULT_BACKEND = "torch"

WORTH_SHARING = 1 << 10  # boards in a batch from which looking for copies pays


def fastest(network: Network) -> str:
    """The back-end for batches of a search, by measurement (bench/log.md): on 64 boards ONNX
    Runtime is 1.4 (MLP) to 1.9 (tower) times as fast as eager torch, and our kernel, which needs a
    plain tower and a processor with bfloat16 products, is 2.3 to 3.7 times as fast as that."""
    if is_plain_tower(network) and has_fast_path():
        return "kernel"
    both = all(importlib.util.find_spec(name) for name in ("onnx", "onnxruntime"))
    return "onnx" if both else "torch"


class Readout(nn.Module):
    """The network with its outputs as a player reads them."""

    plies: Tensor

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network
        plies = torch.arange(1, network.config.max_plies + 1, dtype=torch.float32)
        self.register_buffer("plies", plies, persistent=False)

    def forward(
        self, planes: Tensor, first: Tensor | None = None, rows: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Policy logits [B, A], probabilities of win, draw, loss [B, 3], expected plies [B]."""
        outputs = self.network(planes, first, rows)
        steps = outputs.steps.softmax(1) @ self.plies
        return outputs.policy, outputs.wdl.softmax(1), steps


class NetworkEvaluator:
    """evaluator(planes float32 [B, P, R, C]) -> policy logits, win/draw/loss, expected plies.

    An ``azfit.search.Evaluator``. ``threads`` sets torch's threads for the process.
    """

    def __init__(
        self, network: Network, backend: str | None = None, threads: int | None = None
    ) -> None:
        self.backend = fastest(network) if backend == AUTO else backend or DEFAULT_BACKEND
        if self.backend not in BACKENDS:
            raise InputError(f"back-end {backend!r}: use {', '.join(BACKENDS)}")
        if threads is not None and not 1 <= threads <= 1024:
            raise InputError(f"threads={threads}: use 1 to 1024")
        self.network = network.eval()
        self._shape = network.game.plane_shape
        self._run = _MAKERS[self.backend](Readout(network).eval(), threads)

    def __call__(self, planes: Floats) -> tuple[Floats, Floats, Floats]:
        """Policy logits float32 [B, A], win/draw/loss probabilities [B, 3], expected plies [B]."""
        return self._run(checked(planes, np.float32, (None, *self._shape), "planes"))

    def choose_threads(self, boards: int, most: int) -> ThreadChoice:
        """Sets torch's threads to what is fastest for calls with this many boards, ``most`` at
        most. ONNX Runtime and our kernel keep the number that they were made with."""
        if self.backend in ("onnx", "kernel"):
            return ThreadChoice(torch.get_num_threads(), {})
        # Boards as in play have few pieces, each on one plane.
        random = np.random.default_rng(0).random((boards, *self._shape), np.float32)
        planes = (random < 1 / (2 * self._shape[0])).astype(np.float32)
        return choose_threads(lambda: self(planes), most)


def _eager_run(readout: Readout, threads: int | None) -> Run:
    return _torch_run(readout, threads, sharing=readout.network.config.hide_leaving)


def _torch_run(readout: Any, threads: int | None, sharing: bool) -> Run:
    if threads is not None:
        torch.set_num_threads(threads)

    def run(planes: Floats) -> tuple[Floats, Floats, Floats]:
        shared = _copies(planes) if sharing and len(planes) >= WORTH_SHARING else ()
        with torch.inference_mode():
            policy, wdl, steps = readout(torch.from_numpy(planes), *shared)
        return policy.numpy(), wdl.numpy(), steps.numpy()

    return run


def _copies(planes: Floats) -> tuple[Tensor, Tensor]:
    """Boards that differ only in the plane that hide_leaving hides: the first of each kind [U],
    and of which kind each board is [B]. Consecutive nodes of a table come nine of a kind."""
    seen = np.packbits(planes[:, 1:].reshape(len(planes), -1) != 0, axis=1)
    kinds = np.ascontiguousarray(seen).view(f"V{seen.shape[1]}")[:, 0]
    _, first, rows = np.unique(kinds, return_index=True, return_inverse=True)
    return torch.from_numpy(first), torch.from_numpy(rows)


def _compiled_run(readout: Readout, threads: int | None) -> Run:
    compiled = torch.compile(readout, dynamic=True)
    run = _torch_run(compiled, threads, sharing=False)
    try:
        run(np.zeros((2, *readout.network.game.plane_shape), np.float32))
    except Exception as error:  # the compiler may be missing, or fail in many ways
        reason = str(error).strip().splitlines()[0]
        raise FadefourError(f"torch.compile does not work here ({reason}): use torch") from None
    return run


def _onnx_run(readout: Readout, threads: int | None) -> Run:
    try:
        import onnxruntime as ort
    except ImportError:
        raise missing("onnxruntime", "back-end onnx", "use torch") from None
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads or torch.get_num_threads()
    # As torch's threads (azfit/__init__.py): what waits leaves the processor to others.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = ort.InferenceSession(
        onnx_bytes(readout, readout.network.game.plane_shape, ("policy", "wdl", "steps")),
        options,
        providers=["CPUExecutionProvider"],
    )

    def run(planes: Floats) -> tuple[Floats, Floats, Floats]:
        policy, wdl, steps = session.run(None, {"planes": planes})
        return policy, wdl, steps

    return run


def _kernel_run(readout: Readout, threads: int | None) -> Run:
    return TowerKernel(readout.network, threads or torch.get_num_threads())


_MAKERS: dict[str, Callable[[Readout, int | None], Run]] = {
    "torch": _eager_run,
    "compile": _compiled_run,
    "onnx": _onnx_run,
    "kernel": _kernel_run,
}
