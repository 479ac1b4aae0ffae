"""Checks whether an op family keeps its contract, for authors of families in this package and others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from iree.compiler import ir
from iree.compiler.dialects import transform
from iree.compiler.dialects.transform import interpreter

from iree_tuner.compiler.context import new_context, walk
from iree_tuner.compiler.session import parse_module
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.family import ROOT, OpFamily
from iree_tuner.ops.indexing_map import IndexingMap
from iree_tuner.ops.matching import any_op
from iree_tuner.ops.structure import indexing_maps, inputs_of, shape_of, structure
from iree_tuner.ops.workload import Workload, from_json, to_json

_MARK = "iree_tuner.probed."


def all_ops(module: ir.Module) -> list[ir.Operation]:
    """Every op of a module, in an order that equal modules share."""
    return list(walk(module.operation))


def copy_of(module: ir.Module) -> ir.Module:
    """An equal module, by way of text."""
    # IR as text: checks of families ask for a module that has been text
    return ir.Module.parse(str(module), module.context)


def matches(family: OpFamily, workload: Workload, module: ir.Module) -> list[dict[str, int]]:
    """Where a workload's matcher succeeds: by label, indices into `all_ops(module)`.

    Raises ValueError for a matcher that does not verify, or fails other than by not matching.
    """
    payload = copy_of(module)
    with module.context, ir.Location.unknown():
        spec = _spec(family, workload)
        try:
            verified = spec.operation.verify()
            if verified:
                entry = spec.body.operations[len(spec.body.operations) - 1]
                interpreter.apply_named_sequence(payload.operation, entry.operation, spec.operation)
        except (ir.MLIRError, ValueError, RuntimeError) as error:
            raise ValueError(f"the matcher of {workload.name} fails: {error}") from error
        if not verified:
            raise ValueError(f"the matcher of {workload.name} does not verify")
    return _marked(payload)


def _spec(family: OpFamily, workload: Workload) -> ir.Module:
    labels = ["root", *(companion.label for companion in workload.companions)]
    module = ir.Module.create()
    module.operation.attributes["transform.with_named_sequence"] = ir.UnitAttr.get()
    handle, readonly = any_op(), {"transform.readonly": ir.UnitAttr.get()}
    with ir.InsertionPoint(module.body):
        action = transform.NamedSequenceOp(
            "mark", [handle] * len(labels), [], arg_attrs=[readonly] * len(labels)
        )
        with ir.InsertionPoint(action.body):
            for label, argument in zip(labels, action.body.arguments, strict=True):
                transform.AnnotateOp(argument, _MARK + label)
            transform.YieldOp([])
        match = transform.NamedSequenceOp("match", [handle], [handle] * len(labels), arg_attrs=[readonly])
        with ir.InsertionPoint(match.body):
            found = family.matcher(workload, match.body.arguments[0])
            if sorted(found) != sorted(labels):
                what = f"returns {sorted(found)}, not {sorted(labels)}"
                raise ValueError(f"the matcher of {workload.name} {what}")
            transform.YieldOp([found[label] for label in labels])
        entry = transform.NamedSequenceOp(
            "__probe", [handle], [], arg_attrs=[{"transform.consumed": ir.UnitAttr.get()}]
        )
        with ir.InsertionPoint(entry.body):
            names = [ir.ArrayAttr.get([ir.FlatSymbolRefAttr.get(name)]) for name in ("match", "mark")]
            transform.ForeachMatchOp(handle, [], entry.body.arguments[0], [], *names)
            transform.YieldOp([])
    return module


def _marked(payload: ir.Module) -> list[dict[str, int]]:
    by_label: dict[str, list[int]] = {}
    for index, op in enumerate(all_ops(payload)):
        for name in op.attributes:
            if name.startswith(_MARK):
                by_label.setdefault(name.removeprefix(_MARK), []).append(index)
    roots = by_label.get("root", [])
    return [
        {label: indices[place] for label, indices in by_label.items() if place < len(indices)}
        for place in range(len(roots))
    ]


# Payloads and workloads that differ from a given one in one thing: a size, a type or a map.


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

    The size that stands for a dynamic loop is not used: its bounds are made narrower than they are.
    """
    for loop, size in enumerate(workload.loops):
        if workload.dynamic_loop(loop) is None:
            yield f"loop {loop} is {size + 1}", replace(workload, loops=_with(workload.loops, loop, size + 1))
    for number, loop in enumerate(workload.dynamic):
        narrower_ones = (  # bounds that the known facts about the loop do not guarantee
            replace(loop, lower=loop.lower + 1),
            replace(loop, upper=_LARGE if loop.upper is None else loop.upper - 1),
            replace(loop, multiple=loop.multiple * 2),
        )
        for narrower in narrower_ones:
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
            blocks = [block for region in op.regions for block in region.blocks]
            for each in [*op.results, *(argument for block in blocks for argument in block.arguments)]:
                each.set_type(change(each.type))
            if op.name == "func.func":
                signature = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
                inputs, results = map(change, signature.inputs), map(change, signature.results)
                kind = ir.FunctionType.get(list(inputs), list(results))
                op.attributes["function_type"] = ir.TypeAttr.get(kind)
            value = op.attributes["value"] if op.name == "arith.constant" else None
            if isinstance(value, ir.FloatAttr | ir.IntegerAttr):
                op.attributes["value"] = type(value).get(op.results[0].type, value.value)
    if _verifies(variant):
        yield what, variant


