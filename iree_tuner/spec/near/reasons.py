"""The conditions of a matcher: the first that fails on an op, and why: the required and the actual value.

The compiler's interpreter finds that it fails. It runs a copy of a matcher on one op of a dispatch, as
`foreach_match` would. A note on that op, made before a condition, says whether the condition is reached. In
the copy, included sequences are inlined. Ops inside `transform.match.structured` are conditions as well.

The values are read from the IR; if they are not found, the interpreter's own words are the reason. First the
reasons by the match op, then the numbers that a matcher compares (sizes by role, strides, counts), then the
ops and values that its handles stand for, by name.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from iree.compiler import ir
from iree.compiler.dialects import transform
from iree.compiler.dialects.transform import interpreter

from iree_tuner.compiler.context import defining_op, ops_around, ops_in, symbol_of, walk
from iree_tuner.ops.dag import clone
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.family import match_ops
from iree_tuner.ops.matching import ANY_SIZE, any_op
from iree_tuner.ops.structure import bounds, extent, indexing_maps, iterators, loop_sizes
from iree_tuner.spec.grammar import INCLUDE, is_sequence, resolve
from iree_tuner.spec.near.difference import (
    Comparisons,
    Difference,
    compare,
    compare_bodies,
    compare_dags,
    compare_types,
    first_difference,
    text_of,
)

MATCH = "transform.iree.match."
DAG = f"{MATCH}cast_compatible_dag_from_root"
STRUCTURED = "transform.match.structured"
_NEVER_FAIL = {
    "transform.param.constant", "transform.num_associations", "transform.structured.match",
    f"{STRUCTURED}.yield",
}  # fmt: skip
_HERE = "iree_tuner_here"
_SAID = re.compile(r"^(?:Diagnostic message )?at loc\(.*?\): (.*)$", re.MULTILINE)
_PLACE = re.compile(r'"[^"]*":(\d+):\d+')


@dataclass(frozen=True)
class Condition:
    """One op that can fail, in a copy of a matcher without results."""

    op: ir.Operation

    @property
    def sequence(self) -> ir.Operation:
        """The copy of the matcher."""
        return next(filter(is_sequence, ops_around(self.op)))

    @property
    def root(self) -> ir.Value:
        """The handle to the op that is visited."""
        return self.sequence.regions[0].blocks[0].arguments[0]

    @property
    def line(self) -> int | None:
        """Line of the op in the text that the spec was parsed from, if it was text."""
        found = _PLACE.search(str(self.op.location))  # locations have no accessors
        return int(found[1]) if found else None


@dataclass(frozen=True)
class FailedCondition:
    """A condition, an op that it fails on though all before it hold, and the interpreter's message."""

    condition: Condition
    op: ir.Operation
    message: str

    @property
    def match(self) -> ir.Operation:
        """The op of the matcher."""
        return self.condition.op

    def ops(self, handle: ir.Value) -> list[ir.Operation]:
        """The ops that a handle stands for when the condition is reached."""
        owner = handle.owner
        if isinstance(owner, ir.Block):
            outer = owner.owner.operation
            return [self.op] if is_sequence(outer) else self.ops(outer.operands[0])
        return list(_noted(self.condition, self.op, handle))

    def number(self, param: ir.Value) -> int | None:
        """The number that a parameter holds when the condition is reached; None for other contents."""
        (found,) = _noted(self.condition, self.op, self.condition.root, param).values()
        return found.value if isinstance(found, ir.IntegerAttr) else None


def conditions_of(matcher: ir.Operation) -> tuple[Condition, ...]:
    """The conditions of a matcher that takes one op, in order. A copy of the matcher is put next to it."""
    readonly = {"transform.readonly": ir.UnitAttr.get(matcher.context)}
    with matcher.context, ir.Location.unknown(matcher.context):
        with ir.InsertionPoint(matcher):
            name = f"iree_tuner_{symbol_of(matcher)}"
            copy = transform.NamedSequenceOp(name, [any_op()], [], arg_attrs=[readonly])
        with ir.InsertionPoint(copy.body):
            end = transform.YieldOp([])
        ops, _ = _inline(matcher, list(copy.body.arguments), ir.InsertionPoint(end))
    every = (each for op in ops for each in (op, *_predicates(op)))
    return tuple(Condition(each) for each in every if each.name not in _NEVER_FAIL)


