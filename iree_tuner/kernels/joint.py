"""Combine products of one matrix with several constant matrices into one joint product.

The joint product has all constants side by side. The compiler joins them once, when a program is loaded.
Matrices that the program computes of constants in the same way, such as weights of few bits, are computed of
these constants side by side.
Each product is replaced by a copy of the joint product, of which it takes a part. The spec then merges equal
ops, so that one joint product is left.
"""

from __future__ import annotations

import math
from collections import Counter
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
from iree_tuner.kernels.fused_op import FusedOps, build, sliced, workload_of
from iree_tuner.kernels.gated import activated
from iree_tuner.kernels.kernel import Problem
from iree_tuner.kernels.moved import Moved, NotIndexableError, moved_product, reshaped, retyped, zeros
from iree_tuner.kernels.moves import LOAD
from iree_tuner.kernels.operands import ComputedOperand, computed_operand, widened_by
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
_ALONG = {"bias": arith.addf, "gain": arith.mulf}
"""Steps with a constant along columns."""


@dataclass(frozen=True)
class _Weights:
    """The constant matrix of a product, or one that is computed of constants.

    Attributes:
        value: the matrix.
        turned: whether it has its columns first, as PyTorch's linear layers have them.
        loads: the ops that load the constants.
        computed: how it is computed of these; None if it is the constant.
        widened: the op by which the product makes floats of the constant's integers; or empty.
    """

    value: ir.Value[Any]
    turned: bool
    loads: tuple[ir.Operation, ...]
    computed: ComputedOperand | None = None
    widened: str = ""

    @property
    def column(self) -> int:
        """The dimension of columns."""
        return 0 if self.turned else 1

    @property
    def ops(self) -> tuple[ir.Operation, ...]:
        return self.loads if self.computed is None else (*self.loads, *self.computed.ops)

    @property
    def form(self) -> bytes:
        """A text that is equal for matrices that are computed in the same way, whatever columns they have."""
        if self.computed is None:
            return self.widened.encode()
        plan, along = self.computed.resized(self.column, _WIDTH)
        kinds = [_resized(each.type, along.get(each), _WIDTH) for each in self.computed.inputs]
        result = _resized(self.value.type, self.column, _WIDTH)

        def made(function: func.FuncOp) -> ir.Value:
            assert self.computed is not None
            return build(plan, dict(zip(self.computed.inputs, function.arguments, strict=True)), result)

        shared = [each for each in self.computed.inputs if each not in along]
        return program_of(kinds, result, made) + "".join(each.get_name() for each in shared).encode()


@dataclass(frozen=True)
class _Product:
    """A product of a matrix with a constant one, and the steps after it.

    Attributes:
        matrix: rows of any number of dimensions, and their elements.
        steps: the steps after the product: `bias` and `gain` with a constant, `truncf`.
        constants: the ops that load the constants of steps.
        ops: the ops from the loads to the result.
    """

    matrix: ir.Value[Any]
    weights: _Weights
    sums: ir.Operation
    steps: tuple[str, ...]
    constants: Mapping[str, ir.Operation]
    ops: tuple[ir.Operation, ...]

    @property
    def result(self) -> ir.Value[Any]:
        return self.ops[-1].result

    @property
    def symbols(self) -> tuple[str, ...]:
        loads = (*self.weights.loads, *self.constants.values())
        return tuple(ir.FlatSymbolRefAttr(each.attributes["global"]).value for each in loads)

    @property
    def follows(self) -> _Follows:
        """The steps, and the types of their constants."""
        return self.steps, tuple(ElementType.of(each.result.type) for each in self.constants.values())

    @property
    def size(self) -> int:
        """The number of elements of the result."""
        return math.prod(ir.RankedTensorType(self.result.type).shape)

    @property
    def columns(self) -> int:
        return ir.RankedTensorType(self.weights.value.type).shape[self.weights.column]


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
    products = [each for op in every if (each := _product(op, on_host=on_host)) is not None]
    times = Counter(each.matrix for each in products)
    for each in (each for each in products if times[each.matrix] > 1):
        values = (each.weights.value, each.sums.result, each.result)
        types = (ElementType.of(value.type) for value in values)
        kind = (each.matrix, each.weights.turned, each.weights.form, *types)
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
    if len(group) != 2 or ElementType.of(group[0].matrix.type).bits != 16:
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
        wider = [key for key in groups if not kinds and len(key[1]) == 1]
        wider = [key for key in wider if tuple(each for each in key[0] if each != "bias") == steps]
        if len(wider) == 1:
            groups[wider[0]] += groups.pop((steps, kinds))


