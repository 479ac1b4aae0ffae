"""The first difference between ops that a matcher holds and ops of a dispatch, in words.

It compares the same things in the same order as the compiler does for
`transform.iree.match.cast_compatible_dag_from_root` and `transform.iree.match.regions`
(PreprocessingExtensions.cpp and EquivalenceUtils.cpp of release 3.13). The compiler judges; this finds the
reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from iree.compiler import ir

from iree_tuner.compiler.context import defining_op

_LISTS = {"indexing_maps": ("map", "indexing map"), "iterator_types": ("iterator", "iterator of loop")}
_LONGEST = 200


@dataclass(frozen=True)
class Difference:
    """The value that a matcher requires, and the one found in the dispatch.

    `kind` is a fixed word for scripts: `size`, `map`, `element_type`, ... `what` was compared: `size of k`;
    or all that is known, without values. Before it, `held` comparisons of the same condition held.
    """

    kind: str
    what: str
    found: str = ""
    expected: str = ""
    held: int = 0

    def __str__(self) -> str:
        return f"{self.what}: {self.found}, expected {self.expected}" if self.expected else self.what


Comparisons = Iterator[Difference | None]
"""One after the other; None for conditions that hold."""


def first_difference(comparisons: Iterable[Difference | None]) -> Difference | None:
    """The first comparison that does not hold, with the number of those before it."""
    for held, found in enumerate(comparisons):
        if found is not None:
            return replace(found, held=held)
    return None


def compare(kind: str, what: str, found: object, expected: object) -> Difference | None:
    """Compare two values; they are printed if they differ."""
    return None if found == expected else Difference(kind, what, text_of(found), text_of(expected))


def compare_types(what: str, found: ir.Type, expected: ir.Type) -> Difference | None:
    """Whether a value of one type can be cast to the other: a size that is not required may be any."""
    if not isinstance(expected, ir.RankedTensorType):
        return compare("type", what, found, expected)
    if not isinstance(found, ir.RankedTensorType):
        return Difference("type", what, text_of(found), text_of(expected))
    kind = ""
    if found.rank != expected.rank:
        kind = "rank"
    elif found.element_type != expected.element_type:
        kind = "element_type"
    elif any(
        not expected.is_dynamic_dim(dim) and found.shape[dim] != expected.shape[dim]
        for dim in range(found.rank)
    ):
        kind = "size"
    return Difference(kind, what, text_of(found), text_of(expected)) if kind else None


def compare_dags(
    asked: ir.Operation, op: ir.Operation, inputs: dict[ir.Value, ir.Value] | None = None
) -> Comparisons:
    """Compare two ops, the producers of their operands up to the inputs of a matcher, and all their bodies.

    `asked` is the last op of a matcher's DAG, `op` one of a dispatch. `inputs` is filled with the inputs of
    the matcher, and the corresponding values.
    """
    matched: dict[ir.Operation, tuple[ir.Operation, str]] = {}
    inputs = {} if inputs is None else inputs
    arguments = list(asked.block.arguments)
    pending = [(asked, op, "")]
    while pending:
        asked, op, path = pending.pop()
        place = f"{op.name} at {path}" if path else op.name
        yield compare("name", f"op at {path}" if path else "op", op.name, asked.name)
        if "match.operation_name_only" in asked.attributes:
            continue
        if asked in matched:
            yield _same_op(place, op, matched[asked][0])
            continue
        yield from compare_ops(asked, op, place)
        for number, (wanted, given) in enumerate(zip(asked.operands, op.operands, strict=False)):
            step = f"{path} -> {number}" if path else f"operand {number}"
            producer, actual = defining_op(wanted), defining_op(given)
            if producer is None:
                yield _same_input(f"operand {number} of {place}", inputs.setdefault(wanted, given), given)
            elif actual is None:
                yield Difference("operands", step, "a block argument", f"the result of {producer.name}")
            elif producer in matched:
                yield _same_op(step, actual, matched[producer][0])
            else:
                pending.append((producer, actual, step))
        matched[asked] = op, place
    for wanted, (given, place) in reversed(matched.items()):
        yield from compare_bodies(wanted, given, place)
    for number, argument in enumerate(arguments):
        if argument not in inputs:
            what = f"input {number} of the matcher"
            yield Difference("operands", what, "no operand", "one that is compared")


def compare_ops(asked: ir.Operation, op: ir.Operation, place: str) -> Comparisons:
    """Compare two ops of one name, without their regions."""
    yield compare("operands", f"number of operands of {place}", len(op.operands), len(asked.operands))
    yield compare("results", f"number of results of {place}", len(op.results), len(asked.results))
    wanted, given = _attributes(asked), _attributes(op)
    for name in sorted(wanted.keys() | given.keys()):
        if name in _LISTS and name in wanted and name in given:
            (kind, what), ours, theirs = _LISTS[name], ir.ArrayAttr(given[name]), ir.ArrayAttr(wanted[name])
            if name == "iterator_types":
                yield compare("rank", f"number of loops of {place}", len(ours), len(theirs))
            yield compare(kind, f"number of {what}s of {place}", len(ours), len(theirs))
            for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
                yield compare(kind, f"{what} {number} of {place}", one, other)
        else:
            kind, what = ("constant", "value") if name == "value" else ("attribute", f"attribute {name}")
            yield compare(kind, f"{what} of {place}", given.get(name, "none"), wanted.get(name, "none"))
    for number, (one, other) in enumerate(zip(op.operands, asked.operands, strict=True)):
        yield compare_types(f"type of operand {number} of {place}", one.type, other.type)


def compare_bodies(asked: ir.Operation, op: ir.Operation, place: str) -> Comparisons:
    """Compare the regions of two ops, op by op."""
    for given, wanted in zip_longest(_lines(op, {}), _lines(asked, {}), fillvalue="nothing"):
        yield compare("body", f"body of {place}", given, wanted)


def _lines(op: ir.Operation, names: dict[ir.Value, str]) -> Iterator[str]:
    """A line for each block and each op in an op, with values numbered from it on; ends of regions too."""
    for region in op.regions:
        for block in region:
            yield f"a block of {_named(block.arguments, names)}"
            for inner in block:
                operands = ", ".join(names.get(each, "an outer value") for each in inner.operands)
                attributes = ", ".join(f"{name} = {each}" for name, each in _attributes(inner).items())
                name = f"{inner.operation.name} {operands}" + (f" {{{attributes}}}" if attributes else "")
                yield f"{_named(inner.results, names)} = {name}" if inner.results else name
                yield from _lines(inner.operation, names)
        yield "the end of a region"


def _named(values: Sequence[ir.Value], names: dict[ir.Value, str]) -> str:
    """Give values the next numbers, and print them with their types."""
    for value in values:
        names[value] = f"%{len(names)}"
    return ", ".join(f"{names[value]}: {value.type}" for value in values)


def text_of(value: object) -> str:
    """A value for a message: maps and iterators without the name of their kind, long ones cut."""
    if isinstance(value, ir.AffineMapAttr):
        value = value.value
    text = str(value)
    # IR as text: values as people read them
    if text.startswith("#linalg.iterator_type<"):
        text = text.partition("<")[2].removesuffix(">")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _attributes(op: ir.Operation | ir.OpView) -> dict[str, ir.Attribute]:
    """All attributes except those that follow from the number of operands, which is compared before."""
    return {name: op.attributes[name] for name in op.attributes if name != "operandSegmentSizes"}


def _same_op(what: str, op: ir.Operation, before: ir.Operation) -> Difference | None:
    if op == before:
        return None
    return Difference("structure", what, "a different op", "the op that is matched already")


def _same_input(what: str, before: ir.Value, given: ir.Value) -> Difference | None:
    if before == given:
        return None
    return Difference("operands", what, "a different value", "the same value as an earlier operand")
