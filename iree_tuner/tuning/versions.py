"""The whole program in several versions: compiled, run in turns, compared."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from iree.compiler import ir

from iree_tuner.compiler.context import new_context, to_bytecode
from iree_tuner.compiler.session import parse_module
from iree_tuner.compiler.worker import TIMEOUT_S, Calls, Ok
from iree_tuner.device.numerics import Agreement
from iree_tuner.device.program_loaded import SEEDS
from iree_tuner.device.program_run import ProgramRun
from iree_tuner.device.slack import ErrorDepth
from iree_tuner.errors import TunerError
from iree_tuner.measure.candidate import STEP_BYTES
from iree_tuner.measure.program import ProgramComparison, compare_programs, compared_on, time_program
from iree_tuner.measure.statistics import Comparison
from iree_tuner.program.dump_body import own_target
from iree_tuner.program.extract import extract
from iree_tuner.program.phases import COMPILING, Compiled, compile_program, submit_program, submit_widened
from iree_tuner.program.provided_memory import with_provided_memory
from iree_tuner.program.source import Program
from iree_tuner.spec.build import build_spec
from iree_tuner.spec.entry import SpecEntry
from iree_tuner.spec.io import embed_bytes
from iree_tuner.store.record import versus
from iree_tuner.targets import Target, with_flags
from iree_tuner.targets.kind import RuntimeFlags
from iree_tuner.targets.llvm_cpu import host_target
from iree_tuner.targets.registry import kind_of_device
from iree_tuner.tuning.budget import MeasuredTimes
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.observer import Observer

if TYPE_CHECKING:
    from iree_tuner.tuning.source import CandidateSource

_LONG_LOAD_S = 1.0
_PATIENCE, _PATIENCE_S = 6.0, 30.0  # to compile a version: of the default's time, and at least
"""Of the first load: what of it is parameters is worth a second one."""

FENCES = "--iree-execution-model=async-external"
"""Functions take a fence to wait for, and one to signal, instead of waiting for their ends."""


@dataclass(frozen=True)
class Change:
    """One choice of a source of candidates; versions with equal changes compile to the same."""

    source: str  # its name (`tuning.source`)
    where: str  # what it replaces, in the source's words; empty for the whole program
    how: str  # what is chosen, on one line; the first word names the code that is called, if there is any
    code: str = ""  # a digest of what `made` puts into the program, where `how` does not say all
    made: object = field(default=None, compare=False, repr=False)  # only the source looks inside
    times: int = field(default=1, compare=False, repr=False)  # how often the program has what it replaces
    dispatches: tuple[str, ...] = field(default=(), compare=False, repr=False)  # of the program by default


@dataclass(frozen=True)
class ProgramVersion:
    """A way to compile the program; two are equal that compile to the same."""

    what: str = field(compare=False)  # for people
    target: Target  # with the options that it is compiled with
    entries: tuple[SpecEntry, ...] = ()  # of the tuning spec inside; empty for the compiler's defaults
    changes: tuple[Change, ...] = ()  # by sources of candidates, such as kernels
    last: tuple[Change, ...] = ()  # of how it is run: it is compiled as without them


@dataclass(frozen=True)
class Compiling:
    """The compiler's input for a version: the sources of its changes add to it in turn."""

    program: Program
    target: Target
    runtime: RuntimeFlags = ()  # that it is run with


_Compilation = tuple[ProgramVersion, int, bool]
"""A version, the place of its code, and whether it takes memory from its caller."""


@dataclass(frozen=True)
class ComparisonPlan:
    """How a comparison of versions is made."""

    places: int  # addresses of the code
    rounds: int  # pairs at most, over all places
    batch_s: float  # least length of a sample, in seconds
    seconds: float = 120.0  # limit, after compiling


@dataclass(frozen=True)
class ComparisonStep:
    """A comparison that was made on the way: `what` against `against`, also by the case of sizes."""

    what: str
    against: str
    comparison: Comparison | None
    error: str = ""
    by_case: tuple[tuple[str, ProgramComparison], ...] = ()