def first_failure(conditions: Sequence[Condition], op: ir.Operation) -> FailedCondition | None:
    """The first of a matcher's conditions that fails on an op; None if all hold."""
    message = _run(conditions[0], op) if conditions else ""
    if not message:
        return None
    reached = bisect.bisect_left(conditions, True, key=lambda each: not _noted(each, op, each.root))
    said = _SAID.search(message)
    return FailedCondition(conditions[reached - 1], op, said[1] if said else message.splitlines()[0])


def _run(condition: Condition, op: ir.Operation) -> str:
    """Run a condition's matcher on an op; returns the interpreter's message, empty if all holds."""
    sequence = condition.sequence
    assert sequence.parent is not None, "it stands in a module"
    try:
        interpreter.apply_named_sequence(op, sequence, sequence.parent)
    except ValueError as error:
        return str(error)
    return ""


def _noted(
    condition: Condition, op: ir.Operation, handle: ir.Value, param: ir.Value | None = None
) -> dict[ir.Operation, ir.Attribute]:
    """Run a matcher with a note on the ops of a handle, made before the condition; returns ops and notes."""
    with ir.InsertionPoint(condition.op), ir.Location.unknown(op.context):
        note = transform.AnnotateOp(handle, _HERE, param=param)
    _run(condition, op)
    note.operation.erase()
    executable = next(each for each in ops_around(op) if each.name == "hal.executable" or each.parent is None)
    found = {each: each.attributes[_HERE] for each in walk(executable) if _HERE in each.attributes}
    for each in found:
        del each.attributes[_HERE]
    return found


def _inline(
    sequence: ir.Operation, given: Sequence[ir.Value], where: ir.InsertionPoint
) -> tuple[list[ir.Operation], list[ir.Value]]:
    """Copy the ops of a sequence, with included sequences inlined; also returns the yielded values."""
    block = sequence.regions[0].blocks[0]
    values = dict(zip(block.arguments, given, strict=True))
    *body, end = [op.operation for op in block]
    copies: list[ir.Operation] = []
    for op in body:
        included = op.name == INCLUDE and _propagates(op)  # the failure of one is the failure of the other
        callee = resolve(op, op.attributes["target"]) if included else None
        if callee is None:
            copy = clone(op, values, where)
            copies.append(copy)
            results = list(copy.results)
        else:
            inner, results = _inline(callee, [values[operand] for operand in op.operands], where)
            copies += inner
        values.update(zip(op.results, results, strict=True))
    return copies, [values[operand] for operand in end.operands]


def _propagates(op: ir.Operation) -> bool:
    mode = op.attributes.get("failure_propagation_mode", None)  # the default is to propagate
    return mode is None or ir.IntegerAttr(mode).value == transform.FailurePropagationMode.Propagate.value


def _predicates(op: ir.Operation) -> list[ir.Operation]:
    """The ops inside a `transform.match.structured` whose failure is its own."""
    return ops_in(op.regions[0].blocks[0]) if op.name == STRUCTURED and _propagates(op) else []


_ASSOCIATIONS = "transform.num_associations"

_POSITIONS = {"transform.get_operand": "operand", "transform.get_result": "result"}
_NUMBERS = {
    f"{STRUCTURED}.rank": ("rank", "number of loops"),
    f"{STRUCTURED}.num_inputs": ("operands", "number of inputs"),
    f"{STRUCTURED}.num_inits": ("operands", "number of inits"),
    f"{STRUCTURED}.elemental_bitwidth": ("element_type", "bit width of the element type"),
    _ASSOCIATIONS: ("structure", "number of ops"),
}
"""Ops that yield one number, and what that is a number of."""
_PREDICATES = {
    "eq": "", "ne": "other than ", "lt": "less than ", "le": "at most ", "gt": "more than ",
    "ge": "at least ",
}  # fmt: skip
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def reason(failure: FailedCondition) -> Difference:
    """The first requirement of a condition that is not met."""
    before, match = set(failure.op.attributes), failure.match
    of_op = _OF_OPS.get(match.name)
    if match.name.removeprefix(MATCH) in match_ops():
        of_op = _typed
    if of_op is not None:
        found = first_difference(each for op in failure.ops(match.operands[0]) for each in of_op(match, op))
    else:
        found = first_difference(_OF_VALUES[match.name](failure)) if match.name in _OF_VALUES else None
    for name in set(failure.op.attributes) - before:  # indexing maps are kept on named ops when asked for
        del failure.op.attributes[name]
    return found or Difference("other", failure.message)


