"""Gated products: as programs, and in double precision."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from kernels.epilogues import BODIES, CONSTANTS, expected
from kernels.problems import einsum

SWIGLU = ("truncf", "halves", "silu", "gated")
GEGLU = ("bias", "truncf", "exchanged_halves", "gelu", "gated")
WIDE = ("exchanged_halves", "silu", "gated", "truncf")


def gated(rows: int, columns: int, depth: int, steps: Sequence[str], *, apart: bool = False) -> str:
    """A product with twice so many columns, of which halves are multiplied; f16.

    With one row, operands are a vector and a matrix. `apart`: each half is a matrix of the result.
    """
    sizes = {"m": rows, "k": depth, "p": 2, "n": columns if apart else 2 * columns}
    spec = "mk,kpn->pmn" if apart else "k,kn->n" if rows == 1 else "mk,kn->mn"
    head, _, _ = einsum(spec, sizes).rpartition("return")
    whole = [sizes[each] for each in spec.partition("->")[2]]
    half = [*whole[apart:-1], columns]
    kind, value, other, text = "f32", "%r", "", ""
    for step in steps:
        if step in ("halves", "exchanged_halves"):
            for number, name in enumerate(("one", "two")):
                first = [number if apart and at == 0 else 0 for at in range(len(whole))]
                first[-1] += 0 if apart else number * columns
                taken = [1, *half] if apart else half
                text += (
                    f"%{name} = tensor.extract_slice {value}{first} {taken} {[1] * len(whole)}"
                    f" : {_tensor(whole, kind)} to {_tensor(half, kind)}\n"
                )
            value, other = ("%one", "%two")[:: 1 if step == "halves" else -1]
        elif step == "gated":
            text += _generic(
                "%gated", [value, other], half, kind, kind, "{r} = arith.mulf {x}, {extra} : {t}"
            )
            value = "%gated"
        else:
            shape, to = (half if other else whole), "f16" if step == "truncf" else kind
            operands = [value, "%c"] if step == "bias" else [value]
            text += _generic(f"%{step}", operands, shape, kind, to, BODIES[step])
            value, kind = f"%{step}", to
    bias = f", %c: {_tensor(whole[-1:], 'f32')}" if "bias" in steps else ""
    head = head.replace(") ->", f"{bias}) ->", 1)
    head = head.replace(f"-> {_tensor(whole, 'f32')} {{", f"-> {_tensor(half, kind)} {{", 1)
    return f"{head}{text}return {value} : {_tensor(half, kind)}\n}}"


def _tensor(shape: Sequence[int], kind: str) -> str:
    return "tensor<" + "".join(f"{each}x" for each in shape) + f"{kind}>"


def _generic(name: str, operands: list[str], shape: Sequence[int], kind: str, to: str, body: str) -> str:
    """An elementwise op; a second operand may be a bias of the last dimension."""
    loops = ", ".join(f"d{at}" for at in range(len(shape)))
    maps = [f"affine_map<({loops}) -> ({loops})>"] * (len(operands) + 1)
    types = [_tensor(shape, kind)] * len(operands)
    if operands[1:] == ["%c"]:
        maps[1] = f"affine_map<({loops}) -> (d{len(shape) - 1})>"
        types[1] = _tensor(shape[-1:], kind)
    out, at = _tensor(shape, to), name.removeprefix("%")
    constants = "".join(
        f"%{each}{at} = arith.constant {number!r} : {to}\n" for each, number in CONSTANTS.items()
    )
    arguments = "".join(f"%x{number}: {kind}, " for number in range(len(operands)))
    return f"""%empty{at} = tensor.empty() : {out}
        {name} = linalg.generic {{indexing_maps = [{", ".join(maps)}],
            iterator_types = [{", ".join(['"parallel"'] * len(shape))}]}}
            ins({", ".join(operands)} : {", ".join(types)}) outs(%empty{at} : {out}) {{
          ^bb0({arguments}%z: {to}):
            {constants}{body.format(x="%x0", r="%v", i=at, t=to, extra="%x1")}
            linalg.yield %v : {to}
        }} -> {out}
        """


def gated_reference(steps: Sequence[str], left, right, *bias):
    """Of the arrays that a program reads."""
    if right.ndim == 3:  # halves apart
        right = right.reshape(len(right), -1)
    cut = next(at for at, step in enumerate(steps) if "halves" in step)
    one, two = np.split(expected(left @ right, steps[:cut], bias), 2, axis=-1)
    one, two = (two, one) if steps[cut] == "exchanged_halves" else (one, two)
    return expected(one, [step for step in steps[cut + 1 :] if step != "gated"], ()) * two
