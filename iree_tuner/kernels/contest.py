"""One problem alone: a kernel with its knobs against the compiler's own code, default and tuned."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace

from iree_tuner.build.candidate import Built
from iree_tuner.compiler.worker import WorkerCrashError, WorkerTaskError, WorkerTimeoutError
from iree_tuner.kernels.alone import build_kernel_here, why_unfit, with_scratch
from iree_tuner.kernels.kernel import Code, Kernel, Knobs
from iree_tuner.kernels.problem import KernelError, Problem
from iree_tuner.kernels.site import Site
from iree_tuner.kernels.trials import Book, KernelTrial, study_of
from iree_tuner.measure.bench import Bench, Tolerance
from iree_tuner.measure.check_program import compile_check
from iree_tuner.measure.judging import JudgePlan
from iree_tuner.measure.statistics import Comparison
from iree_tuner.ops.workload import Workload
from iree_tuner.program.bindings import Harness
from iree_tuner.program.extract import extract
from iree_tuner.program.source import Program
from iree_tuner.space.configuration import Configuration
from iree_tuner.store.study import StudyKey
from iree_tuner.targets import Target
from iree_tuner.tuning.baseline import tolerance_of
from iree_tuner.tuning.conditions import setting_on
from iree_tuner.tuning.device import DeviceLostError
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.ledger import Records
from iree_tuner.tuning.stop import StopRequest

_TIMEOUT_S = 120.0
_HOPELESS = 2.0  # times the best so far
_FINALISTS = 3
ROUNDS = 64  # pairs of a comparison
_FINALS_PART = 0.3  # of a contest's time
_JUDGED_S = 120.0  # what each of the final comparisons may take at most
_DIED = ("run_error", "run_crash", "run_timeout")
_SCRATCH_BYTES = 1 << 20  # room in every harness, so that all are compared in the same one

_NONE: Mapping[str, Configuration] = {}

Watch = Callable[[str], None]
"""Told what is going on, a line at a time."""


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


@dataclass(frozen=True)
class _Ring:
    """What the trials of a contest share."""

    kernel: Kernel
    problem: Problem
    bench: Bench
    default_us: float
    lab: Lab
    book: Book
    rounds: int


def hold_contest(
    site: Site,
    kernel: Kernel,
    lab: Lab,
    *,
    tuned: Mapping[str, Configuration] = _NONE,
    most: int = 64,
    rounds: int = ROUNDS,
    seconds: float = math.inf,
    watch: Watch = lambda _: None,
    records: Records | None = None,
) -> Contest:
    """Try a kernel's variants on a problem, check their numbers, and compare the best on fresh samples.

    What the records know is not tried again; the best are built again, and judged.

    Args:
        site: the problem; its case must compile to one dispatch.
        kernel: one that does not refuse it.
        lab: where it is built and timed.
        tuned: by workload's key, configurations to compare with too.
        most: variants at most; 0 for all.
        rounds: interleaved pairs of a comparison at most.
        seconds: for all of it; no more are begun after the greater part, and the finals are cut short.
        watch: told of progress.
        records: keeps the trials; no more are begun when a stop is requested there.

    Raises:
        CompileError: the case does not compile.
        DeviceLostError: the device does not run the default any more.
        WorkerCrashError, WorkerTimeoutError: the compiler died on it, or a finalist failed.
    """
    start = time.monotonic()
    records = records or Records(None, StopRequest())
    contest = Contest(site, kernel.name)
    found = _bench(site, lab)
    if isinstance(found, str):
        return replace(contest, note=found)
    bench, workload = found
    lab.settle()
    timed = lab.measurer.time_default(bench)
    if timed.outcome != "ok":
        return replace(contest, note=f"the default ends in {timed.outcome}: {timed.message}")
    contest = replace(contest, bench=bench, default_us=min(timed.samples_us))
    variants = kernel.variants(site.problem, lab.target)
    book = Book(records, lambda: _study(site, kernel, bench, workload, len(variants), lab), workload.key)
    ring = _Ring(kernel, site.problem, bench, contest.default_us, lab, book, rounds)
    until = start + (1.0 - _FINALS_PART) * seconds
    trials = list(_tried(variants[: most or None], ring, until, watch, records.stop))
    trials, finalists = _right(sorted(trials, key=lambda each: each.score), ring)
    contest = replace(contest, trials=tuple(trials))
    if not finalists:
        return replace(
            contest, note="no variant of it is right" if trials else "no variant was tried in time"
        )
    key = workload.key
    configured = lab.builder.build(bench.harness, tuned[key]) if key in tuned else None
    watch("finals")
    contest = replace(contest, note=finalists[0].message)
    return _judged(contest, finalists, configured, ring, start + seconds)


def _study(site: Site, kernel: Kernel, bench: Bench, workload: Workload, variants: int, lab: Lab) -> StudyKey:
    setting = setting_on(lab.target, cold=lab.cold)
    return study_of(site, kernel, bench.harness, workload, variants, setting)


def _bench(site: Site, lab: Lab) -> tuple[Bench, Workload] | str:
    """The problem as a dispatch with its default and scratch memory, and its workload; or why not."""
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
    return bench, dispatch.workload or site.problem.workload


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
    variants: Sequence[Knobs], ring: _Ring, until: float, watch: Watch, stop: StopRequest
) -> Iterator[KernelTrial]:
    """What is known; then groups, compiled and then timed: on a processor nothing compiles meanwhile."""
    lab, kernel, problem = ring.lab, ring.kernel, ring.problem
    known = [(knobs, ring.book.known(knobs)) for knobs in variants]
    yield from (trial for _, trial in known if trial is not None)
    best = min((trial.score for _, trial in known if trial is not None), default=math.inf)
    new = [knobs for knobs, trial in known if trial is None]
    for begin in range(0, len(new), 2 * lab.jobs):
        if time.monotonic() > until or stop.requested:
            return
        group = new[begin : begin + 2 * lab.jobs]
        done = len(variants) - len(new) + begin
        watch(f"{kernel.name} on {problem.name}: {done} of {len(variants)} variants")
        futures = [_submit(knobs, ring) for knobs in group]
        trials = [_made(future, knobs, ring) for future, knobs in zip(futures, group, strict=True)]
        if lab.loader is not None:
            loading = [lab.loader.submit(each.vmfb, _TIMEOUT_S) for each in trials if each.vmfb]
            for each in loading:
                lab.loader.result(each)
        for trial in trials:
            limit_us = _HOPELESS * best * ring.default_us if best < math.inf else None
            yield (timed := ring.book.keep(_timed(trial, ring, limit_us)))
            best = min(best, timed.score)


def _submit(knobs: Knobs, ring: _Ring) -> Future[tuple[Code | None, Built]]:
    lab, harness = ring.lab, ring.bench.harness
    return lab.compilers.submit(
        make_here, ring.kernel, ring.problem, lab.target, knobs, harness, timeout_s=_TIMEOUT_S
    )


def make_here(
    kernel: Kernel, problem: Problem, target: Target, knobs: Knobs, harness: Harness
) -> tuple[Code | None, Built]:
    """Make a kernel's code and build the harness with it. Runs in workers."""
    start = time.perf_counter()
    try:
        code = kernel.make(problem, target, knobs)
    except KernelError as error:
        return None, Built("compile_error", message=str(error), seconds=time.perf_counter() - start)
    built = build_kernel_here(harness, target.flags, problem, code)
    return code, replace(built, seconds=time.perf_counter() - start)