def kind_asked(condition: Condition) -> Callable[[ir.Operation], bool] | None:
    """The test whether an op is of the kind that a condition requires, if it requires one.

    It makes a miss a near one. The interpreter cannot decide it: it stops at the first failure of any kind.
    """
    match = condition.op
    if not match.operands or match.operands[0] != condition.root:
        return None
    if match.name == "transform.match.operation_name":
        return partial(_is_named, names=_names(match))
    if match.name == DAG:
        return partial(_is_named, names=[last_of(match).name])
    known = match_ops().get(match.name.removeprefix(MATCH))
    if known is not None:
        family, _ = known
        names = [each.op for each in family.match_ops if each.op]
        if names:
            return partial(_is_named, names=names)
        return lambda op: _is_linalg(op) and family.roles(op) is not None
    return _is_linalg if match.name == STRUCTURED else None


def _is_named(op: ir.Operation, names: Sequence[str]) -> bool:
    return op.name in names


def _is_linalg(op: ir.Operation) -> bool:
    """Whether an op is one of linalg that computes: a fill is near only to a matcher that names it."""
    return op.name.startswith("linalg.") and op.name not in ("linalg.fill", "linalg.index", "linalg.yield")


def _name(match: ir.Operation, op: ir.Operation) -> Comparisons:
    names = _names(match)
    if op.name not in names:
        yield Difference("name", f"name of {called(match.operands[0])}", op.name, " or ".join(names))


def _producer(match: ir.Operation, op: ir.Operation) -> Comparisons:
    handle = match.operands[0]
    number = ir.IntegerAttr(match.attributes["operand_number"]).value
    if number >= len(op.operands):
        yield _too_few("operands", f"number of operands of {called(handle)}", len(op.operands), number)
    elif isinstance(op.operands[number].owner, ir.Block):
        yield Difference(
            "operands", f"operand {number}{of(handle)}", "a block argument", "the result of an op"
        )


def _position(match: ir.Operation, op: ir.Operation) -> Comparisons:
    kind = "results" if match.name == "transform.get_result" else "operands"
    count = len(op.results if kind == "results" else op.operands)
    for position in positions_in(match, "raw_position_list", count):
        if not 0 <= position < count:
            yield _too_few(kind, f"number of {kind} of {called(match.operands[0])}", count, position)


def _type(failure: FailedCondition) -> Comparisons:
    wanted = ir.TypeAttr(failure.match.attributes["target_type"]).value
    for what, value in values_of(failure):
        yield compare_types(f"type of {what}", value.type, wanted)


def _dimension(failure: FailedCondition) -> Comparisons:
    """The dimension of a value that does not satisfy the interpreter."""
    asked = {name: failure.match.attributes[name] for name in failure.match.attributes}
    dim, size, lower, upper = (
        ir.IntegerAttr(asked[name]).value if name in asked else None
        for name in ("dim", "size", "lower_bound", "upper_bound")
    )
    assert dim is not None, "both match ops name one"
    kind, wanted = "bounds", f"at least {lower}" if upper is None else f"at most {upper}"
    if size is not None:
        kind, wanted = "divisibility", f"a multiple of {size}"
    elif lower is not None and upper is not None:
        wanted = f"{lower} to {upper}"
    for what, value in values_of(failure):
        if not isinstance(value.type, ir.ShapedType):
            yield Difference("type", f"type of {what}", text_of(value.type), "a tensor")
        elif dim >= value.type.rank:
            yield _too_few("rank", f"rank of {what}", value.type.rank, dim)
        else:
            yield Difference(kind, f"dim {dim} of {what}", _size(value, value.type, dim), wanted)


def _size(value: ir.Value, shaped: ir.ShapedType, dim: int) -> str:
    if not shaped.is_dynamic_dim(dim):
        return str(shaped.get_dim_size(dim))
    known = bounds(extent(value, dim))
    words = ["dynamic"]
    if known.upper is not None:
        words.append(f"{known.lower} to {known.upper}")
    if known.multiple > 1:
        words.append(f"a multiple of {known.multiple}")
    return ", ".join(words)


def _no_config(_: ir.Operation, op: ir.Operation) -> Comparisons:
    for name in ("lowering_config", "compilation_info"):
        yield compare("config", name, op.attributes.get(name, "none"), "none")


