"""PyTorch's primitives, loaded operations and right results. Imported only where PyTorch computes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from iree_tuner.device.data import dtype_of
from iree_tuner.suite.backends.backend import Job, LoadedCalls, Running, first_line
from iree_tuner.suite.operation import Binary, CannotError, ConvLayer, Operation, Reduction, Unary
from iree_tuner.suite.tensors import Array, read_inputs
from iree_tuner.targets import on_host

torch: Any = import_module("torch")  # typed loosely: it need not be there where types are checked
functional: Any = torch.nn.functional
bias: Any = import_module("torch.nn.attention.bias")

Tensor = Any

TYPES: dict[str, Any] = {
    "f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16,
    "f8E4M3FN": torch.float8_e4m3fn, "f8E5M2": torch.float8_e5m2, "f8E4M3FNUZ": torch.float8_e4m3fnuz,
    "f8E5M2FNUZ": torch.float8_e5m2fnuz, "i64": torch.int64, "i32": torch.int32, "i16": torch.int16,
    "i8": torch.int8,
}  # fmt: skip


class TorchPrimitives:
    """Functions of PyTorch; `Primitives[Tensor]`. Layouts become views: nothing is copied for them."""

    def __init__(self) -> None:
        self._masks: dict[tuple[Any, ...], Tensor] = {}
        self._ones: dict[Any, Tensor] = {}

    def cast(self, x: Tensor, element_type: str) -> Tensor:
        """Other elements; the same tensor where they are of this type."""
        kind = TYPES[element_type]
        if x.dtype.is_floating_point and not kind.is_floating_point:
            limits = torch.iinfo(kind)
            inside = x.double().round().clamp(limits.min, limits.max).to(kind)  # i64's largest is no float
            return torch.where(x >= limits.max, limits.max, inside)
        return x.to(kind)

    def transpose(self, x: Tensor, order: Sequence[int]) -> Tensor:
        return x.permute(tuple(order))

    def reshape(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        return x.reshape(tuple(shape))

    def matmul(self, a: Tensor, b: Tensor, element_type: str) -> Tensor:
        """By the library for their type; with a wider result directly where a GPU's library has it."""
        if a.element_size() == 1:
            return self._narrow_matmul(a, b, element_type)
        kind = torch.promote_types(a.dtype, TYPES[element_type])
        if kind == a.dtype:
            return torch.matmul(a, b)
        product = {2: torch.mm, 3: torch.bmm}.get(a.dim())
        if a.is_cuda and product is not None and kind == torch.float32:
            return product(a, b, out_dtype=kind)
        return torch.matmul(a.to(kind), b.to(kind))

    def _narrow_matmul(self, a: Tensor, b: Tensor, element_type: str) -> Tensor:
        if a.dim() != 2 or a.dtype != b.dtype:
            raise CannotError(f"PyTorch has no batched or mixed products of {a.dtype}")
        try:
            if not a.dtype.is_floating_point:
                return torch._int_mm(a, b)
            one = self._ones.get(a.device)
            if one is None:
                one = self._ones[a.device] = torch.ones((), device=a.device)
            return torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=TYPES[element_type])
        except (RuntimeError, ValueError) as error:
            raise CannotError(f"PyTorch: {first_line(error)}") from None

    def layer(self, layer: ConvLayer, lhs: Tensor, rhs: Tensor, element_type: str) -> Tensor:
        """`convNd`, and `convolution_backward`, as in training; channels that come last stay there."""
        if not lhs.dtype.is_floating_point or lhs.element_size() == 1:
            raise CannotError(f"PyTorch has no convolution of {lhs.dtype}")
        kind = torch.promote_types(lhs.dtype, TYPES[element_type])
        lhs, rhs = lhs.to(kind), rhs.to(kind)
        window = layer.strides, layer.padding, layer.dilations
        rank, groups = len(layer.image), layer.groups
        if layer.direction == "forward":
            convolve = (functional.conv1d, functional.conv2d, functional.conv3d)[rank - 1]
            return convolve(lhs, rhs, None, *window, groups)
        none, of_data = [0] * rank, layer.direction == "data"
        if of_data:
            shape = (lhs.shape[0], rhs.shape[1] * groups, *layer.image)
            image, filters = torch.empty(shape, dtype=kind, device=lhs.device), rhs
        else:
            shape = (lhs.shape[1], rhs.shape[1] // groups, *layer.kernel)
            image, filters = rhs, torch.empty(shape, dtype=kind, device=lhs.device)
        wanted = [of_data, not of_data, False]
        found = torch.ops.aten.convolution_backward(
            lhs, image, filters, None, *map(list, window), False, none, groups, wanted
        )
        return found[0 if of_data else 1]

    def attention(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        """`scaled_dot_product_attention`, which takes its best kernel."""
        if q.element_size() == 1:
            raise CannotError(f"PyTorch has no attention of {q.dtype}")
        queries, keys = q.shape[2], k.shape[2]
        causal = causal and queries > 1  # the last query sees all
        grouped = q.shape[1] != k.shape[1]
        square = causal and mask is None and queries == keys
        if causal and not square:  # `is_causal` counts from the first key, and excludes a mask
            if mask is None and q.is_cuda:
                mask = bias.causal_lower_right(queries, keys)
            else:
                seen = self._seen(queries, keys, q.device)
                mask = seen if mask is None else mask.masked_fill(~seen, float("-inf"))
        return functional.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=square, scale=scale, enable_gqa=grouped
        )

    def _seen(self, queries: int, keys: int, device: Any) -> Tensor:  # noqa: ANN401
        """Whether a query sees a key; made once, as models do."""
        at = (queries, keys, device)
        if at not in self._masks:
            every = torch.ones(queries, keys, dtype=torch.bool, device=device)
            self._masks[at] = torch.tril(every, keys - queries)
        return self._masks[at]

    def softmax(self, x: Tensor, axis: int) -> Tensor:
        return torch.softmax(x, axis)

    def reduce(self, kind: Reduction, x: Tensor, axes: Sequence[int], element_type: str) -> Tensor:
        """Over axes; sums and means are held in the wider one of the given type and the tensor's."""
        where = tuple(axes)
        if kind in ("max", "min"):
            return getattr(torch, f"a{kind}")(x, where)
        wide = torch.promote_types(x.dtype, TYPES[element_type])
        return getattr(torch, kind)(x, where, dtype=wide)

    def unary(self, kind: Unary, x: Tensor) -> Tensor:
        return _UNARY[kind](x)

    def binary(self, kind: Binary, a: Tensor, b: Tensor) -> Tensor:
        return getattr(torch, kind)(a, b)


_UNARY: dict[Unary, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu, "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"), "silu": functional.silu,
    "sigmoid": torch.sigmoid, "tanh": torch.tanh, "exp": torch.exp, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt,
    "abs": torch.abs, "negate": torch.neg,
}  # fmt: skip


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
    torch.backends.cudnn.allow_tf32 = False  # f32 stays f32 in convolutions, as in products by default
    torch.backends.cudnn.benchmark = True  # sizes do not change
    if device.type == "cuda":
        torch.cuda.empty_cache()  # of the operation before: other processes compute there too
    host = _tensors_of(job.operation, read_inputs(job.operation, job.inputs))
    copies = [[each.to(device, copy=True) for each in host] for _ in range(job.copies)]
    call = _call_of(job.operation, compiled, copies[0])
    result = job.operation.result.element_type
    if device.type == "cpu":
        read = partial(array_of, element_type=result)
        return LoadedCalls[Sequence[Tensor], Tensor](call, copies, read=read, around=torch.inference_mode)
    return GpuCalls(device, call, copies, result, graph=job.conditions.timing == "device")


