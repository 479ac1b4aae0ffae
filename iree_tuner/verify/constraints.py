"""The constraints of a dispatch, found once, and configurations judged by them."""

from __future__ import annotations

from dataclasses import dataclass

from iree.compiler import ir

from iree_tuner.compiler.worker import Workers
from iree_tuner.errors import TunerError
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.space.build import build_spaces
from iree_tuner.space.chosen import Written
from iree_tuner.space.emitted import Emitted, emit
from iree_tuner.space.legality import Judgement, Rules
from iree_tuner.space.space import Space
from iree_tuner.targets import GpuLimits, Target
from iree_tuner.verify.finding import Finding


@dataclass(frozen=True)
class Judged:
    """What was found of a configuration, and by the constraints of which space."""

    findings: tuple[Finding, ...]
    space: str = ""


class Constraints:
    """The constraints of a dispatch on a target, one set for each pipeline that can lower it.

    Args:
        dispatch: from `program.extract`.
        target: what it is compiled for.
        context: one with all dialects loaded.
        workers: in which the compiler is asked for its own constraints.
    """

    def __init__(self, dispatch: Dispatch, target: Target, context: ir.Context, workers: Workers) -> None:
        self._rules: list[tuple[Space, Rules]] = []
        self._why = dispatch.reason
        if dispatch.workload is None or dispatch.harness is None:
            return
        emitted = Emitted()
        if isinstance(dispatch.limits, GpuLimits):
            emitted = emit(dispatch.harness, dispatch.workload, target, workers)
        try:
            spaces = build_spaces(dispatch.workload, dispatch.limits, context, emitted.modules)
        except TunerError as error:
            self._why = f"{error.message} ({emitted.note})" if emitted.note else error.message
            return
        self._rules = [(space, Rules(space, dispatch.limits)) for space in spaces]

    @classmethod
    def of_spaces(cls, spaces: tuple[tuple[Space, Rules], ...]) -> Constraints:
        """From spaces that are known already."""
        found = cls.__new__(cls)
        found._rules, found._why = list(spaces), ""
        return found

    def judge(self, written: Written) -> Judged:
        """By the pipeline's own constraints; where there are several sets, by those that it fits best."""
        if not self._rules:
            return Judged((Finding("unchecked", self._why),))
        if not written.translation:
            return Judged((Finding("unchecked", "no translation info says which pipeline it is for"),))
        found = [(space, rules.judge(written)) for space, rules in self._rules]
        space, best = min(found, key=lambda each: _misfit(each[0], each[1], written))
        if best.unread:
            return Judged((_unread(found, written),))
        findings = [
            Finding("error" if each.force == "rule" else "warning", each.message, each.rule)
            for each in best.violations
        ]
        return Judged(tuple(findings), space.label)


def _misfit(space: Space, judgement: Judgement, written: Written) -> tuple[bool, int, int]:
    """How badly a configuration fits a space: not read there at all, then the rules that it breaks."""
    del space, written
    errors = sum(each.force == "rule" for each in judgement.violations)
    return bool(judgement.unread), errors or len(judgement.unread), len(judgement.violations)


def _unread(found: list[tuple[Space, Judgement]], written: Written) -> Finding:
    own = [each for space, each in found if f"<{space.pipeline}>" in written.translation]
    if not own:
        known = ", ".join(dict.fromkeys(space.pipeline for space, _ in found))
        return Finding("unchecked", f"no constraints are known for its pipeline here, but for {known}")
    nearest = min(own, key=lambda each: len(each.unread))
    return Finding("unchecked", "; ".join(nearest.unread))
