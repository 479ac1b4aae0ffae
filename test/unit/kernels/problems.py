"""Programs with problems that kernels compute, and what is found in them."""

from __future__ import annotations

from functools import cache

from iree.compiler import ir

from iree_tuner.compiler.context import new_context
from iree_tuner.kernels.site import Site, find_sites

HALF = "{r} = arith.truncf %sums : tensor<{m}x{n}xf32> to tensor<{m}x{n}xf16>"


def matmul(
    m: int, n: int, k: int, *, element: str = "f32", transposed: bool = False, start: str = "0.0"
) -> str:
    """A function that multiplies; the start is a constant."""
    right = f"{n}x{k}" if transposed else f"{k}x{n}"
    maps = ", ".join(f"affine_map<(m, n, k) -> ({each})>" for each in ("m, k", "n, k", "m, n"))
    how = f"indexing_maps = [{maps}] " if transposed else ""
    return f"""
    func.func @main(%a: tensor<{m}x{k}x{element}>, %b: tensor<{right}x{element}>) -> tensor<{m}x{n}xf32> {{
      %zero = arith.constant {start} : f32
      %empty = tensor.empty() : tensor<{m}x{n}xf32>
      %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
      %r = linalg.matmul {how}ins(%a, %b : tensor<{m}x{k}x{element}>, tensor<{right}x{element}>)
          outs(%init : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
      return %r : tensor<{m}x{n}xf32>
    }}"""


def conv(
    size: tuple[int, int], channels: int, filters: int, *, stride: int = 1, dilation: int = 1, more: int = 0
) -> str:
    """A function with a 3x3 convolution of two images, nhwc by hwcf; `more` rows are not read."""
    high, wide = ((each - 1) * stride + 2 * dilation + 1 for each in size)
    image, filter_ = f"2x{high + more}x{wide}x{channels}xf32", f"3x3x{channels}x{filters}xf32"
    pair = "tensor<2xi64>"
    result = f"2x{size[0]}x{size[1]}x{filters}xf32"
    return f"""
    func.func @main(%a: tensor<{image}>, %b: tensor<{filter_}>) -> tensor<{result}> {{
      %zero = arith.constant 0.0 : f32
      %empty = tensor.empty() : tensor<{result}>
      %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<{result}>) -> tensor<{result}>
      %r = linalg.conv_2d_nhwc_hwcf {{
            strides = dense<{stride}> : {pair}, dilations = dense<{dilation}> : {pair}}}
          ins(%a, %b : tensor<{image}>, tensor<{filter_}>) outs(%init : tensor<{result}>) -> tensor<{result}>
      return %r : tensor<{result}>
    }}"""


def einsum(spec: str, sizes: dict[str, int], element: str = "f16") -> str:
    """A function that multiplies as numpy's `einsum` does, `bmk,kn->bmn`, in one generic; f32 sums."""
    operands, _, out = spec.partition("->")
    left, _, right = operands.partition(",")
    loops = list(dict.fromkeys(out + left + right))

    def array(names: str, kind: str) -> str:
        return "tensor<" + "".join(f"{sizes[each]}x" for each in names) + f"{kind}>"

    maps = ", ".join(
        f"affine_map<({', '.join(loops)}) -> ({', '.join(each)})>" for each in (left, right, out)
    )
    kinds = ", ".join('"parallel"' if each in out else '"reduction"' for each in loops)
    result = array(out, "f32")
    given = f"{array(left, element)}, {array(right, element)}"
    return f"""
    func.func @main(%a: {array(left, element)}, %b: {array(right, element)}) -> {result} {{
      %zero = arith.constant 0.0 : f32
      %empty = tensor.empty() : {result}
      %init = linalg.fill ins(%zero : f32) outs(%empty : {result}) -> {result}
      %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
          ins(%a, %b : {given}) outs(%init : {result}) {{
        ^bb0(%x: {element}, %y: {element}, %s: f32):
          %u = arith.extf %x : {element} to f32
          %v = arith.extf %y : {element} to f32
          %p = arith.mulf %u, %v : f32
          %q = arith.addf %s, %p : f32
          linalg.yield %q : f32
      }} -> {result}
      return %r : {result}
    }}"""


def parts_with_bias(rows: int, depth: int, parts: int, width: int, element: str = "f16") -> str:
    """A product whose columns are parts that are apart in the result, each with a bias of its own; f32."""
    sizes = {"m": rows, "d": depth, "h": parts, "e": width}
    head, _, _ = einsum("md,dhe->hme", sizes, element).rpartition("return")
    result, bias = f"tensor<{parts}x{rows}x{width}xf32>", f"tensor<{parts}x{width}x{element}>"
    same, along = "affine_map<(h, m, e) -> (h, m, e)>", "affine_map<(h, m, e) -> (h, e)>"
    return f"""{head.replace(") ->", f", %c: {bias}) ->", 1)}
      %to = tensor.empty() : {result}
      %t = linalg.generic {{indexing_maps = [{same}, {along}, {same}],
            iterator_types = ["parallel", "parallel", "parallel"]}}
          ins(%r, %c : {result}, {bias}) outs(%to : {result}) {{
        ^bb0(%x: f32, %y: {element}, %z: f32):
          %u = arith.extf %y : {element} to f32
          %v = arith.addf %x, %u : f32
          linalg.yield %v : f32
      }} -> {result}
      return %t : {result}
    }}"""


_context = cache(new_context)  # a new one takes as long as ten programs


def sites_in(text: str) -> list[tuple[Site, ...]]:
    """The sites of a program, which is looked at as it is."""
    with _context(), ir.Location.unknown():
        return find_sites(ir.Module.parse(text))


def site_in(text: str) -> Site:
    """The only site of a program, with all of its epilogue."""
    ((*_, site),) = sites_in(text)
    return site


def form_of(knobs) -> str:
    """Which of the forms of Triton's products a variant has."""
    if "bm" not in knobs:
        return "one_row"
    if knobs["persistent"]:
        return "persistent"
    return "split" if knobs["split"] > 1 else "plain"
