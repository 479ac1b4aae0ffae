"""Loaded operations of PyTorch, on processors and on GPUs. Imported only where PyTorch computes."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, Generic, TypeVar

import numpy as np

from iree_tuner.device.data import dtype_of
from iree_tuner.suite.backends.backend import Array, Job, Running
from iree_tuner.suite.backends.library import LoadedCalls, first_line
from iree_tuner.suite.backends.torch_primitives import Tensor, TorchPrimitives, torch, type_of
from iree_tuner.suite.operation import Operation
from iree_tuner.suite.primitives import CannotError
from iree_tuner.suite.tensors import read_inputs
from iree_tuner.targets import on_host

A = TypeVar("A")

Call = Callable[[Sequence[Tensor]], Tensor]

_GRAPH_CALLS = 64
"""Least number in a graph, which hides the cost of starting it."""

_WARM_UP = 3


def load(job: Job, *, compiled: bool = False) -> Running:
    """An operation, as it is written or through `torch.compile`. Raises CannotError."""
    device = torch_device(job.device)
    if on_host(job.device) and job.conditions.threads:
        torch.set_num_threads(job.conditions.threads)
    _settle()
    if device.type == "cuda":
        torch.cuda.empty_cache()  # of the operation before: other processes compute there too
    copies = copies_on(device, job)
    call = _call_of(job.operation, compiled, copies[0])
    result = job.operation.result.element_type
    if device.type == "cpu":
        return HostCalls(call, copies, result)
    return GpuCalls(device, call, copies, result, graph=job.conditions.timing == "device")


def copies_on(device: Any, job: Job) -> list[list[Tensor]]:  # noqa: ANN401
    """The inputs of a job on a device, as many copies as it asks for."""
    inputs = read_inputs(job.operation, job.inputs)
    kinds = [each.element_type for each in job.operation.inputs]
    host = [tensor_of(array, kind) for array, kind in zip(inputs, kinds, strict=True)]
    return [[each.to(device, copy=True) for each in host] for _ in range(job.copies)]


def torch_device(uri: str) -> Any:  # noqa: ANN401
    """PyTorch's device for a URI; CUDA's by number or by UUID. Raises CannotError where it has none."""
    if on_host(uri):
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise CannotError(f"PyTorch {torch.__version__} finds no GPU: it may be built without CUDA or ROCm")
    path = uri.partition("://")[2]
    for index in range(torch.cuda.device_count()):
        uuid = str(getattr(torch.cuda.get_device_properties(index), "uuid", ""))
        if path in ("", str(index)) or (uuid and path.lower().removeprefix("gpu-") == uuid.lower()):
            return torch.device("cuda", index)
    raise CannotError(f"PyTorch finds no device {uri}")


def tensor_of(array: Array, element_type: str) -> Tensor:
    """A tensor with the array's elements; types that NumPy lacks by their bits."""
    kind = type_of(element_type)
    plain = np.ascontiguousarray(array)
    if plain.dtype.kind not in "fi" or plain.dtype.type.__module__ != "numpy":
        return torch.from_numpy(plain.view(f"i{plain.itemsize}").copy()).view(kind)
    return torch.from_numpy(plain.copy())


def array_of(tensor: Tensor, element_type: str) -> Array:
    """The inverse of `tensor_of`."""
    dtype = dtype_of(element_type)
    if dtype is None or tensor.dtype != type_of(element_type):
        raise TypeError(f"the result is of {tensor.dtype}, not {element_type}")
    plain = tensor.detach().cpu().contiguous()
    bits = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[plain.element_size()]
    found: Any = plain.view(bits).numpy()
    return found.view(dtype)


class HostCalls(LoadedCalls[Sequence[Tensor], Tensor]):
    """On the host, where a call returns when it is done."""

    def __init__(self, call: Call, copies: Sequence[Sequence[Tensor]], element_type: str) -> None:
        super().__init__(call, copies, read=lambda tensor: array_of(tensor, element_type))

    def run(self, count: int) -> float:
        """Without what training needs."""
        with torch.inference_mode():
            return super().run(count)

    def result(self) -> Array:
        """Of the first copy."""
        with torch.inference_mode():
            return super().result()


