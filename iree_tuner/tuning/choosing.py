"""The first stage of a run: which compiler flags the program is tuned under."""

from __future__ import annotations

from iree_tuner.errors import TunerError
from iree_tuner.program.dump_body import own_target
from iree_tuner.program.source import Program
from iree_tuner.targets.options import options_of
from iree_tuner.tuning.budget import Budget
from iree_tuner.tuning.flags import FlagChoice, try_options, untuned
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.observer import Observer
from iree_tuner.tuning.plan import TuningPlan
from iree_tuner.tuning.result import RunContext
from iree_tuner.tuning.unfinished import FlagChoices, choices_key, keep_choices, unfinished_choices
from iree_tuner.tuning.versions import ComparisonPlan, ProgramVersions

_ROUNDS_S, _ROUNDS_PART = 2.0, 0.015  # to compare them in turns; of the budget
_MOST_ROUNDS_S = 15.0


def choose_flags(
    program: Program, versions: ProgramVersions, lab: Lab, plan: TuningPlan, budget: Budget,
    findings: RunContext, watch: Observer,
) -> tuple[FlagChoices, str]:  # fmt: skip
    """Choices of flags, fastest first; the given one alone, and why, where none are tried."""
    target, effort, records = lab.target, plan.effort, findings.records
    given = FlagChoices((FlagChoice(target),), 0.0, 0.0)
    tried = plan.try_flags and not plan.options.self_test and not options_of(target) and target.axes
    if not tried or findings.stop.requested:
        return given, ""
    if own_target(program.data, program.name) is not None:
        return given, "no compiler flags were tried: they do not change a dumped dispatch"
    watch.working("trying compiler flags")
    key = choices_key(program, target, effort)
    known = unfinished_choices(records, key, target)
    if known:
        watch.noted(
            "compiler flags: results of the last run, which was interrupted (--fresh measures them again)"
        )
        budget.measured.build_s, budget.measured.check_s = known.build_s, known.check_s
        keep_choices(records, key, known)
        return known, ""
    until = budget.flags_until()
    rounds_s = min(_MOST_ROUNDS_S, _ROUNDS_S + _ROUNDS_PART * budget.total_s)
    places = 1 if budget.limited else min(2, target.placements)
    look = ComparisonPlan(places, effort.program_rounds, effort.program_batch_s, rounds_s)
    try:
        with findings.stop.cancelling(lab.compilers, lab.measurer.workers):
            versions.vmfb(untuned(target))  # says how long the others will take
            if budget.limited:
                versions.time(untuned(target))
            most = int(min(effort.options, budget.versions_that_fit(until, rounds_s)))
            if most < 1:
                return given, "no compiler flags were tried: no time left for another compilation"
            found = try_options(versions, target, look, most, until - rounds_s, findings.stop)
            choices = FlagChoices(tuple(found), budget.measured.build_s, budget.measured.check_s)
            if not findings.stop.requested:
                keep_choices(records, key, choices)
            return choices, ""
    except TunerError as error:
        return given, f"no compiler flags were tried: {error}"
    return given, ""  # stopped
