"""Elementwise ops after reductions and scans, as further terms of their nests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from iree.compiler import ir

from iree_tuner.kernels.finish import Finish, finishes_of
from iree_tuner.kernels.formula import INPUT, FormulaTerm
from iree_tuner.kernels.nest import SUMS, Access, Nest, common_parts, tiles_of

_SCANNED = SUMS - 1  # the input of an access that reads what is scanned


def steps_after(op: ir.Operation, *, alone: bool) -> list[Finish | None]:
    """The steps that may follow an op, longer ones first, and last none; only none if it is `alone`."""
    return [*([] if alone else reversed(finishes_of(op.results[0]))), None]


def around(
    before: list[ir.Operation], op: ir.Operation, *, alone: bool
) -> list[tuple[list[ir.Operation], Finish | None]]:  # fmt: skip
    """The ops before an op, or none, each with what may follow it (`steps_after`)."""
    then = steps_after(op, alone=alone)
    return [(each, after) for each in (before, list[ir.Operation]()) for after in then]


def followed(
    nest: Nest, loops: Sequence[int], op: ir.Operation, then: Finish, values: Sequence[ir.Value]
) -> Nest | None:
    """The nest with a step after its sums, which reads these values; None if a kernel cannot have it.

    `loops` are those of the result's dimensions. Sums of which parts are written have no such step. A scan's
    may read what is scanned, which the nest has computed.
    """
    shape = ir.RankedTensorType(op.results[0].type).shape
    parts = common_parts(then.nest.sizes, [size for size in shape if size > 1])
    large = [loop for loop in loops if nest.sizes[loop] > 1]
    ranges = then.nest.ranges
    if parts is None or (ranges and nest.scan is None) or [each.of for each in parts] != [*range(len(large))]:
        return None

    def along(own: Sequence[int]) -> tuple[int, ...]:
        strides = [0] * len(nest.sizes)
        for loop, part in zip(large, parts, strict=True):
            strides[loop] = own[part.loop] * part.factor
        return tuple(strides)

    def read(access: Access) -> Access:
        strides = along(access.strides)
        if access.input == SUMS:
            return Access(SUMS, 0, (0,) * len(strides))
        value = then.inputs[access.input]
        number = _SCANNED if _is_scanned(nest, op, value, strides, access.offset) else values.index(value)
        return Access(number, access.offset, strides)

    accesses, after, numbers = [*map(read, then.nest.accesses)], list[FormulaTerm](), list[int]()
    kept = [each for each in accesses if each.input != _SCANNED]
    for each in then.nest.terms:
        if each.op == INPUT and accesses[each.input].input == _SCANNED:
            numbers.append(len(nest.terms) - 1)
            continue
        numbers.append(len(nest.terms) + len(after))
        own = len(nest.ranges) + each.input
        if each.op == INPUT:
            own = len(nest.accesses) + kept.index(accesses[each.input])
        after.append(replace(each, of=tuple(numbers[term] for term in each.of), input=own))
    ranges = (*nest.ranges, *(replace(each, strides=along(each.strides)) for each in ranges))
    found = replace(nest, accesses=(*nest.accesses, *kept), after=tuple(after), ranges=ranges)
    return None if tiles_of(found.merged()).apart else found


def _is_scanned(nest: Nest, op: ir.Operation, value: ir.Value, strides: Sequence[int], offset: int) -> bool:
    """Whether a value that is read in the order of the loops is the one that an op scans."""
    same = zip(nest.sizes, nest.written, strides, strict=True)
    in_order = offset == 0 and all(size == 1 or own == stride for size, own, stride in same)
    return nest.scan is not None and value == op.operands[0] and in_order
