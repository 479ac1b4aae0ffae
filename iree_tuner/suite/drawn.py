"""Operations drawn at random for `verify --fuzz`: the same seed draws the same ones."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence

from iree_tuner.errors import UsageError
from iree_tuner.suite.kinds.attention import AttentionOp
from iree_tuner.suite.kinds.convolution import ConvolutionOp
from iree_tuner.suite.kinds.elementwise import Elementwise
from iree_tuner.suite.kinds.layer import ConvolutionLayer
from iree_tuner.suite.kinds.product import BatchMatmul, Matmul
from iree_tuner.suite.kinds.reduction import Reduction, Softmax
from iree_tuner.suite.kinds.registry import KINDS, make
from iree_tuner.suite.operation import BINARY, UNARY, Operation, Value

SIZES = "sizes"
"""Stands for any size up to the largest; ones, powers of two and multiples of eight are drawn more often."""

_FLOATS = ("f32", "f16", "bf16")
_FACTORS = (*_FLOATS, "i8")
_STEPS = ("bias", "relu", "residual", "gelu_tanh", "silu")
_EPILOGUES = ("", "", *_STEPS, *(f"{a}+{b}" for a in _STEPS for b in _STEPS if a != b))
_FUNCTIONS = (*UNARY, *BINARY)
_LAYOUTS = ("NHWC", "NCHW")
_MOST, _MOST_WORK = 96, 3_000_000.0  # a size; multiplications, which the reference interprets
_PLAIN = 0.6  # of the operations have one type for all factors, as most programs do

Choices = Mapping[str, Sequence[int | str | bool] | str]
_PRODUCT: Choices = {
    "m": SIZES, "n": SIZES, "k": SIZES, "lhs": _FACTORS, "rhs": _FACTORS, "out": (*_FLOATS, "i32"),
    "layout": ("tt", "tn", "nt", "nn"), "accumulate": (False, False, True), "split_k": (1, 1, 1, 2, 4),
    "epilogue": _EPILOGUES,
}  # fmt: skip
_CHOICES: Mapping[str, Choices] = {
    Matmul.kind: _PRODUCT,
    BatchMatmul.kind: {**_PRODUCT, "batch": (1, 2, 3, 5, 8)},
    ConvolutionOp.kind: {
        "n": (1, 1, 2, 3), "h": (5, 9, 14, 17, 30), "w": (5, 9, 14, 17, 30), "c": SIZES, "f": SIZES,
        "kh": (1, 2, 3, 3, 5), "kw": (1, 2, 3, 3, 5), "sh": (1, 1, 2, 3), "sw": (1, 1, 2, 3),
        "dh": (1, 1, 2), "dw": (1, 1, 2), "groups": (1, 1, 2, 4, "c"),
        "layout": ("nhwc", "nhwc_fhwc", "nchw"), "image": _FACTORS, "filters": _FACTORS,
        "out": (*_FLOATS, "i32"), "epilogue": _EPILOGUES,
    },
    ConvolutionLayer.kind: {
        "direction": ("forward", "data", "weights"), "n": (1, 2, 3), "c": SIZES, "k": SIZES,
        "image": ("7x9", "14x14", "17x6"), "kernel": ("1x1", "3x3", "3x2"),
        "strides": ("1x1", "2x1", "2x2"), "padding": ("0x0", "1x1", "0x2"), "dilations": ("1x1", "2x1"),
        "groups": (1, 1, 2, "c"), "in_layout": _LAYOUTS, "fil_layout": _LAYOUTS, "out_layout": _LAYOUTS,
        "element_type": _FLOATS, "bias": (False, True),
    },
    AttentionOp.kind: {
        "batch": (1, 2), "heads": (1, 2, 4), "key_heads": (0, 0, 1, 2), "queries": SIZES, "keys": SIZES,
        "size": (8, 16, 24, 33, 64), "value_size": (0, 0, 8, 40), "causal": (False, True),
        "mask": (False, True), "element_type": _FLOATS,
    },
    Reduction.kind: {
        "function": ("sum", "mean", "max", "min"), "rows": SIZES, "columns": SIZES,
        "axis": ("rows", "columns", "both"), "element_type": (*_FLOATS, "i8", "i32"),
    },
    Softmax.kind: {"rows": SIZES, "columns": SIZES, "element_type": _FLOATS},
    Elementwise.kind: {
        "chain": (*_FUNCTIONS, *(f"{a}+{b}" for a in _FUNCTIONS for b in _FUNCTIONS)), "rows": SIZES,
        "columns": SIZES, "element_type": _FLOATS,
    },
}  # fmt: skip
_OFTEN = (
    *[Matmul] * 4, *[BatchMatmul] * 2, *[ConvolutionOp] * 3, ConvolutionLayer, AttentionOp, Reduction,
)  # fmt: skip
_KINDS = (*_CHOICES, *(each.kind for each in _OFTEN))


def drawn(seed: int) -> Iterator[Operation]:
    """Operations without an end. They are small: the reference interprets them."""
    source = random.Random(seed)
    while True:
        kind = source.choice(_KINDS)
        arguments: dict[str, Value] = {
            name: _value(source, values) for name, values in _CHOICES[kind].items()
        }
        if source.random() < _PLAIN and "out" in arguments:
            arguments |= KINDS[kind].of_type(source.choice(_FACTORS))
        if arguments.get("groups") == "c":  # depthwise
            arguments["groups"] = arguments["c"]
        for filters in {"f", "k"} & arguments.keys() if "groups" in arguments else ():
            if isinstance(groups := arguments["groups"], int) and groups > 1:  # what divides is rarely drawn
                arguments |= {
                    "c": groups * source.choice((1, 1, 3, 4)),
                    filters: groups * source.choice((1, 2)),
                }
        try:
            operation = make(KINDS[kind], arguments)
        except UsageError:  # they do not fit together
            continue
        if operation.flops <= 2 * _MOST_WORK:
            yield operation


def _value(source: random.Random, values: Sequence[int | str | bool] | str) -> int | str | bool:
    if values != SIZES:
        return source.choice(values)
    size, eighth = source.randint(1, _MOST), source.randint(1, _MOST // 8)
    return source.choice((size, size, 8 * eighth, 2 ** source.randint(0, 6), 1))
