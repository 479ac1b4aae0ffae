"""Differential testing of the compiler: programs' dispatches, with configurations, against a reference.

A dispatch is compiled as the compiler chooses and with legal configurations of its space, run, and compared
as in a tuning run. A crash, a refusal, a hang or another result is a defect. It is written as a program that
has the configuration in it, and made smaller (`reduce`) by testing the rest again.
"""

from __future__ import annotations

import hashlib
import random
import shlex
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

from iree.compiler import ir
from iree.compiler.dialects import func, iree_codegen

from iree_tuner.compiler.context import new_context, ops_in, walk
from iree_tuner.compiler.session import CompileError
from iree_tuner.compiler.task import Timeout, WorkerError
from iree_tuner.compiler.unbound import attribute_from
from iree_tuner.device.bench import Bench
from iree_tuner.device.outcome import DEFAULT_WRONG, Outcome
from iree_tuner.errors import TunerError
from iree_tuner.files import write
from iree_tuner.measure.candidate import Built, put_in_place
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.program.carried import COMPILATION_INFO, DECOMPOSITION_CONFIG, LOWERING_CONFIG, carrying
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.extract import extract
from iree_tuner.program.source import Program
from iree_tuner.reduce.reducer import Answer, CommandJudge, InWorkers, Reducer
from iree_tuner.space.configuration import Configuration, OpConfiguration
from iree_tuner.space.verify.constraints import Constraints
from iree_tuner.store.causes import cause_of
from iree_tuner.targets import Target
from iree_tuner.tuning.baseline import build_default, tolerance_of
from iree_tuner.tuning.device import DeviceLostError
from iree_tuner.tuning.engine import Engine
from iree_tuner.tuning.jobs import Agree, Build, Jobs, Time, TimeDefault, result, results
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.stop import StopRequest

_WORDS = {
    "compile_error": "does not compile", "compile_crash": "crashes the compiler",
    "compile_timeout": "compiles for too long", "not_applied": "is dropped by the compiler",
    "run_error": "does not run", "run_crash": "crashes when it runs", "run_timeout": "hangs when it runs",
    "wrong_result": "computes something else",
}  # fmt: skip
_DISPATCH = "iree_tensor_ext.dispatch.tensor"
_UNKNOWN = "expected nan"


@dataclass(frozen=True)
class Defect:
    """A fault of one way to compile an operation."""

    operation: str  # its name
    family: str  # of the dispatch's root op; empty without one
    own: bool  # whether it is the compiler's own choice
    outcome: Outcome
    message: str
    program: str  # MLIR, with the configuration on its op unless it is the compiler's own choice

    @property
    def kind(self) -> str:
        """Equal for defects that are probably one; in the output, by which a smaller program is judged."""
        who = "the compiler's choice" if self.own else "a legal configuration"
        known = self.outcome in ("wrong_result", "compile_timeout", "run_timeout")
        return f"{who} {_WORDS[self.outcome]}{'' if known else ': ' + cause_of(self.outcome, self.message)}"

    @property
    def key(self) -> tuple[str, str]:
        """Equal for defects of which one is enough."""
        return self.kind, self.family

    @property
    def file(self) -> str:
        """The name of its file without a suffix, the same in each run."""
        digest = hashlib.sha256("".join(self.key).encode()).hexdigest()[:8]
        return f"{self.outcome}-{self.operation.removesuffix('.mlir')[:80]}-{digest}"


