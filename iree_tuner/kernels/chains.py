"""Find chains of elementwise ops, slices and concatenations that can each be written as one op.

The compiler lowers a concatenation to insertions. Each insertion is a dispatch that copies, and each part
needs another dispatch that computes it. A chain that is written as one op (`fused_op`) is one dispatch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from iree.compiler import ir

from iree_tuner.kernels.epilogue import producer
from iree_tuner.kernels.fused_op import build, plan_of, workload_of
from iree_tuner.kernels.moved import NotIndexableError
from iree_tuner.kernels.moves import (
    COLLAPSE,
    EXPAND,
    HOISTED,
    INSERT,
    JOINS,
    SLICE,
    is_elementwise,
    is_followed,
    is_move,
    is_scalar_constant,
    is_source,
    is_view,
    repeats,
)
from iree_tuner.kernels.plan_nest import nest_of
from iree_tuner.kernels.problem import Problem
from iree_tuner.kernels.site import Site, array_of, case_of, function_of, program_of, roots_of
from iree_tuner.ops.canonical import captured
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.structure import indexing_maps, iterators

MOST_INPUTS, _LEAST_OPS = 12, 2
LEAST_ELEMENTS = 1 << 16
"""The least elements of a result for which another kernel is worth it."""
_FUNCTIONS = ("util.func", "func.func")


@dataclass(frozen=True)
class OpsOfBlock:
    """The ops of a block, without those of nested blocks, in order."""

    ops: list[ir.Operation]
    once: set[ir.Operation]  # those on constants only, which the compiler evaluates when a program is loaded
    epilogues: set[ir.Operation]  # those that join the dispatch of a product or sum before them
    roots: Mapping[ir.Operation, int]  # numbers of the program's root ops (`site.roots_of`)


def find_chains(blocks: Sequence[OpsOfBlock]) -> list[Site]:
    """The chains in blocks, in program order."""
    return [chain for block in blocks for chain in _chains_of(block)]


def blocks_of(module: ir.Module) -> list[OpsOfBlock]:
    """The blocks of the functions of a program in the phase of preprocessing (after `abi`)."""
    found: list[OpsOfBlock] = []
    roots = {op: number for number, op in enumerate(roots_of(module))}

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name not in _FUNCTIONS:
            return ir.WalkResult.ADVANCE
        for block in op.regions[0].blocks:
            ops = [each.operation for each in block.operations]
            found.append(OpsOfBlock(ops, _computed_once(ops), _epilogues_of(ops), roots))
        return ir.WalkResult.SKIP

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def _chains_of(block: OpsOfBlock) -> list[Site]:
    ops, fixed, epilogues = block.ops, block.once, block.epilogues
    left, place = fixed | epilogues, {op: number for number, op in enumerate(ops)}
    taken: set[ir.Operation] = set()
    found: list[Site] = []
    for op in reversed(ops):
        ends = is_followed(op) and not is_source(op) and op.name not in (EXPAND, COLLAPSE, SLICE)
        if op in taken or not ends or op in fixed or op in epilogues:
            continue
        own = _cone(op, place, ops, left)
        taken |= own
        if any(each.name in (*JOINS, SLICE) for each in own) and len(own) >= _LEAST_OPS:
            chain = _chain(sorted(own, key=place.__getitem__))
            found = [chain, *found] if chain is not None else found
    return found


def _cone(
    last: ir.Operation, place: dict[ir.Operation, int], ops: list[ir.Operation],
    left: Collection[ir.Operation],
) -> set[ir.Operation]:  # fmt: skip
    """`last` and the supported ops before it whose results have no other uses."""
    if last.name == INSERT and _updates(last):
        return {last}
    found, waiting = {last}, _places_before(last, place)
    while waiting:  # the latest first: all users of an op come before it
        latest = max(waiting)
        waiting.remove(latest)
        op = ops[latest]
        users = (use.owner.operation for each in op.results for use in each.uses)
        if not all(_top(user, place) in found for user in users):  # a constant may have thousands
            continue
        if not is_followed(op) or is_view(op) or (op.name == INSERT and _updates(op)):
            continue
        users = (use.owner.operation for each in op.results for use in each.uses)
        if is_move(op) or not (op in left or any(_repeats(user, op) for user in users)):
            found.add(op)
            waiting |= _places_before(op, place)
    return {op for op in found if not is_source(op)}


def _places_before(op: ir.Operation, place: dict[ir.Operation, int]) -> set[int]:
    """Where in the block the values that an op and its regions use are made."""
    made = (producer(each) for each in (*op.operands, *captured(op)))
    return {place[each] for each in made if each in place}


def _top(op: ir.Operation, place: dict[ir.Operation, int]) -> ir.Operation:
    while op not in place and op.parent is not None:
        op = op.parent.operation
    return op


def _updates(op: ir.Operation) -> bool:
    """Whether an op overwrites a part of an existing tensor, which the compiler may do in place."""
    before = producer(op.operands[1])
    return before is None or not (is_followed(before) or is_source(before))


def _repeats(user: ir.Operation, op: ir.Operation) -> bool:
    """Whether fusing `op` into its user would compute elements several times."""
    return any(value == op.result and repeats(user, number) for number, value in enumerate(user.operands))


def _computed_once(ops: Iterable[ir.Operation]) -> set[ir.Operation]:
    """Ops on constants only, which the compiler evaluates once, when a program is loaded."""
    found: set[ir.Operation] = set()
    for op in ops:
        before = [producer(each) for each in (*op.operands, *captured(op))]
        made = [each for each in before if each is not None]
        if is_followed(op) and len(made) == len(before) and all(
            each in found or each.name in HOISTED or is_source(each) for each in made
        ):  # fmt: skip
            found |= set() if is_source(op) else {op}
    return found


def _epilogues_of(ops: Iterable[ir.Operation]) -> set[ir.Operation]:
    """Elementwise ops after products and sums that do not widen the type. They join the same dispatch."""
    found: set[ir.Operation] = set()
    for op in ops:
        if not is_elementwise(op) or len(op.operands) < 2:
            continue
        identity = ir.AffineMap.get_identity(indexing_maps(op)[-1].n_dims)
        for value, access in zip(op.operands, indexing_maps(op)[:-1], strict=False):
            before = producer(value)
            if before is None or access != identity or len(list(value.uses)) > 1:
                continue
            if (before in found or _sums(before)) and _bits(op.result) <= _bits(value):
                found.add(op)
    return found


def _sums(op: ir.Operation) -> bool:
    return op.name.startswith("linalg.") and bool(indexing_maps(op)) and "reduction" in iterators(op)


def _bits(value: ir.Value) -> int:
    return ElementType.of(value.type).bits


def _chain(ops: list[ir.Operation]) -> Site | None:
    """The site of a chain, from its ops in order; None if they cannot be written as one op."""
    values, every = gathered(ops)
    result = ops[-1].result
    if len(values) > MOST_INPUTS or not values:
        return None
    try:
        plan = plan_of(every, result)
    except NotIndexableError:
        return None
    fused = program_of(
        values, result.type,
        lambda function: build(plan, dict(zip(values, function.arguments, strict=True)), result.type),
    )  # fmt: skip
    nest = nest_of(plan, values)
    # Neighbors in the result must be neighbors in the inputs, or the same.
    along = nest is None or all(each.strides[-1] in (0, 1) for each in nest.merged().accesses)
    if nest is not None and (nest.iterations < LEAST_ELEMENTS or not along):
        nest = None
    arrays = tuple(map(array_of, values))
    problem = Problem(workload_of(result.type), arrays, array_of(result), fused=fused, nest=nest)
    return Site(problem, case_of(values, every), function_of(ops[-1]))


def gathered(ops: Sequence[ir.Operation]) -> tuple[list[ir.Value], list[ir.Operation]]:
    """The inputs of ordered ops, and the ops together with the sources that they read, in order."""
    inputs, every = dict[ir.Value, None](), list[ir.Operation]()
    for op in ops:
        for value in (*op.operands, *captured(op)):
            before = producer(value)
            if before is not None and (is_source(before) or is_scalar_constant(value)):
                every += [each for each in (*_below(before), before) if each not in every]
            elif before is None or before not in ops:
                inputs[value] = None
        every.append(op)
    return list(inputs), every


def _below(op: ir.Operation) -> list[ir.Operation]:
    """The producers of a source's operands, an empty tensor and a constant."""
    return [each for each in map(producer, op.operands) if each is not None]
