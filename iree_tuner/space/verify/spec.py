"""The configurations that a tuning spec sets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen

from iree_tuner.compiler.context import to_bytecode, walk
from iree_tuner.compiler.worker import WorkerError, Workers
from iree_tuner.errors import TunerError
from iree_tuner.program.carried import place_of
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.extract import extract
from iree_tuner.program.source import Program
from iree_tuner.space.chosen import Written
from iree_tuner.space.verify.constraints import ConfigurationFinding, Constraints, Verified, VerifyReport
from iree_tuner.space.verify.stand_in import stand_in
from iree_tuner.spec.grammar import COMPILATION_INFO, Pair, pairs
from iree_tuner.spec.probe import instrument, matched
from iree_tuner.targets import Target

_CONSTANT = "transform.param.constant"
_NO_HIT = "its matcher hits no dispatch of the program"
_NO_HIT_ALONE = (
    "its matcher does not hit the op generated from it: name a program that contains it (--program)"
)


def verify_spec(
    spec: ir.Module,
    target: Target,
    *,
    name: str,
    program: Program | None = None,
    workers: Workers | None = None,
) -> VerifyReport:
    """Judge every configuration that a spec sets, for the ops that its matchers hit. None is compiled.

    Args:
        spec: it stays as it is.
        target: what it is for.
        name: what locations call the spec.
        program: where the ops are. Without, each op is made from its matcher.
        workers: to compile in, up to dispatches; one is started and stopped when not given.

    Raises:
        TunerError: the program does not compile without a spec, or the compiler crashed.
    """
    if workers is None:
        with Workers(1) as own:
            return verify_spec(spec, target, name=name, program=program, workers=own)
    found = pairs(spec)
    reasons: dict[int, str] = {}
    missed = _NO_HIT
    if program is None:
        data, reasons = stand_in(found, spec.context)
        program, missed = Program(f"<ops of {name}>", data), _NO_HIT_ALONE
    hits: dict[int, list[str]] = defaultdict(list)
    dispatches: tuple[Dispatch, ...] = ()
    if len(reasons) < len(found):
        for place, executable in _hits(spec, program, target, workers):
            hits[place].append(executable)
        dispatches = extract(program, target, workers).dispatches
    judge = _Judge(dispatches, target, spec.context, workers)
    return VerifyReport(
        tuple(
            verified
            for place, pair in enumerate(found)
            for setting in _settings(pair, name)
            for verified in judge.on(setting, hits.get(place, []), reasons.get(place, missed))
        )
    )


def _hits(spec: ir.Module, program: Program, target: Target, workers: Workers) -> tuple[tuple[int, str], ...]:
    marks = to_bytecode(instrument(spec, mark_only=True).spec)
    try:
        return workers.call(matched, program.data, program.name, marks, target)
    except WorkerError as error:
        raise TunerError(f"the compiler crashes on the program with the matchers: {error}") from None


def _settings(pair: Pair, name: str) -> Iterator[tuple[Verified, Written]]:
    """The attributes that a pair sets: the constants of its matcher, or of its action."""
    sequences = [each for each in (pair.matcher_op, pair.action_op) if each is not None]
    constants = [op for each in sequences for op in walk(each) if op.name == _CONSTANT]
    values = [(op, op.attributes["value"]) for op in constants]
    decomposition = next((str(value) for _, value in values if isinstance(value, ir.DictAttr)), "")
    for op, value in values:
        if isinstance(value, iree_codegen.CompilationInfoAttr):
            lowering, translation = str(value.lowering_config), str(value.translation_info)
            empty = Verified(
                COMPILATION_INFO, place_of(op, name), lowering, translation, matcher=pair.matcher
            )
            yield empty, Written(lowering, translation, decomposition)


class _Judge:
    """Judges settings on dispatches, whose constraints are found when they are first needed."""

    def __init__(
        self, dispatches: Sequence[Dispatch], target: Target, context: ir.Context, workers: Workers
    ) -> None:
        self._dispatches = dispatches
        self._arguments = target, context, workers
        self._constraints: dict[str, Constraints] = {}

    def on(
        self, setting: tuple[Verified, Written], executables: Sequence[str], otherwise: str
    ) -> Iterator[Verified]:
        """The setting on each dispatch that is hit; not checked where none is."""
        verified, written = setting
        hit = [each for each in self._dispatches if any(_is_in(each, name) for name in executables)]
        if not hit:
            yield replace(verified, findings=(ConfigurationFinding("unchecked", otherwise),))
        for dispatch in hit:
            if dispatch.name not in self._constraints:
                self._constraints[dispatch.name] = Constraints.of(dispatch, *self._arguments)
            judged = self._constraints[dispatch.name].judge(written)
            workload = dispatch.workload.name if dispatch.workload is not None else ""
            yield replace(
                verified,
                findings=judged.findings,
                dispatch=dispatch.name,
                workload=workload,
                space=judged.space,
            )


def _is_in(dispatch: Dispatch, executable: str) -> bool:
    """Whether an export is of an executable, whose name its own begins with."""
    return dispatch.name == executable or dispatch.name.startswith(f"{executable}_")
