"""The constraints of a dispatch, found once, and configurations judged by them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from iree.compiler import ir

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Workers
from iree_tuner.errors import TunerError
from iree_tuner.program.carried import carrying
from iree_tuner.program.dispatch import Carried, Dispatch
from iree_tuner.program.dynamic import sized
from iree_tuner.program.extract import extract
from iree_tuner.program.source import Program, ProgramSource
from iree_tuner.space.build import build_spaces
from iree_tuner.space.compilers_choice import Written, named_pipeline
from iree_tuner.space.emitted import Emitted, emit
from iree_tuner.space.legality import ConfigurationFinding, Judgement, Rules
from iree_tuner.space.space import Space
from iree_tuner.spec.grammar import SpecProblem
from iree_tuner.targets import GpuLimits, Limits, Target


@dataclass(frozen=True)
class Verified:
    """A configuration and the findings about it, none for a legal one."""

    op: str  # the op that carries it, or that a matcher of a spec is for
    location: str  # `file:line:column`
    lowering: str
    translation: str
    findings: tuple[ConfigurationFinding, ...] = ()
    dispatch: str = ""  # that contains the op, if any; it computes the workload
    workload: str = ""
    space: str = ""  # the space whose constraints it was judged by: `TileAndFuse`, `TileAndFuse:igemm`
    matcher: str = ""  # of a spec, the matcher that sets it

    @property
    def state(self) -> Literal["legal", "warning", "error", "unchecked"]:
        """The worst finding; `legal` without any."""
        found = {each.severity for each in self.findings}
        for severity in ("unchecked", "error", "warning"):
            if severity in found:
                return severity
        return "legal"

    @property
    def subject(self) -> str:
        """The beginning of messages, as the compiler's own: `'linalg.matmul' op`, or `@matcher`."""
        return f"@{self.matcher}" if self.matcher else f"'{self.op}' op"

    def unchecked(self, why: str) -> Verified:
        """The same, of which nothing is known."""
        return replace(self, findings=(ConfigurationFinding("unchecked", why),))

    def diagnostics(self) -> Iterator[str]:
        """The findings in the compiler's own form: `file:line:column: error: 'linalg.matmul' op ...`."""
        for each in self.findings:
            severity, message = each.severity, each.message
            if severity == "unchecked":
                severity, message = "remark", f"not checked: {message}"
            yield f"{self.location}: {severity}: {self.subject} {message}"


@dataclass(frozen=True)
class VerifyReport:
    """All configurations of a program or a spec, in their order."""

    configurations: tuple[Verified, ...]

    @property
    def legal(self) -> bool:
        return not self.count("error")

    def problems(self) -> list[SpecProblem]:
        return [
            SpecProblem("illegal", f"in dispatch {each.dispatch}, {found.message}", each.matcher)
            for each in self.configurations
            for found in each.findings
            if found.severity == "error"
        ]

    def count(self, state: str) -> int:
        """The number of configurations that are `legal` or `unchecked`, or have an `error` or a `warning`."""
        return sum(each.state == state for each in self.configurations)


class Constraints:
    """The constraints of a workload, one set for each pipeline that can lower it.

    `why` says why there are none.
    """

    def __init__(self, spaces: Sequence[Space], limits: Limits, why: str = "") -> None:
        self.spaces = tuple(spaces)
        self._rules = [(space, Rules(space, limits)) for space in spaces]
        self._why = why

    @classmethod
    def of(cls, dispatch: Dispatch, target: Target, context: ir.Context, workers: Workers) -> Constraints:
        """Those of a dispatch; the compiler's own come from a worker."""
        if dispatch.workload is None or dispatch.harness is None:
            return cls((), dispatch.limits, dispatch.reason)
        emitted = Emitted()
        if isinstance(dispatch.limits, GpuLimits):
            emitted = emit(dispatch.harness, dispatch.workload, target, workers)
        try:
            spaces = build_spaces(dispatch.workload, dispatch.limits, context, emitted.modules)
        except TunerError as error:
            why = f"{error.message} ({emitted.note})" if emitted.note else error.message
            return cls((), dispatch.limits, why)
        return cls(spaces, dispatch.limits)

    def judge(self, written: Written, verified: Verified | None = None) -> Verified:
        """The findings of the pipeline's own constraints; of several sets, of the one that fits best.

        `verified` says where the configuration is, if that matters.
        """
        verified = verified or Verified("", "", written.lowering, written.translation)
        if not self._rules:
            return verified.unchecked(self._why)
        if not written.translation:
            return verified.unchecked("the configuration has no translation info, so its pipeline is unknown")
        found = [(space, rules.judge(written)) for space, rules in self._rules]
        space, best = min(found, key=lambda each: _misfit(each[1]))
        if best.unread:
            named = named_pipeline(written.translation)
            own = [each for space, each in found if space.pipeline == named]
            if own:
                return verified.unchecked("; ".join(min(own, key=lambda each: len(each.unread)).unread))
            known = ", ".join(dict.fromkeys(space.pipeline for space, _ in found))
            other = named or "no pipeline"
            return verified.unchecked(f"its pipeline is {other}, but constraints are known only for {known}")
        return replace(verified, findings=best.violations, space=space.label)


def _misfit(judgement: Judgement) -> tuple[bool, int, int]:
    """How badly a configuration fits a space: unreadable there first, then the rules that it breaks."""
    errors = sum(each.severity == "error" for each in judgement.violations)
    return bool(judgement.unread), errors or len(judgement.unread), len(judgement.violations)


# The configurations that a program carries.


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
