"""`iree-tuner space`: print the search spaces of workloads.

The input of `iree-tuner space`: workloads with their spaces, from a program or from JSON.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, cast

from cyclopts import Parameter

from iree_tuner.cli.extract import chosen_target
from iree_tuner.cli.inputs import NO_FLAGS, Dimensions, ProgramName, opened
from iree_tuner.cli.output import Json, answers, knobs_text, one_line, people, print_json
from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Workers
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.files import parse_json
from iree_tuner.measure.candidate import Builder, Built
from iree_tuner.ops.workload import from_json
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.dynamic import sized
from iree_tuner.program.extract import extract
from iree_tuner.program.source import Program
from iree_tuner.space.build import build_spaces
from iree_tuner.space.compilers_choice import Written, find_default, parse_assignment
from iree_tuner.space.configuration import Assignment
from iree_tuner.space.emitted import Emitted, emit
from iree_tuner.space.interpreter import smtlib
from iree_tuner.space.space import Space
from iree_tuner.targets import CpuLimits, GpuLimits, Target
from iree_tuner.targets.limits import limits_from
from iree_tuner.targets.registry import DEFAULT_DEVICE
from iree_tuner.tuning.options import CompilerFlags


@dataclass(frozen=True)
class WorkloadSpaces:
    """A workload's spaces. `dispatch` is None for a workload read from JSON."""

    name: str
    spaces: tuple[Space, ...]
    dispatch: Dispatch | None = None


def read_spaces(
    program: Program, target: Target, dims: Sequence[str] = (), *, supplements: bool
) -> Iterator[WorkloadSpaces]:
    """Build the spaces of each workload of a program or of a JSON file.

    Raises TunerError for any other file, and if no workload has a space.
    """
    if program.data.lstrip().startswith(b"{"):
        yield from _from_json(program.data.decode(), program.name, supplements)
        return
    context = new_context()
    with Workers(1) as workers:
        extraction = extract(sized(program, dims), target, workers)
        for diagnostic in extraction.diagnostics:
            people.print(str(diagnostic), style="yellow")
        for dispatch in extraction.dispatches:
            if dispatch.workload is None or dispatch.harness is None:
                people.print(f"{dispatch.name}: no space, {dispatch.reason}")
                continue
            emitted = Emitted()
            if isinstance(dispatch.limits, GpuLimits):
                emitted = emit(dispatch.harness, dispatch.workload, target, workers)
            try:
                spaces = build_spaces(
                    dispatch.workload, dispatch.limits, context, emitted.modules, supplements=supplements
                )
            except TunerError as error:
                note = f" ({emitted.note})" if emitted.note else ""
                people.print(f"{dispatch.name}: {error}{note}")
                continue
            yield WorkloadSpaces(dispatch.name, spaces, dispatch)


def _from_json(text: str, source: str, supplements: bool) -> Iterator[WorkloadSpaces]:
    context = new_context()
    for number, line in enumerate(text.splitlines(), start=1):
        location = f"{source}:{number}"
        if not line.strip():
            continue
        try:
            record = cast(dict[str, Any], parse_json(line, location))
            data = record.get("workload", record if "family" in record else None)
            if data is None:
                people.print(f"{location}: skipped, as it has no workload")
                continue
            workload = from_json(data)
            limits = limits_from(record["limits"]) if "limits" in record else CpuLimits()
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise TunerError(f"not a workload: {error}", location=location) from None
        spaces = build_spaces(workload, limits, context, supplements=supplements)
        yield WorkloadSpaces(str(record.get("dispatch", workload.name)), spaces)


# `iree-tuner space --compile`: compile samples of a space.


def compile_samples(given: WorkloadSpaces, built: Space, target: Target, flags: SpaceFlags) -> bool:
    """Compile random samples and print one line per sample, in the sample's order. True if all compile."""
    harness = given.dispatch.harness if given.dispatch else None
    if harness is None:
        raise UsageError("--compile requires a program: a workload alone has no code to compile")
    picked = built.sample(flags.sample, flags.seed)
    outcomes: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    digests: set[str] = set()
    with Workers(flags.jobs or os.cpu_count() or 1) as workers:
        builder = Builder(target, workers, flags.timeout)
        configurations = [built.configuration(each) for each in picked]
        for assignment, result in zip(picked, builder.build_all(harness, configurations), strict=True):
            outcomes[result.outcome] += 1
            if result.outcome == "ok":
                digests.add(result.digest)
            else:
                reasons[f"{result.outcome}: {headline(result.message)}"] += 1
            _print(given.name, built, assignment, result, flags.as_json)
    people.print(
        f"{one_line(given.name)}: {built.label}: {outcomes['ok']} of {len(picked)} samples compile, to "
        f"{len(digests)} different executables; the space has {built.count()} assignments"
    )
    for reason, number in reasons.most_common():
        people.print(f"  {number} x {reason}")
    return outcomes["ok"] == len(picked)


