"""A kernel's variants as candidates for a workload: made, compiled, timed and kept like configurations."""

from __future__ import annotations

import hashlib
import os
import statistics
import time
from collections.abc import Collection, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from iree_tuner.compiler.task import UnfitError
from iree_tuner.compiler.worker import WorkerError
from iree_tuner.device.bench import Bench, Case
from iree_tuner.errors import TunerError
from iree_tuner.kernels.executable import (
    build_kernel_here,
    digest_of,
    extract_alone_here,
    has_room,
    tools_of,
    why_unfit,
    with_scratch,
)
from iree_tuner.kernels.kernel import Code, Kernel, KernelError, Knobs, Packed, Packing, Problem, scratch_room
from iree_tuner.kernels.planned_nest import ROUNDED
from iree_tuner.kernels.site import Site
from iree_tuner.kernels.spec import write_reproducer_here
from iree_tuner.measure.candidate import Built
from iree_tuner.measure.program import time_program
from iree_tuner.ops.element_type import NARROW_FLOATS
from iree_tuner.ops.family import family_of
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.ops.workload import Workload
from iree_tuner.program.bindings import Harness
from iree_tuner.program.dispatch import Dispatch, fingerprint
from iree_tuner.program.extract import Extraction
from iree_tuner.program.phases import Compiled, compile_widened, run_phases, submit_program
from iree_tuner.program.source import Program
from iree_tuner.search.orders import FixedOrder
from iree_tuner.space.configuration import Assignment
from iree_tuner.store.trial import KERNEL, Setting, StudyKey, Trial
from iree_tuner.targets import Target
from iree_tuner.targets.llvm_cpu import host_target
from iree_tuner.tuning.baseline import build_default, time_default, tolerance_of, why_it_fails
from iree_tuner.tuning.candidate import CompileLimits, setting_on
from iree_tuner.tuning.engine import play
from iree_tuner.tuning.jobs import Build, Jobs, result, results, turn
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.records import Records

_TIMEOUT_S = 120.0
_CORES_FLOPS = 1e10  # of a case: more would keep a core from measuring for about a second
_ROUNDS, _BATCH_S = 4, 0.01  # to time a problem that has several dispatches


@dataclass(frozen=True)
class Prepared:
    """A problem as a single dispatch, with its default.

    Attributes:
        bench: the dispatch, with scratch memory.
        default: the compiler's default, built.
        default_us: the default's time, in microseconds a run.
        workload: the dispatch's root op.
        spent_us: the problem's time in the program, where it may be several dispatches, in microseconds.
    """

    site: Site
    bench: Bench
    default: Built
    default_us: float
    workload: Workload
    spent_us: float


