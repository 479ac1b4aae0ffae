"""The result of a tuning run."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from time import time as now
from typing import Any

from iree.compiler import ir
from msgspec import UNSET, structs

from iree_tuner.compiler.context import to_bytecode
from iree_tuner.compiler.worker import Workers
from iree_tuner.device.device_facts import DeviceFacts
from iree_tuner.measure.program import ProgramComparison
from iree_tuner.measure.statistics import Comparison, Verdict, comparison_facts, times_of
from iree_tuner.profiling.profile import Profile, to_json
from iree_tuner.program.phases import compile_program
from iree_tuner.program.provided_memory import with_provided_memory
from iree_tuner.program.source import Program
from iree_tuner.report.page import Report, check_installed
from iree_tuner.report.view import ReportedRun, Tried, view
from iree_tuner.spec.entry import SpecEntry
from iree_tuner.spec.io import save_spec
from iree_tuner.store.record import (
    ChangeRecord,
    EarlierRecord,
    KernelRecord,
    Pair,
    RunRecord,
    Size,
    StepRecord,
    Stretch,
    TimelineRecord,
    Use,
    WholeRecord,
    Worker,
    WorkloadRecord,
    conditions_of,
)
from iree_tuner.store.trial import Setting
from iree_tuner.targets import Target, with_flags
from iree_tuner.tuning.candidate import setting_on
from iree_tuner.tuning.flags import FlagChoice, RuntimeChoice
from iree_tuner.tuning.result import NOT_JUDGED, Competitor, WorkloadResult
from iree_tuner.tuning.source import CandidateSource, flags_of, specs_of
from iree_tuner.tuning.timeline import SEARCH, TimeUse
from iree_tuner.tuning.verdict import EarlierVerdict
from iree_tuner.tuning.versions import Change, ComparisonStep, Compiling, applied, with_spec

_REASONS = 3
"""Number of reasons why workloads have no verdict."""

_SHOWN, _LONGEST = 100, 500
"""Number of workloads, and of characters of the program's name, in a notebook's table."""

_DRAWN = 1000
"""Of a run's time: a shorter pause of a worker is not drawn."""

SPEEDUP = "speedup (98% CI)"
"""The name of the columns with a speedup and its confidence interval (`CONFIDENCE_Z` standard errors)."""


@dataclass(frozen=True)
class Pace:
    """How fast the searches of a run tried candidates. The final comparisons do not count."""

    candidates: int  # the number of candidates that became trials
    searched_s: float  # the duration of the searches, in seconds
    measured_s: float  # the time that devices were busy with candidates, in seconds, added over all devices

    @property
    def per_hour(self) -> float:
        """Candidates per hour. 0 if nothing was searched."""
        return self.candidates / self.searched_s * 3600 if self.searched_s else 0.0

    @property
    def busy(self) -> float:
        """The mean number of devices busy with candidates: a fraction if there is one device."""
        return self.measured_s / self.searched_s if self.searched_s else 0.0