def headline(message: str) -> str:
    """The first non-empty line of a message, shortened."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return lines[0][:300] if lines else "no message"


def _print(name: str, built: Space, assignment: Assignment, result: Built, as_json: bool) -> None:
    if as_json:
        print_json({
            "name": name, "space": built.label, "assignment": dict(assignment), "outcome": result.outcome,
            "seconds": round(result.seconds, 3), "message": result.message,
            "digest": result.digest if result.outcome == "ok" else "",
        })  # fmt: skip
        return
    end = f": {headline(result.message)}" if result.message else ""
    line = f"{result.outcome:15} {result.seconds:6.2f} s  {knobs_text(assignment)}{end}"
    answers.print(line, soft_wrap=True)


# Print a search space.


def show(given: WorkloadSpaces, built: Space, shown: SpaceFlags) -> bool:
    """Print a space. Returns False if `why` names an assignment that is not legal."""
    if shown.why is not None:
        return _show_why(given, built, shown.why, shown.as_json)
    if shown.as_json:
        print_json(_record(given.name, built, shown))
        return True
    if shown.smtlib:
        answers.print(smtlib(built.op.operation), soft_wrap=True)
    elif shown.mlir:
        answers.print(built.text, soft_wrap=True)
    elif shown.count:
        answers.print(f"{one_line(given.name)}: {built.label}: {built.count()}", soft_wrap=True)
    else:
        _show_all(given, built, shown)
    return True


def _show_why(given: WorkloadSpaces, built: Space, text: str, as_json: bool) -> bool:
    if text == "default":
        if given.dispatch is None:
            raise UsageError(
                "--why default requires a program: the compiler chooses nothing for a workload alone"
            )
        default = find_default(built, Written.by_compiler(given.dispatch))
        assignment, reasons = default.assignment, list(default.reasons)
    else:
        assignment = parse_assignment(text)
        known = f"(it has {', '.join(built.names)})"
        reasons = [f"unknown knob '{name}' {known}" for name in assignment if name not in built.names]
        if not reasons:  # where some are open: can they be chosen?
            reasons = built.violations_of_part(assignment)
            assignment = assignment if reasons else built.complete(assignment)
    legal = assignment is not None and not reasons
    if as_json:
        record = {"name": given.name, "space": built.label, "legal": legal}
        chosen = dict(assignment) if assignment else None
        print_json({**record, "assignment": chosen, "violations": reasons})
        return legal
    lines = [f"{one_line(given.name)}: {built.label}: {'legal' if legal else 'illegal'}"]
    lines += [f"  {knobs_text(assignment)}"] if assignment is not None and legal else []
    answers.print("\n".join([*lines, *(f"  {reason}" for reason in reasons)]), soft_wrap=True)
    return legal


def _record(name: str, built: Space, shown: SpaceFlags) -> dict[str, object]:
    record: dict[str, object] = {
        "name": name, "workload": built.workload.key, "space": built.label, "count": built.count(),
        "knobs": {knob.name: list(knob.values) for knob in built.knobs},
    }  # fmt: skip
    samples: list[dict[str, object]] = []
    for assignment in built.sample(shown.sample, shown.seed) if shown.sample else []:
        found: dict[str, dict[str, str]] = {}
        for op in built.configuration(assignment).ops:
            found.setdefault(op.label, {})[op.attribute] = op.value
        samples.append({"assignment": dict(assignment), "configuration": found})
    if samples:
        record["samples"] = samples
    if shown.mlir:
        record["mlir"] = built.text
    if shown.smtlib:
        record["smtlib"] = smtlib(built.op.operation)
    return record


def _show_all(given: WorkloadSpaces, built: Space, shown: SpaceFlags) -> None:
    count, knobs = built.count(), len(built.knobs)
    lines = [
        f"{one_line(given.name)}: {built.workload.name}, {built.label}, {count} assignments of {knobs} knobs",
        *(f"  {knob.name}: {' '.join(map(str, knob.values))}" for knob in built.knobs),
    ]
    for assignment in built.sample(shown.sample, shown.seed) if shown.sample else []:
        ops = built.configuration(assignment).ops
        lines.append(f"  {knobs_text(assignment)}")
        lines += [f"    {op.label} {op.attribute} = {op.value}" for op in ops]
    answers.print("\n".join(lines), soft_wrap=True)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SpaceFlags:
    """Options of `space`.

    Attributes
    ----------
    target
        Target: `llvm-cpu:znver4`, `cuda:sm_80`, `hip:gfx942`, `vulkan:ampere`.
    device
        Use the target of this device instead. A file that the compiler dumped names its own target, which is
        the default for it.
    pipeline
        Print only this pipeline's spaces: `TileAndFuse`, `TileAndFuse:igemm`, `VectorDistribute`.
    count
        Print only the number of legal assignments.
    sample
        Print this many random legal assignments and the configurations that they set.
    seed
        Seed of the sample.
    compile_
        Compile each sampled assignment and print the outcome. Exit status 1 unless all compile.
    why
        Explain why an assignment is illegal: NAME=VALUE,NAME=VALUE with the names that a space has, or JSON.
        `default` stands for the compiler's own choice. Exit status 1 if no space contains it.
    smtlib
        Print the constraints as SMT-LIB.
    mlir
        Print the constraints as IR.
    supplements
        Correct the compiler's constraints where they are known to be wrong.
    jobs
        Number of compile workers. Default: one per core.
    timeout
        Time limit for one compilation in seconds.
    as_json
        Print JSON, one object per space (with `--compile`, one per sample).
    """

    target: str | None = None
    device: str = DEFAULT_DEVICE
    dim: Dimensions = ()
    pipeline: str | None = None
    count: Annotated[bool, Parameter(negative="")] = False
    sample: int = 0
    seed: int = 0
    compile_: Annotated[bool, Parameter(name="--compile", negative="")] = False
    why: str | None = None
    smtlib: Annotated[bool, Parameter(negative="")] = False
    mlir: Annotated[bool, Parameter(name=("--mlir", "--ir"), negative="")] = False
    supplements: bool = True
    jobs: int | None = None
    timeout: float = 60.0
    as_json: Json = False


_DEFAULTS = SpaceFlags()


def space(
    source: ProgramName, /, *, flags: SpaceFlags = _DEFAULTS, compiling: CompilerFlags = NO_FLAGS
) -> int:
    """Print the search spaces of a program's workloads: size, knobs, constraints and samples.

    A space has the knobs of one compiler pipeline and the constraints between them.

    Example: `iree-tuner space model.mlir --target hip:gfx942 --sample 20 --compile`

    Parameters
    ----------
    source
        A program. Or workloads as JSON, one per line, as `extract --json` prints them. `-` reads standard
        input. Spaces for CUDA and ROCm require a program.
    """
    if flags.sample < 0:
        raise UsageError(f"--sample must not be negative, but is {flags.sample}")
    if flags.timeout <= 0:
        raise UsageError(f"--timeout must be above 0, but is {flags.timeout:g}")
    if flags.compile_ and not flags.sample:
        raise UsageError("--compile requires samples", hint="add --sample 20")
    program = opened(source)
    target = compiling.on(chosen_target(program, flags.target, flags.device))
    found: list[bool] = []
    for given in read_spaces(program, target, flags.dim, supplements=flags.supplements):
        own = [
            compile_samples(given, built, target, flags) if flags.compile_ else show(given, built, flags)
            for built in given.spaces
            if flags.pipeline in (None, built.pipeline, built.label)
        ]
        # An assignment is meant for one of a workload's spaces; samples are taken from all of them.
        if own:
            found.append(any(own) if flags.why is not None else all(own))
    if not found:
        wanted = f" of the pipeline {flags.pipeline}" if flags.pipeline else ""
        raise TunerError(f"no workload has a space{wanted}", location=source)
    return 0 if all(found) else 1
