"""Programs in which elementwise ops without names follow sums: batch norms, activations, gates."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
      %to = tensor.empty() : {to}
      %finished = linalg.generic {{indexing_maps = [{", ".join([whole, *maps, whole])}],
            iterator_types = [{", ".join(['"parallel"'] * len(shape))}]}}
          ins({inputs} : {", ".join([f"tensor<{kind}>", *read])}) outs(%to : {to}) {{
        ^bb0(%x: {element}, {arguments}%z: {result or element}):
{own}
          linalg.yield %v : {result or element}
      }} -> {to}
      return %finished : {to}
    }}"""
