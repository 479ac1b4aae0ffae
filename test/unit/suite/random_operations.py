"""Random operations, small enough to be compiled and computed in a moment."""

from __future__ import annotations

from hypothesis import strategies as st

from iree_tuner.errors import UsageError
from iree_tuner.suite.kinds.registry import KINDS, make

FLOATS = ("f32", "f16", "bf16")
FACTORS = (*FLOATS, "f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "i8")
STEPS = ("bias", "relu", "residual", "gelu", "gelu_tanh", "silu")
UNARY = ("relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh", "exp", "sqrt", "rsqrt", "abs", "negate")
BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum")

sizes = st.integers(1, 40)
few = st.integers(1, 4)
epilogues = st.lists(st.sampled_from(STEPS), max_size=3).map("+".join)
chains = st.lists(st.sampled_from(UNARY + BINARY), min_size=1, max_size=4).map("+".join)
results = st.sampled_from((*FLOATS, "i32"))

layouts = st.sampled_from(("NHWC", "NCHW", "CNHW", "HWCN"))

PRODUCT = {
    "m": sizes, "n": sizes, "k": st.sampled_from((4, 12, 36, 48)),
    "lhs": st.sampled_from(FACTORS), "rhs": st.sampled_from(FACTORS), "out": results,
    "layout": st.sampled_from(("tt", "tn", "nt", "nn")), "accumulate": st.booleans(),
    "split_k": st.sampled_from((1, 1, 2, 4)), "epilogue": epilogues,
}  # fmt: skip
ARGUMENTS = {
    "matmul": PRODUCT,
    "batch_matmul": {**PRODUCT, "batch": few},
    "convolution": {
        "n": few, "h": st.integers(8, 14), "w": st.integers(8, 14),
        "c": st.sampled_from((4, 8)), "f": st.sampled_from((4, 8, 16)),
        "kh": st.integers(1, 3), "kw": st.integers(1, 3), "sh": few, "sw": few, "dh": few, "dw": few,
        "groups": st.sampled_from((1, 1, 2, 4, 8)), "layout": st.sampled_from(("nhwc", "nhwc_fhwc", "nchw")),
        "image": st.sampled_from(FACTORS), "filters": st.sampled_from(FACTORS), "out": results,
        "epilogue": epilogues,
    },
    "convolution_layer": {
        "direction": st.sampled_from(("forward", "data", "weights")),
        "n": few, "c": st.sampled_from((2, 4, 8)), "k": st.sampled_from((2, 4, 8)),
        "image": st.sampled_from(("7x9", "8x6")), "kernel": st.sampled_from(("1x1", "3x2", "2x3")),
        "strides": st.sampled_from(("1x1", "2x1", "3x2")), "padding": st.sampled_from(("0x0", "1x1", "0x2")),
        "dilations": st.sampled_from(("1x1", "2x1")), "groups": st.sampled_from((1, 1, 2, 4)),
        "in_layout": layouts, "fil_layout": layouts, "out_layout": layouts,
        "element_type": st.sampled_from(FLOATS), "bias": st.booleans(),
    },
    "attention": {
        "batch": few, "heads": st.sampled_from((2, 4)), "key_heads": st.sampled_from((0, 1, 2)),
        "queries": sizes, "keys": st.sampled_from((0, 40, 48)), "size": st.sampled_from((16, 24)),
        "value_size": st.sampled_from((0, 8)), "causal": st.booleans(), "mask": st.booleans(),
        "element_type": st.sampled_from(FLOATS),
    },
    "reduction": {
        "function": st.sampled_from(("sum", "mean", "max", "min")), "rows": sizes, "columns": sizes,
        "axis": st.sampled_from(("rows", "columns", "both")),
        "element_type": st.sampled_from((*FLOATS, "i8", "i32")),
    },
    "softmax": {"rows": sizes, "columns": sizes, "element_type": st.sampled_from(FLOATS)},
    "elementwise": {
        "chain": chains, "rows": sizes, "columns": sizes, "element_type": st.sampled_from(FLOATS),
    },
}  # fmt: skip


@st.composite
def operations(draw, kinds=tuple(ARGUMENTS), **fixed):
    """Any operation of these kinds, with arguments that do not fit together drawn again."""
    kind = draw(st.sampled_from(kinds))
    drawn = st.fixed_dictionaries({**ARGUMENTS[kind], **{name: st.just(to) for name, to in fixed.items()}})
    return draw(drawn.map(lambda arguments: attempt(kind, arguments)).filter(lambda each: each is not None))


def attempt(kind, arguments):
    """An operation; None where the arguments make none."""
    try:
        return make(KINDS[kind], arguments)
    except UsageError:
        return None
