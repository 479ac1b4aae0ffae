"""One problem alone: a kernel with its knobs against the compiler's own code, default and tuned."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace

from iree_tuner.build.candidate import Built
from iree_tuner.build.outcome import Outcome
from iree_tuner.compiler.worker import WorkerCrashError, WorkerTaskError, WorkerTimeoutError
from iree_tuner.kernels.alone import build_kernel_here, why_unfit, with_scratch
from iree_tuner.kernels.kernel import Code, Kernel, Knobs
from iree_tuner.kernels.problem import KernelError, Problem
from iree_tuner.kernels.site import Site
from iree_tuner.measure.bench import Bench, Tolerance
from iree_tuner.measure.check_program import compile_check
from iree_tuner.measure.judging import JudgePlan
from iree_tuner.measure.statistics import Comparison
from iree_tuner.program.bindings import Harness
from iree_tuner.program.extract import extract
from iree_tuner.program.source import Program
from iree_tuner.space.configuration import Configuration
from iree_tuner.targets import Target
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.stop import StopRequest
from iree_tuner.tuning.weigh import tolerance_of

_TIMEOUT_S = 120.0
_HOPELESS = 2.0  # times the best so far
_FINALISTS = 3
_ROUNDS = 64
_SCRATCH_BYTES = 1 << 20  # room in every harness, so that all are compared in the same one

_NONE: Mapping[str, Configuration] = {}

Watch = Callable[[str], None]
"""Told what is going on, a line at a time."""


@dataclass(frozen=True)
class KernelTrial:
    """A kernel with one choice of its knobs.

    Attributes:
        knobs: the choice.
        outcome: `ok`, or how it ended.
        time_us: least time of a run; infinite where there is none.
        message: why it failed.
        code: what was made; None where it was not.
        vmfb: the harness with it; empty where it was not built.
    """

    knobs: Knobs
    outcome: Outcome
    time_us: float = math.inf
    message: str = ""
    code: Code | None = None
    vmfb: bytes = b""


@dataclass(frozen=True)
class Contest:
    """How a kernel did on a problem, alone.

    Attributes:
        site: the problem.
        kernel: its name.
        default_us: time of the compiler's own choice.
        trials: all that was tried.
        best: the winner of the finals among the kernel's trials; None where none is right.
        over_default: the best against the compiler's own choice.
        tuned: a tuned configuration against the compiler's own choice; None where there is none.
        over_tuned: the best against the tuned configuration.
        bench: what all was compared in; None where there is no contest.
        configured: the tuned configuration, built in it; empty where there is none.
        note: why there is no contest, or that the default computes something else than the processor.
    """

    site: Site
    kernel: str
    default_us: float = math.inf
    trials: tuple[KernelTrial, ...] = ()
    best: KernelTrial | None = None
    over_default: Comparison | None = None
    tuned: Comparison | None = None
    over_tuned: Comparison | None = None
    bench: Bench | None = None
    configured: bytes = b""
    note: str = ""

    @property
    def wins(self) -> bool:
        """Whether the kernel is faster than the best that the compiler makes."""
        against = self.over_tuned or self.over_default
        return self.best is not None and against is not None and against.verdict == "win"

    @property
    def speedup(self) -> float:
        """Over the best that the compiler makes; 0 where no variant is right."""
        against = self.over_tuned or self.over_default
        return against.speedup if against is not None else 0.0


def hold_contest(
    site: Site,
    kernel: Kernel,
    lab: Lab,
    *,
    tuned: Mapping[str, Configuration] = _NONE,
    most: int = 64,
    seconds: float = math.inf,
    watch: Watch = lambda _: None,
    stop: StopRequest | None = None,
) -> Contest:
    """Try a kernel's variants on a problem, check their numbers, and compare the best on fresh samples.

    Args:
        site: the problem; its case must compile to one dispatch.
        kernel: one that does not refuse it.
        lab: where it is built and timed.
        tuned: by workload's key, configurations to compare with too.
        most: variants at most; 0 for all.
        seconds: no more are begun after that.
        watch: told of progress.
        stop: no more are begun when it is made.

    Raises:
        CompileError: the case does not compile.
        WorkerCrashError, WorkerTimeoutError: the compiler died on it, or a finalist failed.
    """
    until = time.monotonic() + seconds
    contest = Contest(site, kernel.name)
    found = _bench(site, lab)
    if isinstance(found, str):
        return replace(contest, note=found)
    bench, key = found
    lab.settle()
    timed = lab.measurer.time_default(bench)
    if timed.outcome != "ok":
        return replace(contest, note=f"the default ends in {timed.outcome}: {timed.message}")
    contest = replace(contest, bench=bench, default_us=min(timed.samples_us))
    variants = kernel.variants(site.problem, lab.target)[: most or None]
    trials = list(_tried(variants, kernel, site.problem, bench, lab, until, watch, stop))
    contest = replace(contest, trials=tuple(trials))
    finalists = _right(sorted(trials, key=lambda each: each.time_us), bench, lab)
    if not finalists:
        return replace(
            contest, note="no variant of it is right" if trials else "no variant was tried in time"
        )
    configured = lab.builder.build(bench.harness, tuned[key]) if key in tuned else None
    watch("finals")
    contest = replace(contest, note=finalists[0].message)
    return _judged(contest, finalists, configured, bench, lab)


def _bench(site: Site, lab: Lab) -> tuple[Bench, str] | str:
    """The problem as a dispatch with its default and scratch memory, and its workload's key; or why not."""
    found = extract(Program(site.problem.name, site.case), lab.target, lab.compilers).dispatches
    if len(found) != 1:
        return f"the compiler makes {len(found)} dispatches of the problem"
    (dispatch,) = found
    if dispatch.harness is None:
        return f"its dispatch cannot be run alone: {dispatch.reason}"
    unfit = why_unfit(dispatch.harness, site.problem)
    if unfit:
        return unfit
    harness = lab.compilers.call(with_scratch, dispatch.harness, _SCRATCH_BYTES, lab.target.flags)
    default = lab.builder.build(harness, None)
    if default.outcome != "ok":
        return f"the default ends in {default.outcome}: {default.message}"
    check = b""
    if not lab.alternate:
        with suppress(WorkerCrashError, WorkerTaskError, WorkerTimeoutError):  # then the host compares
            check = lab.compilers.call(compile_check, harness, lab.target)
    tolerance = tolerance_for(site.problem)
    bench = Bench(harness, lab.measurer.device, default.vmfb, tolerance, lab.cold, check)
    return bench, dispatch.workload.key if dispatch.workload else ""


