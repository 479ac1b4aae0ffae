"""Kernels compared with the compiler's code: problems alone in contests, then the program with the winners.

A contest compares a kernel's variants on one problem alone with the compiler's code, default and tuned.
Problems are found, and kernels are chosen, as when a program is tuned (`source`).

Layer by layer, a comparison shows where results begin to differ. The result of each layer that a kernel
computes becomes an additional result of the program, which runs with and without kernels on the same inputs.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from iree.compiler import ir
from iree.compiler.dialects import iree_codegen, util

from iree_tuner.compiler.context import to_bytecode
from iree_tuner.compiler.unbound import attribute_from
from iree_tuner.compiler.worker import Calls, WorkerError
from iree_tuner.device.numerics import Agreement, compare
from iree_tuner.device.program_loaded import LoadedProgram
from iree_tuner.device.program_run import ProgramRun
from iree_tuner.device.slack import ErrorDepth
from iree_tuner.errors import TunerError
from iree_tuner.kernels.find import Place
from iree_tuner.kernels.kernel import Knobs, Problem
from iree_tuner.kernels.site import Site, find_results
from iree_tuner.kernels.source import Chosen, Competitors, Kernels, changes_of, chosen_in
from iree_tuner.kernels.spec import save_kernel_spec
from iree_tuner.kernels.variants import KernelVariants
from iree_tuner.measure.program import ProgramComparison
from iree_tuner.measure.statistics import Comparison, JudgePlan
from iree_tuner.ops.family import ROOT
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.program.harness import run_passes
from iree_tuner.program.phases import compiled_to
from iree_tuner.program.source import Program
from iree_tuner.space.configuration import Configuration, OpConfiguration
from iree_tuner.spec.entry import read_flags
from iree_tuner.spec.external import SPEC_FLAG, count_calls
from iree_tuner.spec.grammar import COMPILATION_INFO
from iree_tuner.spec.io import load_spec, read_starters
from iree_tuner.store.trial import Trial
from iree_tuner.targets import Target, with_flags
from iree_tuner.tuning.baseline import Task
from iree_tuner.tuning.engine import play
from iree_tuner.tuning.finals import Final, FinalPlan, play_searches
from iree_tuner.tuning.jobs import Build, Compare, Jobs, result, results
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.observer import Silent
from iree_tuner.tuning.records import Records
from iree_tuner.tuning.result import Competitor, WorkloadResult
from iree_tuner.tuning.search import Search
from iree_tuner.tuning.source import CandidateSource
from iree_tuner.tuning.versions import (
    Change,
    ComparisonPlan,
    Compiling,
    ProgramVersion,
    ProgramVersions,
    with_spec,
)

_BATCH_S = 0.05

TUNED = "tuned"
_FINALISTS = 3
ROUNDS = 64  # the most interleaved pairs of a comparison
_FINALS_PART = 0.3  # of the contests' time
_JUDGED_S = 120.0  # the most time of a comparison

_UNPLAYED = Final(None, None)
_NONE: Mapping[str, Configuration] = {}

Watch = Callable[[str], None]
"""A function that gets messages of progress, one line each."""


@dataclass(frozen=True)
class Contest:
    """The results of a kernel on a problem alone.

    Attributes:
        kind: the kernel's variants; None if the problem cannot be timed alone.
        trials: all trials of variants.
        final: the winner of the finals, compared with the compiler's default; none if no variant is correct.
        tuned: a tuned configuration compared with the compiler's default, if there is one.
        over_tuned: the winner compared with the tuned configuration.
        configured: the tuned configuration, built for the bench; or empty.
        note: why there was no contest, or that the default's results differ from the CPU's.
    """

    place: Place
    site: Site
    kernel: str
    kind: KernelVariants | None = None
    trials: tuple[Trial, ...] = ()
    final: Final = _UNPLAYED
    tuned: Comparison | None = None
    over_tuned: Comparison | None = None
    configured: bytes = b""
    note: str = ""

    @property
    def against(self) -> Comparison | None:
        """The winner compared with the compiler's best code."""
        return self.over_tuned or self.final.comparison

    @property
    def wins(self) -> bool:
        return self.against is not None and self.against.verdict == "win"

    @property
    def knobs(self) -> Knobs:
        """Those of the winner; none if no variant is correct."""
        return dict(self.final.winner.assignment) if self.final.winner is not None else {}

    @property
    def result(self) -> WorkloadResult | None:
        """As a run has it, to choose kernels by."""
        if self.kind is None:
            return None
        final = replace(self.final, comparison=self.against)
        own = Competitor(self.kind, self.trials, final)
        return WorkloadResult(Task(self.kind.competes_for, ()), 0.0, competitors=(own,))


