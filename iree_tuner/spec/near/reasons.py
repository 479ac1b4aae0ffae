"""Why a condition of a matcher fails on an op: what it asks for and what is there instead.

The interpreter says that it fails (`conditions`). The values are read from the IR; where they are not found,
the interpreter's own words are the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from iree.compiler import ir

from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.extents import bounds, extent
from iree_tuner.ops.family import OpFamily, match_ops
from iree_tuner.ops.structure import indexing_maps, iterators
from iree_tuner.spec.near.conditions import Condition, FailedCondition
from iree_tuner.spec.near.difference import (
    Comparisons,
    Difference,
    compare,
    compare_dags,
    compare_regions,
    compare_types,
    first_difference,
    text_of,
)
from iree_tuner.spec.near.handles import (
    DAG,
    MATCH,
    STRUCTURED,
    called,
    last_of,
    of,
    positions_in,
    values_of,
)
from iree_tuner.spec.near.numbers import compared_numbers, listed_numbers


def reason(failure: FailedCondition) -> Difference:
    """The first thing that a condition asks for and does not find."""
    before = set(failure.op.attributes)
    explain = _REASONS.get(failure.match.name)
    if explain is None and failure.match.name.removeprefix(MATCH) in match_ops():
        explain = _typed
    found = first_difference(explain(failure)) if explain else None
    for name in set(failure.op.attributes) - before:  # indexing maps are kept on named ops when asked for
        del failure.op.attributes[name]
    return found or Difference("other", failure.said)


def kind_asked(condition: Condition) -> Callable[[ir.Operation], bool] | None:
    """The test whether an op is of the kind that a condition asks for; None where it asks for none.

    It makes a miss a near one, and is not the interpreter's to say: that stops at whatever fails first.
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
        return partial(_is_named, names=names) if names else partial(_has_roles, family=family)
    return _is_linalg if match.name == STRUCTURED else None


def _is_named(op: ir.Operation, names: Sequence[str]) -> bool:
    return op.name in names


def _is_linalg(op: ir.Operation) -> bool:
    """Whether an op is one of linalg that computes: a fill is near only to a matcher that names it."""
    return op.name.startswith("linalg.") and op.name not in ("linalg.fill", "linalg.index", "linalg.yield")


def _has_roles(op: ir.Operation, family: OpFamily) -> bool:
    return _is_linalg(op) and family.roles(op) is not None


def _name(failure: FailedCondition) -> Comparisons:
    handle = failure.match.operands[0]
    names = _names(failure.match)
    for op in failure.ops(handle):
        if op.name not in names:
            yield Difference("name", f"name of {called(handle)}", op.name, " or ".join(names))


def _producer(failure: FailedCondition) -> Comparisons:
    handle = failure.match.operands[0]
    number = ir.IntegerAttr(failure.match.attributes["operand_number"]).value
    for op in failure.ops(handle):
        if number >= len(op.operands):
            yield _too_few("operands", f"number of operands of {called(handle)}", len(op.operands), number)
        elif isinstance(op.operands[number].owner, ir.Block):
            yield Difference(
                "operands", f"operand {number}{of(handle)}", "a block argument", "the result of an op"
            )


def _position(failure: FailedCondition) -> Comparisons:
    handle = failure.match.operands[0]
    kind = "results" if failure.match.name == "transform.get_result" else "operands"
    for op in failure.ops(handle):
        count = len(op.results if kind == "results" else op.operands)
        for position in positions_in(failure.match, "raw_position_list", count):
            if not 0 <= position < count:
                yield _too_few(kind, f"number of {kind} of {called(handle)}", count, position)


def _type(failure: FailedCondition) -> Comparisons:
    wanted = ir.TypeAttr(failure.match.attributes["target_type"]).value
    for what, value in values_of(failure.condition, failure.match.operands[0], failure.op):
        yield compare_types(f"type of {what}", value.type, wanted)


def _multiple(failure: FailedCondition) -> Comparisons:
    size = ir.IntegerAttr(failure.match.attributes["size"]).value
    yield from _dimension(failure, "divisibility", f"a multiple of {size}")


def _bounds(failure: FailedCondition) -> Comparisons:
    ends = [failure.match.attributes.get(name, None) for name in ("lower_bound", "upper_bound")]
    lower, upper = (None if each is None else ir.IntegerAttr(each).value for each in ends)
    wanted = f"at least {lower}" if upper is None else f"at most {upper}"
    if lower is not None and upper is not None:
        wanted = f"{lower} to {upper}"
    yield from _dimension(failure, "bounds", wanted)


