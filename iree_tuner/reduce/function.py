"""Attributes with their parts, and ops with a signature (functions, named sequences): what is edited."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen, iree_gpu

from iree_tuner.compiler.context import symbol_of, walk
from iree_tuner.spec.grammar import leaf

T = TypeVar("T")

STAND_INS = ("arith.constant", "tensor.empty")
"""Ops that take the place of others: they compute nothing."""

_SIGNATURE = "function_type"
_ARGUMENTS, _RESULTS, _TIED = "arg_attrs", "res_attrs", "tied_operands"
_CALLEES = ("callee", "target")  # func.call and util.call; transform.include
_FOREACH_MATCH = "transform.foreach_match"


def attributes_of(op: ir.Operation) -> dict[str, ir.Attribute]:
    """An op's attributes by name, without ones that the bindings cannot read: dense complex constants."""
    found: dict[str, ir.Attribute] = {}
    for name in op.attributes.keys():  # noqa: SIM118  (iterating it gives attributes)
        with suppress(TypeError):
            found[name] = op.attributes[name]
    return found


def parts_of(attribute: ir.Attribute) -> dict[str | int, ir.Attribute]:
    """The attributes in an attribute, by keys or positions; empty if `made_of` cannot make it again."""
    with suppress(TypeError):  # as in `attributes_of`
        match attribute:
            case ir.DictAttr():
                return {named.name: named.attr for named in attribute}
            case ir.ArrayAttr():
                return dict(enumerate(attribute))
            case iree_gpu.LoweringConfigAttr():
                return {0: attribute.attributes}
            case iree_codegen.CompilationInfoAttr():
                return {0: attribute.lowering_config, 1: attribute.translation_info}
            case iree_codegen.TranslationInfoAttr() if attribute.configuration is not None:
                return {0: attribute.configuration}
            case _:
                pass
    return {}


def made_of(attribute: ir.Attribute, parts: dict[str | int, ir.Attribute]) -> ir.Attribute:
    """An attribute with other parts under the same keys; of a dictionary's, some may be missing."""
    values = list(parts.values())
    match attribute:
        case ir.DictAttr():
            return ir.DictAttr.get({str(key): value for key, value in parts.items()})
        case ir.ArrayAttr():
            return ir.ArrayAttr.get(values)
        case iree_gpu.LoweringConfigAttr():
            return iree_gpu.LoweringConfigAttr.get(values[0])
        case iree_codegen.CompilationInfoAttr():
            return iree_codegen.CompilationInfoAttr.get(values[0], values[1])
        case iree_codegen.TranslationInfoAttr():
            pipeline, codegen_spec = attribute.pass_pipeline, attribute.codegen_spec
            sizes = attribute.workgroup_size, attribute.subgroup_size
            return iree_codegen.TranslationInfoAttr.get(pipeline, codegen_spec, *sizes, values[0])
        case _:
            return attribute


def is_resource(attribute: ir.Attribute) -> bool:
    """Whether an attribute is a `dense_resource`, which has no Python type of its own."""
    try:
        ir.DenseResourceElementsAttr(attribute)
    except ValueError:
        return False
    return True


def values_of(module: ir.Module) -> Iterator[ir.Value]:
    """All results and block arguments."""
    for op in walk(module.operation):
        yield from op.results
        for region in op.regions:
            for block in region:
                yield from block.arguments


def static_sizes(kind: ir.Type) -> list[int]:
    """The static sizes of a type; empty for types without a shape."""
    if not isinstance(kind, ir.ShapedType) or not kind.has_rank:
        return []
    return [kind.get_dim_size(axis) for axis in range(kind.rank) if kind.is_static_dim(axis)]


