"""The roles of a function's arguments, so that values are generated that no layer overflows on.

Programs come in many dialects (linalg, StableHLO, torch, TOSA). The names of ops tell what they do, and
dialects share them: a product is called `dot_general`, `matmul`, `linear` or `conv`, a root `sqrt` or
`rsqrt`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from iree.compiler import ir

from iree_tuner.ops.structure import iterators
from iree_tuner.program.valid.interval import Interval

_SAME = (
    "transpose", "reshape", "broadcast", "convert", "cast", "expand_shape", "collapse_shape", "permute",
    "view", "slice", "squeeze", "numpy_t", "aten.t", "extf", "truncf", "import", "barrier", "clone",
    "contiguous", "to",
)  # fmt: skip
_PRODUCTS = ("dot", "matmul", "mm", "linear", "conv", "convolution", "einsum", "vecmat", "matvec")
_POSITIVE = ("sqrt", "rsqrt", "log", "batch_norm", "batchnorm")
_SUMS = ("add", "maximum", "divide", "div", "divf")
_DIFFERENCES = {"subtract": 1, "sub": 1, "subf": 1, "rsub": 0, "negate": 0, "neg": 0, "negf": 0}
"""Ops that have what is left of a number to one, or its negative for `log(1 + x)`; the operand that it is."""

_CALLS = ("func.call", "util.call")


@dataclass(frozen=True)
class Feed:
    """The use of an argument.

    Attributes:
        summed: how many of its values go into one result of the products that it is a weight of; 0 for none.
        positive: whether a root, a logarithm or a normalisation needs it to be.
        fraction: whether what is left of it to one must be positive, too: a probability.
        values: what the program's uses of its integers allow (`program.valid`); None where they say nothing.
    """

    summed: int = 0
    positive: bool = False
    fraction: bool = False
    values: Interval | None = None


PLAIN = Feed()


def feeds_of(function: ir.Operation) -> tuple[Feed, ...]:
    """The role of each of a function's arguments, also where functions that it calls take them."""
    others = functions_beside(function)
    return tuple(_feed(argument, others) for argument in function.regions[0].blocks[0].arguments)


def functions_beside(function: ir.Operation) -> dict[str, ir.Operation]:
    """The symbols of the module that a function is in."""
    return {ir.StringAttr(each.attributes["sym_name"]).value: each
            for view in function.block.operations
            if "sym_name" in (each := view.operation).attributes}  # fmt: skip


def _feed(argument: ir.Value, others: Mapping[str, ir.Operation]) -> Feed:
    summed, positive, fraction = 0, False, False
    seen = set[ir.Value]()
    todo = [(argument, True, False)]
    while todo:
        value, plain, left = todo.pop()
        if value in seen:
            continue
        seen.add(value)
        for use in value.uses:
            op, place = use.owner.operation, use.operand_number
            words = _words(op)
            rooted = _rooted(op, place)
            if op.name in _CALLS:
                todo += [(each, plain, left) for each in passed_on(op, place, others)]
            elif words & set(_POSITIVE) or rooted:
                positive, fraction = True, fraction or left or rooted == "fraction"
            elif plain and place > 0 and (words & set(_PRODUCTS) or _reduces(op)):
                summed = max(summed, _summed(op, place))
            elif words & set(_SAME) or _moves(op):
                todo += [(result, plain, left) for result in op.results]
            elif words & set(_SUMS):
                todo += [(result, False, left) for result in op.results]
            elif _leaves(op, place):
                todo += [(result, False, not left) for result in op.results]
    return Feed(summed, positive, fraction)


def passed_on(call: ir.Operation, place: int, others: Mapping[str, ir.Operation]) -> list[ir.Value]:
    """The argument of the called function that an operand is; none if it is no call, or has no body here."""
    if call.name not in _CALLS:
        return []
    callee = others.get(ir.FlatSymbolRefAttr(call.attributes["callee"]).value)
    blocks = list(callee.regions[0].blocks) if callee is not None and len(callee.regions) else []
    return [blocks[0].arguments[place]] if blocks else []


def _words(op: ir.Operation) -> set[str]:
    """The words of an op's name: `dot_general` is also `dot`."""
    name = op.name.rpartition(".")[2]
    return {name, op.name.partition(".")[2], *op.name.split("."), *name.split("_")}


def _sizes(kind: ir.Type) -> tuple[int, ...]:
    """Of a tensor whose sizes are known; empty for others, and for torch's types."""
    if not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape:
        return ()
    return tuple(kind.shape)


def _summed(op: ir.Operation, place: int) -> int:
    """How many products one result sums, from sizes: each of a product's loops is in two of three tensors."""
    own = _sizes(op.operands[place].type)
    left, weight, result = (
        math.prod(_sizes(value.type)) for value in (op.operands[0], op.operands[place], op.results[0])
    )
    if len(own) == 2 and left > 1 and result > 1:
        return max(1, math.isqrt(left * weight // result))
    return max(1, weight // max(own[0], own[-1])) if len(own) > 1 else 0


def _reduces(op: ir.Operation) -> bool:
    """Whether a generic op multiplies and sums."""
    if op.name != "linalg.generic" or len(op.operands) < 3:
        return False
    return _adds_up(op) and any(each.operation.name == "arith.mulf" for each in _body(op))


def _moves(op: ir.Operation) -> bool:
    """Whether a generic op only moves or converts values."""
    if op.name != "linalg.generic":
        return False
    return not _adds_up(op) and len(_body(op)) <= 2


def _adds_up(op: ir.Operation) -> bool:
    return "reduction" in iterators(op)


def _rooted(op: ir.Operation, place: int) -> str:
    """Whether the body of a generic op takes a root or a logarithm of an operand, or of what it leaves."""
    if op.name != "linalg.generic":
        return ""
    argument = op.regions[0].blocks[0].arguments[place]
    found = ""
    for user in (use.owner.operation for use in argument.uses):
        behind = [use.owner.operation for result in user.results for use in result.uses]
        if any(_words(each) & set(_POSITIVE) for each in behind):
            number = next(n for n, each in enumerate(user.operands) if each == argument)
            found = "fraction" if _leaves(user, number) else found or "positive"
        found = found or ("positive" if _words(user) & set(_POSITIVE) else "")
    return found


def _leaves(op: ir.Operation, place: int) -> bool:
    """Whether an op subtracts an operand from a constant."""
    wanted = [_DIFFERENCES[each] for each in _words(op) & set(_DIFFERENCES)]
    return place in wanted and all(_constant(each) for n, each in enumerate(op.operands) if n != place)


def _constant(value: ir.Value) -> bool:
    """Whether a value is a constant, or one that is broadcast or converted."""
    if isinstance(value.owner, ir.Block):
        return False
    op = value.owner.operation
    words = _words(op)
    moved = len(op.operands) == 1 and words & set(_SAME)
    return _constant(op.operands[0]) if moved else bool(words & {"constant", "splat"})


def _body(op: ir.Operation) -> Sequence[ir.OpView]:
    return list(op.regions[0].blocks[0].operations)