def _made(future: Future[tuple[Code | None, Built]], knobs: Knobs, ring: _Ring) -> KernelTrial:
    code = None
    try:
        code, built = ring.lab.compilers.wait(future)
    except (WorkerCrashError, WorkerTaskError) as error:
        built = Built("compile_crash", message=str(error))
    except WorkerTimeoutError:
        built = Built("compile_timeout", message=f"no result after {_TIMEOUT_S:.0f} s", seconds=_TIMEOUT_S)
    return ring.book.made(knobs, built, code)


def _timed(trial: KernelTrial, ring: _Ring, limit_us: float | None) -> KernelTrial:
    """A trial that was compiled is timed. Raises DeviceLostError where the default fails as it does."""
    if not trial.vmfb:
        return trial
    measurer = ring.lab.measurer
    timed = measurer.time(trial.vmfb, ring.bench, limit_us)
    if timed.outcome in _DIED and measurer.time(ring.bench.default, ring.bench).outcome != "ok":
        message = f"the compiler's default no longer runs: {timed.outcome}: {timed.message}"
        raise DeviceLostError(message, location=measurer.device, hint="trials so far are kept")
    return trial.timed(timed, ring.default_us, measurer.device)


def _right(trials: Sequence[KernelTrial], ring: _Ring) -> tuple[list[KernelTrial], list[KernelTrial]]:
    """All trials after a second look at the best, and the fastest that are right on several seeds.

    These have a message where the default is not right.
    """
    every: list[KernelTrial] = []
    found: list[KernelTrial] = []
    for trial in trials:
        if len(found) == _FINALISTS or trial.outcome != "ok":
            every.append(trial)
            continue
        looked = trial if trial.vmfb else _again(trial, ring)
        if looked.outcome == "ok":
            agreement = ring.lab.measurer.agrees(looked.vmfb, ring.bench)
            if agreement.ok:
                wrong = agreement.note if "the default itself is wrong" in agreement.note else ""
                found.append(replace(looked, trial=replace(looked.trial, message=wrong)))
            else:
                looked = ring.book.keep(looked.ended("wrong_result", agreement.message, agreement.worst))
        every.append(looked)
    return every, found