@dataclass(frozen=True)
class Fuzzer:
    """Tests programs on a lab; `samples` configurations of each dispatch are drawn with the seed."""

    lab: Lab
    stop: StopRequest
    samples: int
    seed: int
    runs: bool = True  # whether what compiles is run

    def defects(self, name: str, text: str) -> list[Defect]:
        """The defects of a program, each kind once."""
        try:
            program, _ = carrying(Program(name, text.encode()))
            dispatches = extract(program, self.lab.target, self.lab.compilers).dispatches
        except (CompileError, WorkerError) as error:
            outcome = "compile_error"
            if isinstance(error, WorkerError):
                outcome = "compile_timeout" if isinstance(error.end, Timeout) else "compile_crash"
            return [Defect(name, "", True, outcome, str(error), text)]
        jobs = [self._tested(name, text, each) for each in dispatches if each.harness is not None]
        every = [each for found in Engine(self.lab, self.stop).play(jobs) for each in found or ()]
        kinds = list({each.key: each for each in reversed(every)}.values())[::-1]
        return [each for each in kinds if not self.samples or self._lasts(each)]

    def _lasts(self, defect: Defect) -> bool:
        """Whether it shows again, if it is one of time: a busy machine may be slow once."""
        if not defect.outcome.endswith("_timeout") or self.stop.requested:
            return True
        again = replace(self, samples=0).defects(defect.operation, defect.program)
        return any(each.kind == defect.kind for each in again)

    def _tested(self, name: str, text: str, dispatch: Dispatch) -> Jobs[list[Defect]]:
        assert dispatch.harness is not None, "only those that run are tested"
        workload, builder = dispatch.workload, self.lab.builder
        tolerance = tolerance_of(workload) if workload is not None else Tolerance()
        default, bench = yield from build_default(dispatch.harness, tolerance, self.lab)
        tried = list(dict.fromkeys((*_carried(dispatch, self.lab.context), *self._drawn(dispatch))))
        begin = [partial(builder.submit, dispatch.harness, each) for each in tried]
        built = yield from results([Build(each, builder.result) for each in begin])
        found: list[Defect] = []
        runs = self.runs and default.outcome == "ok"
        for configuration, each in zip((None, *tried), (default, *built), strict=True):
            outcome, message = each.outcome, each.message
            if outcome == "ok" and runs:
                outcome, message = yield from _ran(bench, each, own=configuration is None)
            if configuration is None and outcome not in ("ok", "wrong_result"):
                runs = False
            if outcome in _WORDS:
                shown = configuration and alone(dispatch, configuration)
                family = workload.family if workload is not None else ""
                found.append(Defect(name, family, configuration is None, outcome, message, shown or text))
        return found

    def _drawn(self, dispatch: Dispatch) -> Iterator[Configuration]:
        """Legal configurations of its spaces, which take turns."""
        if not self.samples:
            return
        constraints = Constraints.of(dispatch, self.lab.target, self.lab.context, self.lab.compilers)
        source = random.Random(f"{self.seed} {dispatch.name}")
        drawn = [space.shuffled(source.getrandbits(32)) for space in constraints.spaces]
        for place in range(self.samples if drawn else 0):
            for each in islice(drawn[place % len(drawn)], 1):
                yield constraints.spaces[place % len(drawn)].configuration(each)


def _ran(bench: Bench, built: Built, *, own: bool) -> Jobs[tuple[Outcome, str]]:
    """How an executable runs, and whether its results are right."""
    try:
        timing = yield from result(TimeDefault(bench) if own else Time(bench, built))
    except DeviceLostError as error:
        return "run_error", str(error)
    timed = timing.timed
    if timed.outcome not in ("ok", "too_slow", "wrong_result"):
        return timed.outcome, timed.message
    agreement = yield from result(Agree(bench, built.vmfb))
    if not own:  # where the compiler's own choice is wrong too, that is the defect
        right = agreement.ok or DEFAULT_WRONG in agreement.message
        return ("ok", "") if right else ("wrong_result", agreement.message)
    wrong = next((each for each in (timed.message, agreement.note) if DEFAULT_WRONG in each), "")
    # The reference has no number where a program reads what was never written.
    return ("wrong_result", wrong) if wrong and _UNKNOWN not in wrong else ("ok", "")


def _carried(dispatch: Dispatch, context: ir.Context) -> Iterator[Configuration]:
    """The configuration that a program has on the dispatch's ops."""
    ops: list[OpConfiguration] = []
    with context, ir.Location.unknown():
        for each in (one for one in dispatch.carried if one.label):
            lowering, name = attribute_from(each.lowering), LOWERING_CONFIG
            if each.translation:
                translation = attribute_from(each.translation)
                lowering, name = iree_codegen.CompilationInfoAttr.get(lowering, translation), COMPILATION_INFO
            ops.append(OpConfiguration.of(each.label, name, lowering))
            if each.decomposition:
                ops.append(OpConfiguration(each.label, DECOMPOSITION_CONFIG, each.decomposition))
    if ops:
        yield Configuration(tuple(ops))


