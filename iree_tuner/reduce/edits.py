"""Edits that make a module smaller: each function lists one kind.

An edit changes the module that it was listed for, or does nothing where it cannot. Edits are made in the
order of their list; any may be left out. Users come before what they use, so that a chain goes in one
candidate.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from iree.compiler import ir

from iree_tuner.compiler.context import symbol_of, walk
from iree_tuner.reduce.function import (
    STAND_INS,
    Function,
    attributes_of,
    functions,
    is_resource,
    made_of,
    parts_of,
    remade,
    static_sizes,
    values_of,
    without,
)  # fmt: skip
from iree_tuner.spec.grammar import pairs

Edit = Callable[[], object]
Make = Callable[[], ir.Value]
Path = tuple[str | int, ...]
"""Where an attribute is in an op's attributes: its name, then keys and positions, from the outside in."""

_MODULE, _GENERIC = "builtin.module", "linalg.generic"
_MAPS, _SEGMENTS = "indexing_maps", "operandSegmentSizes"
_REQUIRED = ("function_type", "operandSegmentSizes", "resultSegmentSizes")
"""Attributes that other edits change, or that verifiers and printers require."""
_SIZES = ("static_sizes", "static_output_shape")
"""Attributes in which ops repeat the sizes of their results."""
_SMALL = (1, 2, 4, 16, 64)


def entries(module: ir.Module) -> list[Edit]:
    """Erase matchers and their actions from `foreach_match`; the op itself with its last pair."""
    edits: list[Edit] = []
    kept: dict[ir.Operation, set[int]] = {}
    for pair in pairs(module):
        kept.setdefault(pair.foreach_match, set()).add(pair.index)
        edits.append(partial(_drop_pair, pair.foreach_match, kept[pair.foreach_match], pair.index))
    return edits


def _drop_pair(op: ir.Operation, kept: set[int], index: int) -> None:
    position = sorted(kept).index(index)
    kept.remove(index)
    if kept:
        for name in ("matchers", "actions"):
            op.attributes[name] = ir.ArrayAttr.get(without(list(ir.ArrayAttr(op.attributes[name])), position))
    elif len(op.results) == len(op.operands):
        for result, operand in zip(op.results, op.operands, strict=True):
            result.replace_all_uses_with(operand)
        op.erase()


@dataclass(eq=False)
class _Symbol:
    """A symbol, or another op next to symbols in a module, which can be erased as a whole."""

    op: ir.Operation
    inside: tuple[_Symbol, ...]  # the symbols that it is in, outermost first
    # for each reference, the symbols that contain it
    held_by: list[tuple[_Symbol, ...]] = field(default_factory=list["tuple[_Symbol, ...]"])
    erased: bool = False

    def erase(self) -> None:
        """Erase it, unless it is gone with another, or something that is left refers to it."""
        if any(outer.erased for outer in self.inside):
            return
        if all(self in holders or any(each.erased for each in holders) for holders in self.held_by):
            self.op.erase()
            self.erased = True


def top_level(module: ir.Module) -> list[Edit]:
    """Erase ops at the top of the module that nothing left refers to."""
    return [symbol.erase for symbol in _symbols(module) if not symbol.inside]


def nested(module: ir.Module) -> list[Edit]:
    """Erase ops at the top of modules, executables and variants inside the module."""
    return [symbol.erase for symbol in _symbols(module) if symbol.inside]


def _symbols(module: ir.Module) -> list[_Symbol]:
    known: dict[ir.Operation, _Symbol] = {}
    _collect(module.operation, (), known)
    _refer(module.operation, (), [], known)
    order: dict[_Symbol, None] = {}
    entered: set[_Symbol] = set()
    for first in known.values():
        way = [first]  # not by recursion: calls may be nested as deep as there are functions
        while way:
            entered.add(way[-1])
            holders = (holder for inside in way[-1].held_by for holder in inside)
            user = next((holder for holder in holders if holder not in entered), None)
            if user is not None:
                way.append(user)
            else:
                order.setdefault(way.pop())
    return list(order)


def _collect(op: ir.Operation, inside: tuple[_Symbol, ...], known: dict[ir.Operation, _Symbol]) -> None:
    """Find the symbols in an op, outer ones before inner ones."""
    for inner in _children(op):
        within = inside
        if op.name == _MODULE or (symbol_of(inner) and not inner.has_trait(ir.IsTerminatorTrait)):
            known[inner] = _Symbol(inner, inside)
            within = (*inside, known[inner])
        _collect(inner, within, known)