class ProgramVersions:
    """A program whose versions are compared.

    If the time of allocations varies, versions get memory from their caller, and have fences, for which
    the host waits in a loop. Programs without support for that are compared as they are.

    Args:
        program: the program, with its sizes.
        run: how it is run; its versions are compared on each case of sizes.
        lab: where it is compiled and run.
        watch: gets each comparison.
        depth: where errors of its results come from.
        measured: receives the measured times.
        sources: of the versions' changes.
        folder: where these write files that the compiler reads.
    """

    def __init__(
        self, program: Program, run: ProgramRun, lab: Lab, watch: Observer, depth: ErrorDepth,
        measured: MeasuredTimes | None = None, sources: Sequence[CandidateSource] = (),
        folder: Path = Path(),
    ) -> None:  # fmt: skip
        self._program = program
        self._runs = run.cases
        self._lab = lab
        self._watch = watch
        self._sources = sources
        self._folder = folder
        self.depth = depth
        self._known: dict[_Compilation, bytes] = {}
        self._kept: set[ProgramVersion] = set()
        self._begun: dict[_Compilation, Future[Compiled]] = {}
        self._provided = _provided_form(program, lab.target)
        self._host: bytes | None = None
        self._widened: Future[bytes] | None = None
        self.steps: list[ComparisonStep] = []  # comparisons so far
        # versions whose results differ from the default's, and the runs in which they do
        self.wrong: dict[ProgramVersion, ProgramRun] = {}
        self.measured = measured or MeasuredTimes()

    def begin(self, *versions: ProgramVersion, plain: bool = False) -> None:
        """Begin to compile versions that will be compared; if `plain`, as they are, for `vmfb`."""
        for version in versions:
            key = version, 0, not plain and self._provided is not None
            if key not in self._begun and key not in self._known:
                self._begun[key] = self._submit(key)

    def begin_widened(self) -> None:
        """Begin to compile the program with f32 for narrow floats: all versions are judged by it."""
        if self._widened is None:
            self._widened = submit_widened(self._program, self._lab.target, self._lab.compilers)
            if self._lab.loader is not None:
                self._lab.loader.load_ahead(self._widened, lambda vmfb: vmfb)

    def _submit(self, key: _Compilation) -> Future[Compiled]:
        version, place, provided = key
        program, target = self._program, version.target
        if provided and self._provided is not None:
            program, target = self._provided, with_flags(target, (FENCES,))
        own = self.applied(replace(version, target=target), program)
        usual_s = self.measured.build_s  # some flags make the compiler take a hundred times as long
        compiling = submit_program(
            placed_program(own.program, place), own.target, self._lab.compilers, filled=True,
            limit_s=min(TIMEOUT_S, max(_PATIENCE_S, _PATIENCE * usual_s)) if usual_s else TIMEOUT_S,
        )  # fmt: skip
        if self._lab.loader is not None:
            self._lab.loader.load_ahead(compiling, lambda compiled: compiled.data)
        return compiling

    def applied(self, version: ProgramVersion, program: Program | None = None) -> Compiling:
        """The compiler's input for a version, by default of the program as it is."""
        entered = with_entries(program or self._program, version.entries, self._lab.context)
        return applied(
            Compiling(entered, version.target), version.changes, self._sources, self._lab.compilers,
            self._folder,
        )  # fmt: skip

    def settle(self) -> None:
        """Wait for all that was begun."""
        wait(self._begun.values())
        wait([self._widened] if self._widened else [])

    def vmfb(self, version: ProgramVersion) -> bytes:
        """A version as it is, compiled. Raises what compiling it raised."""
        (found,) = self._build([version], 1, provided=False)
        if isinstance(found, Exception):
            raise found
        return found[0]

    def check_compiles(self, default: ProgramVersion) -> None:
        """Wait for the program as it is. Raises TunerError if it does not compile.

        It may compile although its twins that fill memory do not: then it is only not compared.
        """
        try:
            self.vmfb(default)
        except TunerError:
            try:
                compile_program(self._program, default.target, self._lab.compilers)
            except TunerError as error:
                message = f"the program does not compile, with or without a spec: {error.message}"
                where = error.location or self._program.name
                raise TunerError(message, location=where, hint=error.hint) from None

    def time(self, version: ProgramVersion) -> None:
        """Note how long loading and an invocation take. Raises TunerError where it does not run.

        Parameters are loaded once, for all versions: their time is a part of no other.
        """
        vmfb, measurer, start = self.vmfb(version), self._lab.measurer, time.monotonic()

        def samples() -> list[float]:
            return [
                time_program(vmfb, measurer.device, measurer.workers, run, 1, 0.0)[0] for run in self._runs
            ]

        found, took_s = samples(), time.monotonic() - start
        if took_s > _LONG_LOAD_S and self._runs[0].wanted:
            start = time.monotonic()
            found = samples()
            again_s = time.monotonic() - start + len(SEEDS) * sum(found) * 1e-6  # the results are known now
            self.measured.parameters_s = max(0.0, took_s - again_s)
            took_s -= self.measured.parameters_s
        self.measured.loading_s, self.measured.invocation_s = took_s, sum(found) * 1e-6

    def compare(
        self, against: ProgramVersion, others: Sequence[ProgramVersion], look: ComparisonPlan,
        rival: ProgramVersion | None = None,
    ) -> list[ProgramComparison]:  # fmt: skip
        """Each of the others compared with one. Versions that fail, or have other results, say so.

        With a `rival`, which is one of the others, they are compared with it, too, in the same rounds.

        Raises TunerError if that one does not compile or run.
        """
        try:
            found = self._compared([against, *others], look, rival)
        except TunerError as error:
            if self._provided is None:
                raise
            self._watch.noted(f"memory cannot be provided to the program: {error}")
            self._provided = None
            found = self._compared([against, *others], look, rival)
        for version, one in zip(others, found, strict=True):
            self._keep(version, against, one)
        return found

    def check_again(self, against: ProgramVersion, version: ProgramVersion) -> None:
        """Check a version once more after its comparison, for the time that others like it will take.

        The driver of a GPU compiles code when it is loaded for the first time, and keeps it.
        """
        self._compared([against, version], ComparisonPlan(1, 0, 0.0))

    def _compared(
        self, versions: Sequence[ProgramVersion], look: ComparisonPlan, rival: ProgramVersion | None = None
    ) -> list[ProgramComparison]:
        provided = self._provided is not None
        built = self._build([replace(each, last=()) for each in versions], look.places, provided=provided)
        if isinstance(built[0], Exception):
            raise built[0]
        code = [made for made in built if not isinstance(made, Exception)]
        compiled = [
            each for each, made in zip(versions, built, strict=True) if not isinstance(made, Exception)
        ]
        runtimes = [self.applied(ProgramVersion("", each.target, (), each.last)).runtime for each in compiled]
        place = compiled.index(rival) - 1 if rival in compiled else None
        compared = iter(self._measure(code, look, runtimes, place) if code[1:] else [])
        return [
            ProgramComparison("", None, Agreement(True, 0.0), f"does not compile: {made}")
            if isinstance(made, Exception)
            else replace(next(compared), memory_provided=provided, same_code=made[0] == built[0][0])
            for made in built[1:]
        ]

    def _build(
        self, versions: Sequence[ProgramVersion], places: int, *, provided: bool
    ) -> list[list[bytes] | Exception]:
        """Each version at each place, or its compile error. All is compiled when this returns."""
        wanted = set(itertools.product(versions, range(places), (provided,)))
        known = {key: vmfb for key, vmfb in self._known.items() if key in wanted or key[0] in self._kept}
        compiling: dict[_Compilation, Future[Compiled]] = {}
        for key in itertools.product(versions, range(places), (provided,)):
            if key not in known and key not in compiling:
                compiling[key] = self._begun.pop(key, None) or self._submit(key)
        wait(compiling.values())  # nothing may compile when something is timed
        if compiling:
            spans = [each for each in self._lab.compilers.spans if each.what == COMPILING]
            took = [each.end - each.begin for each in spans[-len(compiling) :]]
            # Kernels may leave little to compile in one version, and in the next one not.
            self.measured.build_s = max(self.measured.build_s, statistics.median_low(took or [0.0]))
        failed: dict[ProgramVersion, Exception] = {}
        for key, future in compiling.items():
            try:
                known[key] = self._lab.compilers.wait(future).data
            except TunerError as error:
                failed[key[0]] = error
        # Versions that are not needed any more are released, because programs have weights; all is compared
        # with the first.
        self._known, self._kept = known, self._kept or {versions[0]}
        return [
            failed.get(version) or [known[version, place, provided] for place in range(places)]
            for version in versions
        ]

    def _measure(
        self, built: Sequence[list[bytes]], look: ComparisonPlan, runtimes: Sequence[RuntimeFlags],
        rival: int | None = None,
    ) -> list[ProgramComparison]:  # fmt: skip
        """Compare on each case of sizes. Raises TunerError if the first program does not run."""
        placed, measurer = list(zip(*built, strict=True)), self._lab.measurer
        by_case: list[list[tuple[str, ProgramComparison]]] = []
        for run in self._runs:
            try:
                found = compare_programs(
                    placed, measurer.device, measurer.workers, look.rounds,
                    self.depth, run, batch_s=look.batch_s, seconds=look.seconds / len(self._runs),
                    for_host=None if self._lab.on_host else self._for_host, runtimes=runtimes,
                    widened=self.widened, rival=rival,
                )  # fmt: skip
            except TunerError as error:
                if len(self._runs) == 1:
                    raise
                raise TunerError(f"--dim {run.case}: {error}") from None
            by_case.append([(run.case, each) for each in found])
        compared = [compared_on(each) for each in zip(*by_case, strict=True)]
        self.measured.check_s = statistics.median_low(each.check_s for each in compared)
        return compared

    def widened(self) -> bytes:
        """The program with f32 instead of narrow floats; empty if it has none, or does not compile."""
        self.begin_widened()
        assert self._widened is not None, "it was begun"
        return _made(self._widened, self._lab)

    def _for_host(self) -> bytes:
        """The program compiled for this machine's processor; empty if it does not compile."""
        if self._host is None:
            try:
                self._host = compile_program(self._program, host_target(), self._lab.compilers).data
            except TunerError:
                self._host = b""
        return self._host

    def compared(self, what: str, against: str, found: Comparison) -> None:
        """Note what a comparison found that was made with others."""
        self.steps.append(ComparisonStep(what, against, found))
        self._watch.compared(versus(what, against), found)

    def _keep(self, version: ProgramVersion, against: ProgramVersion, found: ProgramComparison) -> None:
        if not found.agreement.ok:
            cases = [each for _, each in found.by_case] or [found]
            wrong = (run for run, each in zip(self._runs, cases, strict=True) if not each.agreement.ok)
            self.wrong[version] = next(wrong)
        what, names = version.what, versus(version.what, against.what)
        self.steps.append(ComparisonStep(what, against.what, found.comparison, found.error, found.by_case))
        if found.agreement.note:
            self._watch.noted(f"{what}: {found.agreement.note}")
        for case, each in found.by_case:
            if each.comparison is not None:
                self._watch.compared(f"{names}, --dim {case}", each.comparison)
        if found.comparison is not None:
            self._watch.compared(names, found.comparison)
        else:
            self._watch.noted(f"{what}: {found.error}")


