"""Does an op family hold to its contract? For the authors of families, in this package and in others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from iree.compiler import ir

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.session import parse_module
from iree_tuner.ops.family import ROOT, OpFamily
from iree_tuner.ops.probe import all_ops, copy_of, matches
from iree_tuner.ops.structure import structure
from iree_tuner.ops.variants import changed_payloads, changed_workloads, with_attributes
from iree_tuner.ops.workload import Workload, from_json, to_json


@dataclass(frozen=True)
class Sample:
    """A payload to check a family with.

    Attributes:
        name: what to call it in a problem.
        payload: a module, or its text, with at least one op of the family; all such ops are checked.
        near_misses: modules, or their texts, in which no op has a workload of the payload's.
    """

    name: str
    payload: ir.Module | str
    near_misses: tuple[ir.Module | str, ...] = ()


@dataclass(frozen=True)
class Problem:
    """A way in which a family breaks its contract."""

    sample: str
    message: str


def check_op_family(
    family: OpFamily, samples: Sequence[Sample], *, ignores_attributes: bool = True
) -> list[Problem]:
    """The faults of a family, judged by samples; empty when it holds to the contract.

    For every op that the family describes: its workload survives JSON; `describe` does not look at
    discardable attributes; the matcher succeeds on the op, and returns a handle for each label of
    `locate`; it succeeds on no other op with a different workload, on no near miss, and on no op
    that differs in one size, element type or map. Payloads with those differences are made from the sample,
    if they are valid; say with `near_misses` what else must not match.

    Args:
        family: the family.
        samples: payloads in the form that ops have when tuning specs run.
        ignores_attributes: False for a matcher that compares attributes, as the compiler's DAG
            matcher does; then only `describe` must ignore them.

    Matchers run in this process: one that crashes the transform interpreter ends it.
    """
    problems: list[Problem] = []
    for sample in samples:
        payload = _module(sample.payload, None)
        messages = _check(family, payload, sample.near_misses, ignores_attributes)
        problems.extend(Problem(sample.name, message) for message in dict.fromkeys(messages))
    return problems


def _check(
    family: OpFamily, payload: ir.Module, near_misses: Sequence[ir.Module | str], ignores_attributes: bool
) -> Iterator[str]:
    described = _described(family, payload)
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
    if workload.dag:  # the text is what is matched, and cannot be changed by one number
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


def _described(family: OpFamily, payload: ir.Module) -> dict[int, Workload]:
    found = ((index, family.describe(op)) for index, op in enumerate(all_ops(payload)))
    return {index: workload for index, workload in found if workload is not None}


def _module(source: ir.Module | str, context: ir.Context | None) -> ir.Module:
    return parse_module(source, context or new_context()) if isinstance(source, str) else source