def _refer(
    op: ir.Operation, inside: tuple[_Symbol, ...], scopes: Sequence[Mapping[str, _Symbol]],
    known: Mapping[ir.Operation, _Symbol],
) -> None:  # fmt: skip
    """Add each reference in an op to the symbols that it names."""
    if op in known:
        inside = (*inside, known[op])
    for path in _references(attributes_of(op).values()):
        scope = next((each for each in reversed(scopes) if path[0] in each), {})
        for name in path:
            if (target := scope.get(name)) is None:
                break
            target.held_by.append(inside)
            scope = _scope(target.op, known)
    scopes = [*scopes, _scope(op, known)]
    for inner in _children(op):
        _refer(inner, inside, scopes, known)


def _scope(op: ir.Operation, known: Mapping[ir.Operation, _Symbol]) -> dict[str, _Symbol]:
    return {symbol_of(inner): known[inner] for inner in _children(op) if inner in known}


def _children(op: ir.Operation) -> Iterator[ir.Operation]:
    return (inner.operation for region in op.regions for block in region for inner in block)


def _references(attributes: Iterable[ir.Attribute]) -> Iterator[list[str]]:
    """The references in attributes, each as names from the outermost."""
    for attribute in attributes:
        if isinstance(attribute, ir.FlatSymbolRefAttr):
            yield [attribute.value]
        elif isinstance(attribute, ir.SymbolRefAttr):
            yield list(attribute.value)
        else:
            yield from _references(parts_of(attribute).values())


def unused(module: ir.Module) -> list[Edit]:
    """Erase ops whose results nothing uses, those with effects as well."""

    def erase(op: ir.Operation) -> None:
        if not any(any(result.uses) for result in op.results):
            op.erase()

    return [partial(erase, op) for op in _ops(module)]


def returned_operands(module: ir.Module) -> list[Edit]:
    """Return the operands of an op instead of its results, so that the op can go."""
    return [
        partial(_return_operands, op, function)
        for op, function in _with_function(module)
        if op.parent == function.op and len(function.blocks) == 1
    ]


def by_operand(module: ir.Module) -> list[Edit]:
    """Use an operand of the same type instead of a result."""

    def stand_in(op: ir.Operation, result: ir.Value) -> Make | None:
        fitting = [each for each in op.operands if each.type == result.type and each.owner != op]
        return partial(fitting.__getitem__, 0) if fitting else None

    return [partial(_replace, op, stand_in) for op in _ops(module)]


def by_argument(module: ir.Module) -> list[Edit]:
    """Use a new argument of the function instead of a result."""

    def edit(op: ir.Operation, function: Function) -> None:
        if function.is_free:
            _replace(op, lambda _, result: partial(function.add_argument, result.type))

    return [partial(edit, op, function) for op, function in _with_function(module)]


def by_empty(module: ir.Module) -> list[Edit]:
    """Use a `tensor.empty` instead of a result."""

    def stand_in(op: ir.Operation, result: ir.Value) -> Make | None:
        kind = result.type
        fits = isinstance(kind, ir.RankedTensorType) and kind.has_static_shape
        return partial(_made, "tensor.empty", kind, {}, op) if fits else None

    return [partial(_replace, op, stand_in) for op in _ops(module) if op.name not in STAND_INS]


def by_constant(module: ir.Module) -> list[Edit]:
    """Use a constant zero instead of a result."""

    def stand_in(op: ir.Operation, result: ir.Value) -> Make | None:
        zero = _zero_of(result.type)
        return None if zero is None else partial(_made, "arith.constant", result.type, {"value": zero}, op)

    return [partial(_replace, op, stand_in) for op in _ops(module) if op.name not in STAND_INS]


def _ops(module: ir.Module) -> list[ir.Operation]:
    """The ops in bodies, without terminators, the last first."""
    found = [
        op
        for op in walk(module.operation)
        if (parent := op.parent) is not None
        and parent.name != _MODULE
        and not symbol_of(op)
        and not op.has_trait(ir.IsTerminatorTrait)
    ]
    return found[::-1]


def _with_function(module: ir.Module) -> Iterator[tuple[ir.Operation, Function]]:
    """The ops that are in a function with a body, each with the function."""
    known = {function.op: function for function in functions(module)}
    for op in _ops(module):
        parent = op.parent
        while parent is not None and parent.operation not in known:
            parent = parent.operation.parent
        if parent is not None:
            yield op, known[parent.operation]


def _replace(op: ir.Operation, stand_in: Callable[[ir.Operation, ir.Value], Make | None]) -> None:
    """Erase an op if each of its results has a stand-in or is not used."""
    used = [result for result in op.results if any(result.uses)]
    makes = [make for result in used if (make := stand_in(op, result)) is not None]
    if len(makes) == len(used):
        for result, make in zip(used, makes, strict=True):
            result.replace_all_uses_with(make())
        op.erase()


