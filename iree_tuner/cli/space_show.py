"""Print a search space."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console

from iree_tuner.cli.output import print_json
from iree_tuner.cli.space_inputs import WorkloadSpaces
from iree_tuner.errors import UsageError
from iree_tuner.space import Assignment, Space
from iree_tuner.space.default import find_default, parse_assignment
from iree_tuner.space.smtlib import smtlib


@dataclass(frozen=True)
class Shown:
    """The parts of a space to print."""

    count: bool
    sample: int
    seed: int
    why: str | None
    smtlib: bool
    mlir: bool
    as_json: bool


def show(given: WorkloadSpaces, built: Space, shown: Shown) -> bool:
    """Print a space. Returns False if `why` names an assignment that is not legal."""
    if shown.why is not None:
        return _show_why(given, built, shown.why, shown.as_json)
    if shown.as_json:
        print_json(_record(given.name, built, shown))
        return True
    console = Console(soft_wrap=True, highlight=False, markup=False)
    if shown.smtlib:
        console.print(smtlib(built.op.operation))
    elif shown.mlir:
        console.print(built.text)
    elif shown.count:
        console.print(f"{given.name}: {built.label}: {built.count()}")
    else:
        _show_all(given, built, shown, console)
    return True


def _show_why(given: WorkloadSpaces, built: Space, text: str, as_json: bool) -> bool:
    if text == "default":
        if given.dispatch is None:
            raise UsageError(
                "--why default requires a program: the compiler chooses nothing for a workload alone"
            )
        dispatch = given.dispatch
        default = find_default(built, dispatch.default, dispatch.pipeline, dispatch.decomposition)
        assignment, reasons = default.assignment, list(default.reasons)
    else:
        assignment = parse_assignment(text)
        reasons = [f"unknown knob '{name}'" for name in assignment if name not in built.names]
        if not reasons:  # where some are open: can they be chosen?
            reasons = built.violations_of_part(assignment)
            assignment = assignment if reasons else built.complete(assignment)
    legal = assignment is not None and not reasons
    if as_json:
        print_json(
            {
                "name": given.name,
                "space": built.label,
                "legal": legal,
                "assignment": dict(assignment) if assignment else None,
                "violations": reasons,
            }
        )
        return legal
    console = Console(soft_wrap=True, highlight=False, markup=False)
    console.print(f"{given.name}: {built.label}: {'legal' if legal else 'illegal'}")
    if assignment is not None and legal:
        console.print(f"  {_line(assignment)}")
    for reason in reasons:
        console.print(f"  {reason}")
    return legal


def _record(name: str, built: Space, shown: Shown) -> dict[str, object]:
    record: dict[str, object] = {
        "name": name,
        "workload": built.workload.key,
        "space": built.label,
        "count": built.count(),
        "knobs": {knob.name: list(knob.values) for knob in built.knobs},
    }
    picked = built.sample(shown.sample, shown.seed) if shown.sample else []
    if picked:
        record["samples"] = [
            {"assignment": dict(each), "configuration": _configuration(built, each)} for each in picked
        ]
    if shown.mlir:
        record["mlir"] = built.text
    if shown.smtlib:
        record["smtlib"] = smtlib(built.op.operation)
    return record


def _configuration(built: Space, assignment: Assignment) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for op in built.configuration(assignment).ops:
        found.setdefault(op.label, {})[op.attribute] = op.value
    return found


def _show_all(given: WorkloadSpaces, built: Space, shown: Shown, console: Console) -> None:
    count, knobs = built.count(), len(built.knobs)
    console.print(f"{given.name}: {built.workload.name}, {built.label}, {count} assignments of {knobs} knobs")
    for knob in built.knobs:
        console.print(f"  {knob.name}: {' '.join(map(str, knob.values))}")
    for assignment in built.sample(shown.sample, shown.seed) if shown.sample else []:
        console.print(f"  {_line(assignment)}")
        for op in built.configuration(assignment).ops:
            console.print(f"    {op.label} {op.attribute} = {op.value}")


def _line(assignment: Assignment) -> str:
    return " ".join(f"{knob}={value}" for knob, value in assignment.items())