def _tensors_of(operation: Operation, arrays: Sequence[Array]) -> list[Tensor]:
    kinds = [each.element_type for each in operation.inputs]
    return [tensor_of(array, kind) for array, kind in zip(arrays, kinds, strict=True)]


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
    kind = TYPES[element_type]
    plain = np.ascontiguousarray(array)
    if plain.dtype.kind not in "fi" or plain.dtype.type.__module__ != "numpy":
        return torch.from_numpy(plain.view(f"i{plain.itemsize}").copy()).view(kind)
    return torch.from_numpy(plain.copy())


def array_of(tensor: Tensor, element_type: str) -> Array:
    """The inverse of `tensor_of`."""
    if tensor.dtype != TYPES[element_type]:
        raise TypeError(f"the result is of {tensor.dtype}, not {element_type}")
    plain = tensor.detach().cpu().contiguous()
    bits = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[plain.element_size()]
    found: Any = plain.view(bits).numpy()
    return found.view(dtype_of(element_type))


class GpuCalls(LoadedCalls[A, Tensor]):
    """On a GPU, in a stream of its own, so that several may run side by side.

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
        super().__init__(
            call, copies, read=lambda tensor: array_of(tensor, element_type),
            wait=lambda _: self._stream.synchronize(), each=not graph, around=self._in_stream,
        )  # fmt: skip
        self._device = device
        self._calls_in_graph = len(copies) * -(-_GRAPH_CALLS // len(copies))
        torch.cuda.synchronize(device)
        self._stream = torch.cuda.Stream(device)
        with self._in_stream():
            for inputs in [*[copies[0]] * _WARM_UP, *copies]:
                call(inputs)  # kernels are compiled, tuned and loaded before anything is captured
            self._stream.synchronize()
            self._graph, self.note = self._captured()

    def make(self, count: int) -> None:
        """Whole graphs first: while they run, the remaining calls are launched one by one."""
        left = count
        if self._graph is not None:
            for _ in range(count // self._calls_in_graph):
                self._graph.replay()
            left = count % self._calls_in_graph
        super().make(left)
        if not self.each and not left:
            self._stream.synchronize()

    @contextmanager
    def _in_stream(self) -> Generator[None]:
        with torch.inference_mode(), torch.cuda.stream(self._stream):
            self._stream.synchronize()
            yield

    def _captured(self) -> tuple[Any, str]:
        """A graph of calls on all copies in turn; or None and why, or None where each is waited for."""
        if self.each:
            return None, ""
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, stream=self._stream, capture_error_mode="thread_local"):
                for inputs in itertools.islice(itertools.cycle(self.copies), self._calls_in_graph):
                    self.call(inputs)
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


_LONG_FLOPS = 4e10
_FLOATS = ("f", "b")  # how names of floating types begin


def torch_reference(operation: Operation, inputs: Sequence[Array]) -> Array:
    """The result of an operation in double precision; for the largest ones on a processor in single.

    Integers are exact: products of i8 and their sums are numbers of either type.
    """
    on_gpu = torch.cuda.is_available()
    device = torch.device("cuda" if on_gpu else "cpu")
    integers = operation.result.element_type[0] not in _FLOATS
    wide = torch.float64 if on_gpu or integers or operation.flops < _LONG_FLOPS else torch.float32
    torch.backends.cudnn.allow_tf32 = False
    tensors = [each.to(device).to(wide) for each in _tensors_of(operation, inputs)]
    with torch.inference_mode():
        found = operation.compute(_Exact(), tensors)
    kind = operation.result.element_type if integers else {torch.float64: "f64"}.get(wide, "f32")
    return array_of(found.contiguous(), kind)


class _Exact(TorchPrimitives):
    """In the precision of its inputs; only integers are rounded."""

    def cast(self, x: Tensor, element_type: str) -> Tensor:
        return x if element_type[0] in _FLOATS else super().cast(x, element_type)