def _again(trial: KernelTrial, ring: _Ring) -> KernelTrial:
    """What an earlier run timed, built once more; what has become other code is timed once more, too."""
    made = _made(_submit(trial.knobs, ring), trial.knobs, ring)
    if made.trial.digest == trial.trial.digest:
        return replace(made, trial=trial.trial)
    return ring.book.keep(_timed(made, ring, None))


def _judged(
    contest: Contest, finalists: Sequence[KernelTrial], tuned: Built | None, ring: _Ring, until: float
) -> Contest:
    """The finalist that is best in turns with the default, judged on fresh samples."""
    bench, lab = ring.bench, ring.lab
    others = [tuned.vmfb] if tuned is not None and tuned.outcome == "ok" else []
    vmfbs = [each.vmfb for each in finalists]
    found = lab.measurer.compare(
        [(bench.default, [*vmfbs, *others])], bench, _plan(ring.rounds, until, 2 + len(others))
    )
    best = max(range(len(finalists)), key=lambda index: found[index].speedup)
    plan = _plan(ring.rounds, until, 1 + len(others))
    (over_default,) = lab.measurer.compare([(bench.default, [vmfbs[best]])], bench, plan)
    ring.book.judged(finalists[best], over_default)
    contest = replace(contest, best=finalists[best], over_default=over_default)
    if tuned is not None and not others:
        return replace(contest, note=f"the tuned configuration ends in {tuned.outcome}: {tuned.message}")
    if others:
        (over_tuned,) = lab.measurer.compare(
            [(others[0], [vmfbs[best]])], bench, _plan(ring.rounds, until, 1)
        )
        contest = replace(contest, tuned=found[-1], over_tuned=over_tuned, configured=others[0])
    return contest


def _plan(rounds: int, until: float, comparisons: int) -> JudgePlan:
    """The next of so many comparisons; each takes a few pairs however late it is."""
    return JudgePlan(rounds, seconds=min(_JUDGED_S, max(0.0, until - time.monotonic()) / comparisons))
