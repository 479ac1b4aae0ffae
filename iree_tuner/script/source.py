"""Codegen scripts as candidates for a program's workloads, and the program with the scripts that win."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import cast

from iree.compiler import ir
from iree.compiler.dialects import transform

from iree_tuner.compiler.context import new_context, symbol_of, to_bytecode
from iree_tuner.errors import TunerError
from iree_tuner.ops.family import ROOT, family
from iree_tuner.ops.workload import Workload
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.script.build import lowered_here
from iree_tuner.script.choices import ScriptChoices, Subject, subject_of
from iree_tuner.script.script import ENTRY, Script, load_script, shipped
from iree_tuner.spec.grammar import ENTRYPOINT
from iree_tuner.tuning.baseline import Task
from iree_tuner.tuning.candidate import CandidateKind
from iree_tuner.tuning.engine import play
from iree_tuner.tuning.result import WorkloadResult
from iree_tuner.tuning.run import Run
from iree_tuner.tuning.source import CandidateSource, Found
from iree_tuner.tuning.verdict import Tuned
from iree_tuner.tuning.versions import Change, ProgramVersion


@dataclass(frozen=True)
class FoundScripts(Found):
    """The scripts that lower dispatches of a program: one choice of knobs for each workload."""

    lowered: tuple[tuple[Script, Dispatch], ...] = ()  # a dispatch for each workload
    notes: tuple[str, ...] = ()
    kinds: tuple[ScriptChoices, ...] = ()
    most: float = math.inf  # trials of each

    def prepared(self, run: Run) -> FoundScripts:
        lab = run.lab
        once = list({each.name: each for _, each in self.lowered}.values())
        made = play(lab, [subject_of(each, lab) for each in once])
        subjects = dict(zip((each.name for each in once), made, strict=True))
        kinds: list[ScriptChoices] = []
        notes = list(self.notes)
        for script, each in self.lowered:
            subject = subjects[each.name]
            if isinstance(subject, Subject):
                kinds.append(ScriptChoices(script, [replace(subject, calls=1)], lab, run.records))
            else:
                notes.append(f"{script.name} was not tried on {each.name}: {subject}")
        return replace(self, kinds=tuple(kinds), notes=tuple(notes))

    @property
    def candidates(self) -> Sequence[tuple[CandidateKind, float]]:
        return [(kind, self.most) for kind in self.kinds]

    def count(self, target: object, further: int) -> int:
        return int(bool(self.kinds))

    def versions(self, run: Run, tuned: Tuned, bases: Sequence[ProgramVersion]) -> Sequence[ProgramVersion]:
        """The tuned program with the scripts that win alone, also over the best configuration."""
        found = [change for result in tuned.results if (change := _winner(result)) is not None]
        base, lowered = tuned.version, {workload.key for workload, _ in map(_made, found)}
        # Without the entries of their workloads, because a dispatch is lowered once.
        entries = tuple(each for each in base.entries if each.workload.key not in lowered)
        changes, what = (*base.changes, *found), f"{base.what} and scripts"
        return [replace(base, what=what, entries=entries, changes=changes)] if found else []

    def without(self, version: ProgramVersion, wrong: Collection[str] | None) -> ProgramVersion | None:
        mine = [each for each in version.changes if each.source == Scripts.name]
        right = [each for each in mine if wrong is not None and not set(each.dispatches) & set(wrong)]
        if not right or len(right) == len(mine):
            return None
        others = tuple(each for each in version.changes if each.source != Scripts.name)
        return replace(version, what=f"{version.what} that are right", changes=(*others, *right))


def _winner(result: WorkloadResult) -> Change | None:
    """The fastest script of a workload that wins, also over the best configuration."""
    configured = result.comparison.speedup if result.entry and result.comparison else 1.0
    best: tuple[float, Change] | None = None
    for each in result.competitors:
        kind, comparison, winner = each.kind, each.final.comparison, each.final.winner
        if not isinstance(kind, ScriptChoices) or comparison is None or winner is None:
            continue
        if comparison.verdict == "win" and comparison.speedup > max(configured, best[0] if best else 0.0):
            best = comparison.speedup, change_of(kind.script.chosen(winner.assignment), result.task)
    return best[1] if best else None


def change_of(script: Script, task: Task) -> Change:
    """A script, its knobs chosen, for all dispatches of a workload."""
    knobs = [f"{name}={value}" for name, value in script.defaults.items()]
    return Change(
        Scripts.name, task.workload.name, " ".join([script.name, *knobs]),
        hashlib.sha256(script.data).hexdigest(), (task.workload, script), task.calls,
        tuple(dispatch.name for dispatch in task.dispatches),
    )  # fmt: skip


def _made(change: Change) -> tuple[Workload, Script]:
    return cast("tuple[Workload, Script]", change.made)


class Scripts(CandidateSource):
    """Codegen scripts, by default those that ship. Their knobs are searched for each workload they lower."""

    name = "scripts"
    noun = "codegen script"

    def __init__(self, scripts: Sequence[Script] = ()) -> None:
        self.scripts = tuple(scripts)

    def usual(self, backend: str) -> None:
        """Only where they are asked for."""

    def given(self, value: str) -> Scripts:
        """A file, or the name of a script that ships."""
        return Scripts((*self.scripts, load_script(value)))

    def begin(self, run: Run) -> Callable[[], Found]:
        scripts = self.scripts or tuple(map(load_script, shipped()))
        lab, program = run.lab, run.program
        lowering = [
            lab.compilers.submit(lowered_here, program.data, program.name, lab.target, each.data)
            for each in scripts
        ]

        def found() -> Found:
            lowered: list[tuple[Script, Dispatch]] = []
            notes: list[str] = []
            for script, future in zip(scripts, lowering, strict=True):
                try:
                    names = set(lab.compilers.wait(future))
                except TunerError as error:
                    notes.append(f"{script.name} fails on the program: {error}")
                    continue
                first: dict[str, Dispatch] = {}
                for each in run.dispatches:
                    if each.name in names and each.workload is not None:
                        first.setdefault(each.workload.key, each)
                lowered += [(script, each) for each in first.values()]
            most = math.inf if run.budget.limited else run.effort.trials
            return FoundScripts(tuple(lowered), tuple(notes), most=most)

        return found

    def specs(self, changes: Sequence[Change]) -> Sequence[bytes]:
        """Each script, for the dispatches of its workload only."""
        return [to_bytecode(guarded(script, workload)) for workload, script in map(_made, changes)]


def guarded(script: Script, workload: Workload) -> ir.Module:
    """A script as a tuning spec that lowers only functions with a workload's root op.

    The compiler runs the specs of a program one after the other on the function of each dispatch.
    """
    context = new_context()
    # IR as text: scripts are kept as bytecode
    module = ir.Module.parse(script.data, context)
    with context, ir.Location.unknown(context):
        (entry,) = [op.operation for op in module.body if symbol_of(op.operation) == ENTRY]
        tag = re.sub(r"[^A-Za-z0-9_]", "_", f"{script.name}_on_{workload.name}")
        ir.SymbolTable.set_symbol_name(entry, tag)
        any_op = transform.AnyOpType.get()
        readonly = [{"transform.readonly": ir.UnitAttr.get()}]
        matcher = f"match_{tag}"
        with ir.InsertionPoint(module.body):
            matching = transform.NamedSequenceOp(matcher, [any_op], [any_op], arg_attrs=readonly)
            # Specs that are linked must all consume their argument, or none; entries' `foreach_match` does.
            consumed = [{"transform.consumed": ir.UnitAttr.get()}]
            own = transform.NamedSequenceOp(ENTRY, [any_op], [any_op], arg_attrs=consumed)
        with ir.InsertionPoint(matching.body):
            handles = family(workload.family).matcher(workload, matching.body.arguments[0])
            transform.YieldOp([handles[ROOT]])
        own.operation.attributes[ENTRYPOINT] = ir.UnitAttr.get()
        with ir.InsertionPoint(own.body):
            function = own.body.arguments[0]
            roots = transform.CollectMatchingOp([any_op], function, ir.SymbolRefAttr.get([matcher]))
            each = transform.ForeachOp([], [roots.results[0]])
            body = each.regions[0].blocks[0]
            with ir.InsertionPoint(body):
                around = transform.GetParentOp(any_op, body.arguments[0], op_name="func.func")
                transform.IncludeOp(
                    [], ir.SymbolRefAttr.get([tag]), transform.FailurePropagationMode.Propagate, [around]
                )
                transform.YieldOp([])
            transform.YieldOp([function])
        module.operation.verify()
    return module