def applied(
    to: Compiling, changes: Sequence[Change], sources: Sequence[CandidateSource], workers: Calls,
    folder: Path,
) -> Compiling:  # fmt: skip
    """A program with changes, each made by its source. Raises TunerError if a file cannot be written."""
    for source in sources:
        if own := [each for each in changes if each.source == source.name]:
            to = source.apply(to, own, workers, folder)
    return to


def _provided_form(program: Program, target: Target) -> Program | None:
    """The program with memory from its caller; None if it is compared without."""
    if target.device is None or not kind_of_device(target.device).varying_allocations:
        return None
    try:
        return None if own_target(program.data, program.name) else with_provided_memory(program)
    except TunerError:  # it does not know how much memory its results take
        return None


def depth_of(program: Program, lab: Lab) -> ErrorDepth:
    """Where errors of a program's results come from."""
    dispatches = extract(program, lab.target, lab.compilers).dispatches
    lengths = [each.workload.reduction_length for each in dispatches if each.workload is not None]
    return ErrorDepth(max(lengths, default=1), max(1, len(dispatches)))


def widened_of(program: Program, lab: Lab) -> bytes:
    """A program with f32 instead of f16 and bf16; empty if it has none, or does not compile."""
    return _made(submit_widened(program, lab.target, lab.compilers), lab)


def _made(widened: Future[bytes], lab: Lab) -> bytes:
    """The widened program; empty if its compiler died, or a request to stop came first."""
    try:
        end = lab.compilers.end(widened)
    except CancelledError:
        return b""
    return end.value if isinstance(end, Ok) else b""


def with_spec(program: Program, spec: bytes) -> Program:
    """The program with a spec inside, after one that it may carry."""
    return replace(program, data=embed_bytes(program.data, spec, name=program.name))


def with_entries(program: Program, entries: Sequence[SpecEntry], context: ir.Context) -> Program:
    """The program with a spec of these entries inside; itself without any."""
    return with_spec(program, to_bytecode(build_spec(entries, context))) if entries else program


def placed_program(program: Program, placement: int) -> Program:
    """The program with its code at another address (`measure.candidate`): its module has a longer name."""
    if placement == 0:
        return program
    module = parse_module(program.data, new_context(), program.name)
    attributes = module.operation.attributes
    name = ir.StringAttr(attributes["sym_name"]).value if "sym_name" in attributes else "module"
    attributes["sym_name"] = ir.StringAttr.get(name + "_" * (placement * STEP_BYTES), module.context)
    return replace(program, data=to_bytecode(module))
