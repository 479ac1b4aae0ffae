"""Programs with sums of 8-bit integers and what follows them, and what numpy makes of these."""

from __future__ import annotations

import numpy as np


def requantized(shape: tuple[int, ...], residual: bool) -> tuple[list[tuple[str, str]], str, str]:
    """More arguments, ops after `%sums`, and the result: scaled and shifted by channel, rounded."""
    rank, size = len(shape), "tensor<" + "x".join(map(str, shape))
    wide, i8 = f"{size}xf32>", f"{size}xi8>"
    vector = f"tensor<{shape[-1]}xf32>"

    def op(name, inputs, kind, *body):
        names, types, maps = zip(*inputs, strict=True)
        scalars = ", ".join(
            f"%x{n}: {each.rpartition('x')[2].removesuffix('>').removeprefix('tensor<')}"
            for n, each in enumerate(types)
        )
        lines = "\n          ".join(body)
        return f"""
      {name} = linalg.generic {{indexing_maps = [{", ".join(maps)}, #id],
            iterator_types = [{", ".join(['"parallel"'] * rank)}]}}
          ins({", ".join(names)} : {", ".join(types)}) outs(%empty_{kind} : {size}x{kind}>) {{
        ^bb0({scalars}, %o: {kind}):
          {lines}
          linalg.yield %r : {kind}
      }} -> {size}x{kind}>"""

    clamp = ("%m = arith.maximumf %x0, %low : f32", "%r = arith.minimumf %high, %m : f32")
    text = f"""
      %low = arith.constant -128.0 : f32
      %high = arith.constant 127.0 : f32
      %empty_f32 = tensor.empty() : {wide}
      %empty_i8 = tensor.empty() : {i8}"""
    text += op("%1", [("%sums", f"{size}xi32>", "#id")], "f32", "%r = arith.sitofp %x0 : i32 to f32")
    text += op(
        "%2", [("%1", wide, "#id"), ("%scale", vector, "#last")], "f32", "%r = arith.mulf %x0, %x1 : f32"
    )
    text += op(
        "%3", [("%2", wide, "#id"), ("%offset", vector, "#last")], "f32", "%r = arith.addf %x0, %x1 : f32"
    )
    text += op("%4", [("%3", wide, "#id")], "f32", "%r = math.roundeven %x0 : f32")
    text += op("%5", [("%4", wide, "#id")], "f32", *clamp)
    text += op("%6", [("%5", wide, "#id")], "i8", "%r = arith.fptosi %x0 : f32 to i8")
    arguments = [("%scale", vector), ("%offset", vector)]
    if not residual:
        return arguments, text, "%6"
    text += op("%7", [("%6", i8, "#id")], "f32", "%r = arith.sitofp %x0 : i8 to f32")
    text += op("%8", [("%other", i8, "#id")], "f32", "%r = arith.sitofp %x0 : i8 to f32")
    text += op(
        "%9",
        [("%8", wide, "#id"), ("%times", "tensor<f32>", "#none")],
        "f32",
        "%r = arith.mulf %x0, %x1 : f32",
    )
    text += op("%10", [("%7", wide, "#id"), ("%9", wide, "#id")], "f32", "%r = arith.addf %x0, %x1 : f32")
    text += op("%11", [("%10", wide, "#id")], "f32", "%r = math.roundeven %x0 : f32")
    text += op("%12", [("%11", wide, "#id")], "f32", *clamp)
    text += op("%13", [("%12", wide, "#id")], "i8", "%r = arith.fptosi %x0 : f32 to i8")
    return [*arguments, ("%other", i8), ("%times", "tensor<f32>")], text, "%13"


