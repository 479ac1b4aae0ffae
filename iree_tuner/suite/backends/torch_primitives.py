"""The primitives in PyTorch, for processors and GPUs. Imported only where PyTorch computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from iree_tuner.suite.backends.library import first_line
from iree_tuner.suite.primitives import (
    FILTER_AXES,
    TO_NCHW,
    TO_NHWC,
    Binary,
    CannotError,
    ConvLayer,
    Layouts,
    Reduction,
    Unary,
    Window,
)

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


def type_of(element_type: str) -> Any:  # noqa: ANN401
    """PyTorch's type. Raises CannotError where it has none."""
    if element_type not in TYPES:
        raise CannotError(f"PyTorch has no {element_type}")
    return TYPES[element_type]


class TorchPrimitives:
    """Functions of PyTorch; `Primitives[Tensor]`. Layouts become views: nothing is copied for them."""

    def __init__(self) -> None:
        self._masks: dict[tuple[Any, ...], Tensor] = {}
        self._ones: dict[Any, Tensor] = {}

    def cast(self, x: Tensor, element_type: str) -> Tensor:
        """Other elements; the same tensor where they are of this type."""
        kind = type_of(element_type)
        if x.dtype.is_floating_point and not kind.is_floating_point:
            limits = torch.iinfo(kind)
            inside = x.double().round().clamp(limits.min, limits.max).to(kind)  # i64's largest is no float
            return torch.where(x >= limits.max, limits.max, inside)
        return x.to(kind)

    def constant(self, value: float, like: Tensor) -> Tensor:
        """A number in the host's memory, which kernels on a GPU take as an argument."""
        return torch.tensor(value, dtype=like.dtype)

    def transpose(self, x: Tensor, order: Sequence[int]) -> Tensor:
        """A view."""
        return x.permute(tuple(order))

    def reshape(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        """A view where possible."""
        return x.reshape(tuple(shape))

    def matmul(self, a: Tensor, b: Tensor, element_type: str) -> Tensor:
        """By the library for their type; with a wider result directly where a GPU's library has it."""
        if a.element_size() == 1:
            return self._narrow_matmul(a, b, element_type)
        kind = torch.promote_types(a.dtype, type_of(element_type))
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
            return torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=type_of(element_type))
        except (RuntimeError, ValueError) as error:
            raise CannotError(f"PyTorch: {first_line(error)}") from None

    def convolution(
        self, image: Tensor, filters: Tensor, window: Window, layouts: Layouts, element_type: str
    ) -> Tensor:
        """`conv2d`; channels that come last stay there (channels_last)."""
        if not image.dtype.is_floating_point or image.element_size() == 1:
            raise CannotError(f"PyTorch has no convolution of {image.dtype}")
        kind = torch.promote_types(image.dtype, type_of(element_type))
        image, filters = image.to(kind), filters.to(kind).permute(FILTER_AXES[layouts[1]])
        last = layouts[0] == "nhwc"
        result = functional.conv2d(
            image.permute(TO_NCHW) if last else image, filters, stride=window.strides,
            dilation=window.dilations, groups=window.groups,
        )  # fmt: skip
        return result.permute(TO_NHWC) if last else result

    def layer(self, layer: ConvLayer, lhs: Tensor, rhs: Tensor, element_type: str) -> Tensor:
        """`convNd`, and `convolution_backward`, as in training; channels that come last stay there."""
        if not lhs.dtype.is_floating_point or lhs.element_size() == 1:
            raise CannotError(f"PyTorch has no convolution of {lhs.dtype}")
        kind = torch.promote_types(lhs.dtype, type_of(element_type))
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
        """Along an axis."""
        return torch.softmax(x, axis)

    def reduce(self, kind: Reduction, x: Tensor, axes: Sequence[int], element_type: str) -> Tensor:
        """Over axes; sums and means are held in the wider one of the given type and the tensor's."""
        where = tuple(axes)
        if kind in ("max", "min"):
            return (torch.amax if kind == "max" else torch.amin)(x, where)
        wide = torch.promote_types(x.dtype, type_of(element_type))
        return (torch.sum if kind == "sum" else torch.mean)(x, where, dtype=wide)

    def unary(self, kind: Unary, x: Tensor) -> Tensor:
        """Element by element."""
        return _UNARY[kind](x)

    def binary(self, kind: Binary, a: Tensor, b: Tensor) -> Tensor:
        """Element by element."""
        return _BINARY[kind](a, b)


_UNARY: dict[Unary, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu, "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"), "silu": functional.silu,
    "sigmoid": torch.sigmoid, "tanh": torch.tanh, "exp": torch.exp, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt,
    "abs": torch.abs, "negate": torch.neg,
}  # fmt: skip

_BINARY: dict[Binary, Callable[[Tensor, Tensor], Tensor]] = {
    "add": torch.add, "subtract": torch.sub, "multiply": torch.mul, "divide": torch.div,
    "maximum": torch.maximum, "minimum": torch.minimum,
}  # fmt: skip
