"""The ways of values through regions, blocks and names of a module."""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir

from iree_tuner.compiler.context import defining_op, reachable
from iree_tuner.ops.structure import INTEGER_CASTS, iterators, operand_groups

FUNCTIONS = ("func.func", "util.func")
CALLS = ("func.call", "util.call")
RETURNS = ("func.return", "util.return")
MOVES = (
    *INTEGER_CASTS, "tensor.cast", "tensor.collapse_shape", "tensor.expand_shape", "tensor.reshape",
    "tensor.bitcast", "tensor.extract_slice", "tensor.extract", "tensor.splat", "tensor.pack",
    "tensor.unpack", "linalg.pack", "linalg.unpack", "memref.load", "hal.tensor.import",
    "iree_tensor_ext.dispatch.tensor.load",
    "iree_tensor_ext.bitcast", "iree_linalg_ext.gather", "flow.tensor.reshape", "flow.tensor.clone",
    "flow.tensor.transfer", "flow.tensor.slice", "flow.tensor.load", "flow.tensor.splat",
)  # fmt: skip
"""Ops whose results have values of their first operand, and no others."""

_CONSTANT_PLACE = 2  # operands of an op on a slice with constant offsets and sizes

NUMBERED = ("util.assume.int", "util.optimization_barrier", "hal.tensor.barrier")
"""Ops whose results are their operands, one for one."""


def is_structured(op: ir.Operation) -> bool:
    """Whether an op has a body that computes one element, whose arguments are elements of its operands."""
    if not op.name.startswith("linalg.") or len(op.regions) != 1:
        return False
    blocks = list(op.regions[0].blocks)
    return len(blocks) == 1 and len(blocks[0].arguments) in (len(op.operands), len(op.operands) - 1)


def terminator(region: ir.Region, block: int = 0) -> ir.Operation:
    """The last op of a region's block."""
    operations = region.blocks[block].operations
    return operations[len(operations) - 1].operation


def number_of(value: ir.Value) -> int:
    """A value's number among its op's results, or its block's arguments."""
    if isinstance(value.owner, ir.Block):
        return ir.BlockArgument(value).arg_number
    return ir.OpResult(value).result_number


def parent_of(argument: ir.Value) -> ir.Operation:
    """The op whose region has a block with that argument."""
    assert isinstance(argument.owner, ir.Block)
    return argument.owner.owner.operation


def block_number(block: ir.Block, op: ir.Operation) -> tuple[int, int]:
    """The numbers of a region of an op, and of a block in it."""
    for number, region in enumerate(op.regions):
        for place, each in enumerate(region.blocks):
            if each == block:
                return number, place
    raise AssertionError("the op has the block")


def constant(value: ir.Value) -> int | None:
    """The value of an integer constant."""
    op = defining_op(value)
    if op is None or op.name != "arith.constant":
        return None
    attribute = op.attributes["value"]
    if isinstance(attribute, ir.IntegerAttr):
        return attribute.value
    if isinstance(attribute, ir.DenseIntElementsAttr) and attribute.is_splat:
        return int(ir.IntegerAttr(attribute.get_splat_value()).value)
    return None


def predecessors(block: ir.Block, argument: int) -> list[ir.Value]:
    """The values that branches to a block pass for one of its arguments."""
    found: list[ir.Value] = []
    region = block.region
    for number in range(len(list(region.blocks))):
        last = terminator(region, number)
        targets = list(last.successors)
        if last.name == "cf.br" and targets[0] == block:
            found.append(last.operands[argument])
        if last.name == "cf.cond_br":
            passed = zip(operand_groups(last)[1:], targets, strict=True)
            found += [each[argument] for each, target in passed if target == block and argument < len(each)]
    return found


def followed(value: ir.Value) -> tuple[ir.Value, int]:
    """The value that another one is, and the constant added to it: through casts, moves and bodies of ops."""
    offset = 0
    for _ in range(64):
        op, number = defining_op(value), number_of(value)
        if op is None:
            handed = handed_on(value)
            parent = parent_of(value)
            if handed is None and (not is_structured(parent) or number >= _inputs(parent)):
                break
            value = parent.operands[number] if handed is None else handed
        elif op.name in MOVES:
            value = op.operands[0]
        elif op.name in NUMBERED:
            value = op.operands[number]
        elif op.name == "tensor.from_elements" and len(op.operands) == 1:
            value = op.operands[0]
        elif is_structured(op) and "reduction" not in iterators(op):
            value = terminator(op.regions[0]).operands[number]
        elif op.name in ("arith.addi", "arith.subi") and (step := _step(op)) is not None:
            value, offset = step[0], offset + step[1]
        else:
            break
    return value, offset