def tolerance_for(problem: Problem) -> Tolerance:
    """How much results may differ: as the workload's, and more where steps follow a truncation.

    Sums in another order round to a neighbour now and then, of which gelu, say, makes something that is small
    beside that digit. A sum of K values is as large as its partial sums can be over sqrt(K), when their signs
    are mixed: as if each of K factors were rounded.
    """
    tolerance = tolerance_of(problem.workload)
    if "truncf" not in problem.epilogue[:-1]:
        return tolerance
    return replace(
        tolerance, factor_type=problem.result.element_type, factors=problem.workload.reduction_length
    )


def _tried(
    variants: Sequence[Knobs], kernel: Kernel, problem: Problem, bench: Bench, lab: Lab, until: float,
    watch: Watch, stop: StopRequest | None,
) -> Iterator[KernelTrial]:  # fmt: skip
    """Groups are compiled, and then timed: on a processor, nothing compiles meanwhile."""
    best_us = math.inf
    for begin in range(0, len(variants), 2 * lab.jobs):
        if time.monotonic() > until or (stop is not None and stop.requested):
            return
        group = variants[begin : begin + 2 * lab.jobs]
        watch(f"{kernel.name} on {problem.name}: {begin} of {len(variants)} variants")
        futures = [
            lab.compilers.submit(
                make_here, kernel, problem, lab.target, knobs, bench.harness, timeout_s=_TIMEOUT_S
            )
            for knobs in group
        ]
        trials = [_made(future, knobs, lab) for future, knobs in zip(futures, group, strict=True)]
        if lab.loader is not None:
            loading = [lab.loader.submit(each.vmfb, _TIMEOUT_S) for each in trials if each.vmfb]
            for each in loading:
                lab.loader.result(each)
        for trial in trials:
            limit_us = _HOPELESS * best_us if best_us < math.inf else None
            yield (timed := _timed(trial, bench, lab, limit_us))
            best_us = min(best_us, timed.time_us)


