"""A kernel's variants as candidates of a workload: made, compiled, timed and kept as configurations are."""

from __future__ import annotations

import hashlib
import statistics
import time
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace

from iree_tuner.compiler.ends import UnfitError
from iree_tuner.compiler.worker import WorkerError
from iree_tuner.errors import TunerError
from iree_tuner.execute.bench import Bench, Tolerance
from iree_tuner.execute.candidate import Built
from iree_tuner.execute.check_program import compile_check
from iree_tuner.execute.program import time_program
from iree_tuner.execute.setting import Setting
from iree_tuner.execute.trial import Trial
from iree_tuner.kernels.alone import build_kernel_here, extract_alone_here, why_unfit, with_scratch
from iree_tuner.kernels.identity import digest_of, tools_of
from iree_tuner.kernels.kernel import Code, Kernel, Knobs
from iree_tuner.kernels.problem import KernelError, Problem, scratch_room
from iree_tuner.kernels.reproducer import write_reproducer_here
from iree_tuner.kernels.site import Site
from iree_tuner.ops.workload import Workload
from iree_tuner.program.bindings import Harness
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.extract import Extraction
from iree_tuner.program.fingerprint import fingerprint
from iree_tuner.program.phases import Compiled, submit_program
from iree_tuner.program.source import Program
from iree_tuner.search.given import FixedOrder
from iree_tuner.space.configuration import Assignment
from iree_tuner.store.study import KERNEL, StudyKey
from iree_tuner.targets import Target
from iree_tuner.tuning.baseline import tolerance_of
from iree_tuner.tuning.candidate import CompileLimits
from iree_tuner.tuning.conditions import setting_on
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.ledger import Records

_TIMEOUT_S = 120.0
_ROUNDS, _BATCH_S = 4, 0.01  # to see what a problem takes that is several dispatches


@dataclass(frozen=True)
class Prepared:
    """A problem as a dispatch of its own, with its default.

    Attributes:
        site: where it is from.
        bench: the dispatch, with room for scratch memory.
        default: the compiler's own choice, built.
        default_us: its time, in microseconds a run.
        workload: the dispatch's root op.
        spent_us: what the program spends on the problem, which may be several dispatches there.
    """

    site: Site
    bench: Bench
    default: Built
    default_us: float
    workload: Workload
    spent_us: float


class KernelVariants:
    """What a kernel can be on a problem: a `CandidateKind`.

    Args:
        kernel: one that does not refuse the problem.
        prepared: the problem.
        lab: where variants are made.
        records: where reproducers go.
        competes_for: the workload in the program, if it is another than the problem's alone.

    Attributes:
        prepared: the problem.
        kernel: what computes it.
        knobs: all choices of its knobs, those to try first at the front.
    """

    own_digest = ""  # no kernel's code is the compiler's
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
        self.bench = prepared.bench
        self.default = prepared.default
        self.default_us = prepared.default_us
        self.knobs: Sequence[Knobs] = kernel.variants(prepared.site.problem, lab.target)
        self._tools = tools_of(kernel)
        self._lab = lab
        self._records = records

    @property
    def size(self) -> int:
        """How many variants there are."""
        return len(self.knobs)

    def strategy(self, name: str, seed: int) -> FixedOrder:  # noqa: ARG002 (a kernel says what to try first)
        """In the kernel's own order."""
        return FixedOrder([Assignment.of(knobs) for knobs in self.knobs])

    def study(self) -> StudyKey:
        """Of this kernel's code, on this problem and device."""
        setting = setting_on(self._lab.target, self._lab.measurer.facts, cold=self._lab.cold)
        return study_of(
            self.prepared.site, self.kernel, self.bench.harness, self.prepared.workload, self.size, setting
        )

    def submit(
        self, assignment: Assignment, limits: CompileLimits, *, place: int, verify: bool
    ) -> Future[Built]:
        """Make the code, and put it in the place of the dispatch's executable."""
        del place, verify  # there is one place, and nothing of the compiler's to verify
        return self._lab.slots.submit(
            make_here, self.kernel, self.prepared.site.problem, self._lab.target, dict(assignment),
            self.bench.harness, self._tools, timeout_s=min(limits.compile_s, _TIMEOUT_S),
        )  # fmt: skip

    def reproduce(self, trial: Trial) -> str:
        """With the kernel's code, and a command of IREE's own tools."""
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
    """What has to be equal for the trials of another run to stand for those of this one.

    Args:
        site: the problem.
        kernel: what computes it.
        harness: the compiler's dispatch of the problem, which the kernel is timed in.
        workload: the dispatch's root op.
        variants: how many there are.
        setting: where and with what all is timed.
    """
    code = hashlib.sha256(repr((fingerprint(harness), site.case)).encode()).hexdigest()[:16]
    return StudyKey(setting, workload, code, digest_of(kernel), f"{KERNEL}{kernel.name}", variants)


def make_here(
    kernel: Kernel, problem: Problem, target: Target, knobs: Knobs, harness: Harness, tools: Sequence[str]
) -> Built:
    """Make a kernel's code and build the harness with it. Runs in workers, also on other hosts.

    The digest is that of the kernel's code. That of the executable would not do: four bytes of what the
    compiler 3.13 makes around an object, in its table of entries, differ from process to process.

    Raises:
        UnfitError: this host does not have the kernel's `tools`, in the same versions.
    """
    if missing := kernel.missing():
        raise UnfitError(f"the kernel '{kernel.name}' is not compiled there: {missing}")
    if (found := tools_of(kernel)) != tools:
        versions = ", ".join(each.partition("\n")[0] for each in found)
        raise UnfitError(f"the kernel '{kernel.name}' is not compiled there: it has {versions}")
    start = time.perf_counter()
    try:
        code = kernel.make(problem, target, knobs)
    except KernelError as error:
        return Built("compile_error", message=str(error), seconds=time.perf_counter() - start)
    built = build_kernel_here(harness, target.flags, problem, code)
    return replace(built, seconds=time.perf_counter() - start, code=code, code_digest=digest_of_code(code))


