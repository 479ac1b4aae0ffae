"""Recognize ops around a product: casts, factors, transposes, reshapes, and the parts of a softmax."""

from __future__ import annotations

from iree.compiler import ir

from iree_tuner.kernels.epilogue import producer
from iree_tuner.ops.structure import indexing_maps

_LOWEST = -1e30  # a maximum starts from this or less
_HIDDEN = -1e9  # scores of this or less have no weight in a softmax
_REPEATING = ("linalg.fill", "linalg.broadcast", "tensor.expand_shape", "tensor.collapse_shape")


def groups_of(op: ir.Operation) -> list[list[int]]:
    """The groups of dimensions that a reshape joins or splits, as dimensions of the larger rank."""
    groups = ir.ArrayAttr(op.attributes["reassociation"])
    return [[ir.IntegerAttr(each).value for each in ir.ArrayAttr(group)] for group in groups]


def body_of(op: ir.Operation) -> str:
    """The name of the only op in the body of an elementwise op without broadcasts; otherwise empty."""
    if op.name != "linalg.generic" or len(op.regions[0].blocks[0].operations) != 2:
        return ""
    maps = indexing_maps(op)
    alike = all(each == ir.AffineMap.get_identity(each.n_dims) for each in maps)
    return op.regions[0].blocks[0].operations[0].operation.name if alike else ""


def order_of(op: ir.Operation) -> list[int] | None:
    """For each dimension of a transpose's result, the dimension of its operand; None for other ops."""
    moved = moved_by(op)
    if moved is None or None in moved or len(moved) < ir.RankedTensorType(op.result.type).rank:
        return None
    return [moved.index(each) for each in range(len(moved))]


def moved_by(op: ir.Operation) -> list[int | None] | None:
    """For each dimension of an operand, the dimension of the result, if an op transposes or repeats values.

    A dimension of size 1 that the result does not have is None. For other ops, the whole result is None.
    """
    if op.name == "linalg.transpose":
        order = list(ir.DenseI64ArrayAttr(op.attributes["permutation"]))
        return [*map(order.index, range(len(order)))]
    if op.name == "linalg.broadcast":
        repeated = list(ir.DenseI64ArrayAttr(op.attributes["dimensions"]))
        return [each for each in range(ir.RankedTensorType(op.result.type).rank) if each not in repeated]
    if not copies(op):
        return None
    source, result = indexing_maps(op)
    if not result.is_permutation or not all(map(_is_loop_or_zero, source.results)):
        return None
    loops = [ir.AffineDimExpr(each).position for each in result.results]
    own = [ir.AffineDimExpr(each).position for each in source.results if isinstance(each, ir.AffineDimExpr)]
    if len(set(own)) < len(own):
        return None
    return [
        loops.index(each.position) if isinstance(each, ir.AffineDimExpr) else None for each in source.results
    ]


def _is_loop_or_zero(result: ir.AffineExpr) -> bool:
    if isinstance(result, ir.AffineConstantExpr):
        return result.value == 0
    return isinstance(result, ir.AffineDimExpr)


def choice_of(op: ir.Operation) -> tuple[ir.Value, list[int]] | None:
    """The mask of an op that selects its second operand where the mask is true, otherwise a low number.

    Returns the mask, and for each of its dimensions the dimension of the result; None for other ops.
    """
    if op.name != "linalg.generic" or len(op.operands) < 3:
        return None
    block, (mask, scores, *_) = op.regions[0].blocks[0], op.operands
    place, own, *_ = maps = indexing_maps(op)
    step = block.operations[0].operation
    if len(block.operations) != 2 or step.name != "arith.select":
        return None
    whole = ir.AffineMap.get_identity(own.n_dims)
    if own != whole or maps[-1] != whole or not place.is_projected_permutation:
        return None
    if (
        list(step.operands)[:2] != list(block.arguments)[:2]
        or ir.RankedTensorType(scores.type).rank != own.n_dims
    ):
        return None
    other = uniform(outside(op, step.operands[2]))
    if other is None or other > _HIDDEN:
        return None
    return mask, [ir.AffineDimExpr(each).position for each in place.results]


def copies(op: ir.Operation) -> bool:
    """Whether an op only moves or repeats the values of its only operand."""
    if op.name != "linalg.generic" or len(op.operands) != 2:
        return False
    block = op.regions[0].blocks[0]
    return len(block.operations) == 1 and block.operations[0].operands[0] == block.arguments[0]