def make_here(
    kernel: Kernel, problem: Problem, target: Target, knobs: Knobs, harness: Harness
) -> tuple[Code | None, Built]:
    """Make a kernel's code and build the harness with it. Runs in workers."""
    try:
        code = kernel.make(problem, target, knobs)
    except KernelError as error:
        return None, Built("compile_error", message=str(error))
    return code, build_kernel_here(harness, target.flags, problem, code)


def _made(future: Future[tuple[Code | None, Built]], knobs: Knobs, lab: Lab) -> KernelTrial:
    try:
        code, built = lab.compilers.wait(future)
    except (WorkerCrashError, WorkerTaskError) as error:
        return KernelTrial(knobs, "compile_crash", message=str(error))
    except WorkerTimeoutError:
        return KernelTrial(knobs, "compile_timeout", message=f"no result after {_TIMEOUT_S:.0f} s")
    return KernelTrial(knobs, built.outcome, message=built.message, code=code, vmfb=built.vmfb)


def _timed(trial: KernelTrial, bench: Bench, lab: Lab, limit_us: float | None) -> KernelTrial:
    if not trial.vmfb:
        return trial
    timed = lab.measurer.time(trial.vmfb, bench, limit_us)
    least = min(timed.samples_us) if timed.outcome == "ok" else math.inf
    return replace(trial, outcome=timed.outcome, time_us=least, message=timed.message)


def _right(trials: Sequence[KernelTrial], bench: Bench, lab: Lab) -> list[KernelTrial]:
    """The fastest that are right on more than one seed; with a message where the default is not."""
    found: list[KernelTrial] = []
    for trial in trials:
        agreement = lab.measurer.agrees(trial.vmfb, bench) if trial.outcome == "ok" else None
        if agreement is not None and agreement.ok:
            wrong = agreement.note if "the default itself is wrong" in agreement.note else ""
            found.append(replace(trial, message=wrong))
        if len(found) == _FINALISTS:
            break
    return found


def _judged(
    contest: Contest, finalists: Sequence[KernelTrial], tuned: Built | None, bench: Bench, lab: Lab
) -> Contest:
    """The finalist that is best in turns with the default, judged on fresh samples."""
    plan = JudgePlan(_ROUNDS)
    others = [tuned.vmfb] if tuned is not None and tuned.outcome == "ok" else []
    vmfbs = [each.vmfb for each in finalists]
    found = lab.measurer.compare([(bench.default, [*vmfbs, *others])], bench, plan)
    best = max(range(len(finalists)), key=lambda index: found[index].speedup)
    (over_default,) = lab.measurer.compare([(bench.default, [vmfbs[best]])], bench, plan)
    contest = replace(contest, best=finalists[best], over_default=over_default)
    if tuned is not None and not others:
        return replace(contest, note=f"the tuned configuration ends in {tuned.outcome}: {tuned.message}")
    if others:
        (over_tuned,) = lab.measurer.compare([(others[0], [vmfbs[best]])], bench, plan)
        contest = replace(contest, tuned=found[-1], over_tuned=over_tuned, configured=others[0])
    return contest
