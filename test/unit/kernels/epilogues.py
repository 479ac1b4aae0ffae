"""Products with epilogues: as programs, and in double precision."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from kernels.problems import matmul

GELUS = {
    "gelu": """
          %d{i} = arith.divf {x}, %root{i} : {t}
          %e{i} = math.erf %d{i} : {t}
          %p{i} = arith.addf %e{i}, %one{i} : {t}
          %h{i} = arith.mulf %p{i}, %half{i} : {t}
          {r} = arith.mulf {x}, %h{i} : {t}""",
    "gelu_tanh": """
          %s{i} = arith.mulf {x}, {x} : {t}
          %q{i} = arith.mulf %s{i}, {x} : {t}
          %w{i} = arith.mulf %cube{i}, %q{i} : {t}
          %y{i} = arith.addf {x}, %w{i} : {t}
          %z{i} = arith.mulf %slope{i}, %y{i} : {t}
          %e{i} = math.tanh %z{i} : {t}
          %p{i} = arith.addf %one{i}, %e{i} : {t}
          %h{i} = arith.mulf %p{i}, %half{i} : {t}
          {r} = arith.mulf {x}, %h{i} : {t}""",
}
SILU = """
          %n{i} = arith.negf {x} : {t}
          %e{i} = math.exp %n{i} : {t}
          %p{i} = arith.addf %one{i}, %e{i} : {t}
          %h{i} = arith.divf %one{i}, %p{i} : {t}
          {r} = arith.mulf {x}, %h{i} : {t}"""
EXTRAS = ("bias", "residual", "factor")
CONSTANTS = {
    "zero": 0.0, "one": 1.0, "half": 0.5, "root": math.sqrt(2.0), "cube": 0.044715,
    "slope": math.sqrt(2 / math.pi),
}  # fmt: skip
BODIES = {
    "bias": "\n          {r} = arith.addf {x}, {extra} : {t}",
    "residual": "\n          {r} = arith.addf {extra}, {x} : {t}",
    "relu": "\n          {r} = arith.maximumf {x}, %zero{i} : {t}",
    "truncf": "\n          {r} = arith.truncf {x} : f32 to {t}",
    "factor": "\n          {r} = arith.mulf {extra}, {x} : {t}",
    "scale": "\n          {r} = arith.mulf {x}, %cube{i} : {t}",
    "silu": SILU,
    **GELUS,
}


def with_epilogue(
    m: int, n: int, k: int, steps: Sequence[str], *, element: str = "f32", narrow: str = "f16",
    transposed: bool = False, together: bool = False, inside: bool = False,
) -> str:  # fmt: skip
    """A product with steps after it.

    Args:
        m, n, k, element, transposed: of `matmul`.
        steps: in order.
        narrow: what is truncated to.
        together: in one generic, and not in one for each step.
        inside: constants in the bodies, and not outside of them.
    """
    head, _, _ = matmul(m, n, k, element=element, transposed=transposed).rpartition("return")
    kinds = _kinds(steps, narrow)
    constants = "".join(
        f"\n          %{name}{i} = arith.constant {value!r} : {kind}"
        for i, kind in enumerate(kinds[1:])
        for name, value in CONSTANTS.items()
    )
    between = constants if inside else ""
    groups = [list(range(len(steps)))] if together else [[i] for i in range(len(steps))]
    extras, text, value = "", "", "%r"
    for group in groups if steps else ():
        first, last = kinds[group[0]], kinds[group[-1] + 1]
        maps, names, types, arguments, body, x = (
            ["id"],
            [value],
            [f"{m}x{n}x{first}"],
            "%x: " + first,
            "",
            "%x",
        )
        for i in group:
            if steps[i] in EXTRAS:
                shape = f"{n}" if steps[i] == "bias" else f"{m}x{n}"
                maps.append("last" if steps[i] == "bias" else "id")
                names.append(f"%extra{i}")
                types.append(f"{shape}x{kinds[i]}")
                arguments += f", %a{i}: {kinds[i]}"
                extras += f", %extra{i}: tensor<{shape}x{kinds[i]}>"
            body += BODIES[steps[i]].format(x=x, r=f"%v{i}", i=i, t=kinds[i + 1], extra=f"%a{i}")
            x = f"%v{i}"
        end = group[-1]
        out = f"tensor<{m}x{n}x{last}>"
        text += f"""%empty{end} = tensor.empty() : {out}
      %r{end} = linalg.generic {{indexing_maps = [{", ".join("#" + each for each in maps)}, #id],
          iterator_types = ["parallel", "parallel"]}}
          ins({", ".join(names)} : {", ".join(f"tensor<{each}>" for each in types)})
          outs(%empty{end} : {out}) {{
        ^bb0({arguments}, %o: {last}):{between}{body}
          linalg.yield {x} : {last}
      }} -> {out}
      """
        value = f"%r{end}"
    result = f"tensor<{m}x{n}x{kinds[-1]}>"
    head = head.replace(") -> tensor", f"{extras}) -> tensor", 1).replace(
        f"-> tensor<{m}x{n}xf32> {{", f"-> {result} {{", 1
    )
    return (
        "#id = affine_map<(m, n) -> (m, n)>\n#last = affine_map<(m, n) -> (n)>\n"
        f"{head}{'' if inside else constants}\n      {text}return {value} : {result}\n    }}"
    )


def _kinds(steps: Sequence[str], narrow: str) -> list[str]:
    """The type before each step, and at the end."""
    kinds = ["f32"]
    for step in steps:
        kinds.append(narrow if step == "truncf" else kinds[-1])
    return kinds


def gelu(x: np.ndarray) -> np.ndarray:
    return x / 2 * (1 + np.vectorize(math.erf, otypes=[float])(x / math.sqrt(2)))


def gelu_tanh(x: np.ndarray) -> np.ndarray:
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def expected(sums: np.ndarray, steps: Sequence[str], extras: Sequence[np.ndarray]) -> np.ndarray:
    """What steps make of sums in double precision; a truncation is none there."""
    given = iter(extras)
    for step in steps:
        if step == "factor":
            sums = sums * next(given)
        elif step in EXTRAS:
            sums = sums + next(given)
        elif step == "scale":
            sums = sums * CONSTANTS["cube"]
        elif step == "silu":
            sums = sums / (1 + np.exp(-sums))
        elif step == "relu":
            sums = np.maximum(sums, 0)
        elif step != "truncf":
            sums = {"gelu": gelu, "gelu_tanh": gelu_tanh}[step](sums)
    return sums