class GpuCalls(Generic[A]):
    """On a GPU, in a stream of its own, so that several may run side by side: a `Running`.

    Args:
        device: which.
        call: computes it in the current stream.
        copies: its arguments, in turn.
        element_type: of the result.
        graph: whether calls are captured as a graph and waited for at the end; else each is waited for.
    """

    def __init__(
        self, device: Any, call: Callable[[A], Tensor], copies: Sequence[A], element_type: str,  # noqa: ANN401
        *, graph: bool,
    ) -> None:  # fmt: skip
        self._call = call
        self._copies = copies
        self._element_type = element_type
        self._turn = itertools.cycle(copies)
        self._device = device
        self._each = not graph
        self._calls_in_graph = len(copies) * -(-_GRAPH_CALLS // len(copies))
        torch.cuda.synchronize(device)
        self._stream = torch.cuda.Stream(device)
        with torch.inference_mode(), torch.cuda.stream(self._stream):
            for inputs in [*[copies[0]] * _WARM_UP, *copies]:
                call(inputs)  # kernels are compiled, tuned and loaded before anything is captured
            self._stream.synchronize()
            self._graph, self.note = self._captured() if graph else (None, "")

    def run(self, count: int) -> float:
        """Compute it this many times.

        Whole graphs first: while they run, the remaining calls are launched one by one.
        """
        with torch.inference_mode(), torch.cuda.stream(self._stream):
            self._stream.synchronize()
            start = time.perf_counter()
            if self._each:
                for _ in range(count):
                    self._call(next(self._turn))
                    self._stream.synchronize()
                return time.perf_counter() - start
            left = count
            if self._graph is not None:
                for _ in range(count // self._calls_in_graph):
                    self._graph.replay()
                left = count % self._calls_in_graph
            for _ in range(left):
                self._call(next(self._turn))
            self._stream.synchronize()
            return time.perf_counter() - start

    def result(self) -> Array:
        """Of the first copy."""
        with torch.inference_mode(), torch.cuda.stream(self._stream):
            return array_of(self._call(self._copies[0]), self._element_type)

    def _captured(self) -> tuple[Any, str]:
        """A graph of calls on all copies in turn; or None and why."""
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, stream=self._stream, capture_error_mode="thread_local"):
                for inputs in itertools.islice(itertools.cycle(self._copies), self._calls_in_graph):
                    self._call(inputs)
            graph.replay()
            self._stream.synchronize()
        except RuntimeError as error:
            torch.cuda.synchronize(self._device)
            return None, f"no CUDA graph, calls are launched one by one: {first_line(error)}"
        return graph, ""


def _call_of(operation: Operation, compiled: bool, inputs: Sequence[Tensor]) -> Call:
    """The operation as a function, called once to find what PyTorch cannot do."""
    plain = _function(operation)
    with torch.inference_mode():
        try:
            plain(*inputs)
        except (NotImplementedError, RuntimeError) as error:
            if isinstance(error, NotImplementedError) or "not implemented for" in str(error):
                raise CannotError(f"PyTorch: {first_line(error)}") from None
            raise
    function = _compiled(operation) if compiled else plain
    return lambda tensors: function(*tensors)


@lru_cache(maxsize=1)  # one for all streams of an operation
def _function(operation: Operation) -> Callable[..., Tensor]:
    ops = TorchPrimitives()

    def function(*tensors: Tensor) -> Tensor:
        return operation.compute(ops, tensors)

    return function


@lru_cache(maxsize=1)
def _compiled(operation: Operation) -> Callable[..., Tensor]:
    """Through `torch.compile`, as one graph; drops the code of the operation before."""
    torch.compiler.reset()
    config: Any = import_module("torch._inductor.config")
    config.compile_threads = 1  # no waiting processes during timing
    return torch.compile(_function(operation), fullgraph=True, dynamic=False)


def _settle() -> None:
    """f32 stays f32 in convolutions, as it does in products by default; sizes do not change."""
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