def _typed(match: ir.Operation, op: ir.Operation) -> Comparisons:
    """An op of a family with other types or indexing maps."""
    _, described = match_ops()[match.name.removeprefix(MATCH)]
    asked = match.attributes
    if described.op:
        yield compare("name", "op", op.name, described.op)
    if described.operand_count:
        mask = "none" if len(op.operands) == described.operand_count else "present"
        yield compare("operands", "mask", mask, "none")
    for name, operand in zip(described.operands, op.operands, strict=False):
        if f"{name}_type" in asked:
            given, wanted = (
                ElementType.of(operand.type),
                ElementType.of(ir.TypeAttr(asked[f"{name}_type"]).value),
            )
            yield compare("element_type", f"element type of {name}", given, wanted)
    if "indexing_maps" in asked:
        maps = [ir.AffineMapAttr(each).value for each in ir.ArrayAttr(asked["indexing_maps"])]
        yield compare("map", "number of indexing maps", len(indexing_maps(op)), len(maps))
        for name, given, wanted in zip(described.operands, indexing_maps(op), maps, strict=True):
            yield compare("map", f"indexing map of {name}", given, wanted)


def _loops(match: ir.Operation, op: ir.Operation) -> Comparisons:
    """Loops of another kind than `transform.match.structured.dim` requires, or too few."""
    asked = match.attributes
    kinds = iterators(op)
    for loop in positions_in(match, "raw_dim_list", len(kinds)):
        if not 0 <= loop < len(kinds):
            yield _too_few("rank", "number of loops", len(kinds), loop)
        elif wanted := next((kind for kind in ("parallel", "reduction") if kind in asked), None):
            yield compare("iterator", f"iterator of loop {loop}", kinds[loop], wanted)


def _body(match: ir.Operation, op: ir.Operation) -> Comparisons:
    """Ops of a body that differ from those that `transform.match.structured.body` requires."""
    asked = match.attributes
    names = ", ".join(each.operation.name for each in list(op.regions[0].blocks[0])[:-1]) or "no ops"
    if "contraction" in asked:
        wanted = ", ".join(ir.StringAttr(each).value for each in ir.ArrayAttr(asked["contraction"]))
        yield compare("body", "body", names, wanted)
    elif "passthrough" in asked:
        yield compare("body", "body", names, "no ops")


def _map(match: ir.Operation, op: ir.Operation) -> Comparisons:
    """Indexing maps that are not permutations, or too few operands for `transform.match.structured.input`."""
    asked = match.attributes
    kind = match.name.removeprefix(f"{STRUCTURED}.")
    first = len(op.operands) - len(op.results) if kind == "init" else 0
    count = len(op.operands) - len(op.results) if kind == "input" else len(op.results)
    for position in positions_in(match, "raw_position_list", count):
        if not 0 <= position < count:
            yield _too_few("operands", f"number of {kind}s", count, position)
            continue
        found = indexing_maps(op)[first + position]
        what = f"indexing map of {kind} {position}"
        if "projected_permutation" in asked and not found.is_projected_permutation:
            yield Difference("map", what, text_of(found), "a projected permutation")
        elif "permutation" in asked and not found.is_permutation:
            yield Difference("map", what, text_of(found), "a permutation")


def _too_few(kind: str, what: str, count: int, position: int) -> Difference:
    """A position that does not exist; one before the first was counted from the end."""
    position = count - position - 1 if position < 0 else position
    return Difference(kind, what, str(count), f"more than {position}")


def _names(match: ir.Operation) -> list[str]:
    return [ir.StringAttr(each).value for each in ir.ArrayAttr(match.attributes["op_names"])]


def listed_numbers(failure: FailedCondition) -> Comparisons:
    """Sizes of a role, strides or dilations that differ from the list of `dims_equal`."""
    param = failure.match.operands[0]
    wanted = list(ir.DenseI64ArrayAttr(failure.match.attributes["expected_values"]))
    what, found, is_size = _numbers(failure, param)
    if found is None:
        return
    known = {ANY_SIZE: "any", ir.ShapedType.get_dynamic_size(): "?", None: "?"}
    words = [[known.get(each, str(each)) for each in numbers] for numbers in (found, wanted)]
    one = len(found) == len(wanted) == 1
    given, asked = (each[0] if one else f"[{', '.join(each)}]" for each in words)
    if is_size:
        yield compare("size", f"size{'' if one else 's'} of {what.replace('_', ' ')}", given, asked)
    else:
        yield compare(what, what, given, asked)


