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


def packed_layers(
    widths,
    *,
    rows: int = 1,
    depth: int = 128,
    element: str = "f16",
    turned: bool = False,
    gated: bool = False,
) -> str:
    """Products of one matrix with constants of 4 bits, two in a byte, in groups of 64 with a scale.

    `turned`: constants have their columns first. `gated`: the first result goes through SiLU and is
    multiplied by the second one.
    """
    rng = np.random.default_rng(1)
    x, groups = f"tensor<{rows}x{depth}x{element}>", depth // 64
    head, lines, results = list[str](), list[str](), list[str]()
    for name, width in widths.items():
        shapes = [(depth // 2, width), (groups, width)]
        pairs, scales = (
            "x".join(map(str, each[::-1] if turned else each)) + f"x{kind}"
            for each, kind in zip(shapes, ("i8", element), strict=True)
        )
        data = rng.integers(0, 256, width * depth // 2, np.uint8).tobytes().hex()
        values = rng.integers(1, 5, width * groups) / 8
        text = "".join(f"{each:04x}" for each in values.astype(KINDS[element]).view(np.uint16).byteswap())
        head += [
            f'util.global private @{name}_w {{noinline}} = dense<"0x{data}"> : tensor<{pairs}>',
            f'util.global private @{name}_s {{noinline}} = dense<"0x{text}"> : tensor<{scales}>',
        ]
        lines += _unpacked(name, pairs, scales, (groups, depth, width), element, turned)
        wide, own = (f"tensor<{rows}x{width}x{kind}>" for kind in ("f32", element))
        along, kind = (1, f"{width}x{depth}") if turned else (0, f"{depth}x{width}")
        lines += [
            f"%{name}r = stablehlo.dot_general %x, %{name}m, contracting_dims = [1] x [{along}] :"
            f" ({x}, tensor<{kind}x{element}>) -> {wide}",
            f"%{name} = stablehlo.convert %{name}r : ({wide}) -> {own}",
        ]
        results.append(own)
    return _module(x, head, lines, widths, results, gated)


def byte_layers(widths, *, rows: int = 1, depth: int = 128, gated: bool = False) -> str:
    """The same with constants of 8 bits, which the products widen, and a scale for each column; f16."""
    rng = np.random.default_rng(2)
    x, head, lines, results = f"tensor<{rows}x{depth}xf16>", list[str](), list[str](), list[str]()
    for name, width in widths.items():
        data = rng.integers(0, 256, width * depth, np.uint8).tobytes().hex()
        scales = "".join(f"{each:08x}" for each in (rng.integers(1, 9, width) / 64).astype("<f4").view(">u4"))
        wide, own = f"tensor<{rows}x{width}xf32>", f"tensor<{rows}x{width}xf16>"
        head += [
            f'util.global private @{name}_w {{noinline}} = dense<"0x{data}"> : tensor<{depth}x{width}xi8>',
            f'util.global private @{name}_s {{noinline}} = dense<"0x{scales}"> : tensor<{width}xf32>',
        ]
        lines += [
            f"%{name}a = util.global.load @{name}_w : tensor<{depth}x{width}xi8>",
            f"%{name}b = util.global.load @{name}_s : tensor<{width}xf32>",
            f"%{name}r = stablehlo.dot_general %x, %{name}a, contracting_dims = [1] x [0] :"
            f" ({x}, tensor<{depth}x{width}xi8>) -> {wide}",
            f"%{name}t = stablehlo.broadcast_in_dim %{name}b, dims = [1] : (tensor<{width}xf32>) -> {wide}",
            f"%{name}p = stablehlo.multiply %{name}r, %{name}t : {wide}",
            f"%{name} = stablehlo.convert %{name}p : ({wide}) -> {own}",
        ]
        results.append(own)
    return _module(x, head, lines, widths, results, gated)


def _module(x: str, head, lines, widths, results, gated: bool) -> str:
    names = [f"%{each}" for each in widths]
    if gated:
        lines += [
            f"%sigmoid = stablehlo.logistic {names[0]} : {results[0]}",
            f"%silu = stablehlo.multiply {names[0]}, %sigmoid : {results[0]}",
            f"%gated = stablehlo.multiply %silu, {names[1]} : {results[0]}",
        ]
        names, results = ["%gated"], results[:1]
    kinds = ", ".join(results)
    body = "\n".join(lines)
    return "\n".join((
        *head, f"func.func @main(%x: {x}) -> ({kinds}) {{", body, f"return {', '.join(names)} : {kinds}", "}",
    ))  # fmt: skip


def _unpacked(name: str, pairs: str, scales: str, sizes, element: str, turned: bool) -> list[str]:
    """Ops that make `%{name}m`, the weights, of the constants."""
    groups, depth, width = sizes

    def shape(*own: int) -> str:
        whole = (width, *own) if turned else (*own, width)
        return "x".join(map(str, whole))

    one, two, cut = shape(depth // 2, 1), shape(depth // 2, 2), shape(groups, 64)
    placed = "[0, 1]" if turned else "[0, 2]"
    at = 2 if turned else 1  # of the two parts of a byte
    text = f"""
%{{n}}a = util.global.load @{{n}}_w : tensor<{pairs}>
%{{n}}b = util.global.load @{{n}}_s : tensor<{scales}>
%{{n}}c15 = stablehlo.constant dense<15> : tensor<{pairs}>
%{{n}}c4 = stablehlo.constant dense<4> : tensor<{pairs}>
%{{n}}l = stablehlo.and %{{n}}a, %{{n}}c15 : tensor<{pairs}>
%{{n}}h = stablehlo.shift_right_logical %{{n}}a, %{{n}}c4 : tensor<{pairs}>
%{{n}}l1 = stablehlo.broadcast_in_dim %{{n}}l, dims = {placed} : (tensor<{pairs}>) -> tensor<{one}xi8>
%{{n}}h1 = stablehlo.broadcast_in_dim %{{n}}h, dims = {placed} : (tensor<{pairs}>) -> tensor<{one}xi8>
%{{n}}j = stablehlo.concatenate %{{n}}l1, %{{n}}h1, dim = {at} :
 (tensor<{one}xi8>, tensor<{one}xi8>) -> tensor<{two}xi8>
%{{n}}g = stablehlo.reshape %{{n}}j : (tensor<{two}xi8>) -> tensor<{cut}xi8>
%{{n}}f = stablehlo.convert %{{n}}g : (tensor<{cut}xi8>) -> tensor<{cut}x{element}>
%{{n}}c8 = stablehlo.constant dense<8.0> : tensor<{cut}x{element}>
%{{n}}z = stablehlo.subtract %{{n}}f, %{{n}}c8 : tensor<{cut}x{element}>
%{{n}}t = stablehlo.broadcast_in_dim %{{n}}b, dims = {placed} : (tensor<{scales}>) -> tensor<{cut}x{element}>
%{{n}}p = stablehlo.multiply %{{n}}z, %{{n}}t : tensor<{cut}x{element}>
%{{n}}m = stablehlo.reshape %{{n}}p : (tensor<{cut}x{element}>) -> tensor<{shape(depth)}x{element}>"""
    return text.replace("{n}", name).strip().splitlines()


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
