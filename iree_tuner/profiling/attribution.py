"""Whose time it is: names and times to rows of a profile."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.family import family_of
from iree_tuner.ops.workload import Workload
from iree_tuner.profiling.hal_events import BETWEEN, Times
from iree_tuner.profiling.profile import Kind, ProfileRow
from iree_tuner.profiling.roofline import Roofline
from iree_tuner.program.bindings import Harness
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.search.cost.terms import operands_of

# How much a dispatch computes and moves, and the least time that a device could take for it.


@dataclass(frozen=True)
class Work:
    """The work of one call of a dispatch."""

    flops: float = 0.0  # arithmetic operations, a multiply-add as two; 0 where they are not known
    read_bytes: float = 0.0  # bytes that it reads
    written_bytes: float = 0.0  # bytes that it writes
    element_type: str = ""  # of the elements that are multiplied or combined; empty where it is not known

    @property
    def bytes(self) -> float:
        """Moved in either direction."""
        return self.read_bytes + self.written_bytes


def work_of(dispatch: Dispatch) -> Work:
    """The work of one call; bytes are 0 for a dispatch without a harness and without a workload."""
    workload = dispatch.workload
    flops, kind = 0.0, None
    if workload is not None:
        family = family_of(workload)
        flops, kind = family.flops(workload), family.computed_in(workload)
    read, written = 0.0, 0.0
    if dispatch.harness is not None:
        read, written = _moved(dispatch.harness, workload)
    elif workload is not None:
        whole = np.array([workload.loops], dtype=np.float64)
        sizes = [float(operand.bytes(whole)[0]) for operand in operands_of(workload)]
        read, written = sum(sizes[:-1]), sum(sizes[-1:])
    return Work(flops, read, written, kind.name if kind else "")


def floor_us(dispatch: Dispatch, roofline: Roofline) -> float:
    """The roofline's least time of one call, in microseconds; 0 where nothing bounds it.

    No call is as fast, because it also has to begin and to end.
    """
    work = work_of(dispatch)
    return roofline.attainable_us(work.flops, work.bytes, work.element_type)


def _moved(harness: Harness, workload: Workload | None) -> tuple[float, float]:
    """Bytes read and written. The known tensors of a binding count, else the whole binding.

    A gather may use a small part of its input: no more elements count than the root op has iterations.
    """
    read = written = 0.0
    most = math.prod(workload.loops) if workload and not workload.dynamic else math.inf
    for binding in harness.bindings:
        if not binding.tensors:
            read += binding.length
        for tensor in binding.tensors:
            size = min(math.prod(tensor.shape), most) * ElementType.named(tensor.element_type).bits / 8
            read += size if tensor.access != "write" else 0.0
            written += size if tensor.access != "read" else 0.0
    return read, written


_MEMORY = ("(alloca)", "(dealloca)")
_NOTES = {
    BETWEEN: "barriers, thread start-up and waiting",
    **dict.fromkeys(_MEMORY, "memory of the invocation"),
}

T = TypeVar("T")


@dataclass(frozen=True)
class Spent:
    """The time and calls of one name in an invocation."""

    time_us: float
    calls: float
    note: str = ""


def spent_in(functions: Sequence[Sequence[Times]]) -> dict[str, Spent]:
    """Means over the quieter invocations of each function, summed over functions, by name.

    Means, because means of parts add up to the mean of the whole, and medians do not.
    """
    total: dict[str, Spent] = {}
    for every in functions:
        invocations = quieter(every, lambda each: sum(each.us.values()))
        names = dict.fromkeys(name for each in invocations for name in each.us)
        for name in names:
            us = statistics.fmean(each.us.get(name, 0.0) for each in invocations)
            calls = statistics.median(float(each.calls.get(name, 0)) for each in invocations)
            before = total.get(name, Spent(0.0, 0.0))
            total[name] = Spent(before.time_us + us, before.calls + calls)
    return total


def span_of(functions: Sequence[Sequence[Times]]) -> float:
    """Microseconds of a profiled invocation, of all functions; 0 if not known."""
    spans = [
        statistics.fmean(each.span_us for each in quieter(every, lambda each: sum(each.us.values())))
        for every in functions
    ]
    return sum(spans) if all(spans) else 0.0


def quieter(found: Sequence[T], length: Callable[[T], float]) -> list[T]:
    """The shortest quarter: what disturbs a run makes it longer, never shorter."""
    return sorted(found, key=length)[: -(-len(found) // 4)]


def rows_of(
    spent: Mapping[str, Spent], dispatches: Sequence[Dispatch], whole_us: float, roofline: Roofline | None
) -> tuple[ProfileRow, ...]:
    """Rows of all that took time, and of called dispatches that did not run; largest time first."""
    known = {dispatch.name: dispatch for dispatch in dispatches}
    rows = [_row(name, each, known.get(name), whole_us, roofline) for name, each in spent.items()]
    rows += (
        _row(dispatch.name, Spent(0.0, 0.0, "it did not run"), dispatch, whole_us, roofline)
        for dispatch in dispatches
        if dispatch.calls.count and dispatch.name not in spent
    )
    return tuple(sorted(rows, key=lambda row: (-row.time_us, row.name)))


_NUMBERED = re.compile(r"_dispatch_\d+(?=_)")


def as_changed(
    spent: Mapping[str, Spent], dispatches: Sequence[Dispatch], replaced: Mapping[str, Sequence[str]]
) -> list[Dispatch]:
    """The dispatches of a program under the names that they have in a changed version of it.

    Those that are left have another number there. `replaced` names, for each piece of code that is called
    instead, the dispatches that it computes. Code that computes several different ones has no row of its own.
    """
    gone = {name for names in replaced.values() for name in names}
    found = list[Dispatch]()
    for code, names in replaced.items():
        parts = [each for each in dispatches if each.name in names]
        called = [name for name in spent if code in name]
        if called and parts and len({work_of(each).flops for each in parts}) == 1:
            found += (replace(parts[0], name=name) for name in called)

    left = {each.name: each for each in dispatches if each.name not in gone}
    there = sorted(filter(_NUMBERED.search, spent), key=lambda name: (len(name), name))
    by_rest = dict[str, tuple[list[str], list[str]]]()
    for place, names in enumerate((left, there)):
        for name in names:
            by_rest.setdefault(_NUMBERED.sub("", name), ([], []))[place].append(name)
    for own, now in by_rest.values():
        if len(own) == len(now):
            found += (replace(left[name], name=new) for name, new in zip(own, now, strict=True))
    return found


def _row(
    name: str, spent: Spent, dispatch: Dispatch | None, whole_us: float, roofline: Roofline | None
) -> ProfileRow:
    share = spent.time_us / whole_us if whole_us else 0.0
    if dispatch is None:
        note = spent.note or _NOTES.get(name, "")
        if not note and kind_of(name) == "dispatch":
            note = "the program has no such dispatch"
        return ProfileRow(name, kind_of(name), spent.calls, spent.time_us, share, note=note)
    work = work_of(dispatch)
    least = roofline.attainable_us(work.flops, work.bytes, work.element_type) if roofline else 0.0
    workload: Workload | None = dispatch.workload
    return ProfileRow(
        name, "dispatch", spent.calls, spent.time_us, share, work.flops * spent.calls,
        work.bytes * spent.calls, work.element_type, least * spent.calls, workload.key if workload else "",
        workload.name if workload else "", dispatch.tunable, spent.note or dispatch.reason,
    )  # fmt: skip


def kind_of(name: str) -> Kind:
    """The kind of a name: names of parts that are not dispatches are in parentheses."""
    if not name.startswith("("):
        return "dispatch"
    return "overhead" if name == BETWEEN or name in _MEMORY else "transfer"
