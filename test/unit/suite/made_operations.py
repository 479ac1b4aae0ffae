"""One operation for each primitive and kind of argument, with what it must give in double precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any, ClassVar

import numpy as np
from iree.compiler import ir

from iree_tuner.device.data import dtype_of, random_values
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.suite.operation import ConvLayer, Operation, TensorType, reordered

F32, F16, I32 = "f32", "f16", "i32"
EXACT = Tolerance()


@dataclass(frozen=True)
class Case:
    """Inputs (shape and type each), the result's type, how it is computed, and how exactly."""

    inputs: tuple[tuple[tuple[int, ...], str], ...]
    out: str
    compute: Callable[..., Any]
    exact: Callable[..., Any]
    tolerance: Tolerance = EXACT
    positive: bool = False


@dataclass(frozen=True, kw_only=True)
class Made(Operation):
    kind: ClassVar[str] = "made"
    case: str

    @classmethod
    def of_type(cls, element_type: str) -> dict[str, Any]:
        return {}

    @property
    def name(self) -> str:
        return self.case.replace(" ", "_").replace(">", "-")

    @property
    def inputs(self) -> tuple[TensorType, ...]:
        return tuple(TensorType(*each) for each in CASES[self.case].inputs)

    @property
    def result(self) -> TensorType:
        return TensorType(_result_shape(self), CASES[self.case].out)

    @property
    def flops(self) -> float:
        return 1e6

    @property
    def compute_type(self) -> str:
        return self.inputs[0].element_type

    @property
    def tolerance(self) -> Tolerance:
        return CASES[self.case].tolerance

    def check(self) -> None:
        assert self.case in CASES

    def build(self, inputs: Sequence[ir.Value]) -> ir.Value:
        raise NotImplementedError

    def compute(self, ops: Any, inputs: Sequence[Any]) -> Any:
        case = CASES[self.case]
        return ops.cast(case.compute(ops, *inputs), case.out)

    @property
    def positive(self) -> bool:
        return CASES[self.case].positive