def factor_of(op: ir.Operation) -> tuple[ir.Value, float] | None:
    """The value that an elementwise op multiplies by a constant, and the constant; None for other ops."""
    name = body_of(op)
    if name not in ("arith.mulf", "arith.divf"):
        return None
    first, second = (outside(op, each) for each in op.regions[0].blocks[0].operations[0].operands)
    number = uniform(second)
    if name == "arith.mulf" and number is None:
        first, number = second, uniform(first)
    if not number or not isinstance(first.type, ir.RankedTensorType):
        return None
    return first, number if name == "arith.mulf" else 1.0 / number


def outside(op: ir.Operation, value: ir.Value) -> ir.Value:
    """The operand behind an argument of an op's body; other values are returned unchanged."""
    if isinstance(value.owner, ir.Block) and value.owner == op.regions[0].blocks[0]:
        return op.operands[ir.BlockArgument(value).arg_number]
    return value


def uniform(value: ir.Value, most_steps: int = 6) -> float | None:
    """The value of a constant scalar, or of all elements of a constant tensor; None if it is not known."""
    op = producer(value)
    if op is None or not most_steps:
        return None
    if op.name == "arith.constant":
        found = op.attributes["value"]
        if isinstance(found, ir.DenseFPElementsAttr) and found.is_splat:
            found = found.get_splat_value()
        return found.value if isinstance(found, ir.FloatAttr) else None
    # Bodies that yield a constant from outside are left out: they cannot be matched (`local_constants`).
    repeats = op.name in _REPEATING or copies(op)
    return uniform(op.operands[0], most_steps - 1) if repeats else None


def softmaxed(division: ir.Operation, keys: int) -> ir.Value | None:
    """`x` if the division is the softmax `exp(x - max) / sum` over the dimension `keys`; otherwise None."""
    powers = _over(division, "arith.divf", keys, "arith.addf", 0.0)
    exponential = producer(powers) if powers is not None else None
    if exponential is None or body_of(exponential) != "math.exp":
        return None
    difference = producer(exponential.operands[0])
    return None if difference is None else _over(difference, "arith.subf", keys, "arith.maximumf", _LOWEST)


def _over(op: ir.Operation, name: str, keys: int, reduction: str, start: float) -> ir.Value | None:
    """`x` if an op combines `x` with a reduction of the same `x` over a dimension; otherwise None."""
    block = op.regions[0].blocks[0] if op.name == "linalg.generic" else None
    if block is None or len(op.operands) != 3 or len(block.operations) != 2:
        return None
    inner, maps = block.operations[0].operation, indexing_maps(op)
    whole = ir.AffineMap.get_identity(maps[2].n_dims)
    if inner.name != name or list(inner.operands) != list(block.arguments)[:2]:
        return None
    if maps[0] != whole or maps[2] != whole:
        return None
    value, reduced, place = op.operands[0], op.operands[1], maps[1]
    copied = producer(reduced)
    if copied is not None and copies(copied) and place == whole:
        reduced, (place, _) = copied.operands[0], indexing_maps(copied)
    made = producer(reduced)
    if made is None or made.name != "linalg.generic" or place != _without(whole.n_dims, keys):
        return None
    sums = made.regions[0].blocks[0]
    steps = [each.operation for each in sums.operations]
    right = (
        len(steps) == 2
        and steps[0].name == reduction
        and set(steps[0].operands) == set(sums.arguments)
        and made.operands[0] == value
        and list(indexing_maps(made)) == [whole, place]
        and starts_with(made, start)
    )
    return value if right else None


def _without(rank: int, dimension: int) -> ir.AffineMap:
    left = [each for each in range(rank) if each != dimension]
    return ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(each) for each in left])


def starts_with(op: ir.Operation, start: float) -> bool:
    """Whether a reduction or product starts from 0 (`start` is 0), or from `start` or less."""
    fill = producer(op.operands[len(op.operands) - 1])
    constant = producer(fill.operands[0]) if fill is not None and fill.name == "linalg.fill" else None
    value = constant.attributes["value"] if constant is not None and "value" in constant.attributes else None
    if not isinstance(value, ir.FloatAttr):
        return False
    return value.value == 0.0 if start == 0.0 else value.value <= start
