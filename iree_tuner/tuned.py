"""What a tuning run returns."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Literal

from iree.compiler import ir

from iree_tuner.compiler.context import to_bytecode
from iree_tuner.compiler.worker import Workers
from iree_tuner.execute.device_facts import DeviceFacts
from iree_tuner.execute.program import ProgramComparison
from iree_tuner.execute.statistics import Comparison, Verdict
from iree_tuner.kernels.bench import SPEC_FLAG, with_flags
from iree_tuner.kernels.kernel import Code
from iree_tuner.kernels.save import save_kernel_spec
from iree_tuner.kernels.site import Site
from iree_tuner.profiling.profile import Profile, to_json
from iree_tuner.program.phases import compile_program
from iree_tuner.program.source import Program
from iree_tuner.report.bodies import conditions_body, time_body, whole_body, workload_body
from iree_tuner.report.made import Report, report_of
from iree_tuner.spec.entry import SpecEntry
from iree_tuner.spec.io import save_spec
from iree_tuner.store.findings import Finding
from iree_tuner.targets import Target
from iree_tuner.tuning.conditions import setting_on
from iree_tuner.tuning.flags import Choice
from iree_tuner.tuning.result import NOT_JUDGED, WorkloadResult
from iree_tuner.tuning.timeline import SEARCH, TimeUse
from iree_tuner.tuning.versions import Step, with_spec

_SHOWN, _LONGEST = 100, 500
"""Workloads and characters of a name in a notebook's table."""


@dataclass(frozen=True)
class Pace:
    """How fast a run tried candidates, in its searches; the finals are not in it.

    Attributes:
        candidates: that became trials.
        searched_s: seconds of the searches.
        measured_s: seconds in which devices were busy with candidates; of all devices together.
    """

    candidates: int
    searched_s: float
    measured_s: float

    @property
    def per_hour(self) -> float:
        """Candidates an hour; 0 where nothing was searched."""
        return self.candidates / self.searched_s * 3600 if self.searched_s else 0.0

    @property
    def busy(self) -> float:
        """Devices that were busy with candidates in the mean; below 1 where there is one."""
        return self.measured_s / self.searched_s if self.searched_s else 0.0