def _product(op: ir.Operation, *, on_host: bool) -> _Product | None:
    """The product of an op with a constant matrix; None for other ops."""
    start = zeros_of(op) if len(op.results) == 1 else None
    read = None if start is None or None in shape_of(op.result.type) else _read(op, on_host=on_host)
    if start is None or read is None:
        return None
    matrix, weights, before = read
    kind = ir.RankedTensorType(weights.value.type)
    large = math.prod(kind.shape) * ElementType.of(kind).bits >= 8 * FROM_MEMORY
    one_row = math.prod(ir.RankedTensorType(matrix.type).shape[:-1]) == 1
    if one_row and on_host and large:
        return None
    steps, constants, ops = list[str](), dict[str, ir.Operation](), [*weights.ops, *before, *start, op]
    factor = ir.RankedTensorType(op.operands[0].type).element_type
    while (found := next_steps(ops[-1].result, factor, op.result)) is not None:
        made = [each for each in map(producer, found.inputs) if each is not None and each.name == LOAD]
        if not {*found.names} <= {*_ALONG, "truncf"} or len(made) < len(found.inputs):
            break
        along = [each for each in found.names if each in _ALONG]
        if not constants.keys().isdisjoint(along):
            break
        steps = [*steps, *found.names]
        constants.update(zip(along, made, strict=True))
        ops += [each for each in (*made, *found.ops) if each not in ops]
    return _Product(matrix, weights, op, tuple(steps), constants, tuple(ops))


def _read(
    op: ir.Operation, *, on_host: bool
) -> tuple[ir.Value[Any], _Weights, list[ir.Operation]] | None:  # fmt: skip
    """A product's matrix, its constant matrix, and the moves of both."""
    if len(op.operands) != _OPERANDS:
        return None
    load = producer(op.operands[1])
    plain = op.name in _PLAIN and tuple(each.dimensions for each in accesses(op)) == _PLAIN[op.name]
    if op.name in _PLAIN and load is not None and load.name == LOAD and not plain:
        return None
    moved = moved_product(op, (), ()) if op.name in _MOVED else None
    if moved is not None and not moved.after and (found := _of_moved(op, moved, on_host=on_host)) is not None:
        return found
    weights = _weights(op, op.operands[1], False, on_host=on_host) if plain else None
    return None if weights is None else (op.operands[0], weights, [])


def _of_moved(
    op: ir.Operation, moved: Moved, *, on_host: bool
) -> tuple[ir.Value[Any], _Weights, list[ir.Operation]] | None:  # fmt: skip
    """The same before the moves of its operands; None if loops are in other parts there."""
    workload = moved.workload
    (*rows, depth), columns, (*kept, column) = (each.loops for each in workload.maps)
    if kept != rows or {*columns} != {depth, column}:
        return None
    width = ir.RankedTensorType(moved.operands[0].type).shape[-1]
    rank = ir.RankedTensorType(moved.operands[1].type).rank
    if rank != 2 or width != workload.loops[depth]:  # reshaped
        return None
    weights = _weights(op, moved.operands[1], columns == (column, depth), on_host=on_host)
    return None if weights is None else (moved.operands[0], weights, [*moved.before])