def hold_contests(
    found: Competitors, lab: Lab, records: Records, *, tuned: Mapping[str, Configuration] = _NONE,
    rounds: int = ROUNDS, seconds: float = math.inf, watch: Watch = lambda _: None,
) -> list[Contest]:  # fmt: skip
    """A contest for each pair of `found.outlook`, in order: try variants, check the best, compare them.

    The kernels take turns. Variants that the records know are not tried again. Ctrl-C ends the search early,
    and what was tried is judged.

    Args:
        found: the kernels.
        lab: where variants are built and timed.
        records: keep the trials; no variant begins after a stop is requested there.
        tuned: configurations to compare with too, by the workload's key.
        rounds: the most interleaved pairs of a comparison.
        seconds: for all contests. The last part is kept for the finals, which are cut short if needed.
        watch: called with messages of progress.

    Raises:
        DeviceLostError: the device does not run a default any more.
    """
    start = time.monotonic()
    searches = {
        Search(kind, kind.strategy("", 0), records, cap=found.most): kind.prepared.site.problem.name
        for kind in found.kinds
        if isinstance(kind, KernelVariants)
    }

    def tried(search: Search) -> None:
        of = f"{search.tried} of {min(search.kind.size, search.cap)} variants"
        watch(f"{search.kind.name} on {searches[search]}: {of}")

    def plan(_: Search, left: int) -> FinalPlan:
        watch("final comparison")
        left_s = max(0.0, start + seconds - time.monotonic()) / left
        return FinalPlan(_FINALISTS, 1, rounds, min(_JUDGED_S, left_s), least=0.0)

    until = start + (1.0 - _FINALS_PART) * seconds
    with records.stop as stop:
        finals = play_searches([*searches], lab, stop, plan, until, tried)
        left = iter(searches)
        contests = [
            Contest(place, site, kernel.name, note=kind)
            if isinstance(kind, str)
            else _judged(Contest(place, site, kernel.name, kind), next(left), finals, stopped=stop.requested)
            for (place, site, kernel), kind in zip(found.outlook.pairs, found.kinds, strict=True)
        ]
        each_s = max(0.0, start + seconds - time.monotonic()) / (2 * max(1, len(contests)))
        judging = JudgePlan(rounds, seconds=min(_JUDGED_S, each_s))
        judged = play(lab, [_beside_tuned(each, tuned, lab, judging) for each in contests])
    return [now or before for now, before in zip(judged, contests, strict=True)]


def _judged(contest: Contest, search: Search, finals: Mapping[Search, Final], *, stopped: bool) -> Contest:
    if not search.trials:
        why = "interrupted" if stopped else "the time was used up"
        return replace(contest, note=f"not tried: {why}")
    contest, final = replace(contest, trials=tuple(search.trials)), finals[search]
    if final.winner is None:
        return replace(contest, note="no variant computes correct results")
    return replace(contest, final=final, note=final.note)