def _numbers(failure: FailedCondition, param: ir.Value) -> tuple[str, Sequence[int | None] | None, bool]:
    """A parameter's contents, as a word and as numbers, and whether they are sizes; None if not found."""
    match = defining_op(param)
    if match is None:
        return "", None, True
    kind = match.name.removeprefix(MATCH)
    known = match_ops().get(kind)
    if known is None:
        number = failure.number(param)
        return called_number(param)[1], None if number is None else [number], True
    family, described = known
    role = (*described.yields, *described.parameters)[ir.OpResult(param).result_number]
    (op,) = failure.ops(match.operands[0])
    if role in described.parameters:
        return role, family.parameters(op).get(role), False
    loops = family.roles(op)
    sizes = loop_sizes(op)
    return role, None if loops is None or sizes is None else [sizes[loop] for loop in loops[role]], True


def compared_numbers(failure: FailedCondition) -> Comparisons:
    """Two numbers, one of them usually a constant."""
    predicate = transform.MatchCmpIPredicate(ir.IntegerAttr(failure.match.attributes["predicate"]).value).name
    found, wanted = failure.match.operands
    if _is_constant(found) and not _is_constant(wanted):
        found, wanted, predicate = wanted, found, _MIRRORED.get(predicate, predicate)
    numbers = [failure.number(each) for each in (found, wanted)]
    if None in numbers:
        return
    kind, what = called_number(found)
    search = searched_by(found)
    if search is not None and predicate == "eq" and numbers == [0, 1]:
        yield from _not_found(failure, search)
    yield Difference(kind, what, str(numbers[0]), f"{_PREDICATES[predicate]}{numbers[1]}")


def _not_found(failure: FailedCondition, search: ir.Operation) -> Comparisons:
    """The difference in the only op of a name that is searched, or that the name does not occur."""
    names = names_searched(search)
    for op in failure.ops(search.operands[0]):
        named = [each for each in walk(op) if each.name in names]
        if not named:
            yield Difference("body", f"number of {' and '.join(names)}{of(search.operands[0])}", "0", "1")
        if len(named) != 1:
            continue
        (only,), asked = named, search.attributes
        for each in ir.DictAttr(asked["op_attrs"]) if "op_attrs" in asked else ():
            given = only.attributes.get(each.name, "none")
            yield compare("attribute", f"attribute {each.name} of {only.name}", given, each.attr)
        if "filter_operand_types" in asked:
            types = [ir.TypeAttr(each).value for each in ir.ArrayAttr(asked["filter_operand_types"])]
            yield compare("operands", f"number of operands of {only.name}", len(only.operands), len(types))
            for number, (operand, wanted) in enumerate(zip(only.operands, types, strict=True)):
                yield compare("type", f"type of operand {number} of {only.name}", operand.type, wanted)


def _is_constant(param: ir.Value) -> bool:
    return defining_op(param, "transform.param.constant") is not None


def called(handle: ir.Value) -> str:
    """The name of a handle's op: `the producer of operand 0`."""
    owner = handle.owner
    if isinstance(owner, ir.Block):
        return "the op" if is_sequence(owner.owner.operation) else called(owner.owner.operation.operands[0])
    op = owner.operation
    if op.name == "transform.get_producer_of_operand":
        number = ir.IntegerAttr(op.attributes["operand_number"]).value
        return f"the producer of operand {number}{of(op.operands[0])}"
    if op.name == "transform.get_consumers_of_result":
        number = ir.IntegerAttr(op.attributes["result_number"]).value
        return f"the user of result {number}{of(op.operands[0])}"
    if op.name == "transform.get_parent_op":
        return f"the parent{of(op.operands[0])}"
    return f"what {op.name} finds"


def of(handle: ir.Value) -> str:
    """` of ` and the name of a handle's op; empty for the op that is visited."""
    name = called(handle)
    return "" if name == "the op" else f" of {name}"