def _dimension(failure: FailedCondition, kind: str, wanted: str) -> Comparisons:
    """The dimension of a value that is not what the interpreter wants."""
    dim = ir.IntegerAttr(failure.match.attributes["dim"]).value
    for what, value in values_of(failure.condition, failure.match.operands[0], failure.op):
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


def _no_config(failure: FailedCondition) -> Comparisons:
    for op in failure.ops(failure.match.operands[0]):
        for name in ("lowering_config", "compilation_info"):
            yield compare("config", name, op.attributes.get(name, "none"), "none")


def _typed(failure: FailedCondition) -> Comparisons:
    """An op of a family with other types or indexing maps."""
    _, described = match_ops()[failure.match.name.removeprefix(MATCH)]
    asked = failure.match.attributes
    for op in failure.ops(failure.match.operands[0]):
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


def _regions(failure: FailedCondition) -> Comparisons:
    asked = failure.match.regions[0].blocks[0].operations[0].operation
    for op in failure.ops(failure.match.operands[0]):
        yield from compare_regions(asked, op, op.name)


def _dag(failure: FailedCondition) -> Comparisons:
    for op in failure.ops(failure.match.operands[0]):
        yield from compare_dags(last_of(failure.match), op)


def _loops(failure: FailedCondition) -> Comparisons:
    """Loops of another kind than `transform.match.structured.dim` asks for, or too few."""
    asked = failure.match.attributes
    for op in failure.ops(failure.match.operands[0]):
        kinds = iterators(op)
        for loop in positions_in(failure.match, "raw_dim_list", len(kinds)):
            if not 0 <= loop < len(kinds):
                yield _too_few("rank", "number of loops", len(kinds), loop)
            elif wanted := next((kind for kind in ("parallel", "reduction") if kind in asked), None):
                yield compare("iterator", f"iterator of loop {loop}", kinds[loop], wanted)


def _body(failure: FailedCondition) -> Comparisons:
    """Ops of a body that differ from the ones that `transform.match.structured.body` asks for."""
    asked = failure.match.attributes
    for op in failure.ops(failure.match.operands[0]):
        names = ", ".join(each.operation.name for each in list(op.regions[0].blocks[0])[:-1]) or "no ops"
        if "contraction" in asked:
            wanted = ", ".join(ir.StringAttr(each).value for each in ir.ArrayAttr(asked["contraction"]))
            yield compare("body", "body", names, wanted)
        elif "passthrough" in asked:
            yield compare("body", "body", names, "no ops")


def _map(failure: FailedCondition) -> Comparisons:
    """Indexing maps that are no permutations, or too few operands for `transform.match.structured.input`."""
    asked = failure.match.attributes
    kind = failure.match.name.removeprefix(f"{STRUCTURED}.")
    for op in failure.ops(failure.match.operands[0]):
        first = len(op.operands) - len(op.results) if kind == "init" else 0
        count = len(op.operands) - len(op.results) if kind == "input" else len(op.results)
        for position in positions_in(failure.match, "raw_position_list", count):
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
    """A position that is not there; one before the first was counted from the end."""
    position = count - position - 1 if position < 0 else position
    return Difference(kind, what, str(count), f"more than {position}")


def _names(match: ir.Operation) -> list[str]:
    return [ir.StringAttr(each).value for each in ir.ArrayAttr(match.attributes["op_names"])]


_REASONS: dict[str, Callable[[FailedCondition], Comparisons]] = {
    "transform.match.operation_name": _name,
    "transform.match.param.cmpi": compared_numbers,
    "transform.get_producer_of_operand": _producer,
    "transform.get_operand": _position,
    "transform.get_result": _position,
    f"{STRUCTURED}.dim": _loops,
    f"{STRUCTURED}.body": _body,
    f"{STRUCTURED}.input": _map,
    f"{STRUCTURED}.init": _map,
    DAG: _dag,
    f"{MATCH}regions": _regions,
    f"{MATCH}cast_compatible_type": _type,
    f"{MATCH}dim_is_multiple_of": _multiple,
    f"{MATCH}dim_bounds": _bounds,
    f"{MATCH}has_no_lowering_config": _no_config,
    f"{MATCH}dims_equal": listed_numbers,
}
"""How the reason is found for each op of a matcher that can fail, of those whose values are known."""