def handed_on(argument: ir.Value) -> ir.Value | None:
    """The value that the condition of a `scf.while` passes to its body; None for any other argument."""
    parent, block = parent_of(argument), argument.owner
    if parent.name != "scf.while" or not isinstance(block, ir.Block):
        return None
    region, _ = block_number(block, parent)
    return terminator(parent.regions[0]).operands[1 + number_of(argument)] if region else None


def _inputs(op: ir.Operation) -> int:
    return len(op.operands) - max(1, len(op.results))


def _step(op: ir.Operation) -> tuple[ir.Value, int] | None:
    """The operand to which an op adds a constant, and the constant."""
    left, right = op.operands[0], op.operands[1]
    added = _held_constant(right)
    if added is not None:
        return left, added if op.name == "arith.addi" else -added
    added = _held_constant(left)
    return (right, added) if added is not None and op.name == "arith.addi" else None


def _held_constant(value: ir.Value) -> int | None:
    """A constant that a body uses directly, or has as its argument."""
    for _ in range(8):
        found = constant(value)
        op = defining_op(value)
        if found is not None:
            return found
        if op is None and is_structured(parent_of(value)):
            value = parent_of(value).operands[number_of(value)]
        elif op is not None and op.name in (*INTEGER_CASTS, "linalg.fill"):
            value = op.operands[0]
        else:
            return None
    return None


def compared(value: ir.Value) -> ir.Operation | None:
    """The comparison of integers that a truth value is, through moves and bodies."""
    found, offset = followed(value)
    op = defining_op(found)
    return op if op is not None and op.name == "arith.cmpi" and not offset else None


def depends(value: ir.Value, on: ir.Value, within: ir.Operation) -> bool:
    """Whether a value is computed from another one, in the regions of an op."""

    def sources(each: ir.Value) -> Sequence[ir.Value]:
        block = each.owner
        if not isinstance(block, ir.Block):
            return [*block.operation.operands, *yielded(block.operation)]
        parent, handed = parent_of(each), handed_on(each)
        if handed is not None:
            return [handed]
        if parent == within:
            return predecessors(block, number_of(each))
        if is_structured(parent):
            return [parent.operands[number_of(each)]]
        return [*parent.operands, *yielded(parent)] if parent.name.startswith("scf.") else []

    return on in reachable([value], sources)


def yielded(op: ir.Operation) -> Sequence[ir.Value]:
    """The values that the regions of an op yield."""
    return [
        operand
        for region in op.regions
        if list(region.blocks)
        for operand in terminator(region, len(list(region.blocks)) - 1).operands
    ]


def column_of(indices: ir.Value, column: int) -> ir.Value:
    """The tensor that was inserted or concatenated as a column of indices; else the whole."""
    while (op := defining_op(indices)) is not None:
        if op.name == "tensor.insert_slice" and len(op.operands) == _CONSTANT_PLACE:
            offset, size = (
                list(ir.DenseI64ArrayAttr(op.attributes[name]))[-1]
                for name in ("static_offsets", "static_sizes")
            )
            inside = offset <= column < offset + size
            indices, column = (op.operands[0], column - offset) if inside else (op.operands[1], column)
        elif op.name == "tensor.concat" and (part := _concatenated(op, column)) is not None:
            indices, column = part
        else:
            break
    return indices


def _concatenated(op: ir.Operation, column: int) -> tuple[ir.Value, int] | None:
    kind = op.results[0].type
    assert isinstance(kind, ir.ShapedType)
    if ir.IntegerAttr(op.attributes["dim"]).value != kind.rank - 1:
        return None
    for operand in op.operands:
        own = operand.type
        if not isinstance(own, ir.ShapedType) or own.is_dynamic_dim(own.rank - 1):
            return None
        if column < own.get_dim_size(own.rank - 1):
            return operand, column
        column -= own.get_dim_size(own.rank - 1)
    return None