def program(
    op: str, left: tuple[int, ...], right: tuple[int, ...], shape: tuple[int, ...], *, follows: bool = True,
    residual: bool = False, unsigned: bool = False, widened: bool = False, padding: int | None = None,
) -> str:  # fmt: skip
    """A function of one named op on 8-bit operands, which may be widened and padded by one pixel before."""
    rank = len(shape)
    one, other = (f"tensor<{'x'.join(map(str, each))}xi8>" for each in (left, right))
    sums = f"tensor<{'x'.join(map(str, shape))}xi32>"
    more, text, result = requantized(shape, residual) if follows else ([], "", "%sums")
    kind = sums.replace("i32", "i8") if follows else sums
    dimensions = "abcd"[:rank]
    arguments = ", ".join(f"{name}: {each}" for name, each in [("%a", one), ("%b", other), *more])
    before, operands = "", [("%a", one), ("%b", other)]
    if unsigned or widened or padding is not None:
        before, operands = _widened(left, right, unsigned=unsigned, padding=padding)
    (x, x_type), (y, y_type) = operands
    return f"""
    #id = affine_map<({", ".join(dimensions)}) -> ({", ".join(dimensions)})>
    #last = affine_map<({", ".join(dimensions)}) -> ({dimensions[-1]})>
    #none = affine_map<({", ".join(dimensions)}) -> ()>
    func.func @main({arguments}) -> {kind} {{
      %zero = arith.constant 0 : i32
      %empty = tensor.empty() : {sums}
      %init = linalg.fill ins(%zero : i32) outs(%empty : {sums}) -> {sums}{before}
      %sums = linalg.{op} ins({x}, {y} : {x_type}, {y_type}) outs(%init : {sums}) -> {sums}{text}
      return {result} : {kind}
    }}"""


def _widened(left, right, *, unsigned, padding):
    text, operands = "", []
    for name, shape, cast in (("a", left, "extui" if unsigned else "extsi"), ("b", right, "extsi")):
        size = "tensor<" + "x".join(map(str, shape))
        letters = ", ".join(f"d{n}" for n in range(len(shape)))
        place = f"affine_map<({letters}) -> ({letters})>"
        text += f"""
      %e{name} = tensor.empty() : {size}xi32>
      %w{name} = linalg.generic {{indexing_maps = [{place}, {place}],
            iterator_types = [{", ".join(['"parallel"'] * len(shape))}]}}
          ins(%{name} : {size}xi8>) outs(%e{name} : {size}xi32>) {{
        ^bb0(%x: i8, %o: i32):
          %r = arith.{cast} %x : i8 to i32
          linalg.yield %r : i32
      }} -> {size}xi32>"""
        operands.append((f"%w{name}", f"{size}xi32>"))
    if padding is not None:
        n, high, wide, channels = left
        after = f"tensor<{n}x{high + 2}x{wide + 2}x{channels}xi32>"
        text += f"""
      %around = arith.constant {padding} : i32
      %padded = tensor.pad %wa low[0, 1, 1, 0] high[0, 1, 1, 0] {{
        ^bb0(%i: index, %j: index, %k: index, %l: index):
          tensor.yield %around : i32
      }} : {operands[0][1]} to {after}"""
        operands[0] = ("%padded", after)
    return text, operands


def arrays(problem, *, extremes=False):
    """Operands and what follows; `extremes`: of the largest and smallest numbers only."""
    rng, found = np.random.default_rng(0), []
    signed = problem.integers.signed
    for number, each in enumerate(problem.inputs):
        if each.element_type == "i8":
            kind = np.int8 if number >= 2 or signed[number] else np.uint8
            low, high = np.iinfo(kind).min, np.iinfo(kind).max
            values = rng.integers(low, high, each.shape, kind, endpoint=True)
            found.append(rng.choice(np.array([low, high], kind), each.shape) if extremes else values)
        else:
            found.append(np.asarray(rng.uniform(-0.01, 0.01, each.shape), np.float32))
    return found


def finished(sums, more):
    """The ops of `requantized` on sums, sums of products rounded once."""
    scale, offset, *rest = more

    def rounded(x):
        return np.clip(np.rint(x), -128, 127).astype(np.int8)

    found = rounded(fused(sums.astype(np.float32), scale, offset))
    return rounded(fused(rest[0].astype(np.float32), rest[1], found)) if rest else found


def fused(one, other, more):
    """A sum of a product, rounded to f32 once: 64 bits are enough for the product."""
    return (one.astype(np.float64) * other + more).astype(np.float32)
