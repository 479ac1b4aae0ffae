"""Programs in which elementwise ops without names follow sums: batch norms, activations, gates."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kernels.problems import matmul

SCALARS = {"nought": 0.0, "one": 1.0, "slope": 0.2, "three": 3.0, "sixth": 0.16666667, "eps": 1.0e-5}
"""Constants that bodies may use: of the type of the sums, but `eps` is f32."""

LEAKY = """
    %far = arith.cmpf oge, {x}, %nought : {t}
    %low = arith.mulf {x}, %slope : {t}
    %v = arith.select %far, {x}, %low : {t}"""
ELU = """
    %far = arith.cmpf ogt, {x}, %nought : {t}
    %kept = arith.select %far, %nought, {x} : {t}
    %low = math.expm1 %kept : {t}
    %v = arith.select %far, {x}, %low : {t}"""
MISH = """
    %power = math.exp {x} : {t}
    %soft = math.log1p %power : {t}
    %tanh = math.tanh %soft : {t}
    %v = arith.mulf {x}, %tanh : {t}"""
HARD_SWISH = """
    %more = arith.addf {x}, %three : {t}
    %least = arith.maximumf %more, %nought : {t}
    %part = arith.mulf %least, %sixth : {t}
    %v = arith.mulf {x}, %part : {t}"""
CLAMP = """
    %least = arith.maximumf {x}, %slope : {t}
    %v = arith.minimumf %least, %one : {t}"""
NORM = """
    %wide = arith.extf {x} : {t} to f32
    %square = arith.mulf {1}, {1} : f32
    %more = arith.addf %square, %eps : f32
    %by = math.rsqrt %more : f32
    %apart = arith.subf %wide, {0} : f32
    %unit = arith.mulf %apart, %by : f32
    %scaled = arith.mulf %unit, {2} : f32
    %moved = arith.addf %scaled, {3} : f32
    %v = arith.truncf %moved : f32 to {t}"""
GATE = """
    %back = arith.negf {0} : {t}
    %power = math.exp %back : {t}
    %more = arith.addf %one, %power : {t}
    %gate = arith.divf %one, %more : {t}
    %open = arith.mulf {x}, %gate : {t}
    %v = arith.subf %open, {1} : {t}"""


def finished(
    program: str, body: str, arrays: Sequence[tuple[Sequence[int], str]] = (), result: str = ""
) -> str:
    """A program with one more op after its result.

    `arrays` are read by the op: each has the numbers of its dimensions in the result, and a type. The type of
    the op's result is that of the program's, or `result`.
    """
    head, _, end = program.rpartition("return ")
    name, kind = re.match(r"(%\w+)\s*:\s*tensor<([^>]*)>", end).groups()
    *shape, element = kind.split("x")
    loops = ", ".join(f"d{at}" for at in range(len(shape)))
    maps = [f"affine_map<({loops}) -> ({', '.join(f'd{at}' for at in own)})>" for own, _ in arrays]
    whole = f"affine_map<({loops}) -> ({loops})>"
    read = ["tensor<" + "".join(f"{shape[at]}x" for at in own) + f"{each}>" for own, each in arrays]
    to = f"tensor<{'x'.join([*shape, result or element])}>"
    given = "".join(f", %more{at}: {each}" for at, each in enumerate(read))
    number = head.count("linalg.generic")
    head = re.sub(r"\) -> tensor<[^>]*>", f"{given}) -> {to}", head, count=1)
    inputs = ", ".join([name, *(f"%more{at}" for at in range(len(read)))])
    arguments = "".join(f"%y{at}: {each}, " for at, (_, each) in enumerate(arrays))
    own = body.format(*(f"%y{at}" for at in range(len(read))), x="%x", t=element)
    kinds = {each: "f32" if each == "eps" else element for each in SCALARS if f"%{each}" in own}
    scalars = "\n".join(
        f"      %{each} = arith.constant {SCALARS[each]:.8e} : {of}" for each, of in kinds.items()
    )
    return f"""{head}
{scalars}
      %to{number} = tensor.empty() : {to}
      %finished{number} = linalg.generic {{indexing_maps = [{", ".join([whole, *maps, whole])}],
            iterator_types = [{", ".join(['"parallel"'] * len(shape))}]}}
          ins({inputs} : {", ".join([f"tensor<{kind}>", *read])}) outs(%to{number} : {to}) {{
        ^bb0(%x: {element}, {arguments}%z: {result or element}):
{own}
          linalg.yield %v : {result or element}
      }} -> {to}
      return %finished{number} : {to}
    }}"""


def of_weights(rows: int, columns: int, depth: int, how: str) -> str:
    """A product of f16 whose weights the program has `turned`, or of which it has `bytes`."""
    read, weights = f"tensor<{depth}x{columns}xf16>", f"tensor<{columns}x{depth}xf16>"
    ops = f"%b = linalg.transpose ins(%w : {weights}) outs(%space : {read}) permutation = [1, 0]"
    if how == "bytes":
        same, weights = "affine_map<(k, n) -> (k, n)>", f"tensor<{depth}x{columns}xi8>"
        ops = f"""
      %b = linalg.generic {{indexing_maps = [{same}, {same}], iterator_types = ["parallel", "parallel"]}}
          ins(%w : {weights}) outs(%space : {read}) {{
        ^bb0(%x: i8, %z: f16):
          %v = arith.sitofp %x : i8 to f16
          linalg.yield %v : f16
      }} -> {read}"""
    text = matmul(rows, columns, depth, element="f16").replace(f"%b: {read}", f"%w: {weights}", 1)
    return text.replace(
        "      %zero =", f"      %space = tensor.empty() : {read}\n      {ops}\n      %zero =", 1
    )


def depthwise(images: int, high: int, wide: int, channels: int) -> str:
    """A depthwise convolution of f16 by windows of 3 by 3 with sums in f32."""
    image, window = f"tensor<{images}x{high + 2}x{wide + 2}x{channels}xf16>", f"tensor<3x3x{channels}xf16>"
    result = f"tensor<{images}x{high}x{wide}x{channels}xf32>"
    return f"""
    func.func @main(%a: {image}, %b: {window}) -> {result} {{
      %zero = arith.constant 0.0 : f32
      %empty = tensor.empty() : {result}
      %init = linalg.fill ins(%zero : f32) outs(%empty : {result}) -> {result}
      %r = linalg.depthwise_conv_2d_nhwc_hwc {{
            dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}}
          ins(%a, %b : {image}, {window}) outs(%init : {result}) -> {result}
      return %r : {result}
    }}"""


def two_added(rows: int, columns: int, depth: int) -> str:
    """Two products of f32, each followed by a gate of its own, which are added; then a leaky ReLU."""
    kind, right, bias = (
        f"tensor<{rows}x{columns}xf32>",
        f"tensor<{depth}x{columns}xf32>",
        f"tensor<{columns}xf32>",
    )
    left = f"tensor<{rows}x{depth}xf32>"
    whole, along = "affine_map<(m, n) -> (m, n)>", "affine_map<(m, n) -> (n)>"
    loops = 'iterator_types = ["parallel", "parallel"]'

    def gated(number: int) -> str:
        return f"""
      %r{number} = linalg.matmul ins(%a, %b{number} : {left}, {right}) outs(%init : {kind}) -> {kind}
      %g{number} = linalg.generic {{indexing_maps = [{whole}, {along}, {whole}], {loops}}}
          ins(%r{number}, %c{number} : {kind}, {bias}) outs(%empty : {kind}) {{
        ^bb0(%x: f32, %y: f32, %z: f32):
          %soft = math.tanh %y : f32
          %far = math.tanh %x : f32
          %v = arith.mulf %far, %soft : f32
          linalg.yield %v : f32
      }} -> {kind}"""

    given = f"%a: {left}, %b1: {right}, %c1: {bias}, %b2: {right}, %c2: {bias}"
    return f"""
    func.func @main({given}) -> {kind} {{
      %zero = arith.constant 0.0 : f32
      %empty = tensor.empty() : {kind}
      %init = linalg.fill ins(%zero : f32) outs(%empty : {kind}) -> {kind}{gated(1)}{gated(2)}
      %sum = linalg.generic {{indexing_maps = [{whole}, {whole}, {whole}], {loops}}}
          ins(%g1, %g2 : {kind}, {kind}) outs(%empty : {kind}) {{
        ^bb0(%x: f32, %y: f32, %z: f32):
          %v = arith.addf %x, %y : f32
          linalg.yield %v : f32
      }} -> {kind}
      return %sum : {kind}
    }}"""


UPSAMPLED = """
func.func @main(%x: tensor<2x6x10x32xf16>, %w: tensor<32x48xf16>, %s: tensor<2x3x5x48xf16>)
    -> tensor<2x6x10x48xf16> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [3] x [0]
      : (tensor<2x6x10x32xf16>, tensor<32x48xf16>) -> tensor<2x6x10x48xf32>
  %1 = stablehlo.convert %0 : (tensor<2x6x10x48xf32>) -> tensor<2x6x10x48xf16>
  %2 = stablehlo.broadcast_in_dim %s, dims = [0, 1, 3, 4] : (tensor<2x3x5x48xf16>) -> tensor<2x3x2x5x48xf16>
  %3 = stablehlo.reshape %2 : (tensor<2x3x2x5x48xf16>) -> tensor<2x6x5x48xf16>
  %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2, 4] : (tensor<2x6x5x48xf16>) -> tensor<2x6x5x2x48xf16>
  %5 = stablehlo.reshape %4 : (tensor<2x6x5x2x48xf16>) -> tensor<2x6x10x48xf16>
  %6 = stablehlo.add %1, %5 : tensor<2x6x10x48xf16>
  return %6 : tensor<2x6x10x48xf16>
}
"""
"""An image of half the size is repeated (`jnp.repeat`) and added to a product, as in pyramids of features."""
