"""Products of one matrix with several constant ones, as one product with all of these side by side.

The compiler joins the constants once, when a program is loaded. Each product becomes its part of the joint
one; equal ops are merged, so that there is one joint product.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import arith, func, tensor

from iree_tuner.compiler.generic import generic
from iree_tuner.compiler.linalg import named
from iree_tuner.kernels.epilogue import producer
from iree_tuner.kernels.fused_op import sliced
from iree_tuner.kernels.fused_ops import workload_of
from iree_tuner.kernels.joint_products import JointProducts
from iree_tuner.kernels.problem import Problem
from iree_tuner.kernels.shapes import body_of
from iree_tuner.kernels.site import Site, array_of, copy_ops, function_of, program_of, zeros_of
from iree_tuner.ops.structure import accesses, shape_of

_PLAIN = ((0, 2), (2, 1), (0, 1))
_MOST_RESULTS = 1 << 22
"""Elements of a result: a larger product fills a device alone."""


@dataclass(frozen=True)
class _Product:
    """A product with a constant.

    Attributes:
        matrix: its other operand.
        load: makes the constant.
        sums: the product.
        ops: from the load to the result, which may be narrower than the sums.
    """

    matrix: ir.Value[Any]
    load: ir.Operation
    sums: ir.Operation
    ops: tuple[ir.Operation, ...]

    @property
    def result(self) -> ir.Value[Any]:
        """What others use."""
        return self.ops[-1].result

    @property
    def symbol(self) -> str:
        """The name of the constant."""
        return ir.FlatSymbolRefAttr(self.load.attributes["global"]).value

    @property
    def columns(self) -> int:
        """Of the constant."""
        return ir.RankedTensorType(self.load.result.type).shape[1]


def find_joint(module: ir.Module) -> list[Site]:
    """The products of a program, as preprocessing finds it (after `abi`), that can be parts of joint ones."""
    symbols = {
        ir.StringAttr(op.attributes["sym_name"]).value: op.operation
        for op in module.body.operations
        if op.operation.name == "util.global"
    }
    groups: dict[tuple[object, ...], list[_Product]] = {}
    for each in _products(module):
        kinds = (each.load.result.type.element_type, each.sums.result.type.element_type)
        key = (each.matrix, *map(str, kinds), str(each.result.type.element_type))
        groups.setdefault(key, []).append(each)
    found: list[Site] = []
    for group in groups.values():
        if len({each.symbol for each in group}) == len(group) > 1:
            found += [_site(each, group, symbols) for each in group]
    return found


def _products(module: ir.Module) -> Iterator[_Product]:
    found: list[_Product] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        product = _product(op) if op.name == "linalg.matmul" else None
        found.extend([product] if product is not None else [])
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return iter(found)


def _product(op: ir.Operation) -> _Product | None:
    """A product with a constant that does not fill a device alone; None for others."""
    load, start = producer(op.operands[1]), zeros_of(op)
    shape = shape_of(op.result.type)
    if start is None or load is None or load.name != "util.global.load" or None in shape:
        return None
    if tuple(each.dimensions for each in accesses(op)) != _PLAIN:
        return None
    ops = [load, *start, op]
    uses = list(op.result.uses)
    if len(uses) == 1 and body_of(user := uses[0].owner.operation) == "arith.truncf":
        empty = producer(user.operands[1])
        if empty is not None and empty.name == "tensor.empty":
            ops += [empty, user]
    rows, columns = ir.RankedTensorType(op.result.type).shape
    return _Product(op.operands[0], load, op, tuple(ops)) if rows * columns <= _MOST_RESULTS else None


def _site(product: _Product, group: Sequence[_Product], symbols: Mapping[str, ir.Operation]) -> Site:
    result = product.result.type
    own = [symbols[product.symbol]]
    every = [symbols[each.symbol] for each in group]

    def case(function: func.FuncOp) -> ir.Value:
        return copy_ops(product.ops, {product.matrix: function.arguments[0]})

    before = program_of([product.matrix], result, case, own)
    after = program_of([product.matrix], result, partial(_part, product, group), every)
    workload = workload_of(result, JointProducts.replaces)
    problem = Problem(workload, (array_of(product.matrix),), array_of(product.result), fused=after)
    return Site(problem, before, function_of(product.sums))


def _narrow(kind: ir.Type, value: ir.Value[Any], _: ir.Value) -> ir.Value:
    return arith.truncf(kind, value)


def _part(product: _Product, group: Sequence[_Product], function: func.FuncOp) -> ir.Value:
    """Build the joint product of a function's argument; a product's part of it."""
    loads: list[ir.Value[Any]] = [copy_ops([each.load], {}) for each in group]
    rows, columns = ir.RankedTensorType(product.matrix.type).shape[0], sum(each.columns for each in group)
    kind = ir.RankedTensorType(product.load.result.type)
    joined = ir.RankedTensorType.get([kind.shape[0], columns], kind.element_type)
    constant = tensor.ConcatOp(joined, 1, loads).result
    sums = ir.RankedTensorType(product.sums.result.type).element_type
    zero = arith.constant(sums, 0.0)
    start = named("fill")(zero, outs=[tensor.EmptyOp([rows, columns], sums).result])
    found = named("matmul")(function.arguments[0], constant, outs=[start])
    narrow = ir.RankedTensorType(product.result.type).element_type
    if narrow != sums:
        out = tensor.EmptyOp([rows, columns], narrow).result
        same = [ir.AffineMap.get_identity(2)] * 2
        found = generic([found], out, same, ["parallel"] * 2, partial(_narrow, narrow))
    first = sum(each.columns for each in group[: group.index(product)])
    sizes = [rows, product.columns]
    return sliced(found, [0, first], sizes, sizes)
