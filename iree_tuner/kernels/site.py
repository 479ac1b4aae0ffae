"""Where a program, as preprocessing finds it (after `abi`), has problems that kernels compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from iree.compiler import ir
from iree.compiler.dialects import arith, func, linalg

from iree_tuner.kernels.problem import Array, Problem
from iree_tuner.ops.canonical import captured, clone, strip_discardable
from iree_tuner.ops.family import describe
from iree_tuner.ops.workload import Workload

_FAMILIES = ("contraction", "convolution")


@dataclass(frozen=True)
class Site:
    """A problem in a program, as plain data.

    Attributes:
        problem: what is computed.
        case: a program with one function, `main`, that computes it by the same ops from the problem's inputs;
            text. It is what a matcher compares with, and what the problem is timed alone by.
        function: name of the function that it was found in.
    """

    problem: Problem
    case: bytes
    function: str


def find_sites(module: ir.Module) -> list[tuple[Site, ...]]:
    """For each root op that kernels could compute its sites: without epilogue, and with ever more."""
    return [tuple(site for site, _ in sites) for sites in _walk(module)]


def find_results(module: ir.Module, cases: Sequence[bytes]) -> list[tuple[int, ir.Operation]]:
    """The last ops of the sites whose case is among those, in order, each with its case's number."""
    number = {case: index for index, case in enumerate(cases)}
    every = [pair for sites in _walk(module) for pair in sites]
    return [(number[site.case], last) for site, last in every if site.case in number]


def _walk(module: ir.Module) -> list[list[tuple[Site, ir.Operation]]]:
    found: list[list[tuple[Site, ir.Operation]]] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name.startswith("linalg.") and op.name != "linalg.fill":
            sites = _sites_of(op)
            if sites:
                found.append(sites)
            return ir.WalkResult.SKIP
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def _sites_of(root: ir.Operation) -> list[tuple[Site, ir.Operation]]:
    """The sites of a root op, each with its last op."""
    workload = describe(root)
    if workload is None or workload.family not in _FAMILIES or not _static(root):
        return []
    start = _zeros(root)
    if start is None:
        return []
    function = _function_of(root)
    inputs, ops = list(root.operands)[:-1], [*start, root]
    sites = [(_site(workload, inputs, ops, (), function), root)]
    epilogue: tuple[str, ...] = ()
    while (step := _next(ops[-1])) is not None:
        names, added, before = step
        if any(name in epilogue for name in names):
            break
        epilogue += names
        inputs = [*inputs, *added]
        ops += [each for each in before if each not in ops]  # one zero may do for both
        sites.append((_site(workload, inputs, ops, epilogue, function), ops[-1]))
    return sites


def _site(
    workload: Workload, inputs: Sequence[ir.Value], ops: Sequence[ir.Operation], epilogue: tuple[str, ...],
    function: str,
) -> Site:  # fmt: skip
    arrays = tuple(map(array_of, inputs))
    return Site(Problem(workload, arrays, array_of(ops[-1].result), epilogue), _case(inputs, ops), function)


def _case(inputs: Sequence[ir.Value], ops: Sequence[ir.Operation]) -> bytes:
    """The ops, producers first, as a function of the inputs that returns the last one's result."""
    with ops[-1].context, ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("main", ([each.type for each in inputs], [ops[-1].result.type]))
        block = function.add_entry_block()
        values: dict[ir.Value, ir.Value] = dict(zip(inputs, block.arguments, strict=True))
        with ir.InsertionPoint(block):
            func.ReturnOp([copy_ops(ops, values)])
        return str(module).encode()


def copy_ops(ops: Sequence[ir.Operation], values: dict[ir.Value, ir.Value]) -> ir.Value:
    """Copy ops to the current insertion point with their operands as `values` says; the last one's result."""
    copy = ops[0]
    for op in ops:
        copy = clone(op, values, ir.InsertionPoint.current)
        strip_discardable(copy)
        values.update(zip(op.results, copy.results, strict=True))
    return copy.result


def array_of(value: ir.Value) -> Array:
    """The static tensor that a value is."""
    kind = ir.RankedTensorType(value.type)
    return Array(tuple(kind.shape), str(kind.element_type))


