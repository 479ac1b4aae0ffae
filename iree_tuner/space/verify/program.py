"""The configurations that a program carries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Workers
from iree_tuner.program.carried import carrying
from iree_tuner.program.dispatch import Carried, Dispatch
from iree_tuner.program.dynamic import sized
from iree_tuner.program.extract import extract
from iree_tuner.program.source import Program, ProgramSource
from iree_tuner.space.compilers_choice import Written
from iree_tuner.space.verify.constraints import Constraints, Verified, VerifyReport
from iree_tuner.targets import Target


def verify_program(
    source: ProgramSource, target: Target, dims: Sequence[str] = (), *, workers: Workers | None = None
) -> VerifyReport:
    """Judge every lowering config that a program carries; nothing is compiled with them.

    `source` is a program with `compilation_info` on ops, or one that the compiler has brought to
    `executable-configurations`, or dispatches that it has dumped there. Sizes stand for dynamic dimensions as
    in `program.dynamic.sized`. Without `workers`, one is started and stopped.

    Raises TunerError if there is no such program, or it does not compile without the configurations.
    """
    return verify_carried(*carrying(source), target, dims, workers=workers)


def verify_carried(
    program: Program,
    carried: Sequence[Carried],
    target: Target,
    dims: Sequence[str] = (),
    *,
    workers: Workers | None = None,
) -> VerifyReport:
    """`verify_program` for the output of `program.carried.carrying`."""
    program = sized(program, dims)
    if not carried:
        return VerifyReport(())
    if workers is None:
        with Workers(1) as own:
            return verify_carried(program, carried, target, workers=own)
    context = new_context()
    judged: dict[Carried, Verified | None] = {}
    for dispatch in extract(program, target, workers).dispatches:
        if dispatch.carried:
            constraints = Constraints.of(dispatch, target, context, workers)
            judged |= {replace(each, label=""): found for each, found in _judge(dispatch, constraints)}
    results = (_found(each, judged) for each in carried)
    return VerifyReport(tuple(found for found in results if found is not None))


def _judge(dispatch: Dispatch, constraints: Constraints) -> Iterator[tuple[Carried, Verified | None]]:
    """The configurations of a dispatch; None for those of other ops, which are judged with the root's."""
    root = next((each for each in dispatch.carried if each.label == "root"), None)
    others = {each.label: each.lowering for each in dispatch.carried if each.label not in ("", "root")}
    workload = dispatch.workload.name if dispatch.workload is not None else ""
    for each in dispatch.carried:
        verified = replace(_verified(each), dispatch=dispatch.name, workload=workload)
        if each is root or (root is None and dispatch.workload is None):
            written = Written(each.lowering, each.translation, each.decomposition, others)
            yield each, constraints.judge(written, verified)
        elif root is None:
            yield each, verified.unchecked("it is not the root op, and the root op has no configuration")
        else:
            yield each, None


def _found(each: Carried, judged: Mapping[Carried, Verified | None]) -> Verified | None:
    """What was found about it; equal dispatches are one, so one of its ops stands for the others."""
    if each in judged:
        return judged[each]
    for known, found in judged.items():
        if replace(known, location=each.location) == each:
            return found and replace(found, location=each.location)
    return _verified(each).unchecked("no dispatch contains the op: it was folded, split, or fused")


def _verified(each: Carried) -> Verified:
    return Verified(each.op, each.location, each.lowering, each.translation)