def values_of(failure: FailedCondition) -> list[tuple[str, ir.Value]]:
    """The values that a condition is about, with their names."""
    handle = failure.match.operands[0]
    match = defining_op(handle, DAG, *_POSITIONS)
    if match is None:
        return []
    if match.name == DAG:
        visited = failure.ops(match.operands[0])
        if ir.OpResult(handle).result_number == 1:
            return [(f"result {number}", each) for op in visited for number, each in enumerate(op.results)]
        matched: list[tuple[str, ir.Value]] = []
        for each in visited:
            inputs: dict[ir.Value, ir.Value] = {}
            first_difference(compare_dags(last_of(match), each, inputs))
            arguments = enumerate(match.regions[0].blocks[0].arguments)
            matched += [(f"input {number}", inputs[one]) for number, one in arguments if one in inputs]
        return matched
    kind = _POSITIONS[match.name]
    found: list[tuple[str, ir.Value]] = []
    for each in failure.ops(match.operands[0]):
        values = list(each.operands if kind == "operand" else each.results)
        positions = positions_in(match, "raw_position_list", len(values))
        found += [(f"{kind} {number}{of(match.operands[0])}", values[number]) for number in positions]
    return found


def positions_in(match: ir.Operation, name: str, count: int) -> list[int]:
    """Positions among `count` that an attribute lists: from the start or the end, all, or all but those."""
    if "is_all" in match.attributes:
        return list(range(count))
    listed = [each + count if each < 0 else each for each in ir.DenseI64ArrayAttr(match.attributes[name])]
    return (
        [each for each in range(count) if each not in listed] if "is_inverted" in match.attributes else listed
    )


def called_number(param: ir.Value) -> tuple[str, str]:
    """The kind of value in a parameter (`spec.near.difference`), and its name."""
    op = defining_op(param)
    if op is None:
        return "other", "number"
    if op.name == STRUCTURED:
        end = list(op.regions[0].blocks[0])[-1].operation
        return called_number(end.operands[ir.OpResult(param).result_number])
    if op.name == f"{STRUCTURED}.dim":
        loops = list(ir.DenseI64ArrayAttr(op.attributes["raw_dim_list"]))
        return "size", f"size of loop {' '.join(map(str, loops))}"
    search = searched_by(param)
    if search is not None and names_searched(search):
        filtered = " with the matcher's attributes" if search.attributes.get("op_attrs", None) else ""
        return "body", f"number of {' and '.join(names_searched(search))}{of(search.operands[0])}{filtered}"
    return _NUMBERS.get(op.name, ("other", f"what {op.name} finds"))


def searched_by(param: ir.Value) -> ir.Operation | None:
    """The `transform.structured.match` whose ops a parameter counts, if it does."""
    count = defining_op(param, _ASSOCIATIONS)
    return None if count is None else defining_op(count.operands[0], "transform.structured.match")


def names_searched(search: ir.Operation) -> list[str]:
    """Names of the ops that a `transform.structured.match` searches, if it searches by name."""
    names = search.attributes.get("ops", None)
    return [] if names is None else [ir.StringAttr(each).value for each in ir.ArrayAttr(names)]


def last_of(match: ir.Operation) -> ir.Operation:
    """The op that a DAG in a matcher is compared from."""
    return list(match.regions[0].blocks[0])[-2].operation


_OF_OPS: dict[str, Callable[[ir.Operation, ir.Operation], Comparisons]] = {
    "transform.match.operation_name": _name,
    "transform.get_producer_of_operand": _producer,
    "transform.get_operand": _position,
    "transform.get_result": _position,
    f"{STRUCTURED}.dim": _loops,
    f"{STRUCTURED}.body": _body,
    f"{STRUCTURED}.input": _map,
    f"{STRUCTURED}.init": _map,
    DAG: lambda match, op: compare_dags(last_of(match), op),
    f"{MATCH}regions": lambda match, op: compare_bodies(ops_in(match.regions[0].blocks[0])[0], op, op.name),
    f"{MATCH}has_no_lowering_config": _no_config,
}
_OF_VALUES: dict[str, Callable[[FailedCondition], Comparisons]] = {
    "transform.match.param.cmpi": compared_numbers,
    f"{MATCH}cast_compatible_type": _type,
    f"{MATCH}dim_is_multiple_of": _dimension,
    f"{MATCH}dim_bounds": _dimension,
    f"{MATCH}dims_equal": listed_numbers,
}
"""How the reason is found for each op of a matcher that can fail, of those whose values are known: from each
op that its first operand stands for, or from values and parameters."""