def _static(op: ir.Operation) -> bool:
    return all(ir.RankedTensorType(each.type).has_static_shape for each in op.operands)


def _zeros(root: ir.Operation) -> list[ir.Operation] | None:
    """What a root op starts from, where that is a fill with zeros: constant, empty tensor, fill."""
    fill = _producer(root.operands[len(root.operands) - 1])
    if fill is None or fill.name != "linalg.fill":
        return None
    zero, empty = _producer(fill.operands[0]), _producer(fill.operands[1])
    if zero is None or empty is None or not _is_zero(zero) or empty.name != "tensor.empty":
        return None
    return [zero, empty, fill]


def _is_zero(op: ir.Operation) -> bool:
    constant = op.opview
    if not isinstance(constant, arith.ConstantOp):
        return False
    value = constant.value
    return isinstance(value, ir.IntegerAttr | ir.FloatAttr) and value.value == 0


def _next(op: ir.Operation) -> tuple[tuple[str, ...], list[ir.Value], list[ir.Operation]] | None:
    """The elementwise op that alone uses a result: what it does, its further operands, and its ops."""
    uses = list(op.result.uses)
    if len(uses) != 1:
        return None
    user = uses[0].owner.operation
    if isinstance(user.opview, arith.TruncFOp) and user.parent == op.parent:
        return ("truncf",), [], [user]
    if user.name != "linalg.generic" or user.parent != op.parent or len(user.results) != 1:
        return None
    return _next_generic(user, op.result)


def _next_generic(
    user: ir.Operation, sums: ir.Value
) -> tuple[tuple[str, ...], list[ir.Value], list[ir.Operation]] | None:
    generic = user.opview
    assert isinstance(generic, linalg.GenericOp)
    empty = _producer(user.operands[len(user.operands) - 1])
    kind = ir.RankedTensorType(user.result.type)
    same = kind.shape == ir.RankedTensorType(sums.type).shape
    if not same or not kind.has_static_shape or empty is None or empty.name != "tensor.empty":
        return None
    maps = [ir.AffineMapAttr(each).value for each in generic.indexing_maps]
    identity = ir.AffineMap.get_identity(kind.rank)
    last = ir.AffineMap.get(kind.rank, 0, [ir.AffineExpr.get_dim(kind.rank - 1)])
    inputs = list(user.operands)[:-1]
    if sums not in inputs or maps[-1] != identity or maps[inputs.index(sums)] != identity:
        return None
    block = user.regions[0].blocks[0]
    biases = [
        (value, argument)
        for value, argument, kind in zip(inputs, block.arguments, maps, strict=False)
        if kind == last and value != sums
    ]
    if len(biases) + 1 != len(inputs):
        return None
    names = _body(block, block.arguments[inputs.index(sums)], {argument for _, argument in biases})
    if names is None or names.count("bias") != len(biases):
        return None
    zeros = [each for each in map(_producer, captured(user)) if each is not None]
    return names, [value for value, _ in biases], [*zeros, empty, user]


def _body(block: ir.Block, value: ir.Value, biases: set[ir.Value]) -> tuple[str, ...] | None:
    """What a body does with the sum; None for anything that is no epilogue."""
    names: list[str] = []
    for op in block.operations:
        operands = list(op.operands)
        if op.operation.name == "linalg.yield":
            return tuple(names) if names and operands == [value] else None
        if value not in operands:
            return None
        others = [each for each in operands if each != value]
        if isinstance(op, arith.AddFOp) and len(others) == 1 and others[0] in biases:
            names.append("bias")
        elif isinstance(op, arith.MaximumFOp) and len(others) == 1 and _is_zero_value(others[0]):
            names.append("relu")
        elif isinstance(op, arith.TruncFOp):
            names.append("truncf")
        else:
            return None
        value = op.operation.result
    return None


def _is_zero_value(value: ir.Value) -> bool:
    producer = _producer(value)
    return producer is not None and _is_zero(producer)


def _producer(value: ir.Value) -> ir.Operation | None:
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner.operation


def _function_of(op: ir.Operation) -> str:
    parent = op.parent
    while parent is not None and "sym_name" not in parent.attributes:
        parent = parent.operation.parent
    return "" if parent is None else ir.StringAttr(parent.attributes["sym_name"]).value