def _layers() -> None:
    window = {"strides": (2, 1), "padding": (1, 0), "dilations": (1, 2), "groups": 2}
    plane = {"image": (7, 6), "kernel": (3, 2), **window}
    ones = (1, 1, 1)
    space = {
        "image": (3, 5, 4),
        "kernel": (2, 1, 2),
        "strides": ones,
        "padding": (1, 0, 1),
        "dilations": ones,
    }
    for kind in (F32, F16):
        for name, facts in (("", plane), (" line", LINE), (" space", {**space, "groups": 1})):
            for direction in ("forward", "data", "weights"):
                layer = ConvLayer(direction, **facts)
                sizes = ((2, 4, *layer.image), (6, 4 // layer.groups, *layer.kernel), (2, 6, *layer.results))
                image, filters, result = sizes
                taken = {"forward": (image, filters), "data": (result, filters), "weights": (result, image)}
                CASES[f"layer {direction}{name} {kind}"] = Case(
                    tuple((shape, kind) for shape in taken[direction]),
                    kind,
                    lambda ops, a, b, layer=layer, kind=kind: ops.layer(layer, a, b, kind),
                    lambda a, b, layer=layer: layer_by_definition(layer, a, b),
                    Tolerance(F32, 64, F16 if kind == F16 else None, 1 if kind == F16 else 0),
                )


LINE = {"image": (9,), "kernel": (3,), "strides": (2,), "padding": (2,), "dilations": (1,), "groups": 1}


def layer_by_definition(layer: ConvLayer, lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """A convolution or a gradient of one, one element of a filter after the other; channels come second."""
    groups, made = layer.groups, layer.direction
    parts = {"forward": "image filters", "data": "result filters", "weights": "result image"}[made].split()
    # Channels of images and results, and filters, as so many groups of some each.
    given = {
        part: each.reshape(groups, -1, *each.shape[1:])
        if part == "filters"
        else each.reshape(len(each), groups, -1, *each.shape[2:])
        for part, each in zip(parts, (lhs, rhs), strict=True)
    }
    if made == "forward":
        shape = (len(lhs), groups, len(rhs) // groups, *layer.results)
    elif made == "data":
        shape = (len(lhs), groups, rhs.shape[1], *layer.image)
    else:
        shape = (groups, lhs.shape[1] // groups, rhs.shape[1] // groups, *layer.kernel)
    total = np.zeros(shape)
    for o in np.ndindex(*layer.results):
        for r in np.ndindex(*layer.kernel):
            steps = zip(o, layer.strides, r, layer.dilations, layer.padding, strict=True)
            at = tuple(x * stride + y * dilation - pad for x, stride, y, dilation, pad in steps)
            if any(not 0 <= x < size for x, size in zip(at, layer.image, strict=True)):
                continue
            image, filters, result = ((..., *place) for place in (at, r, o))
            if made == "forward":
                total[result] += np.einsum("ngc,gfc->ngf", given["image"][image], given["filters"][filters])
            elif made == "data":
                total[image] += np.einsum("ngf,gfc->ngc", given["result"][result], given["filters"][filters])
            else:
                total[filters] += np.einsum("ngf,ngc->gfc", given["result"][result], given["image"][image])
    if made == "weights":
        return total.reshape(-1, *shape[2:])
    return total.reshape(shape[0], -1, *shape[3:])


def arrays(operation: Operation) -> list[np.ndarray]:
    """The inputs, from the operation's name alone."""
    rng = np.random.default_rng([*operation.name.encode()])
    seed = 0 if operation.positive else 1
    return [random_values(each.shape, each.element_type, seed, rng) for each in operation.inputs]


@cache
def _result_shape(operation: Made) -> tuple[int, ...]:
    return expected(operation, arrays(operation)).shape


def magnitudes(operation: Made, inputs: Sequence[np.ndarray]) -> np.ndarray | None:
    """What sums can reach on the way; None for what is no sum."""
    if operation.case.split()[0] not in ("matmul", "convolution", "layer", "sum", "mean"):
        return None
    return expected(operation, [np.abs(each.astype(np.float64)) for each in inputs])


def expected(operation: Made, inputs: Sequence[np.ndarray]) -> np.ndarray:
    """In the result's type, from double precision."""
    case = CASES[operation.case]
    with np.errstate(all="ignore"):
        found = np.asarray(case.exact(*(each.astype(np.float64) for each in inputs)))
    dtype = dtype_of(case.out)
    if dtype.kind == "i":
        limits = np.iinfo(dtype)
        return np.clip(np.rint(found), limits.min, limits.max).astype(dtype)
    return found.astype(dtype)


CASES: dict[str, Case] = {}

_ERF = np.vectorize(math.erf, otypes=[np.float64])
_UNARY = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * (1 + _ERF(x / math.sqrt(2))) / 2,
    "gelu_tanh": lambda x: x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
    "silu": lambda x: x / (1 + np.exp(-x)),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "exp": np.exp,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "abs": np.abs,
    "negate": np.negative,
}
_BINARY = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
    "maximum": np.maximum, "minimum": np.minimum,
}  # fmt: skip
_REDUCE = {"sum": np.sum, "max": np.max, "min": np.min, "mean": np.mean}


def _products() -> None:
    def product(name, kind, out, batch=(), asked=None):
        asked = asked or out
        CASES[f"matmul {name}"] = Case(
            (((*batch, 18, 40), kind), ((*batch, 40, 24), kind)),
            out,
            lambda ops, a, b: ops.matmul(a, b, asked),
            np.matmul,
            Tolerance("i32" if kind == "i8" else kind if kind == "f64" else F32, 40),
        )

    product("f32", F32, F32)
    product("f64", "f64", "f64")
    product("f32>f64", F32, "f64")
    product("f16", F16, F16)
    product("f16>f32", F16, F32)
    product("bf16", "bf16", "bf16")
    product("bf16>f32", "bf16", F32)
    product("f8", "f8E4M3FN", F32)
    product("i8", "i8", I32)
    product("batch", F32, F32, (3,))
    product("batch of batches", F32, F32, (2, 3))
    product("batch f16>f32", F16, F32, (3,))
    product("batch i8", "i8", I32, (3,))
    CASES["matmul nn"] = Case(
        (((40, 18), F32), ((24, 40), F32)),
        F32,
        lambda ops, a, b: ops.matmul(ops.transpose(a, (1, 0)), ops.transpose(b, (1, 0)), F32),
        lambda a, b: a.T @ b.T,
        Tolerance(F32, 40),
    )
    CASES["matmul epilogue"] = Case(
        (((18, 40), F16), ((24, 40), F16), ((24,), F16), ((18, 24), F16)),
        F16,
        lambda ops, a, b, bias, more: ops.binary(
            "add",
            ops.unary("relu", ops.binary("add", ops.matmul(a, ops.transpose(b, (1, 0)), F16), bias)),
            more,
        ),
        lambda a, b, bias, more: np.maximum(a @ b.T + bias, 0) + more,
        Tolerance(F32, 40, F16, 1),  # libraries round sums and what is added to f16 on the way
    )


def _convolutions() -> None:
    def case(name, layouts, kind=F32, out=F32, channels=6, filters=8, kernel=(3, 2), **window):
        plain = {"strides": (1, 1), "padding": (0, 0), "dilations": (1, 1), "groups": 1}
        layer = ConvLayer("forward", (9, 8), kernel, **{**plain, **window})
        images, lies = layouts
        sizes = {"n": 2, "c": channels, "h": 9, "w": 8}
        own = {"f": filters, "c": channels // layer.groups, "h": kernel[0], "w": kernel[1]}

        def computed(ops, a, b):
            a, b = reordered(ops, a, images, "nchw"), reordered(ops, b, lies, "fchw")
            return reordered(ops, ops.layer(layer, a, b, out), "nchw", images)

        def exact(a, b):
            a, b = reordered(np, a, images, "nchw"), reordered(np, b, lies, "fchw")
            return reordered(np, layer_by_definition(layer, a, b), "nchw", images)

        CASES[f"convolution {name}"] = Case(
            ((tuple(map(sizes.get, images)), kind), (tuple(map(own.get, lies)), kind)),
            out,
            computed,
            exact,
            Tolerance(F32, 36),
        )

    hwcf, fchw, fhwc = ("nhwc", "hwcf"), ("nchw", "fchw"), ("nhwc", "fhwc")
    for layouts in (hwcf, fchw, fhwc):
        name = " ".join(layouts)
        case(name, layouts)
        case(f"{name} strides", layouts, strides=(2, 1), dilations=(1, 2))
        case(f"{name} groups", layouts, groups=2)
        case(f"{name} depthwise", layouts, filters=6, strides=(1, 2), groups=6)
        case(f"{name} 1x1", layouts, kernel=(1, 1))
    case("multiplier", hwcf, filters=12, groups=6)
    case("f16", hwcf, F16, F16)
    case("f16>f32", fchw, F16, F32)
    case("i8", hwcf, "i8", I32)


def _attentions() -> None:
    def exact(q, k, v, mask=None, causal=False, scale=0.3):
        k, v = (np.repeat(each, q.shape[1] // each.shape[1], axis=1) for each in (k, v))
        scores = np.einsum("bhqd,bhkd->bhqk", q, k) * scale
        if mask is not None:
            scores = scores + mask
        if causal:
            queries, keys = scores.shape[2:]
            rows, columns = np.arange(queries)[:, None], np.arange(keys)[None, :]
            scores = np.where(columns <= rows + keys - queries, scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return np.einsum("bhqk,bhkd->bhqd", weights / weights.sum(-1, keepdims=True), v)

    def case(name, queries, keys, *, heads=4, key_heads=4, values=16, causal=False, masked=False, kind=F32):
        inputs = [
            ((2, heads, queries, 16), kind), ((2, key_heads, keys, 16), kind),
            ((2, key_heads, keys, values), kind),
        ]  # fmt: skip
        CASES[f"attention {name}"] = Case(
            (*inputs, *([((queries, keys), kind)] if masked else [])),
            kind,
            lambda ops, q, k, v, mask=None: ops.attention(q, k, v, mask, causal, 0.3),
            lambda q, k, v, mask=None: exact(q, k, v, mask, causal),
            Tolerance(F32, keys, kind, keys),
        )

    case("plain", 12, 20)
    case("values", 12, 20, values=8)
    case("causal", 12, 12, causal=True)
    case("causal to the right", 12, 20, causal=True)
    case("decode", 1, 20, causal=True)
    case("mask", 12, 20, masked=True)
    case("mask causal", 12, 20, masked=True, causal=True)
    case("mask causal square", 12, 12, masked=True, causal=True)
    case("grouped", 12, 20, key_heads=2)
    case("grouped causal", 12, 20, key_heads=1, causal=True)
    case("f16", 12, 20, key_heads=2, causal=True, kind=F16)
    case("f8", 12, 20, kind="f8E4M3FN")


def _rest() -> None:
    def softmax(x, axis):
        weights = np.exp(x - x.max(axis, keepdims=True))
        return weights / weights.sum(axis, keepdims=True)

    for name, axis, kind in (("last", -1, F32), ("first", 0, F32), ("f16", -1, F16)):
        CASES[f"softmax {name}"] = Case(
            (((10, 33), kind),),
            kind,
            lambda ops, x, axis=axis: ops.softmax(x, axis),
            lambda x, axis=axis: softmax(x, axis),
            Tolerance(F32, 33),
        )

    def reduction(kind, axes, own, out, name=""):
        CASES[name or f"{kind} of {axes}"] = Case(
            (((24, 33), own),),
            out,
            lambda ops, x: ops.reduce(kind, x, axes, out),
            lambda x: _REDUCE[kind](x, axis=axes),
            Tolerance("i32" if out == I32 else F32, 24 * 33),
            positive=axes == (0, 1),  # one sum that cancels is as small as chance has it
        )

    for kind in _REDUCE:
        for axes in ((0,), (1,), (0, 1)):
            reduction(kind, axes, F32, F32)
    reduction("sum", (1,), F16, F32, "sum f16>f32")
    reduction("mean", (-1,), F16, F16, "mean f16")
    reduction("max", (0,), "bf16", "bf16", "max bf16")
    reduction("sum", (0, 1), "i8", I32, "sum i8")
    reduction("max", (1,), I32, I32, "max i32")
    for kind, exact in _UNARY.items():
        CASES[kind] = Case(
            (((10, 33), F32),),
            F32,
            lambda ops, x, kind=kind: ops.unary(kind, x),
            exact,
            positive=kind in ("sqrt", "rsqrt"),
        )
    CASES["gelu f16"] = Case((((10, 33), F16),), F16, lambda ops, x: ops.unary("gelu", x), _UNARY["gelu"])
    for kind in ("relu", "abs", "negate"):
        CASES[f"{kind} i32"] = Case(
            (((10, 33), I32), ((33,), I32)),
            I32,
            lambda ops, x, y, kind=kind: ops.unary(kind, ops.binary("subtract", x, y)),
            lambda x, y, kind=kind: _UNARY[kind](x - y),
        )
    for kind, exact in _BINARY.items():
        CASES[kind] = Case(
            (((10, 33), F32), ((10, 33), F32)),
            F32,
            lambda ops, a, b, kind=kind: ops.binary(kind, a, b),
            exact,
            positive=kind == "divide",
        )
    CASES["subtract broadcast"] = Case(
        (((33,), F32), ((10, 1), F32)), F32, lambda ops, a, b: ops.binary("subtract", a, b), np.subtract
    )
    CASES["divide swapped"] = Case(
        (((33,), F32), ((10, 33), F32)), F32, lambda ops, a, b: ops.binary("divide", a, b), np.divide,
        positive=True,
    )  # fmt: skip
    CASES["transpose and reshape"] = Case(
        (((4, 6, 5), F32), ((5, 24), F32)),
        F32,
        lambda ops, x, y: ops.binary("add", ops.transpose(ops.reshape(x, (24, 5)), (1, 0)), y),
        lambda x, y: x.reshape(24, 5).T + y,
    )
    for own, out in ((F32, F16), (F32, "bf16"), (F16, F32), (I32, F32), ("i8", I32), (F32, "f8E5M2")):
        CASES[f"cast {own}>{out}"] = Case((((10, 33), own),), out, lambda ops, x: x, lambda x: x)
    CASES["cast f32>i8"] = Case(
        (((10, 33), F32),),
        "i8",
        lambda ops, x: reduce(lambda doubled, _: ops.binary("add", doubled, doubled), range(9), x),
        lambda x: 512 * x,
    )


_products()
_convolutions()
_layers()
_attentions()
_rest()
