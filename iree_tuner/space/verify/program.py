"""The configurations that a program carries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Workers
from iree_tuner.program.carried import carrying
from iree_tuner.program.dispatch import Carried, Dispatch
from iree_tuner.program.dynamic import sized
from iree_tuner.program.extract import extract
from iree_tuner.program.source import Program, ProgramSource
from iree_tuner.space.compilers_choice import Written
from iree_tuner.space.verify.constraints import CheckedConfiguration, Constraints, Verified, VerifyReport
from iree_tuner.targets import Target

_GONE = CheckedConfiguration.unchecked("no dispatch contains the op: it was folded, split, or fused")
_NOT_ROOT = "it is not the root op, and the root op has no configuration"


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
    judged: dict[Carried, tuple[Dispatch, CheckedConfiguration]] = {}
    for dispatch in extract(program, target, workers).dispatches:
        if dispatch.carried:
            constraints = Constraints.of(dispatch, target, context, workers)
            for each, found in _judge(dispatch, constraints):
                judged[replace(each, label="")] = (dispatch, found)
    results = ((each, *_found(each, judged)) for each in carried)
    return VerifyReport(
        tuple(
            Verified(
                op=each.op,
                location=each.location,
                lowering=each.lowering,
                translation=each.translation,
                findings=result.findings,
                dispatch=dispatch.name if dispatch is not None else "",
                workload=dispatch.workload.name if dispatch is not None and dispatch.workload else "",
                space=result.space,
            )
            for each, dispatch, result in results
            if result.space != _FOLLOWS
        )
    )


def _judge(dispatch: Dispatch, constraints: Constraints) -> Iterator[tuple[Carried, CheckedConfiguration]]:
    """The configurations of a dispatch; ops other than the root are judged with it."""
    root = next((each for each in dispatch.carried if each.label == "root"), None)
    others = {each.label: each.lowering for each in dispatch.carried if each.label not in ("", "root")}
    for each in dispatch.carried:
        if each is root or (root is None and dispatch.workload is None):
            written = Written(each.lowering, each.translation, each.decomposition, others)
            yield each, constraints.judge(written)
        elif root is None:
            yield each, CheckedConfiguration.unchecked(_NOT_ROOT)
        else:
            yield each, CheckedConfiguration((), _FOLLOWS)


_FOLLOWS = "root"
"""Instead of a space's name: the op's tiles are judged with the tiles of its dispatch's root op."""


def _found(
    each: Carried, judged: dict[Carried, tuple[Dispatch, CheckedConfiguration]]
) -> tuple[Dispatch | None, CheckedConfiguration]:
    """The findings about it; equal dispatches are one, so one of its ops stands for the others."""
    if each in judged:
        return judged[each]
    alike = (found for known, found in judged.items() if replace(known, location=each.location) == each)
    return next(alike, (None, _GONE))