def digest_of_code(code: Code) -> str:
    """Equal for code that is equal, and started in the same way."""
    parts = (code.kind, code.entry, code.data, code.launch, code.scratch_bytes)
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def prepare(sites: Sequence[Site], lab: Lab, timed: Collection[Site] = ()) -> list[Prepared | str]:
    """Each problem alone with its default, or why it cannot be, in their order; all are compiled at once.

    What the program spends on those of `timed` is known from its own dispatches.
    """
    extracting = [
        lab.compilers.submit(extract_alone_here, site.alone, site.problem.name, lab.target) for site in sites
    ]
    dispatches = [_only(site, _result(future)) for site, future in zip(sites, extracting, strict=True)]
    found = [each for each in dispatches if isinstance(each, Dispatch) and each.harness is not None]
    rooms = {id(each): scratch_room(site.problem) for site, each in zip(sites, dispatches, strict=True)}
    harnesses = dict(zip(map(id, found), _with_scratch(found, rooms, lab), strict=True))
    apart = {
        site: submit_program(Program(site.problem.name, site.case), lab.target, lab.compilers)
        for site in sites
        if site.one_op and site not in timed
    }
    defaults = {key: lab.builder.submit(harness, None) for key, harness in harnesses.items()}
    checks = {
        key: lab.compilers.submit(compile_check, harness, lab.target)
        for key, harness in harnesses.items()
        if not lab.on_host
    }
    built = {key: lab.builder.result(future) for key, future in defaults.items()}
    compared = {key: _check(future) for key, future in checks.items()}
    prepared: list[Prepared | str] = []
    for site, each in zip(sites, dispatches, strict=True):
        if isinstance(each, str):
            prepared.append(each)
            continue
        key = id(each)
        found = _timed(site, each, harnesses[key], built[key], compared.get(key, b""), lab)
        if isinstance(found, Prepared) and site in apart:
            found = replace(found, spent_us=_spent_us(apart[site], lab) or found.spent_us)
        prepared.append(found)
    return prepared


def _spent_us(compiling: Future[Compiled], lab: Lab) -> float:
    """Time of a problem as the program has it; 0 where that does not run."""
    with suppress(TunerError, WorkerError):
        data = lab.compilers.wait(compiling).data
        lab.settle()
        measurer = lab.measurer
        return statistics.median(
            time_program(data, measurer.device, measurer.workers, rounds=_ROUNDS, batch_s=_BATCH_S)
        )
    return 0.0


def _result(future: Future[Extraction]) -> Extraction | str:
    try:
        return future.result()
    except Exception as error:  # what a compiler says of a program, or how it died of it
        return str(error)


def _only(site: Site, found: Extraction | str) -> Dispatch | str:
    """The dispatch that a problem is compiled to, or why it cannot stand for the problem."""
    if isinstance(found, str):
        return found
    if len(found.dispatches) != 1:
        return f"the compiler splits the problem into {len(found.dispatches)} dispatches"
    (dispatch,) = found.dispatches
    if dispatch.harness is None:
        return f"its dispatch cannot be run alone: {dispatch.reason}"
    return why_unfit(dispatch.harness, site.problem) or dispatch


def _with_scratch(dispatches: Sequence[Dispatch], rooms: Mapping[int, int], lab: Lab) -> list[Harness]:
    futures = [
        lab.compilers.submit(with_scratch, each.harness, rooms[id(each)], lab.target.flags)
        for each in dispatches
    ]
    return [future.result() for future in futures]


def _check(future: Future[bytes]) -> bytes:
    """A compiled check; empty, so that the host compares, where the compiler does not survive it."""
    with suppress(WorkerError):
        return future.result()
    return b""


def _timed(
    site: Site, dispatch: Dispatch, harness: Harness, default: Built, check: bytes, lab: Lab
) -> Prepared | str:
    if default.outcome != "ok":
        return f"the compiler's default fails ({default.outcome}): {default.message}"
    tolerance = tolerance_for(site.problem)
    alone = bool(site.one_op)
    bench = Bench(harness, lab.measurer.device, default.vmfb, tolerance, lab.cold, check, by_reference=alone)
    bench = lab.referenced(bench)
    lab.settle()
    timed = lab.measurer.time_default(bench)
    if timed.outcome != "ok":
        return f"the compiler's default fails ({timed.outcome}): {timed.message}"
    workload = dispatch.workload or site.problem.workload
    default_us = min(timed.samples_us)
    return Prepared(site, bench, default, default_us, workload, default_us)


def tolerance_for(problem: Problem) -> Tolerance:
    """How much results may differ: as the workload's, and more where steps follow a truncation.

    Sums in another order round to a neighbour now and then, of which gelu, say, makes something that is small
    beside that digit. A sum of K values is as large as its partial sums can be over sqrt(K), when their signs
    are mixed: as if each of K factors were rounded.
    """
    tolerance = tolerance_of(problem.workload)
    steps = [step for step in problem.epilogue if step != "moved"]
    if "truncf" not in steps[:-1]:
        return tolerance
    return replace(
        tolerance, factor_type=problem.result.element_type, factors=problem.workload.reduction_length
    )
