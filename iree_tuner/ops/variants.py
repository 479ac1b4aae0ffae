"""Payloads and workloads that differ from a given one in one thing: a size, a type or a map."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from iree.compiler import ir

from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.indexing_map import IndexingMap
from iree_tuner.ops.probe import all_ops, copy_of
from iree_tuner.ops.structure import indexing_maps, inputs_of, shape_of
from iree_tuner.ops.workload import DynamicLoop, Workload

_T = TypeVar("_T")

_LARGE = 2**40
_OTHER_TYPE = {
    ElementType.named(one): ElementType.named(other)
    for one, other in (
        ("f16", "bf16"), ("bf16", "f16"), ("f32", "f64"), ("f64", "f32"), ("i8", "i16"), ("i16", "i8"),
        ("i32", "i64"),
    )
}  # fmt: skip


def changed_workloads(workload: Workload) -> Iterator[tuple[str, Workload]]:
    """Workloads with one loop, type or map changed, and what was changed.

    The size that stands for a dynamic loop plays no part: its bounds are made narrower than they are.
    """
    for loop, size in enumerate(workload.loops):
        if workload.dynamic_loop(loop) is None:
            yield f"loop {loop} is {size + 1}", replace(workload, loops=_with(workload.loops, loop, size + 1))
    for number, loop in enumerate(workload.dynamic):
        for narrower in _narrower(loop):
            changed = _with(workload.dynamic, number, narrower)
            yield f"loop {loop.loop} is {narrower}", replace(workload, dynamic=changed)
        static = (*workload.dynamic[:number], *workload.dynamic[number + 1 :])
        yield f"loop {loop.loop} is static", replace(workload, dynamic=static)
    for number, element in enumerate(workload.types):
        if element in _OTHER_TYPE:
            other = _OTHER_TYPE[element]
            yield f"type {number} is {other}", replace(workload, types=_with(workload.types, number, other))
    for number, each in enumerate(workload.maps):
        other = each.exchanged()
        if other != each:
            yield f"map {number} is {other}", replace(workload, maps=_with(workload.maps, number, other))


def _narrower(loop: DynamicLoop) -> Iterator[DynamicLoop]:
    """Bounds that what is known of a loop does not show it to keep."""
    yield replace(loop, lower=loop.lower + 1)
    yield replace(loop, upper=_LARGE if loop.upper is None else loop.upper - 1)
    yield replace(loop, multiple=loop.multiple * 2)


def changed_payloads(module: ir.Module, root: int) -> Iterator[tuple[str, ir.Module]]:
    """Valid payloads with one size or element type changed throughout, or an operand of a root transposed."""
    op = all_ops(module)[root]
    sizes = {size for operand in op.operands for size in shape_of(operand.type) if size is not None}
    for size in sorted(sizes):
        yield from _valid(f"size {size} is {size + 1}", module, lambda each, s=size: _resized(each, s))
    for element in sorted({ElementType.of(operand.type) for operand in op.operands}, key=str):
        if element in _OTHER_TYPE:
            other = _OTHER_TYPE[element]
            yield from _valid(
                f"type {element} is {other}", module, lambda each, a=element, b=other: _recast(each, a, b)
            )
    for number in range(len(inputs_of(op))):
        variant = copy_of(module)
        if _transpose(all_ops(variant)[root], number) and _verifies(variant):
            yield f"operand {number} is transposed", variant


def with_attributes(module: ir.Module) -> ir.Module:
    """The payload with a discardable attribute on every op."""
    variant = copy_of(module)
    with variant.context:
        for op in all_ops(variant):
            op.attributes["iree_tuner.unrelated"] = ir.UnitAttr.get()
    return variant


def _valid(
    what: str, module: ir.Module, change: Callable[[ir.Type], ir.Type]
) -> Iterator[tuple[str, ir.Module]]:
    variant = copy_of(module)
    with variant.context, ir.Location.unknown():
        for op in all_ops(variant):
            _retype(op, change)
    if _verifies(variant):
        yield what, variant


def _retype(op: ir.Operation, change: Callable[[ir.Type], ir.Type]) -> None:
    blocks = [block for region in op.regions for block in region.blocks]
    for value in [*op.results, *(argument for block in blocks for argument in block.arguments)]:
        value.set_type(change(value.type))
    if op.name == "func.func":
        signature = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
        inputs, results = map(change, signature.inputs), map(change, signature.results)
        op.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(list(inputs), list(results)))
    if op.name == "arith.constant":
        value, wanted = op.attributes["value"], op.results[0].type
        if isinstance(value, ir.FloatAttr):
            op.attributes["value"] = ir.FloatAttr.get(wanted, value.value)
        elif isinstance(value, ir.IntegerAttr):
            op.attributes["value"] = ir.IntegerAttr.get(wanted, value.value)


def _transpose(op: ir.Operation, number: int) -> bool:
    """Swap two dimensions of an argument that only `op` uses; False where that changes nothing."""
    value = op.operands[number]
    maps = list(indexing_maps(op))
    is_argument = isinstance(value.owner, ir.Block) and value.owner.owner.operation.name == "func.func"
    if "indexing_maps" not in op.attributes or len(maps[number].results) < 2 or not is_argument:
        return False
    if len(list(value.uses)) != 1:
        return False
    with op.context, ir.Location.unknown():
        maps[number] = IndexingMap.of(maps[number]).exchanged().to_ir()
        op.attributes["indexing_maps"] = ir.ArrayAttr.get([ir.AffineMapAttr.get(each) for each in maps])
        first, second, *rest = ir.RankedTensorType(value.type).shape
        value.set_type(ir.RankedTensorType.get([second, first, *rest], _element(value.type)))
        function = value.owner.owner.operation
        signature = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
        inputs = [argument.type for argument in value.owner.arguments]
        function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, signature.results))
    return True


def _resized(each: ir.Type, size: int) -> ir.Type:
    if not isinstance(each, ir.RankedTensorType) or size not in each.shape:
        return each
    shape = [other + 1 if other == size else other for other in each.shape]
    return ir.RankedTensorType.get(shape, each.element_type)


def _recast(each: ir.Type, before: ElementType, after: ElementType) -> ir.Type:
    if isinstance(each, ir.RankedTensorType):
        return ir.RankedTensorType.get(each.shape, _recast(each.element_type, before, after))
    return after.to_ir() if ElementType.of(each) == before else each


def _element(each: ir.Type) -> ir.Type:
    return each.element_type if isinstance(each, ir.ShapedType) else each


def _verifies(module: ir.Module) -> bool:
    try:
        return bool(module.operation.verify())
    except ir.MLIRError:
        return False


def _with(values: tuple[_T, ...], index: int, value: _T) -> tuple[_T, ...]:
    return (*values[:index], value, *values[index + 1 :])