@dataclass(frozen=True)
class Function:
    """An op with a function type and one region, which is empty in a declaration."""

    op: ir.Operation
    returns: list[ir.Operation]  # its return terminators; the methods keep this and `calls` up to date
    calls: list[ir.Operation]  # the ops that call it by its name
    matched: bool  # whether a `foreach_match` names it, so that its signature is not its own

    @property
    def inputs(self) -> list[ir.Type]:
        return list(_signature(self.op).inputs)

    @property
    def results(self) -> list[ir.Type]:
        return list(_signature(self.op).results)

    @property
    def is_free(self) -> bool:
        """Whether only its own body depends on its signature."""
        return not self.calls and not self.matched

    @property
    def blocks(self) -> list[ir.Block]:
        """The blocks of its body, the entry first; none in a declaration."""
        return list(self.op.regions[0])

    def add_argument(self, kind: ir.Type) -> ir.Value:
        """Add an argument after the others; the function has a body and is free."""
        value = self.blocks[0].add_argument(kind, ir.Location.unknown())
        self._set_signature([*self.inputs, kind], self.results)
        if _ARGUMENTS in self.op.attributes:
            entries = [*ir.ArrayAttr(self.op.attributes[_ARGUMENTS]), ir.DictAttr.get({})]
            self.op.attributes[_ARGUMENTS] = ir.ArrayAttr.get(entries)
        return value

    def drop_argument(self, index: int) -> bool:
        """Erase an argument, here and in the calls, unless it is used. Returns whether it is gone."""
        for entry in self.blocks[:1]:
            if any(entry.arguments[index].uses):
                return False
            entry.erase_argument(index)
        self._set_signature(without(self.inputs, index), self.results)
        self._drop_entry(_ARGUMENTS, index)
        self.calls[:] = [
            remade(call, operands=without(list(call.operands), index), attributes=_of_call(call))
            for call in self.calls
        ]
        return True

    def drop_result(self, index: int) -> None:
        """Erase a result, here and in the calls, unless it is used."""
        if any(any(call.results[index].uses) for call in self.calls):
            return
        self.returns[:] = [remade(op, operands=without(list(op.operands), index)) for op in self.returns]
        self._set_signature(self.inputs, without(self.results, index))
        self._drop_entry(_RESULTS, index)
        self._drop_entry(_TIED, index)
        self.calls[:] = [
            remade(call, results=without(list(call.results), index), attributes=_of_call(call))
            for call in self.calls
        ]

    def return_instead(self, values: Sequence[ir.Value]) -> None:
        """Return other values; the function returns in one place and is free."""
        self.returns[:] = [remade(op, operands=values) for op in self.returns]
        self._set_signature(self.inputs, [value.type for value in values])
        for name in (_RESULTS, _TIED):
            if name in self.op.attributes:
                del self.op.attributes[name]

    def _set_signature(self, inputs: Sequence[ir.Type], results: Sequence[ir.Type]) -> None:
        self.op.attributes[_SIGNATURE] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))

    def _drop_entry(self, name: str, index: int) -> None:
        if name in self.op.attributes:
            entries = list(ir.ArrayAttr(self.op.attributes[name]))
            self.op.attributes[name] = ir.ArrayAttr.get(without(entries, index))


def functions(module: ir.Module) -> list[Function]:
    """All functions of a module, nested modules included."""
    found: list[ir.Operation] = []
    calls: dict[str, list[ir.Operation]] = {}
    matched: set[str] = set()
    for op in walk(module.operation):
        if len(op.regions) == 1 and _has_signature(op):
            found.append(op)
        for name in _CALLEES:
            if name in op.attributes and isinstance(op.attributes[name], ir.FlatSymbolRefAttr):
                calls.setdefault(ir.FlatSymbolRefAttr(op.attributes[name]).value, []).append(op)
        if op.name == _FOREACH_MATCH:
            for name in ("matchers", "actions"):
                matched.update(leaf(each) for each in ir.ArrayAttr(op.attributes[name]))
    return [Function(op, _returns(op), _fitting(op, calls), symbol_of(op) in matched) for op in found]


def remade(
    op: ir.Operation, *, operands: Sequence[ir.Value] | None = None,
    results: Sequence[ir.Value] | None = None, attributes: Mapping[str, ir.Attribute] | None = None,
) -> ir.Operation:  # fmt: skip
    """Replace an op by one with other operands or attributes, or with only some of its results.

    An attribute with a default must not be deleted, because verifiers and printers crash without it. A new
    op without it has the default.
    """
    kept = list(op.results) if results is None else results
    made = ir.Operation.create(
        op.name, results=[result.type for result in kept],
        operands=list(op.operands if operands is None else operands),
        attributes=dict(attributes_of(op) if attributes is None else attributes),
        successors=list(op.successors), regions=len(op.regions), loc=op.location, ip=ir.InsertionPoint(op),
    )  # fmt: skip
    for old, new in zip(op.regions, made.regions, strict=True):
        for block in list(old):
            block.append_to(new)
    for old, new in zip(kept, made.results, strict=True):
        old.replace_all_uses_with(new)
    op.erase()
    return made


def without(items: Sequence[T], index: int) -> list[T]:
    """All items but one."""
    return [*items[:index], *items[index + 1 :]]


def _returns(op: ir.Operation) -> list[ir.Operation]:
    last = [list(block)[-1].operation for block in op.regions[0]]
    count = len(_signature(op).results)
    return [each for each in last if not len(each.successors) and len(each.operands) == count]


def _fitting(op: ir.Operation, calls: Mapping[str, Sequence[ir.Operation]]) -> list[ir.Operation]:
    """The calls of a name that can be of this function: there may be others of that name elsewhere."""
    counts = len(_signature(op).inputs), len(_signature(op).results)
    named = calls.get(symbol_of(op), ())
    return [call for call in named if (len(call.operands), len(call.results)) == counts]


def _of_call(call: ir.Operation) -> dict[str, ir.Attribute]:
    """A call's attributes, without those that have an entry for each argument or result."""
    return {name: value for name, value in attributes_of(call).items() if name not in (_ARGUMENTS, _RESULTS)}


def _has_signature(op: ir.Operation) -> bool:
    """Whether an op has a type that can be changed here, unlike types of the LLVM dialect."""
    found = attributes_of(op).get(_SIGNATURE)
    if not isinstance(found, ir.TypeAttr) or not isinstance(found.value, ir.FunctionType):
        return False
    entry = next(iter(op.regions[0]), None)
    return entry is None or [each.type for each in entry.arguments] == list(found.value.inputs)


def _signature(op: ir.Operation) -> ir.FunctionType:
    return ir.FunctionType(ir.TypeAttr(op.attributes[_SIGNATURE]).value)
