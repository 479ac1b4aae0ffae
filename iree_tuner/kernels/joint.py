"""Combine products of one matrix with several constant matrices into one joint product.

The joint product has all constants side by side. The compiler joins them once, when a program is loaded.
Each product is replaced by a copy of the joint product, of which it takes a part. The spec then merges equal
ops, so that one joint product is left.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import arith, func, tensor

from iree_tuner.compiler.context import walk
from iree_tuner.compiler.linalg import access, collapse, elementwise, expand, generic, multiply_add, named
from iree_tuner.kernels.c_plan import FROM_MEMORY
from iree_tuner.kernels.epilogue import next_steps, producer
from iree_tuner.kernels.fused_op import FusedOps, sliced, workload_of
from iree_tuner.kernels.gated import activated
from iree_tuner.kernels.kernel import Problem
from iree_tuner.kernels.moved import moved_product, reshaped, retyped, zeros
from iree_tuner.kernels.moves import LOAD
from iree_tuner.kernels.site import Site, array_of, copy_ops, function_of, program_of, roots_of, zeros_of
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.structure import accesses, shape_of


class JointProducts(FusedOps):
    """Joint products (`joint`), for every target. Other kernels may compute the joint product."""

    name = "joint_products"
    summary = "products of one matrix with several constants as one product"
    replaces = ("joint",)


_Follows = tuple[tuple[str, ...], tuple[ElementType, ...]]
_ROW = "linalg.vecmat"
_PLAIN = {"linalg.matmul": ((0, 2), (2, 1), (0, 1)), _ROW: ((1,), (1, 0), (0,))}
_MOVED = ("linalg.matmul", "linalg.batch_matmul", "linalg.generic")
_MOST_RESULTS = 1 << 22
"""The most elements of a result: a larger product fills a device alone, and joining gains something only if
both halves of a gated product are in one."""

_MOST_PARTS = 8
"""The most products in a joint one: a text's keys and values in all layers are hundreds, each of which names
all constants of its group."""

_WIDTH = 64
"""The columns of a part are a multiple of this, so that each part begins at an aligned address."""


_OPERANDS = 3  # of a product


@dataclass(frozen=True)
class _Product:
    """A product of a matrix with a constant, and the steps after it.

    Attributes:
        matrix: rows of any number of dimensions, and their elements.
        load: the op that loads the constant.
        turned: whether the constant has its columns first, as PyTorch's linear layers have them.
        steps: the steps after the product: `bias` with a constant, `truncf`.
        biases: the ops that load the constants of biases, in order.
        ops: the ops from the load to the result.
    """

    matrix: ir.Value[Any]
    load: ir.Operation
    turned: bool
    sums: ir.Operation
    steps: tuple[str, ...]
    biases: tuple[ir.Operation, ...]
    ops: tuple[ir.Operation, ...]

    @property
    def result(self) -> ir.Value[Any]:
        return self.ops[-1].result

    @property
    def symbols(self) -> tuple[str, ...]:
        loads = (self.load, *self.biases)
        return tuple(ir.FlatSymbolRefAttr(each.attributes["global"]).value for each in loads)

    @property
    def follows(self) -> _Follows:
        """The steps, and the types of the biases."""
        return self.steps, tuple(ElementType.of(each.result.type) for each in self.biases)

    @property
    def size(self) -> int:
        """The number of elements of the result."""
        return math.prod(ir.RankedTensorType(self.result.type).shape)

    @property
    def columns(self) -> int:
        return ir.RankedTensorType(self.load.result.type).shape[0 if self.turned else 1]


def find_joint(module: ir.Module, *, on_host: bool) -> list[Site]:
    """The products that can be combined, of a program in the phase of preprocessing (after `abi`).

    One row times weights that only memory has takes a processor (`on_host`) no less time together, and the
    joint weights take memory again.
    """
    symbols = {
        ir.StringAttr(op.attributes["sym_name"]).value: op.operation
        for op in module.body.operations
        if op.operation.name == "util.global"
    }
    # By what is equal for products that can be combined.
    groups: dict[tuple[object, ...], dict[_Follows, list[_Product]]] = {}
    every = [op for op in walk(module.operation) if op.name in (_ROW, *_MOVED)]
    products = (_product(op, on_host=on_host) for op in every)
    for each in filter(None, products):
        values = (each.load.result, each.sums.result, each.result)
        kind = (each.matrix, each.turned, *(ElementType.of(value.type) for value in values))
        groups.setdefault(kind, {}).setdefault(each.follows, []).append(each)
    found: list[Site] = []
    numbers = {op: number for number, op in enumerate(roots_of(module))}
    for own in groups.values():
        _give_zeros(own)
        for group in (part for every in own.values() for part in _parts(every)):
            apart = len({each.symbols for each in group}) == len(group) > 1
            few = all(each.size <= _MOST_RESULTS for each in group) or (not on_host and _gates(group))
            if apart and few and (_width(group) or not _is_row(group)):
                found += [replace(_site(each, group, symbols), roots=(numbers[each.sums],)) for each in group]
    return found


def _gates(group: Sequence[_Product]) -> bool:
    """Whether these are the halves of a gated product, for which there are kernels on devices (`gated`)."""
    if len(group) != 2 or ElementType.of(group[0].load.result.type).bits != 16:
        return False
    one, two = (each.result for each in group)
    factor = ir.RankedTensorType(group[0].matrix.type).element_type
    return activated(one, two, factor) is not None or activated(two, one, factor) is not None


def _parts(group: Sequence[_Product]) -> Iterator[Sequence[_Product]]:
    """A group in parts of about equal size, in the order of the program."""
    count = -(-len(group) // _MOST_PARTS)
    for number in range(count):
        yield group[number * len(group) // count : (number + 1) * len(group) // count]


def _give_zeros(groups: dict[_Follows, list[_Product]]) -> None:
    """Group products without a bias with otherwise equal products that have one; their bias is zero."""
    for steps, kinds in list(groups):
        wider = [key for key in groups if not kinds and key[1]]
        wider = [key for key in wider if tuple(each for each in key[0] if each != "bias") == steps]
        if len(wider) == 1:
            groups[wider[0]] += groups.pop((steps, kinds))


def _product(op: ir.Operation, *, on_host: bool) -> _Product | None:
    """The product of an op with a constant; None for other ops."""
    start = zeros_of(op) if len(op.results) == 1 else None
    read = None if start is None or None in shape_of(op.result.type) else _read(op)
    if start is None or read is None:
        return None
    matrix, load, turned, before = read
    if not ElementType.of(load.result.type).is_float:
        return None
    weights = ir.RankedTensorType(load.result.type)
    large = math.prod(weights.shape) * ElementType.of(weights).bits >= 8 * FROM_MEMORY
    one_row = math.prod(ir.RankedTensorType(matrix.type).shape[:-1]) == 1
    if one_row and on_host and large:
        return None
    steps, biases, ops = list[str](), list[ir.Operation](), [load, *before, *start, op]
    factor = ir.RankedTensorType(op.operands[0].type).element_type
    while (found := next_steps(ops[-1].result, factor, op.result)) is not None:
        made = [each for each in map(producer, found.inputs) if each is not None and each.name == LOAD]
        if not {*found.names} <= {"bias", "truncf"} or len(made) < len(found.inputs):
            break
        if "bias" in steps and "bias" in found.names:
            break
        steps, biases = [*steps, *found.names], [*biases, *made]
        ops += [each for each in (*made, *found.ops) if each not in ops]
    return _Product(matrix, load, turned, op, tuple(steps), tuple(biases), tuple(ops))


def _read(op: ir.Operation) -> tuple[ir.Value[Any], ir.Operation, bool, list[ir.Operation]] | None:
    """A product's matrix, the load of its constant, whether that is turned, and the moves of both."""
    load = producer(op.operands[1]) if len(op.operands) == _OPERANDS else None
    if op.name in _PLAIN and load is not None and load.name == LOAD:
        plain = tuple(each.dimensions for each in accesses(op)) == _PLAIN[op.name]
        return (op.operands[0], load, False, []) if plain else None
    moved = moved_product(op, (), ()) if op.name in _MOVED else None
    if moved is None or moved.after:
        return None
    load, workload = producer(moved.operands[1]), moved.workload
    (*rows, depth), weights, (*kept, column) = (each.loops for each in workload.maps)
    if load is None or load.name != LOAD or kept != rows or {*weights} != {depth, column}:
        return None
    width = ir.RankedTensorType(moved.operands[0].type).shape[-1]
    if ir.RankedTensorType(load.result.type).rank != 2 or width != workload.loops[depth]:
        return None  # reshaped
    return moved.operands[0], load, weights == (column, depth), [*moved.before]