def _return_operands(op: ir.Operation, function: Function) -> None:
    """Return an op's operands instead of its results, if only the return uses the results."""
    if not function.is_free or len(function.returns) != 1:
        return
    users = [use.owner for result in op.results for use in result.uses]
    if not users or any(user != function.returns[0] for user in users):
        return
    kept = [value for value in function.returns[0].operands if value.owner != op]
    instead = [each for each in op.operands if _is_data(each) and all(use.owner == op for use in each.uses)]
    if kept or instead:
        function.return_instead([*kept, *dict.fromkeys(instead)])
        op.erase()


def _is_data(value: ir.Value) -> bool:
    """Whether a value is an op's result and data of the program: not a size, an offset or a scalar."""
    scalar = isinstance(value.type, ir.IndexType | ir.IntegerType | ir.FloatType)
    return isinstance(value, ir.OpResult) and not scalar


def _made(name: str, kind: ir.Type, attributes: dict[str, ir.Attribute], before: ir.Operation) -> ir.Value:
    where = ir.InsertionPoint(before)
    return ir.Operation.create(name, results=[kind], attributes=attributes, ip=where).results[0]


def _zero_of(kind: ir.Type) -> ir.Attribute | None:
    """The attribute of a constant zero; None for types that `arith.constant` does not make."""
    if isinstance(kind, ir.IndexType) or (isinstance(kind, ir.IntegerType) and kind.is_signless):
        return ir.IntegerAttr.get(kind, 0)
    if isinstance(kind, ir.FloatType):
        return ir.FloatAttr.get(kind, 0.0)
    if isinstance(kind, ir.RankedTensorType | ir.VectorType) and kind.has_static_shape:
        element = _zero_of(kind.element_type)
        return None if element is None else ir.DenseElementsAttr.get_splat(kind, element)
    return None


def results(module: ir.Module) -> list[Edit]:
    """Drop results of functions that no call uses."""
    return [
        partial(function.drop_result, index)
        for function in functions(module)
        if not function.matched
        for index in reversed(range(len(function.results)))
    ]


def arguments(module: ir.Module) -> list[Edit]:
    """Drop arguments of functions that the body does not use."""
    return [
        partial(function.drop_argument, index)
        for function in functions(module)
        if not function.matched
        for index in reversed(range(len(function.inputs)))
    ]


def handed_over(module: ir.Module) -> list[Edit]:
    """Drop arguments that an action does not use, and the matchers' results that they come from."""
    known = {function.op: function for function in functions(module)}
    matchers: dict[ir.Operation, dict[ir.Operation, Function]] = {}
    for pair in pairs(module):
        if pair.matcher_op is not None and pair.action_op is not None:
            matchers.setdefault(pair.action_op, {})[pair.matcher_op] = known[pair.matcher_op]

    def drop(action: Function, others: Collection[Function], index: int) -> None:
        if action.drop_argument(index):
            for matcher in others:
                matcher.drop_result(index)

    return [
        partial(drop, known[op], others.values(), index)
        for op, others in matchers.items()
        for index in reversed(range(len(known[op].inputs)))
    ]


@dataclass
class _Place:
    """An op, which is replaced by others."""

    op: ir.Operation


def inputs(module: ir.Module) -> list[Edit]:
    """Drop inputs of `linalg.generic` that its body does not use."""
    return [
        partial(_drop_input, place, index)
        for place in [_Place(op) for op in walk(module.operation) if op.name == _GENERIC]
        for index in reversed(range(_count_inputs(place.op)))
    ]


def _count_inputs(op: ir.Operation) -> int:
    return ir.DenseI32ArrayAttr(op.attributes[_SEGMENTS])[0]


def _drop_input(place: _Place, index: int) -> None:
    op, (block,) = place.op, place.op.regions[0]
    if any(block.arguments[index].uses):
        return
    maps, count = list(ir.ArrayAttr(op.attributes[_MAPS])), _count_inputs(op)
    attributes = attributes_of(op) | {
        _MAPS: ir.ArrayAttr.get(without(maps, index)),
        _SEGMENTS: ir.DenseI32ArrayAttr.get([count - 1, len(maps) - count]),
    }
    block.erase_argument(index)
    place.op = remade(op, operands=without(list(op.operands), index), attributes=attributes)


def attributes(module: ir.Module) -> list[Edit]:
    """Remove attributes and entries of dictionaries, each only where the op verifies without it."""
    return [
        partial(_remove, place, path)
        for place in map(_Place, walk(module.operation))
        for name, value in attributes_of(place.op).items()
        if name not in _REQUIRED
        for path in [(name,), *((name, *inner) for inner in _removable(value))]
    ]


def _removable(attribute: ir.Attribute) -> Iterator[Path]:
    for key, inner in parts_of(attribute).items():
        if isinstance(attribute, ir.DictAttr):
            yield (key,)
        yield from ((key, *path) for path in _removable(inner))


