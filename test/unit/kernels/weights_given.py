"""Products whose weights are computed from integers (`weight_programs`), arrays, and results by numpy."""

import re
from functools import cache
from pathlib import Path

import ml_dtypes
import numpy as np

from iree_tuner.kernels.find import find_here
from iree_tuner.targets import parse_target

KINDS = {"f16": np.float16, "f32": np.float32, "bf16": ml_dtypes.bfloat16}
HALF, WIDE = np.float16, np.float32


@cache
def computed_site(name: str):
    """The longest site of the product in a program."""
    data = (Path(__file__).parent / "weight_programs" / f"{name}.mlir").read_bytes()
    places = find_here(data, f"{name}.mlir", parse_target("cuda:sm_89")).places
    (site,) = [place.sites[-1] for place in places if place.sites[-1].problem.operands]
    return site


@cache
def one_row_site(name: str, element: str):
    """The same with one row and a depth of 320 (`halves`: 256), with floats of this type."""
    longer = {"37": "1", "5": "1"}
    longer |= {} if name == "halves" else {"256": "320", "128": "160", "32": "40", "4": "5"}

    def changed(found):
        *sizes, kind = found[1].split("x")
        return f"tensor<{'x'.join([*(longer.get(each, each) for each in sizes), kind])}>"

    text = (Path(__file__).parent / "weight_programs" / f"{name}.mlir").read_text()
    text = re.sub(r"tensor<([^<>]*)>", changed, text).replace("f16", element)
    places = find_here(text.encode(), f"{name}.mlir", parse_target("cuda:sm_89")).places
    (site,) = [place.sites[-1] for place in places if place.sites[-1].problem.operands]
    return site


def arrays_of(problem):
    """Inputs of a problem; integers of 4 bits as the bytes that hold them."""
    rng = np.random.default_rng(0)

    def values(array):
        if array.element_type == "i4":
            return rng.integers(0, 256, (*array.shape[:-1], array.shape[-1] // 2), np.uint8)
        if array.element_type.startswith("i"):
            kind = np.dtype(f"int{array.element_type[1:]}")
            return rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, array.shape, kind)
        return rng.standard_normal(array.shape).astype(KINDS[array.element_type])

    return [values(each) for each in problem.inputs]


def pairs_in(words, axis):
    """Both halves of bytes, next to each other."""
    whole = np.stack([words.view(np.uint8) & 15, words.view(np.uint8) >> 4], axis + 1)
    return whole.reshape([2 * size if at == axis else size for at, size in enumerate(words.shape)])


def signed(values):
    return (values.astype(np.int8) ^ 8) - 8


def in_groups(values, scales, zeros=None):
    """Groups of 64 along the depth of [depth, columns]."""
    scales = scales.repeat(64, 0)
    return (values.astype(HALF) - (0 if zeros is None else zeros.repeat(64, 0))) * scales


def eights_in(words, axis):
    """The eight parts of integers of 32 bits, next to each other."""
    whole = np.stack([(words >> (4 * each)) & 15 for each in range(8)], axis + 1)
    return whole.reshape([8 * size if at == axis else size for at, size in enumerate(words.shape)])


WEIGHTS = {
    "channels": lambda w: w.astype(HALF),
    "scaled_before": lambda w, s: (w.astype(HALF) * s[:, None]).T,
    "fours": lambda w, s: in_groups(signed(pairs_in(w, 1)), s),
    "pairs": lambda w, z, s: in_groups(pairs_in(w, 0), s, z),
    "pairs_of_rows": lambda w, z, s: in_groups(pairs_in(w, 1).T, s.T, z.T),
    "halves": lambda w, z, s: in_groups(np.concatenate([w & 15, w.view(np.uint8) >> 4]), s, z),
    "eights": lambda w, z, s: in_groups(eights_in(w, 0), s, z),
    "eights_across": lambda w, s: in_groups(eights_in(w, 1) - HALF(8), s),
    "heads": lambda w, s: w.astype(s.dtype) * s,
    "experts": lambda w, s: w.astype(HALF) * s[:, None],
}
"""[depth, columns] of the arrays behind the other operand, in the order of the problem."""

PRODUCTS = {
    "heads": lambda x, w: np.einsum("bsk,khw->bhsw", x.reshape(2, 9, -1), w.reshape(len(w), 4, 12)),
    "experts": lambda x, w: np.einsum("ek,ekn->en", x, w),
}
"""Those that are not of two matrices."""


def wanted(name, given):
    """The result in f64 of weights that are rounded as the program does."""
    count = 2 if name == "channels" else len(given)
    left, *arrays = given[:count]
    weights = WEIGHTS[name](*arrays).astype(np.float64)
    left = left.astype(np.float64).reshape(left.shape if name in PRODUCTS else (-1, len(weights)))
    sums = PRODUCTS.get(name, np.matmul)(left, weights)
    return sums * given[2].astype(np.float64) if name == "channels" else sums