def _site(product: _Product, group: Sequence[_Product], symbols: Mapping[str, ir.Operation]) -> Site:
    result = product.result.type
    own = [symbols[each] for each in product.symbols]
    every = list(dict.fromkeys(symbols[name] for each in group for name in each.symbols))

    def case(function: func.FuncOp) -> ir.Value:
        return copy_ops(product.ops, {product.matrix: function.arguments[0]})

    before = program_of([product.matrix], result, case, own)
    after = program_of([product.matrix], result, partial(_part, product, group), every)
    workload = workload_of(result, JointProducts.replaces[0])
    problem = Problem(workload, (array_of(product.matrix),), array_of(product.result), fused=after)
    return Site(problem, before, function_of(product.sums))


def _part(product: _Product, group: Sequence[_Product], function: func.FuncOp) -> ir.Value:
    """Build the joint product of a function's argument, and take the part that replaces a product."""
    matrix, columns = function.arguments[0], product.columns
    rows = [] if _is_row(group) else [math.prod(ir.RankedTensorType(matrix.type).shape[:-1])]
    matrix = reshaped(matrix, [*rows, ir.RankedTensorType(matrix.type).shape[-1]])
    first, width = sum(each.columns for each in group[: group.index(product)]), _width(group)
    found: ir.Value[Any]
    if width:
        found = _together(_joint(group, matrix), first // width, columns // width)
    else:
        sizes = [*rows, columns]
        found = sliced(_joint(group, matrix), [0] * len(rows) + [first], sizes, sizes)
    result = ir.RankedTensorType(product.result.type)
    return expand(found, [result.shape[:-1], result.shape[-1:]] if rows else [result.shape])


def _width(group: Sequence[_Product]) -> int:
    """Columns of a part if parts are separate in memory; 0 if all columns of a row are contiguous.

    Triton's kernels compute f16 and bf16, and write any layout. Other kernels need one matrix of constants,
    which they pack.
    """
    width = math.gcd(*(each.columns for each in group))
    apart = _is_row(group) or ElementType.of(group[0].load.result.type).bits == 16
    return width if apart and width % _WIDTH == 0 else 0


def _is_row(group: Sequence[_Product]) -> bool:
    return group[0].sums.name == _ROW


def _together(joint: ir.Value[Any], first: int, count: int) -> ir.Value[Any]:
    """Consecutive parts of a joint product as one matrix, where parts are separate in memory."""
    kind = ir.RankedTensorType(joint.type)
    _, *rows, width = kind.shape
    if count == 1:
        return sliced(joint, [first, *(0 for _ in rows), 0], [1, *rows, width], [*rows, width])
    sizes = [count, *rows, width]
    parts: ir.Value[Any] = sliced(joint, [first, *(0 for _ in rows), 0], sizes, sizes)
    if not rows:
        return collapse(parts, [2])
    shape, maps = [*rows, count, width], [access(3, (1, 0, 2))]
    moved = elementwise([parts], maps, shape, kind.element_type, lambda *values: values[0])
    return collapse(moved, [1, 2])


def _joint(group: Sequence[_Product], matrix: ir.Value[Any]) -> ir.Value[Any]:
    """Build the joint product with its steps, in the shape [rows, columns] or [parts, rows, columns]."""
    first, width = max(group, key=lambda each: len(each.steps)), 0 if _is_row(group) else _width(group)
    sums = ir.RankedTensorType(first.sums.result.type).element_type
    turned = first.turned
    constant = _side_by_side([copy_ops([each.load], {}) for each in group], width, 0 if turned else 1)
    *rows, columns = (*ir.RankedTensorType(matrix.type).shape[:-1], sum(each.columns for each in group))
    shape = [columns // width, *rows, width] if width else [*rows, columns]
    start = zeros(shape, sums)
    if width:
        maps = [access(4, each) for each in ((1, 3), (0, 2, 3) if turned else (3, 0, 2), (0, 1, 2))]
        found = generic([matrix, constant], start, maps, multiply_add)
    elif turned:
        maps = [access(3, each) for each in ((0, 2), (1, 2), (0, 1))]
        found = generic([matrix, constant], start, maps, multiply_add)
    else:
        found = named("vecmat" if _is_row(group) else "matmul")(matrix, constant, outs=[start])
    last, rank = ir.RankedTensorType(first.result.type).element_type, len(shape)
    for step in first.steps:
        if step == "bias":
            element = ir.RankedTensorType(found.type).element_type
            biases = retyped(_side_by_side(_biases(group, first.biases[0]), width, 0), element)
            maps = [access(rank, range(rank)), access(rank, (0, 2) if width else (rank - 1,))]
            found = elementwise([found, biases], maps, shape, element, arith.addf)
        else:
            found = retyped(found, last)
    if _is_row(group):  # parts of a row would otherwise be slices of slices, which become copies
        return _cut(found, _width(group), 0)
    return found


def _biases(group: Sequence[_Product], like: ir.Operation) -> list[ir.Value[Any]]:
    element, found = ir.RankedTensorType(like.result.type).element_type, list[ir.Value[Any]]()
    for each in group:
        kind = ir.RankedTensorType.get([each.columns], element)
        zeros = ir.DenseElementsAttr.get_splat(kind, ir.FloatAttr.get(element, 0.0))
        made = [copy_ops([bias], {}) for bias in each.biases]
        found += made or [arith.constant(kind, zeros)]
    return found


def _side_by_side(values: Sequence[ir.Value[Any]], width: int, along: int) -> ir.Value[Any]:
    """Concatenate constants along a dimension, and split it into parts of a width above 0."""
    kind = ir.RankedTensorType(values[0].type)
    sizes = [*kind.shape]
    sizes[along] = sum(ir.RankedTensorType(each.type).shape[along] for each in values)
    joined = ir.RankedTensorType.get(sizes, kind.element_type)
    found = tensor.ConcatOp(joined, along, values).result
    return _cut(found, width, along) if width else found


def _cut(value: ir.Value[Any], width: int, along: int) -> ir.Value[Any]:
    """Split a dimension of a value into parts of a width."""
    sizes = ir.RankedTensorType(value.type).shape
    return expand(value, [[each // width, width] if at == along else [each] for at, each in enumerate(sizes)])