def alone(dispatch: Dispatch, configuration: Configuration) -> str:
    """A dispatch with a configuration as a program: a function of what it loads, to what it stores.

    Its ops are in a region, so that they stay together.

    Empty for one that also uses its buffers in another way.
    """
    assert dispatch.harness is not None, "it was compiled"
    with new_context(), ir.Location.unknown():
        # IR as text: harnesses are stored as bytecode
        module = ir.Module.parse(dispatch.harness.module)
        put_in_place(module, configuration)
        old = next(op for op in walk(module.operation) if op.name == "func.func")
        every = ops_in(old.regions[0].blocks[0])[:-1]
        loads = [op for op in every if op.name == f"{_DISPATCH}.load"]
        stores = [op for op in every if op.name == f"{_DISPATCH}.store"]
        buffers = [op for op in every if op.name.startswith("hal.")]
        users = [use.owner.name for op in buffers for result in op.results for use in result.uses]
        if not all(name.startswith(f"{_DISPATCH}.") for name in users):
            return ""
        taken, given = [op.results[0].type for op in loads], [op.operands[0].type for op in stores]
        made = ir.Module.create()
        with ir.InsertionPoint(made.body):
            main = func.FuncOp("main", ir.FunctionType.get(taken, given))
        with ir.InsertionPoint(main.add_entry_block()):
            region = ir.Operation.create("flow.dispatch.region", results=given, regions=2)
            func.ReturnOp(region.results)
        with ir.InsertionPoint(region.regions[0].blocks.append()):
            end = ir.Operation.create("flow.return", operands=[op.operands[0] for op in stores])
        for load, argument in zip(loads, main.arguments, strict=True):
            load.results[0].replace_all_uses_with(argument)
        for op in every:
            if op not in (*loads, *stores, *buffers):
                op.move_before(end)
        for op in stores:
            op.erase()
        return made.operation.get_asm(enable_debug_info=False)


def command(target: str | None, device: str) -> str:
    """Asks again about a program, `{}`: about the compiler's choice and the configuration that it has."""
    where = f"--target {target}" if target else f"--device {device}"
    return f"iree-tuner verify --fuzz {{}} --samples 0 --jobs 1 {where}"


def written(folder: Path, defect: Defect, target: Target, asked: str, suffix: str = ".mlir") -> Path:
    """Write a defect as a program that says how to show it."""
    path = folder / f"{defect.file}{suffix}"
    flags = " ".join(map(shlex.quote, target.flags))
    said = " ".join(defect.message.split())[:300]
    lines = (
        defect.kind,
        said,
        f"{asked.format(path.name)}",
        f"iree-compile {path.name} {flags} -o /dev/null",
    )
    write(path, "".join(f"// {each}\n" for each in lines) + defect.program)
    return path


class _Again(InWorkers):
    """Candidates judged by testing them again: whether they show a kind of defect."""

    def __init__(self, fuzzer: Fuzzer, kind: str) -> None:
        super().__init__(CommandJudge(""), 1, 0.0)
        self._fuzzer = replace(fuzzer, samples=0)
        self._kind = kind

    def judged(self, contents: Sequence[bytes], suffix: str = ".mlir") -> Generator[Answer]:
        for content in contents:
            try:
                kinds = [each.kind for each in self._fuzzer.defects("candidate", content.decode())]
            except TunerError as error:  # it is no program any more
                kinds = [str(error)]
            yield Answer(self._kind in kinds, None, "; ".join(kinds))


def reduced(defect: Defect, fuzzer: Fuzzer) -> Defect:
    """The smallest program that was found to show a defect of this kind. Raises TunerError if it does not."""
    with _Again(fuzzer, defect.kind) as again:
        reducer = Reducer(again)
        lab = fuzzer.lab
        with fuzzer.stop.cancelling(again.editors, lab.compilers, lab.measurer.workers):
            reducer.run(Program(defect.operation, defect.program.encode()))
    if reducer.smallest is None:
        raise TunerError("stopped")
    return replace(defect, program=reducer.smallest.text)