def _weights(op: ir.Operation, value: ir.Value, turned: bool, *, on_host: bool) -> _Weights | None:
    """A value as a constant matrix, or as one that is computed of constants; None for any other.

    Processors have kernels for constants only.
    """
    load = producer(value)
    kind = ir.RankedTensorType(op.operands[0].type).element_type
    if load is not None and load.name == LOAD and ElementType.of(value.type).is_float:
        return _Weights(value, turned, (load,))
    if on_host or not isinstance(kind, ir.FloatType):
        return None
    if load is not None and load.name == LOAD:
        widened = widened_by(op, 1)
        return _Weights(value, turned, (load,), None, widened) if widened else None
    computed = computed_operand(op, 1, kind, value)
    loads = [] if computed is None else [producer(each) for each in computed.inputs]
    found = tuple(each for each in loads if each is not None and each.name == LOAD)
    if computed is None or not found or len(found) < len(loads):
        return None
    try:
        computed.resized(0 if turned else 1, _WIDTH)
    except NotIndexableError:
        return None
    return _Weights(value, turned, found, computed)


def _resized(kind: ir.Type, dimension: int | None, size: int) -> ir.RankedTensorType:
    """A type with another size of a dimension, if there is one."""
    shape = list(ir.RankedTensorType(kind).shape)
    if dimension is not None:
        shape[dimension] = size
    return ir.RankedTensorType.get(shape, ir.RankedTensorType(kind).element_type)


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
    apart = _is_row(group) or ElementType.of(group[0].matrix.type).bits == 16
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
    turned, along = first.weights.turned, first.weights.column
    factor = ir.RankedTensorType(matrix.type).element_type
    constant = _all_weights([each.weights for each in group], factor)
    constant = _cut(constant, width, along) if width else constant
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
        if step in _ALONG:
            element = ir.RankedTensorType(found.type).element_type
            values = retyped(_side_by_side(_constants(group, first, step), width, 0), element)
            maps = [access(rank, range(rank)), access(rank, (0, 2) if width else (rank - 1,))]
            found = elementwise([found, values], maps, shape, element, _ALONG[step])
        else:
            found = retyped(found, last)
    if _is_row(group):  # parts of a row would otherwise be slices of slices, which become copies
        return _cut(found, _width(group), 0)
    return found


def _as_floats(value: ir.Value[Any], op: str, element: ir.Type) -> ir.Value[Any]:
    """Integers as floats that have them exactly."""
    shape = ir.RankedTensorType(value.type).shape

    def made(*values: ir.Value) -> ir.Value:
        return ir.Operation.create(op, results=[element], operands=[values[0]]).result

    return elementwise([value], [access(len(shape), range(len(shape)))], shape, element, made)


def _all_weights(group: Sequence[_Weights], factor: ir.Type) -> ir.Value[Any]:
    """The constant matrices of products side by side."""
    first = group[0]
    if first.computed is None:
        found = _side_by_side([copy_ops(each.loads, {}) for each in group], 0, first.column)
        return _as_floats(found, first.widened, factor) if first.widened else found
    columns = sum(ir.RankedTensorType(each.value.type).shape[each.column] for each in group)
    plan, along = first.computed.resized(first.column, columns)
    inputs: dict[ir.Value, ir.Value] = {}
    for number, value in enumerate(first.computed.inputs):
        every = [copy_ops([each.loads[number]], {}) for each in group]
        inputs[value] = _side_by_side(every, 0, along[value]) if value in along else every[0]
    return build(plan, inputs, _resized(first.value.type, first.column, columns))


def _constants(group: Sequence[_Product], like: _Product, step: str) -> list[ir.Value[Any]]:
    """The constants of a step. Products without a bias have zeros (`_give_zeros`)."""
    element, found = ir.RankedTensorType(like.constants[step].result.type).element_type, list[ir.Value[Any]]()
    for each in group:
        if step in each.constants:
            found.append(copy_ops([each.constants[step]], {}))
        else:
            kind = ir.RankedTensorType.get([each.columns], element)
            zeros = ir.DenseElementsAttr.get_splat(kind, ir.FloatAttr.get(element, 0.0))
            found.append(arith.constant(kind, zeros))
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