def _beside_tuned(
    contest: Contest, tuned: Mapping[str, Configuration], lab: Lab, judging: JudgePlan
) -> Jobs[Contest]:
    """With the comparisons of a tuned configuration, if there is one and it can be compared."""
    kind, best = contest.kind, contest.final.built
    if kind is None or best is None or (configuration := tuned.get(kind.workload)) is None:
        return contest
    submit = partial(lab.builder.submit, kind.bench.harness, configuration)
    configured = yield from result(Build(submit, lab.builder.result))
    if configured.outcome != "ok":
        note = f"the tuned configuration fails ({configured.outcome}): {configured.message}"
        return replace(contest, note=note)
    try:
        over_default, over_tuned = yield from results([
            Compare(kind.bench, [(kind.bench.default, [configured.vmfb])], judging),
            Compare(kind.bench, [(configured.vmfb, [best.vmfb])], judging),
        ])  # fmt: skip
    except WorkerError as error:
        return replace(contest, note=f"not compared with the tuned configuration: {error}")
    return replace(contest, tuned=over_default[0], over_tuned=over_tuned[0], configured=configured.vmfb)


def configurations_of(specs: Sequence[Path], context: ir.Context) -> Mapping[str, Configuration]:
    """The first configuration that specs have for each workload, by its key."""
    found: dict[str, Configuration] = {}
    with context:
        for key, starters in read_starters(specs, context).items():
            info = iree_codegen.CompilationInfoAttr.get(
                attribute_from(starters[0].lowering_config), attribute_from(starters[0].translation_info)
            )
            found[key] = Configuration((OpConfiguration.of(ROOT, COMPILATION_INFO, info),))
    return found


class TuningSpec(CandidateSource):
    """A tuning spec as the only change of a program, with the flags that it names. Raises TunerError."""

    name = "spec"
    noun = "spec"

    def __init__(self, path: Path, context: ir.Context) -> None:
        spec = load_spec(path, context)
        self._data, self._flags = to_bytecode(spec), read_flags(spec)

    def version(self, target: Target) -> ProgramVersion:
        """The program with it."""
        change = Change(self.name, "", TUNED)
        return ProgramVersion(TUNED, with_flags(target, self._flags), changes=(change,))

    def apply(self, to: Compiling, changes: Sequence[Change], workers: Calls, folder: Path) -> Compiling:
        return replace(to, program=with_spec(to.program, self._data))


@dataclass(frozen=True)
class InProgram:
    """The comparison of a program with and without kernels.

    Attributes:
        versions: all versions, compared with the default in interleaved rounds, or with the reason why not.
        best: the fastest version that wins against the default, or None.
        over_tuned: the best version compared with the tuned program, if the best has kernels and both exist.
    """

    versions: tuple[tuple[ProgramVersion, ProgramComparison], ...]
    best: ProgramVersion | None = None
    over_tuned: ProgramComparison | None = None

    @property
    def chosen(self) -> Chosen:
        """The kernels of the best version; empty if it is not faster than the tuned program."""
        over = self.over_tuned.comparison if self.over_tuned else None
        if self.best is None or (self.over_tuned and (over is None or over.verdict != "win")):
            return []
        return chosen_in(self.best.changes)

    @property
    def is_tuned(self) -> bool:
        return self.best is not None and self.best.what.startswith(TUNED)


def compare_in_program(
    program: Program, run: ProgramRun, choices: Mapping[str, Chosen], spec: TuningSpec | None, lab: Lab,
    rounds: int = ROUNDS, seconds: float = math.inf,
) -> InProgram:  # fmt: skip
    """Compare the whole program with itself with each choice of kernels, untuned and tuned.

    Args:
        program: the program.
        run: functions, inputs and parameters.
        choices: of kernels, by name (`Competitors.choices`).
        spec: the tuning spec, if there is one.
        lab: where the program is compiled and run.
        rounds: the most interleaved pairs of a comparison.
        seconds: for all comparisons; each has at least one pair.

    Raises:
        TunerError: the default does not compile or run.
    """
    default, tuned = ProgramVersion("default", lab.target), [] if spec is None else [spec.version(lab.target)]
    versions = [*tuned]
    for base in (default, *tuned):
        for name, chosen in choices.items():
            what = name if base == default else f"{base.what} with {name}"
            versions.append(replace(base, what=what, changes=(*base.changes, *changes_of(chosen))))
    every = [site for chosen in choices.values() for site, _ in chosen]
    most_s = min(_JUDGED_S, max(0.0, seconds) / (len(versions) + 1))
    # Errors add up from one op to the next.
    depth = ErrorDepth(max(site.problem.workload.reduction_length for site in every), len(every))
    sources, plan = [*([spec] if spec else []), Kernels()], ComparisonPlan(1, rounds, _BATCH_S, most_s)
    with tempfile.TemporaryDirectory(prefix="iree_tuner_") as folder:
        whole = ProgramVersions(program, run, lab, Silent(), depth, sources=sources, folder=Path(folder))
        found = tuple(zip(versions, whole.compare(default, versions, plan), strict=True))
        best, compared = max(found, key=lambda each: _speedup(each[1]))
        if compared.comparison is None or compared.comparison.verdict != "win":
            return InProgram(found)
        if not tuned or not chosen_in(best.changes) or found[0][1].comparison is None:
            return InProgram(found, best)
        return InProgram(found, best, whole.compare(tuned[0], [best], plan)[0])