@dataclass(repr=False)
class TuningResult:
    """The result of `tune_module`.

    Attributes:
        program: the program that was tuned.
        target: the target of the result, with the options that were chosen.
        results: the results by workload, largest share of the run time first.
        spec: the verified tuning spec, without entries if nothing won. It records `flags`.
        whole: the comparison of the program with flags and spec with the original program. None if the
            original is kept, or if the program could not be run.
        note: why `whole` is None, or why winners were left out.
        interrupted: whether the search was stopped early.
        dropped: whether winners were left out of the spec because they do not help the whole program.
        failure: why trials could not be stored, and where they are instead. Empty without a problem.
        flags: compiler flags that the result adds to the target's own.
        flags_alone: the comparison of these flags without the spec with the original program.
        left_out: entries that won alone and that were removed because the program is faster without them.
        entries: the entries of the spec.
        choices: the combinations of compiler flags that were tried, fastest first.
        steps: the comparisons of the whole program, in order.
        profiles: the profiles before and after tuning. None if a profile was not taken.
        run: the number of the run in the database. 0 without a database.
        time: how long each stage of the run took.
        changes: what other sources of candidates change, such as external kernels.
        sources: these sources.
        facts: what the host of the device that judged says of it. None for this machine.
        runtime: flags of the runtime under which the result is faster still. `whole` is without them.
        earlier: the verdict on an earlier result, which the result may replace. None without one.
        options: those of the run that reports show.
        ended: when the run ended, in seconds since 1970.
    """

    program: Program
    target: Target
    results: tuple[WorkloadResult, ...]
    spec: ir.Module
    whole: ProgramComparison | None = None
    note: str = ""
    interrupted: bool = False
    dropped: bool = False
    failure: str = ""
    flags: tuple[str, ...] = ()
    flags_alone: Comparison | None = None
    left_out: tuple[SpecEntry, ...] = ()
    entries: tuple[SpecEntry, ...] = ()
    choices: tuple[FlagChoice, ...] = ()
    steps: tuple[ComparisonStep, ...] = ()
    profiles: tuple[Profile | None, Profile | None] = (None, None)
    run: int = 0
    time: TimeUse = field(default_factory=TimeUse)
    changes: tuple[Change, ...] = ()
    sources: tuple[CandidateSource, ...] = ()
    facts: DeviceFacts | None = None
    runtime: RuntimeChoice = field(default_factory=RuntimeChoice)
    earlier: EarlierVerdict | None = None
    options: Mapping[str, object] = field(default_factory=dict[str, object])
    ended: float = field(default_factory=now)

    @property
    def wins(self) -> tuple[WorkloadResult, ...]:
        """The workloads with a candidate that beats the compiler's default."""
        return tuple(each for each in self.results if each.verdict == "win" and not each.itself)

    @property
    def gained(self) -> bool:
        """Whether the program is to be compiled in another way than by default."""
        return bool(self.entries or self.flags or self.changes)

    @property
    def keeps_earlier(self) -> bool:
        """Whether it is an earlier result, which no new one beats."""
        return self.earlier is not None and self.earlier.state == "kept"

    @property
    def proven(self) -> bool:
        """Whether it may replace another result: it is faster, or right, or could only be judged in parts."""
        corrects = any(each.corrects for each in self.results)
        stays = self.earlier is not None and self.earlier.stays
        return self.gained and not stays and (self.verdict != "tie" or corrects)

    @property
    def pace(self) -> Pace:
        """How fast candidates were tried. Trials of earlier runs do not count."""
        every = ((each, trial) for each in self.results for trial in each.all_trials)
        fresh = [trial for each, trial in every if trial.at >= each.began]
        searched_s = self.time.seconds().get(SEARCH, 0.0)
        return Pace(len(fresh), searched_s, sum(trial.measure_s for trial in fresh))

    @property
    def judged(self) -> bool:
        """Whether anything was compared with the compiler's default. Otherwise there is no verdict."""
        return any(step.comparison for step in self.steps) or any(result.judged for result in self.results)

    @property
    def verdict(self) -> Verdict | None:
        """The verdict of the result, compared with the original. None if they were not compared.

        `why_not_compared` then says why.
        """
        return self.comparison.verdict if self.comparison else None

    @property
    def why_not_judged(self) -> str:
        """Why workloads have no verdict, the largest workload first. Empty if all have one.

        Of many reasons, only the first are listed.
        """
        notes = [result.note for result in self.results if not result.judged]
        reasons = list(dict.fromkeys(filter(None, notes)))
        more = [f"and {len(reasons) - _REASONS} more reasons"] if len(reasons) > _REASONS + 1 else []
        listed = reasons[:_REASONS] if more else reasons
        return "; ".join(dict.fromkeys(filter(None, (*listed, *more, self.note))))

    @property
    def why_not_compared(self) -> str:
        """Why the result was not compared with the original. Empty if it was."""
        if self.comparison is not None:
            return ""
        if not self.judged:
            return self.why_not_judged or "nothing was tried"
        if not any(step.comparison for step in self.steps) and not self.wins:
            kept = "the program was not compared: no candidate beats the compiler's default"
            return "; ".join(filter(None, (self.note, kept)))
        return self.note or "the original program is kept"

    @property
    def comparison(self) -> Comparison | None:
        """The comparison of the tuned program with the original one. None if the original is kept."""
        return self.whole.comparison if self.whole else None

    @property
    def speedup(self) -> float | None:
        """The speedup of the whole program. None if it was not compared."""
        return self.comparison.speedup if self.comparison else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The confidence interval of `speedup` (see `measure.statistics.Comparison`)."""
        return self.comparison.interval if self.comparison else None

    def save(self, path: str | Path) -> Path:
        """Write the spec as text (.mlir) or bytecode (.mlirbc). Raises TunerError if that fails."""
        save_spec(self.spec, path)
        return Path(path)

    def save_changes(self, source: str, path: str | Path) -> Path:
        """Write the changes of a source as a second spec, .mlir, with their code next to it.

        `iree-tuner compile --kernels` takes it. Raises TunerError if that fails.
        """
        (own,) = (each for each in self.sources if each.name == source)
        with Workers(1) as workers:
            own.save(self.changes_of(source), self.target, workers, Path(path))
        return Path(path)

    def changes_of(self, source: str) -> list[Change]:
        """The changes of a source, by its name."""
        return [each for each in self.changes if each.source == source]

    def vmfb(self, flags: Sequence[str] = (), *, provided_memory: bool = False) -> bytes:
        """Compile the program with the flags, the spec and the changes. Raises CompileError.

        Args:
            flags: further compiler flags, such as `--iree-execution-model=async-external`.
            provided_memory: whether functions take memory for results and temporary values
                (`program.provided_memory`).
        """
        own = with_provided_memory(self.program) if provided_memory else self.program
        program = with_spec(own, to_bytecode(self.spec))
        # the target has the flags of the others, and the spec what they add to it
        sources = [
            each for each in self.sources
            if not (flags_of(self.changes, [each]) or specs_of(self.changes, [each]))
        ]  # fmt: skip
        with Workers(1) as workers, tempfile.TemporaryDirectory(prefix="iree_tuner_") as folder:
            to = Compiling(program, with_flags(self.target, flags))
            to = applied(to, self.changes, sources, workers, Path(folder))
            return compile_program(to.program, to.target, workers).data

    def record(self) -> RunRecord:
        """The results of the run, except its trials, as databases, `--json` and reports have them."""
        return RunRecord(
            workloads=[workload_record(each) for each in self.results],
            whole=whole_record(self),
            profiles=[
                {**to_json(profile), "when": when}
                for when, profile in zip(("before", "after"), self.profiles, strict=True)
                if profile is not None
            ],
            conditions=conditions_of(
                setting_on(self.target, self.facts),
                (trial for each in self.results for trial in each.all_trials),
            ),
        )

    def report(self, use: Use | None = None) -> Report:
        """Create a report of the run: `.save("report.html")`, or show it in a notebook.

        Requires the extra `report`. `use` says how to apply what was written to files.
        """
        check_installed()
        setting = setting_on(self.target, self.facts)
        tried = [tried for each in self.results for tried in _tried(each, setting) if tried.trials]
        run = ReportedRun(
            self.program.name, self.run or None, self.options, self.ended - self.time.total_s, self.ended,
            "interrupted" if self.interrupted else "done",
        )  # fmt: skip
        return Report(view(run, structs.replace(self.record(), use=use), tried))

    def __repr__(self) -> str:
        return f"<TuningResult of {self.program.name} for {self.target}: {self._summary}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(each.task.workload.name)}</td><td>{each.share:.1%}</td>"
            f"<td>{times_of(each.comparison)}</td><td>{each.verdict}</td></tr>"
            for each in self.results[:_SHOWN]
        )
        more = f"<p>and {len(self.results) - _SHOWN} more</p>" if len(self.results) > _SHOWN else ""
        head = f"<tr><th>workload</th><th>share</th><th>{SPEEDUP}</th><th>verdict</th></tr>"
        title = f"{escape(self.program.name[:_LONGEST])} for {escape(str(self.target))}: {self._summary}"
        return f"<p>{title}</p><table>{head}{rows}</table>{more}"

    @property
    def _summary(self) -> str:
        changed = "not compared" if self.gained else "unchanged"
        program = NOT_JUDGED if not self.judged else times_of(self.comparison) or changed
        return f"{program}, {len(self.wins)} of {len(self.results)} workloads faster alone"


def _tried(result: WorkloadResult, setting: Setting) -> Iterator[Tried]:
    """The trials of a workload: of its configurations, and of each kernel."""
    key, name = result.task.workload.key, result.task.workload.name
    size = result.space_count or None
    yield Tried(key, name, result.trials, size=size, judged=result.comparison, setting=setting)
    for kernel in dict.fromkeys(each.kind.name for each in result.competitors):
        own = [each for each in result.competitors if each.kind.name == kernel]
        compared = [each.final.comparison for each in own if each.final.comparison]
        best = max(compared, key=lambda one: one.speedup, default=None)
        trials = [trial for each in own for trial in each.trials]
        yield Tried(key, name, trials, judged=best, setting=setting, kernel=kernel)


def workload_record(result: WorkloadResult) -> WorkloadRecord:
    """A workload's result."""
    workload, entry = result.task.workload, result.entry
    compared = comparison_facts(result.comparison)
    if compared:
        compared["verdict"] = result.verdict
    return WorkloadRecord(
        workload=workload.name, key=workload.key, family=workload.family,
        dispatches=[dispatch.name for dispatch in result.task.dispatches], calls=result.task.calls,
        share=result.share, count=result.space_count, trials=len(result.trials), outcomes=result.outcomes,
        seconds=result.seconds, searched_s=result.searched_s, note=result.note,
        competitors=[_competitor(each) for each in result.competitors] or UNSET,
        configuration={op.label: op.value for op in entry.configuration.ops} if entry else UNSET,
        replaced_by=result.replaced_by or UNSET,
        **compared,
    )  # fmt: skip