class KernelVariants:
    """The variants of a kernel on a problem that it does not refuse: a `CandidateKind`.

    `competes_for` is the workload in the program, if it differs from the problem's workload alone; `knobs`
    has all choices of the kernel's knobs, most promising first: before all, the best one in the database.
    """

    own_digest = ""  # never equal to the compiler's own code
    limits = CompileLimits(_TIMEOUT_S)
    most_places = 1
    wrong = ""

    def __init__(
        self, kernel: Kernel, prepared: Prepared, lab: Lab, records: Records,
        competes_for: Workload | None = None,
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.prepared = prepared
        self.name = kernel.name
        self.competes_for = competes_for or prepared.workload
        self.workload = self.competes_for.key
        alone = "over the op alone" if self.competes_for != prepared.workload else ""
        self.over = "over one op" if prepared.site.one_op else alone
        self.bench = prepared.bench
        self.default = prepared.default
        self.default_us = prepared.default_us
        self._tools = tools_of(kernel)
        self._lab = lab
        self._records = records
        self.knobs: Sequence[Knobs] = kernel.variants(prepared.site.problem, lab.target)
        _, _, known = records.study(self.study)
        ran = [trial for trial in known.values() if trial.outcome == "ok"]
        best = min(ran, key=lambda trial: trial.score, default=None)
        if best is not None:  # what earlier runs know is more than the kernel's cost model does
            self.knobs = sorted(self.knobs, key=lambda each: Assignment.of(each) != best.assignment)

    @property
    def size(self) -> int:
        return len(self.knobs)

    def strategy(self, name: str, seed: int) -> FixedOrder:  # a kernel says what to try first
        return FixedOrder([Assignment.of(knobs) for knobs in self.knobs])

    def study(self) -> StudyKey:
        setting = setting_on(self._lab.target, self._lab.measurer.facts, cold=self._lab.cold)
        return study_of(
            self.prepared.site, self.kernel, self.bench.harness, self.prepared.workload, self.size, setting
        )

    def submit(
        self, assignment: Assignment, limits: CompileLimits, *, place: int, verify: bool
    ) -> Future[Built]:
        del place  # there is one code address
        return self._lab.slots.submit(
            make_here, self.kernel, self.prepared.site.problem, self._lab.target, dict(assignment),
            self.bench.harness, self._tools, checked=verify, timeout_s=min(limits.compile_s, _TIMEOUT_S),
        )  # fmt: skip

    def reproduce(self, trial: Trial) -> str:
        folder = self._records.failures
        if folder is None:
            return ""
        try:
            return self._lab.compilers.call(
                write_reproducer_here, folder, self.kernel, self.prepared.site.problem, self._lab.target,
                dict(trial.assignment), self.bench.harness, trial.outcome, trial.message,
            )  # fmt: skip
        except WorkerError:
            return ""


def study_of(
    site: Site, kernel: Kernel, harness: Harness, workload: Workload, variants: int, setting: Setting
) -> StudyKey:
    """The key of trials of a kernel on a site: trials of earlier runs with an equal key are reused.

    `harness` has the compiler's dispatch of the problem, in which the kernel is timed, and `workload` its
    root op.
    """
    parts = (fingerprint(harness), site.case, site.problem.constants)
    code = hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
    return StudyKey(setting, workload, code, digest_of(kernel), f"{KERNEL}{kernel.name}", variants)


def make_here(
    kernel: Kernel, problem: Problem, target: Target, knobs: Knobs, harness: Harness, tools: Sequence[str],
    *, checked: bool = True,
) -> Built:  # fmt: skip
    """Make a kernel's code and build the harness with it. Runs in workers, also on other hosts.

    If the kernel can pack a constant of the program, the code for the packed constant is timed: the program
    will use that code. The results of the other code are compared, if it is to be `checked`. The digest is of
    the kernel's code, as compiler 3.13 writes four bytes into an object's table of entries that differ from
    process to process. Raises UnfitError if this host does not have the kernel's `tools` in the same
    versions.
    """
    if missing := kernel.missing():
        raise UnfitError(f"the kernel '{kernel.name}' is not compiled there: {missing}")
    if (found := tools_of(kernel)) != tools:
        versions = ", ".join(each.partition("\n")[0] for each in found)
        raise UnfitError(f"the kernel '{kernel.name}' is not compiled there: it has {versions}")
    start = time.perf_counter()
    try:
        packed = _packed(kernel, problem, target, knobs, harness)
        code = packed.code if packed is not None and not checked else kernel.make(problem, target, knobs)
    except KernelError as error:
        return Built("compile_error", message=str(error), seconds=time.perf_counter() - start)
    timed = code if packed is None else packed.code
    built = build_kernel_here(harness, target.flags, problem, timed, packed)
    if packed is not None and built.outcome == "ok":
        plain = build_kernel_here(harness, target.flags, problem, code) if checked else Built("ok")
        built = replace(built, outcome=plain.outcome, message=plain.message, for_check=plain.vmfb)
    return replace(built, seconds=time.perf_counter() - start, code=code, code_digest=digest_of_code(timed))


def _packed(
    kernel: Kernel, problem: Problem, target: Target, knobs: Knobs, harness: Harness
) -> Packed | None:
    """The code for a constant of the program that is packed before, if the harness has room for it."""
    if not problem.constants or not isinstance(kernel, Packing):
        return None
    found = kernel.packed(problem, target, knobs)
    fits = found is not None and found.input in problem.constants and has_room(harness, found)
    return found if fits else None


def digest_of_code(code: Code) -> str:
    """A digest of a kernel's code and of its launch parameters."""
    parts = (code.kind, code.entry, code.data, code.launch, code.scratch_bytes)
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def prepare(sites: Sequence[Site], lab: Lab, timed: Collection[Site] = ()) -> list[Prepared | str]:
    """Prepare each problem alone with its default, in order; a text says why that failed.

    For the sites in `timed`, the time in the program is already known from the program's dispatches.
    """
    found = play(lab, [_prepared(site, lab, whole=bool(site.one_op) and site not in timed) for site in sites])
    return [each for each in found if each is not None]


def _prepared(site: Site, lab: Lab, *, whole: bool) -> Jobs[Prepared | str]:
    """A problem alone. If its `whole` case is several dispatches in the program, that is timed too."""
    submit, problem = lab.compilers.submit, site.problem
    builds: list[Build[Any]] = [
        Build(partial(submit, extract_alone_here, site.alone, problem.name, lab.target), _extracted)
    ]
    if site.one_op:
        builds.append(Build(partial(submit, case_here, site, timeout_s=_TIMEOUT_S), _made_on_host))
    if whole:
        program = Program(problem.name, site.case)
        builds.append(Build(partial(submit_program, program, lab.target, lab.compilers), _compiled))
    extracted, *compiled = yield from results(builds)
    case = compiled.pop(0) if site.one_op else None
    dispatch = _only(site, extracted)
    if isinstance(dispatch, str):
        return dispatch
    adding = partial(submit, with_scratch, dispatch.harness, scratch_room(problem), lab.target.flags)
    harness = yield from result(Build(adding, lab.compilers.wait))
    default, bench = yield from build_default(harness, tolerance_for(problem), lab, case)
    if default.outcome != "ok":
        return why_it_fails(default)
    timed, bench = yield from time_default(bench, lab)
    if timed.outcome != "ok":
        return why_it_fails(timed)
    default_us = spent_us = min(timed.samples_us)
    if compiled and compiled[0]:
        yield from turn()
        spent_us = _spent_us(compiled[0], lab) or default_us
    workload = dispatch.workload or problem.workload
    return Prepared(site, bench, default, default_us, workload, spent_us)


def _spent_us(program: bytes, lab: Lab) -> float:
    """The time of a program that is compiled; 0 if it does not run."""
    measurer = lab.measurer
    with suppress(TunerError, WorkerError):
        return statistics.median(
            time_program(program, measurer.device, measurer.workers, rounds=_ROUNDS, batch_s=_BATCH_S)
        )
    return 0.0


def case_here(site: Site) -> Case:
    """A site's case for this machine's processor; without code if that would take long, or fails."""
    workload, target = site.problem.workload, host_target()
    data = b""
    if family_of(workload).flops(workload) <= _CORES_FLOPS * len(os.sched_getaffinity(0)):
        with suppress(TunerError):
            data = compile_widened(site.case, site.problem.name, target)
            data = data or run_phases(site.case, site.problem.name, target, stop=None, output="vmfb").data
    return Case(data, tuple(each.shape for each in site.problem.inputs))


def _made_on_host(compiling: Future[Case]) -> Case:
    """A case; without code if its compiler died."""
    with suppress(WorkerError):
        return compiling.result()
    return Case(b"")


def _compiled(compiling: Future[Compiled]) -> bytes:
    """A program; empty if it does not compile."""
    with suppress(TunerError, WorkerError):
        return compiling.result().data
    return b""


def _extracted(future: Future[Extraction]) -> Extraction | str:
    try:
        return future.result()
    except Exception as error:  # the compiler's error, or the end of its worker
        return str(error)


def _only(site: Site, found: Extraction | str) -> Dispatch | str:
    """The dispatch that a problem is compiled to, or why there is no such dispatch."""
    if isinstance(found, str):
        return found
    if len(found.dispatches) != 1:
        return f"the compiler splits the problem into {len(found.dispatches)} dispatches"
    (dispatch,) = found.dispatches
    if dispatch.harness is None:
        return f"the dispatch cannot run on its own: {dispatch.reason}"
    return why_unfit(dispatch.harness, site.problem) or dispatch


def tolerance_for(problem: Problem) -> Tolerance:
    """How much results may differ: as for the workload, and more if steps follow a truncation.

    Sums in another order sometimes round to the next number, and a gelu, for example, can make the result
    small compared with that error. For mixed signs, a sum of K values is sqrt(K) times smaller than its
    partial sums can be: the tolerance is the same as if each of K factors were rounded. Factors that are
    computed are rounded, and so is what a step without a name computes in f16 or bf16.
    """
    tolerance = tolerance_of(problem.workload)
    nests = [each for each in problem.operands if each is not None]
    if nests:  # an error of each step, and K of them
        steps = max(sum(term.op in ROUNDED for term in each.terms) for each in nests)
        factors = max(1, problem.workload.reduction_length // max(1, steps) ** 2)
        return replace(tolerance, factor_type=nests[0].terms[-1].element, factors=factors)
    terms = () if problem.finish is None else problem.finish.terms
    narrow = [each for each in terms if each.element in NARROW_FLOATS]
    rounded = sum(each.op in ROUNDED or each.op.startswith("math.") for each in narrow)
    steps = [step for step in problem.steps if step != "moved"]
    if "truncf" not in steps[:-1] and not rounded:
        return tolerance
    kind = narrow[0].element if narrow else problem.result.element_type
    factors = max(1, problem.workload.reduction_length // max(1, rounded) ** 2)
    return replace(tolerance, factor_type=kind, factors=factors)