def _speedup(found: ProgramComparison) -> float:
    """The speedup over the default; 0 if the version does not run or is wrong."""
    return found.comparison.speedup if found.comparison and found.ok else 0.0


Array = npt.NDArray[Any]

_LETTERS = {"float32": "f32", "float16": "f16", "float64": "f64", "bfloat16": "bf16"}
_OWN = -1  # a result of the program itself


@dataclass(frozen=True)
class LayerError:
    """The difference of a layer's result with kernels from the result without.

    Attributes:
        name: name of the problem; `result 0` for the program's own results.
        before: number of layers before it, whose differences it may contain.
        largest: the largest difference.
        relative: the largest difference divided by the largest value.
        worst: the largest difference as a multiple of the tolerance for the sums of this layer and of the
            layers before it. Up to 1, another order of summation explains it.
        message: place and values of the difference; empty if all values are within the tolerance.
        overflown: the share of values that are infinite or NaN without kernels.
    """

    name: str
    before: int
    largest: float
    relative: float
    worst: float
    message: str = ""
    overflown: float = 0.0

    @property
    def explained(self) -> bool:
        return self.worst <= 1.0


@dataclass(frozen=True)
class Exposed:
    """A compiled program with more results.

    Attributes:
        outputs: for each result the number of its case, or -1 for the program's own results.
        calls: number of dispatches that run kernels.
    """

    vmfb: bytes
    outputs: tuple[int, ...]
    calls: int


def compare_layers(
    program: Program, chosen: Chosen, executable_target: str, lab: Lab, run: ProgramRun
) -> list[LayerError]:
    """Compare the results of all layers that kernels compute, and of the program, with and without kernels.

    `executable_target` is the one of kernels (`find.Places.target`). Raises TunerError if the program does
    not compile or run.
    """
    cases = tuple(site.case for site, _ in chosen)
    with tempfile.TemporaryDirectory(prefix="iree_tuner_") as name:
        folder = Path(name)
        save_kernel_spec(chosen, executable_target, lab.context, folder / "kernels.mlir")
        flagged = with_flags(lab.target, (f"{SPEC_FLAG}={folder / 'kernels.mlir'}",))
        found: list[Exposed] = []
        paths: list[str] = []
        for number, target in enumerate((lab.target, flagged)):
            found.append(lab.compilers.call(expose_here, program.data, program.name, target, cases))
            paths.append(str(folder / f"{number}.vmfb"))
            Path(paths[-1]).write_bytes(found[-1].vmfb)
        outputs = found[-1].outputs
        wanted = sum(number != _OWN for number in outputs)
        if (calls := found[-1].calls) < wanted:
            message = f"with more results, the program calls kernels {calls} times, not {wanted} times"
            raise TunerError(message, location=program.name)
        problems = [site.problem for site, _ in chosen]
        measurer = lab.measurer
        return measurer.workers.call(
            compare_here, paths, measurer.device, run, outputs, problems, timeout_s=600.0
        )