def _competitor(found: Competitor) -> KernelRecord:
    final = found.final
    compared = comparison_facts(final.comparison) or dict.fromkeys(("verdict", "speedup", "interval"), UNSET)
    return KernelRecord(
        kernel=found.kind.name, count=found.kind.size, trials=len(found.trials),
        outcomes=Counter(trial.outcome for trial in found.trials), note=final.note, over=found.kind.over,
        knobs=dict(final.winner.assignment) if final.winner is not None else UNSET, **compared,
    )  # fmt: skip


def change_records(changes: Sequence[Change]) -> list[ChangeRecord]:
    """Changes, of which those that differ only in the layer are one."""
    times: Counter[tuple[str, str, str]] = Counter()
    for each in changes:
        times[each.source, each.where, each.how] += each.times
    return [ChangeRecord(*what, count) for what, count in times.items()]


def whole_record(result: TuningResult) -> WholeRecord:
    """The result of the program."""
    whole, pace, earlier = result.whole, result.pace, result.earlier
    by_case = whole.by_case if whole else ()
    run: dict[str, Any] = {}
    if whole is not None and whole.comparison is not None:
        run = {"function": whole.function, "memory_provided": whole.memory_provided}
        run |= comparison_facts(whole.comparison)
    return WholeRecord(
        program=result.program.name, target=str(result.target), workloads=len(result.results),
        wins=len(result.wins), sizes=[Size(dim=case, **_compared(each.comparison)) for case, each in by_case],
        flags=result.flags, flags_speedup=result.flags_alone.speedup if result.flags_alone else None,
        runtime_flags=result.runtime.flags,
        runtime_flags_speedup=result.runtime.speedup if result.runtime.flags else None,
        entries=len(result.entries), changes=change_records(result.changes),
        left_out=[entry.workload.name for entry in result.left_out],
        steps=[_step(step) for step in result.steps], seconds=result.time.total_s,
        stages=dict(result.time.seconds()), timeline=_timeline(result.time), searched_s=pace.searched_s,
        candidates_per_hour=pace.per_hour, devices_busy=pace.busy, checked_s=result.time.checked_s,
        interrupted=result.interrupted, dropped=result.dropped, note=result.note,
        earlier=UNSET if earlier is None
        else EarlierRecord(state=earlier.state, note=earlier.note, **_compared(earlier.comparison)),
        **run,
    )  # fmt: skip


def _step(step: ComparisonStep) -> StepRecord:
    sizes = [Size(dim=case, error=each.error, **_compared(each.comparison)) for case, each in step.by_case]
    return StepRecord(
        what=step.what, against=step.against, error=step.error, sizes=sizes, **_compared(step.comparison)
    )


def _timeline(use: TimeUse) -> TimelineRecord:
    """The time of a run. A worker's work without a visible pause is one stretch."""
    pause_s = use.total_s / _DRAWN
    workers: list[Worker] = []
    for lane in use.lanes:
        busy: list[Pair] = []
        seconds: dict[str, float] = {}
        for what, begin, end in lane.calls:
            seconds[what] = seconds.get(what, 0.0) + end - begin
            if busy and begin - busy[-1][1] < pause_s:
                busy[-1] = (busy[-1][0], end)
            else:
                busy.append((begin, end))
        workers.append(Worker(lane.worker, busy, seconds))
    return TimelineRecord([Stretch(stage.name, stage.begin, stage.end) for stage in use.stages], workers)


def _compared(comparison: Comparison | None) -> dict[str, Any]:
    return {name: getattr(comparison, name) for name in ("verdict", "speedup", "interval") if comparison}