@dataclass(repr=False)
class TuningResult:
    """What `tune_module` returns.

    Attributes:
        program: the program that was tuned.
        target: what the result is for, with the options that were chosen.
        results: one for each workload under these options, largest share of the time first.
        spec: the tuning spec, verified; one without entries when nothing won. It names `flags`, too.
        whole: the program with flags and spec against the program as it was given; None when that stays, or
            where it could not be run.
        note: why there is no `whole`, or why winners were left out.
        interrupted: whether the search was stopped before its end.
        dropped: whether winners are left out of the spec because the whole program speaks against them.
        failure: why trials could not be kept, and where they are instead; empty when they could.
        flags: compiler flags that belong to the result, beside the target's own.
        flags_alone: these flags without the spec, against the program as it was given.
        left_out: entries that won alone, and that the program is better without.
        entries: of the spec.
        choices: choices of flags that were tried, fastest first.
        steps: comparisons of the whole program, in order.
        profiles: where the time goes before and after; None where that was not looked at.
        run: number of the run in the database; 0 without one.
        time: where the time of the run went.
        kernels: external kernels that belong to the result: which code goes where.
        kernels_target: the executable target that they are for.
        facts: what the host of the device that judged says of it; None for this machine.
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
    choices: tuple[Choice, ...] = ()
    steps: tuple[Step, ...] = ()
    profiles: tuple[Profile | None, Profile | None] = (None, None)
    run: int = 0
    time: TimeUse = field(default_factory=TimeUse)
    kernels: tuple[tuple[Site, Code], ...] = ()
    kernels_target: str = ""
    facts: DeviceFacts | None = None

    @property
    def wins(self) -> tuple[WorkloadResult, ...]:
        """Workloads for which something better than the default was found."""
        return tuple(result for result in self.results if result.verdict == "win")

    @property
    def pace(self) -> Pace:
        """How fast candidates were tried; what earlier runs knew is not counted."""
        every = ((each, trial) for each in self.results for trial in each.all_trials)
        fresh = [trial for each, trial in every if trial.at >= each.began]
        return Pace(
            len(fresh),
            self.time.seconds().get(SEARCH, 0.0),
            sum(trial.measure_s for trial in fresh),
        )

    @property
    def judged(self) -> bool:
        """Whether anything was compared with what the compiler makes: without that there is no verdict."""
        return any(step.comparison for step in self.steps) or any(result.judged for result in self.results)

    @property
    def verdict(self) -> Verdict | Literal["not judged"]:
        """The program's: `tie` where it stays as it was given, `not judged` where nothing was compared."""
        if not self.judged:
            return NOT_JUDGED
        return self.comparison.verdict if self.comparison else "tie"

    @property
    def why_not_judged(self) -> str:
        """What kept workloads from a verdict, the largest first; empty where all have one."""
        notes = [result.note for result in self.results if not result.judged]
        return "; ".join(dict.fromkeys(filter(None, (*notes, self.note))))

    @property
    def comparison(self) -> Comparison | None:
        """The whole program with the result against without."""
        return self.whole.comparison if self.whole else None

    @property
    def speedup(self) -> float:
        """Of the whole program; 1 where it was not compared."""
        return self.comparison.speedup if self.comparison else 1.0

    @property
    def interval(self) -> tuple[float, float]:
        """Interval of `speedup`, see `execute.statistics.Comparison`."""
        return self.comparison.interval if self.comparison else (1.0, 1.0)

    def save(self, path: str | Path) -> Path:
        """Write the spec as text (.mlir) or bytecode (.mlirbc). Raises TunerError when it cannot."""
        save_spec(self.spec, path)
        return Path(path)

    def save_kernels(self, path: str | Path) -> Path:
        """Write the kernels as a spec, .mlir, with their code beside it. Raises TunerError when it cannot."""
        self._save_kernels(Path(path), movable=True)
        return Path(path)

    def vmfb(self, flags: Sequence[str] = ()) -> bytes:
        """The program compiled with the flags, the spec and the kernels. Raises CompileError.

        Args:
            flags: more of the compiler's, as `--iree-execution-model=async-external`.
        """
        program = with_spec(self.program, to_bytecode(self.spec))
        target = with_flags(self.target, flags)
        with Workers(1) as workers, tempfile.TemporaryDirectory(prefix="iree_tuner_") as folder:
            if self.kernels:
                path = Path(folder) / "kernels.mlir"
                self._save_kernels(path, movable=False)
                target = with_flags(target, (f"{SPEC_FLAG}={path}",))
            return compile_program(program, target, workers).data

    def _save_kernels(self, path: Path, *, movable: bool) -> None:
        save_kernel_spec(self.kernels, self.kernels_target, self.spec.context, path, movable=movable)

    def report(self, findings: Sequence[Finding] = ()) -> Report:
        """The run as a page: `.save("report.html")`; a notebook shows it. Needs the extra `report`."""
        return report_of(
            self.program.name, self.target, self.results, whole=self.whole, note=self.note,
            findings=[*findings_of(self), *findings], state="interrupted" if self.interrupted else "done",
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"<TuningResult of {self.program.name} for {self.target}: {self._told}>"

    def _repr_html_(self) -> str:
        """For notebooks: a table; `report` has all of it."""
        rows = "".join(
            f"<tr><td>{escape(each.task.workload.name)}</td><td>{each.share:.1%}</td>"
            f"<td>{times_of(each.comparison)}</td><td>{each.verdict}</td></tr>"
            for each in self.results[:_SHOWN]
        )
        more = f"<p>and {len(self.results) - _SHOWN} more</p>" if len(self.results) > _SHOWN else ""
        head = "<tr><th>workload</th><th>share</th><th>speedup (interval)</th><th>verdict</th></tr>"
        told = f"{escape(self.program.name[:_LONGEST])} for {escape(str(self.target))}: {self._told}"
        return f"<p>{told}</p><table>{head}{rows}</table>{more}"

    @property
    def _told(self) -> str:
        program = "not judged" if not self.judged else times_of(self.comparison) or "as it was given"
        return f"{program}, {len(self.wins)} of {len(self.results)} workloads faster alone"


def times_of(comparison: Comparison | None) -> str:
    """A speedup and its interval; empty without a comparison."""
    if comparison is None:
        return ""
    low, high = comparison.interval
    return f"{comparison.speedup:.2f}x ({low:.2f} to {high:.2f})"


def findings_of(result: TuningResult) -> list[Finding]:
    """What a run found out beside its trials, as a database keeps it."""
    floors = _floors(result.profiles[0])
    found: list[tuple[str, Mapping[str, object]]] = [
        ("profile", {**to_json(profile), "when": when})
        for when, profile in zip(("before", "after"), result.profiles, strict=True)
        if profile is not None
    ]
    found += [
        ("workload", workload_body(each, floors.get(each.task.workload.key))) for each in result.results
    ]
    found.append((
        "whole",
        whole_body(
            result.comparison,
            result.whole.function if result.whole else "",
            flags=result.flags,
            flags_speedup=result.flags_alone.speedup if result.flags_alone else None,
            left_out=[entry.workload.name for entry in result.left_out],
            steps=[
                (f"{step.what} against {step.against}", step.comparison)
                for step in result.steps
                if step.comparison is not None
            ],
            note=result.note,
        ),
    ))  # fmt: skip
    trials = (trial for each in result.results for trial in each.all_trials)
    found.append(("time", time_body(result.time)))
    found.append(("conditions", conditions_body(setting_on(result.target, result.facts), trials)))
    return [Finding(kind, body) for kind, body in found]


def _floors(profile: Profile | None) -> dict[str, float]:
    """The least that one call of each workload can take, in microseconds, where that is known."""
    shares = profile.by_workload() if profile else ()
    return {
        each.workload: each.attainable_us / each.calls
        for each in shares
        if each.workload and each.attainable_us and each.calls
    }
