"""Include reshapes and transposes around a product, so that a kernel reads and writes the moved arrays.

Without this, each transpose would be a separate dispatch, even if the compiler fuses it with its own product.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import arith, linalg, tensor

from iree_tuner.compiler.generic import generic
from iree_tuner.kernels.atoms import Atoms, Names
from iree_tuner.kernels.epilogue import producer
from iree_tuner.kernels.shapes import order_of
from iree_tuner.ops import matching
from iree_tuner.ops.contraction import Contraction
from iree_tuner.ops.indexing_map import IndexingMap
from iree_tuner.ops.structure import indexing_maps
from iree_tuner.ops.workload import Workload

_RESHAPES = ("tensor.collapse_shape", "tensor.expand_shape")
_LHS, _RHS, _OUT = range(3)
_ROLES = {
    (True, True, True): "batch",
    (True, False, True): "m",
    (False, True, True): "n",
    (True, True, False): "k",
}


@dataclass(frozen=True)
class Moved:
    """A product with the reshapes and transposes around it.

    Attributes:
        operands: the arrays that are read, before transposes.
        before: the ops from these to the product, producers first.
        after: the ops from the epilogue's last one to the result.
        workload: the product of the arrays in memory; its loops may be split.
        seen: the workload's loops for each dimension of the array that the epilogue sees.
        shapes: for both operands, the sizes into which each dimension is split.
    """

    operands: tuple[ir.Value, ir.Value]
    before: tuple[ir.Operation, ...]
    after: tuple[ir.Operation, ...]
    workload: Workload
    seen: Names
    shapes: tuple[Names, ...]


def moved_product(
    root: ir.Operation, epilogue: Sequence[ir.Operation], taken: Collection[ir.Operation]
) -> Moved | None:
    """The reshapes and transposes around a product and its epilogue; None if there is no transpose.

    Args:
        root: the product.
        epilogue: the ops of its epilogue, in order; may be empty.
        taken: ops that belong to other sites.
    """
    workload = Contraction().describe(root)
    if workload is None or workload.dynamic or not all(each.is_permutation for each in workload.maps):
        return None
    rank = len(workload.loops)
    atoms = Atoms(dict(enumerate(workload.loops)))
    names = [atoms.named(each, {loop: loop for loop in range(rank)}) for each in indexing_maps(root)]
    before: list[ir.Operation] = []
    operands: list[ir.Value] = []
    for side in (_LHS, _RHS):
        value, names[side], ops = _back(atoms, root.operands[side], names[side], taken)
        operands.append(value)
        before += [each for each in ops if each not in before]
    seen = after_steps = names[_OUT]
    for reshape in (each for each in epilogue if each.name in _RESHAPES):
        after_steps = atoms.onto(reshape, after_steps)
        if after_steps is None:
            return None
    names[_OUT], after = _onward(atoms, epilogue[-1] if epilogue else root, after_steps, taken)
    if not before and not after:
        return None
    found = _workload(workload, atoms, names)
    if found is None:
        return None
    order = _order(atoms, rank)
    whole = [tuple(map(atoms.whole, each)) for each in (*names[:_OUT], seen)]
    shapes = tuple(tuple(tuple(atoms.sizes[atom] for atom in own) for own in each) for each in whole[:_OUT])
    loops = tuple(tuple(order.index(atom) for atom in own) for own in whole[_OUT])
    return Moved((operands[0], operands[1]), tuple(before), after, found, loops, shapes)


def _back(
    atoms: Atoms, value: ir.Value, names: Names, taken: Collection[ir.Operation]
) -> tuple[ir.Value, Names, list[ir.Operation]]:
    """Go back from an operand to the input of its earliest transpose; also the ops between, in order."""
    found, ops = (value, names, list[ir.Operation]()), list[ir.Operation]()
    while (op := producer(value)) is not None and op not in taken:
        before = atoms.before(op, names)
        if before is None:
            break
        ops = [*_empties(op), op, *ops]
        value, names = op.operands[0], before
        if op.name not in _RESHAPES:
            found = value, names, ops
    return found


def _onward(
    atoms: Atoms, op: ir.Operation, names: Names, taken: Collection[ir.Operation]
) -> tuple[Names, tuple[ir.Operation, ...]]:
    """Go forward to the last transpose while results have a single use; the names there, and the ops."""
    found, ops = (names, ()), tuple[ir.Operation, ...]()
    while len(uses := list(op.result.uses)) == 1:
        user = uses[0].owner.operation
        if user in taken or user.block != op.block or user.operands[0] != op.result:
            break
        after = atoms.onto(user, names)
        if after is None:
            break
        ops, names, op = (*ops, *_empties(user), user), after, user
        if order_of(op) is not None:
            found = names, ops
    return found


def _empties(op: ir.Operation) -> list[ir.Operation]:
    made = [producer(each) for each in list(op.operands)[1:]]
    return [each for each in made if each is not None and each.name == "tensor.empty"]


def _order(atoms: Atoms, rank: int) -> list[int]:
    """The atoms of all loops, in the order of the loops."""
    return [atom for loop in range(rank) for atom in atoms.whole((loop,))]


def _workload(workload: Workload, atoms: Atoms, names: Sequence[Names]) -> Workload | None:
    """The workload with the loops of these names; None if a loop has no role in a contraction."""
    kinds, order = dict[int, Any](), _order(atoms, len(workload.loops))
    for loop, kind in enumerate(workload.iterators):
        kinds |= dict.fromkeys(atoms.whole((loop,)), kind)
    places = [[atom for own in each for atom in atoms.whole(own)] for each in names]
    roles: dict[str, list[int]] = {role: [] for role in ("batch", "m", "n", "k")}
    for number, atom in enumerate(order):
        has = [atom in place or atoms.sizes[atom] == 1 for place in places]
        role = _ROLES.get((has[_LHS], has[_RHS], has[_OUT]))
        if role is None:
            return None
        roles[role].append(number)
    if any(len(set(place)) < len(place) for place in places):
        return None
    return replace(
        workload,
        loops=tuple(atoms.sizes[atom] for atom in order),
        iterators=tuple(kinds[atom] for atom in order),
        maps=tuple(IndexingMap.through(len(order), [*map(order.index, place)]) for place in places),
        roles=tuple((role, tuple(own)) for role, own in roles.items()),
    )  # fmt: skip


def build_in_one(
    moved: Moved, arguments: Sequence[ir.Value], sums: ir.Type, finish: Callable[[ir.Value], ir.Value]
) -> ir.Value:
    """Build the product and its epilogue as one dispatch, at the current insertion point.

    Args:
        moved: the product.
        arguments: both operands.
        sums: type of the product in the program.
        finish: builds the ops after the product.
    """
    shapes = [[size for own in shape for size in own] for shape in moved.shapes]
    operands = [_reshaped(each, sizes) for each, sizes in zip(arguments, shapes, strict=True)]
    if not moved.after:
        return finish(_sums(moved, operands, sums))
    result = moved.after[-1].result.type
    region = ir.Operation.create("flow.dispatch.region", results=[result], regions=2)
    with ir.InsertionPoint(region.regions[0].blocks.append()):
        ir.Operation.create("flow.return", operands=[finish(_sums(moved, operands, sums))])
    return region.result


def _sums(moved: Moved, operands: Sequence[ir.Value], sums: ir.Type) -> ir.Value:
    """Build the product as one op, with the program's type."""
    kind = ir.RankedTensorType(sums)
    element = kind.element_type
    loops = [loop for own in moved.seen for loop in own]
    maps = [*matching.indexing_maps(moved.workload)]
    maps[_OUT] = ir.AffineMap.get(
        len(moved.workload.loops), 0, [ir.AffineDimExpr.get(each) for each in loops]
    )
    empty = tensor.EmptyOp([moved.workload.loops[each] for each in loops], kind.element_type).result
    zero = arith.constant(kind.element_type, 0.0)

    def body(one: ir.Value[Any], other: ir.Value[Any], before: ir.Value[Any]) -> ir.Value:
        left, right = (each if each.type == element else arith.extf(element, each) for each in (one, other))
        return arith.addf(before, arith.mulf(left, right))

    start = linalg.fill(zero, outs=[empty])
    made: ir.Value[Any] = generic(operands, start, maps, list(moved.workload.iterators), body)
    return _reshaped(made, kind.shape)


def _reshaped(value: ir.Value[Any], sizes: Sequence[int]) -> ir.Value:
    """Reshape a value to other sizes with the same number of elements."""
    kind = ir.RankedTensorType(value.type)
    if list(kind.shape) == list(sizes):
        return value
    flat = ir.RankedTensorType.get([math.prod(sizes)], kind.element_type)
    if kind.rank > 1:
        value = tensor.CollapseShapeOp(flat, value, [list(range(kind.rank))]).result
    wanted = ir.RankedTensorType.get(list(sizes), kind.element_type)
    if len(sizes) == 1:
        return value
    return tensor.ExpandShapeOp(wanted, value, [list(range(len(sizes)))], [], list(sizes)).result
