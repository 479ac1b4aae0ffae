"""PyTorch's ways to run a model on a GPU, timed as everyone in `gpu_models.py` is."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from examples.models.in_torch import torch_inputs, torch_module
from examples.models.layers_torch import with_tiles
from examples.models.model import Model

SAMPLE_S = 0.02


@dataclass(frozen=True)
class Contender:
    """A way to run a model.

    Attributes:
        name: in the results.
        waits: whether each call is waited for, or the last of several.
        run: seconds of so many calls.
        error: how far its results are from PyTorch's, as a part of the largest.
    """

    name: str
    waits: bool
    run: Callable[[int], float]
    error: float
    counts: list[int] = field(default_factory=list[int])

    @property
    def title(self) -> str:
        """With how it is timed."""
        return self.name if self.waits else f"{self.name}, calls in flight"

    def batch(self) -> float:
        """Microseconds of a call."""
        if not self.counts:
            self.run(3)
            self.counts.append(max(1, round(SAMPLE_S * 3 / self.run(3))))
        return self.run(self.counts[0]) / self.counts[0] * 1e6


def on_torch(model: Model, end: float) -> tuple[list[Contender], list[NDArray[Any]], list[str]]:
    """PyTorch in all its ways on the GPU, what it computes eagerly, and why some ways are not there.

    Args:
        model: what is run.
        end: time of the monotonic clock until which ways may be compiled; the eager one always is there.
    """
    import torch

    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    module = torch_module(model).cuda().to(memory_format=torch.channels_last)  # only filters are affected
    with_tiles(module)
    inputs = [each.cuda() for each in torch_inputs(model)]
    ways: dict[str, Callable[[], Callable[..., Any]]] = {
        "PyTorch": lambda: module,
        "PyTorch, CUDA graph": lambda: as_graph(module, inputs),
        "PyTorch compiled": lambda: torch.compile(module),
        "PyTorch compiled, max-autotune": lambda: torch.compile(module, mode="max-autotune"),
    }
    contenders: list[Contender] = []
    notes = [f"PyTorch {torch.__version__} on {torch.cuda.get_device_name()}"]
    expected: list[NDArray[Any]] = []
    for name, make in ways.items():
        start = time.monotonic()
        try:
            with torch.inference_mode(), limited(end - start if expected else None):
                way = make()
                for _ in range(3):  # cuDNN's choice, and what CUDA graphs are recorded by
                    found = [each.float().cpu().numpy() for each in way(*inputs)]
        except Exception as error:  # its compilers raise what they like
            notes.append(f"{name}: {(str(error).strip() or repr(error)).splitlines()[0]}")
            continue
        notes.append(f"{name}: ready in {time.monotonic() - start:.1f} s")
        expected = expected or found
        error = error_of(found, expected)
        contenders += [
            Contender(name, waits, partial(torch_calls, way, inputs, waits), error) for waits in (True, False)
        ]
    return contenders, expected, notes


@contextmanager
def limited(seconds: float | None) -> Generator[None]:
    """Raise TimeoutError in the block after so many seconds; None for no limit."""
    if seconds is None:
        yield
        return
    if seconds <= 0:
        raise TimeoutError("no time was left")

    def stop(*_: object) -> None:
        raise TimeoutError(f"took more than {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def as_graph(module: Callable[..., Any], inputs: list[Any]) -> Callable[..., Any]:
    """A call that replays what a module launches on these inputs, which stay where they are."""
    import torch

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            module(*inputs)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        outputs = module(*inputs)

    def replay(*_: object) -> Any:
        graph.replay()
        return outputs

    return replay


def torch_calls(way: Callable[..., Any], inputs: list[Any], waits: bool, count: int) -> float:
    """Seconds of so many calls."""
    import torch

    torch.cuda.synchronize()
    start = time.perf_counter()
    with torch.inference_mode():
        for _ in range(count):
            way(*inputs)
            if waits:
                torch.cuda.synchronize()
        torch.cuda.synchronize()
    return time.perf_counter() - start


def error_of(found: list[Any], expected: list[NDArray[Any]]) -> float:
    """The largest difference as a part of the largest expected value; infinite where it is no number."""
    parts = [
        float(np.max(np.abs(one.astype(np.float32) - other)) / np.max(np.abs(other)))
        for one, other in zip(found, expected, strict=True)
    ]
    return max(parts) if np.isfinite(parts).all() else float("inf")