def _transpose(op: ir.Operation, number: int) -> bool:
    """Swap two dimensions of an argument that only `op` uses; False if that changes nothing."""
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
        kind = ir.RankedTensorType(value.type)
        first, second, *rest = kind.shape
        value.set_type(ir.RankedTensorType.get([second, first, *rest], kind.element_type))
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


def _verifies(module: ir.Module) -> bool:
    try:
        return bool(module.operation.verify())
    except ir.MLIRError:
        return False


def _with(values: tuple[_T, ...], index: int, value: _T) -> tuple[_T, ...]:
    return (*values[:index], value, *values[index + 1 :])


@dataclass(frozen=True)
class Sample:
    """A payload to check a family with: a module, or its text, with ops of the family; all are checked.

    `near_misses` are modules, or their texts, in which no op has a workload of the payload's. Faults name it
    by `name`.
    """

    name: str
    payload: ir.Module | str
    near_misses: tuple[ir.Module | str, ...] = ()


@dataclass(frozen=True)
class Fault:
    """A way in which a family breaks its contract."""

    sample: str
    message: str


def check_op_family(
    family: OpFamily, samples: Sequence[Sample], *, ignores_attributes: bool = True
) -> list[Fault]:
    """The faults of a family, judged by samples; empty if it keeps the contract.

    For every op that the family describes: its workload survives JSON; `describe` does not look at
    discardable attributes; the matcher succeeds on the op, and returns a handle for each label of `locate`.
    It succeeds on no other op with a different workload, on no near miss, and on no op that differs in one
    size, element type or map. Payloads with those differences are made from the sample, if they are valid;
    say with `near_misses` what else must not match.

    Matchers run in this process: one that crashes the transform interpreter ends it. Payloads have the form
    that ops have when tuning specs run. `ignores_attributes` is False for a matcher that compares attributes,
    as the compiler's DAG matcher does; then only `describe` must ignore them.
    """
    problems: list[Fault] = []
    for sample in samples:
        payload = _module(sample.payload, None)
        messages = _check(family, payload, sample.near_misses, ignores_attributes)
        problems.extend(Fault(sample.name, message) for message in dict.fromkeys(messages))
    return problems


def _check(
    family: OpFamily, payload: ir.Module, near_misses: Sequence[ir.Module | str], ignores_attributes: bool
) -> Iterator[str]:
    found = ((index, family.describe(op)) for index, op in enumerate(all_ops(payload)))
    described = {index: workload for index, workload in found if workload is not None}
    if not described:
        yield "no op is described"
    for root, workload in described.items():
        try:
            yield from _check_description(family, payload, root, workload)
            yield from _check_match(family, payload, root, workload)
            if ignores_attributes:
                yield from _check_match(family, with_attributes(payload), root, workload)
            yield from _check_changed_workloads(family, payload, root, workload)
            yield from _check_changed_payloads(family, payload, root, workload)
            for number, near_miss in enumerate(near_misses):
                if matches(family, workload, _module(near_miss, payload.context)):
                    yield f"the matcher of {workload.name} also matches near miss {number}"
        except ValueError as error:
            yield str(error)


def _check_description(family: OpFamily, payload: ir.Module, root: int, workload: Workload) -> Iterator[str]:
    if workload.family != family.name:
        yield f"the workload says family '{workload.family}', not '{family.name}'"
    if from_json(to_json(workload)) != workload:
        yield f"{workload.name} changes when it is written as JSON and read again"
    printed, marked = copy_of(payload), with_attributes(payload)  # ops do not keep their module alive
    if family.describe(all_ops(printed)[root]) != workload:
        yield f"{workload.name} is described differently after printing and parsing"
    if family.describe(all_ops(marked)[root]) != workload:
        yield f"{workload.name} is described differently when ops carry discardable attributes"


def _check_match(family: OpFamily, payload: ir.Module, root: int, workload: Workload) -> Iterator[str]:
    ops = all_ops(payload)
    located = {label: ops.index(op) for label, op in family.locate(ops[root], workload).items()}
    labels = {ROOT, *(companion.label for companion in workload.companions)}
    if set(located) != labels:
        yield f"locate({workload.name}) returns {sorted(located)}, not {sorted(labels)}"
    found = matches(family, workload, payload)
    if located not in found:
        yield f"the matcher of {workload.name} does not match its own op"
    for other in found:
        if family.describe(ops[other[ROOT]]) != workload:
            yield f"the matcher of {workload.name} also matches {ops[other[ROOT]].name} of another workload"


def _check_changed_workloads(
    family: OpFamily, payload: ir.Module, root: int, workload: Workload
) -> Iterator[str]:
    if workload.dag:  # the text is matched, and cannot be changed by one number
        return
    for what, changed in changed_workloads(workload):
        try:
            found = matches(family, changed, payload)
        except ValueError:
            continue  # no op has such a workload, and no matcher can be built for it
        if any(each[ROOT] == root for each in found):
            yield f"the matcher for {workload.name} where {what} matches the op without that change"


def _check_changed_payloads(
    family: OpFamily, payload: ir.Module, root: int, workload: Workload
) -> Iterator[str]:
    original = structure(all_ops(payload)[root], dynamic=True)
    for what, changed in changed_payloads(payload, root):
        if original is not None and structure(all_ops(changed)[root], dynamic=True) == original:
            continue  # such as an image with a last row that the strides never reach
        if family.describe(all_ops(changed)[root]) == workload:
            yield f"{workload.name} is described alike where {what}"
        if any(found[ROOT] == root for found in matches(family, workload, changed)):
            yield f"the matcher of {workload.name} also matches where {what}"


def _module(source: ir.Module | str, context: ir.Context | None) -> ir.Module:
    return parse_module(source, context or new_context()) if isinstance(source, str) else source