def _remove(place: _Place, path: Path) -> None:
    """Remove the attribute at a path, if it is still there and the op verifies without it."""
    name, inner = str(path[0]), path[1:]
    known = attributes_of(place.op)
    if name not in known:
        return
    if inner:
        place.op.attributes[name] = _without(known[name], inner)
        if not _verifies(place.op):
            place.op.attributes[name] = known[name]
    elif place.op.parent is None:  # a module has none that it needs
        del place.op.attributes[name]
    elif len(known) == len(place.op.attributes):
        place.op = remade(place.op, attributes={each: known[each] for each in known if each != name})
        if not _verifies(place.op):
            place.op = remade(place.op, attributes=known)


def _verifies(op: ir.Operation) -> bool:
    try:
        return op.verify()
    except ir.MLIRError:
        return False


def _without(attribute: ir.Attribute, path: Path) -> ir.Attribute:
    """An attribute without the entry at a path."""
    key, inner = path[0], path[1:]
    parts = parts_of(attribute)
    if key not in parts:
        return attribute
    if inner:
        parts[key] = _without(parts[key], inner)
    else:
        del parts[key]
    return made_of(attribute, parts)


def splats(module: ir.Module) -> list[Edit]:
    """Make dense constants splats of their first element, and constants in resources splats of one."""
    return [
        partial(op.attributes.__setitem__, name, splat)
        for op in walk(module.operation)
        for name, value in attributes_of(op).items()
        if (splat := _splat_of(value)) is not None
    ]


def _splat_of(attribute: ir.Attribute) -> ir.Attribute | None:
    """A splat instead of a large constant; None for other attributes."""
    value = 1.0
    if isinstance(attribute, ir.DenseIntElementsAttr | ir.DenseFPElementsAttr):
        if attribute.is_splat or not len(attribute):
            return None
        with suppress(TypeError):  # the bindings do not read elements of all types
            value = attribute[0]
    elif not is_resource(attribute):
        return None
    kind = ir.ShapedType(attribute.type)
    element = kind.element_type
    if isinstance(element, ir.FloatType):
        return ir.DenseElementsAttr.get_splat(kind, ir.FloatAttr.get(element, float(value)))
    if isinstance(element, ir.IntegerType | ir.IndexType):
        return ir.DenseElementsAttr.get_splat(kind, ir.IntegerAttr.get(element, int(value)))
    return None


def smaller_sizes(module: ir.Module) -> list[Edit]:
    """Give all dimensions of one size another, the largest first; only one of these edits can be made."""
    found = {size for value in values_of(module) for size in static_sizes(value.type)}
    return [
        partial(_resize, module, old, new)
        for old in sorted(found, reverse=True)
        for new in sorted({*_SMALL, old // 2})
        if 0 < new < old
    ]


def _resize(module: ir.Module, old: int, new: int) -> None:
    for value in values_of(module):
        value.set_type(_resized(value.type, old, new))
    for op in walk(module.operation):
        for name, attribute in attributes_of(op).items():
            changed = _resized_attribute(name, attribute, old, new)
            if changed != attribute:
                op.attributes[name] = changed


def _resized(kind: ir.Type, old: int, new: int) -> ir.Type:
    """A type with other sizes; the same if it has none, or the bindings cannot make it."""
    if isinstance(kind, ir.FunctionType):
        ends = ([_resized(each, old, new) for each in types] for types in (kind.inputs, kind.results))
        return ir.FunctionType.get(*ends)
    if old not in static_sizes(kind):
        return kind
    shape = [new if size == old else size for size in ir.ShapedType(kind).shape]
    match kind:
        case ir.RankedTensorType():
            return ir.RankedTensorType.get(shape, kind.element_type, kind.encoding)
        case ir.VectorType():
            return ir.VectorType.get(shape, kind.element_type, scalable=kind.scalable_dims)
        case ir.MemRefType() if kind.affine_map == ir.AffineMap.get_identity(kind.rank):
            return ir.MemRefType.get(shape, kind.element_type, memory_space=kind.memory_space)
        case _:
            return kind


def _resized_attribute(name: str, attribute: ir.Attribute, old: int, new: int) -> ir.Attribute:
    match attribute:
        case ir.TypeAttr():
            return ir.TypeAttr.get(_resized(attribute.value, old, new))
        case ir.DenseElementsAttr() if attribute.is_splat:
            kind = _resized(attribute.type, old, new)
            if kind == attribute.type:
                return attribute
            return ir.DenseElementsAttr.get_splat(kind, attribute.get_splat_value())
        case ir.DenseI64ArrayAttr() if name in _SIZES:
            return ir.DenseI64ArrayAttr.get([new if size == old else size for size in attribute])
        case _:
            return attribute