def expose_here(data: bytes, name: str, target: Target, cases: Sequence[bytes]) -> Exposed:
    """Compile a program whose functions also return the results of some sites. Runs in workers."""
    session, module = compiled_to("input", data, name, target)
    with session.context, ir.Location.unknown():
        run_passes(module, session, "builtin.module(cse)")  # as one phase later, where sites are found
        results = find_results(module, cases)
        outputs: list[int] = []
        for function in ir.get_ops_of_type(module, util.FuncOp):
            visibility = function.operation.attributes.get("sym_visibility", None)
            if visibility is None or ir.StringAttr(visibility).value == "public":
                outputs += _return_more(function.operation, results)
        session.run(module, start="input", stop="flow")
        calls = count_calls(module)
        return Exposed(session.to_vmfb(module, start="flow"), tuple(outputs), calls)


def _return_more(function: ir.Operation, results: Sequence[tuple[int, ir.Operation]]) -> list[int]:
    block = function.regions[0].blocks[0]
    last = block.operations[len(block.operations) - 1].operation
    mine = [(number, op) for number, op in results if op.parent == function]
    values = [*last.operands, *(op.result for _, op in mine)]
    own = len(last.operands)
    with ir.InsertionPoint(last):
        util.ReturnOp(values)
    last.erase()
    inputs = [each.type for each in block.arguments]
    kind = ir.FunctionType.get(inputs, [each.type for each in values])
    function.attributes["function_type"] = ir.TypeAttr.get(kind)
    return [_OWN] * own + [number for number, _ in mine]


def compare_here(
    paths: Sequence[str], device: str, run: ProgramRun, outputs: Sequence[int], problems: Sequence[Problem]
) -> list[LayerError]:
    """Run both programs on inputs of each kind, and compare all results, layers first.

    Runs in a measuring worker.
    """
    without, with_ = (LoadedProgram(path, device, run).results() for path in paths)
    if len(without[0]) != len(outputs) or len(with_[0]) != len(outputs):
        raise TunerError("comparing layers needs all functions: do not pass a function name")
    length = max(problem.workload.reduction_length for problem in problems)
    layers: list[LayerError] = []
    every = list(zip(outputs, zip(*without, strict=True), zip(*with_, strict=True), strict=True))
    for number, expected, got in sorted(every, key=lambda each: each[0] == _OWN):
        before = len(layers)
        blank = LayerError(
            f"result {sum(each.name.startswith('result') for each in layers)}", before, 0.0, 0.0, 0.0
        )
        accumulator, reach = "f32", length * max(1, before) ** 2
        element = _LETTERS.get(str(expected[0].dtype), f"i{expected[0].dtype.itemsize * 8}")
        if number != _OWN:
            problem = problems[number]
            blank = replace(blank, name=problem.name)
            element, accumulator = problem.result.element_type, str(problem.workload.types[-1])
            reach = max(reach, problem.workload.reduction_length)
        seen = [
            _differ(ours, theirs, blank, compare(ours, theirs, element, Tolerance(accumulator, reach)))
            for ours, theirs in zip(got, expected, strict=True)
        ]
        layers.append(max(seen, key=lambda each: (each.worst, each.relative)))
    return layers


def _differ(got: Array, expected: Array, blank: LayerError, found: Agreement) -> LayerError:
    """The difference of two results. Values that overflow in both do not count."""
    ours, theirs = got.astype(np.float64), expected.astype(np.float64)
    same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    with np.errstate(invalid="ignore"):
        apart = np.where(same, 0.0, np.abs(ours - theirs))
    largest = float(np.max(np.nan_to_num(apart, nan=np.inf, posinf=np.inf), initial=0.0))
    top = float(np.max(np.abs(theirs[np.isfinite(theirs)]), initial=0.0))
    overflown = theirs.size - int(np.isfinite(theirs).sum())
    return replace(
        blank, largest=largest, relative=largest / top if top else 0.0, worst=found.worst,
        message="" if found.ok else found.message, overflown=overflown / max(1, theirs.size),
    )  # fmt: skip
