"""`iree-tuner spec`: build, link, check, embed and explain tuning specs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import geometric_mean
from typing import Annotated

from cyclopts import App, Parameter
from iree.compiler import ir
from rich.table import Table

from iree_tuner.cli.inputs import NO_FLAGS, opened
from iree_tuner.cli.output import AsJson, Json, answers, people, print_json
from iree_tuner.cli.table import print_table, table
from iree_tuner.compiler.context import new_context, to_bytecode
from iree_tuner.compiler.session import parse_module
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.files import STANDARD, name_of, parse_json, read_text
from iree_tuner.program.phases import select_target
from iree_tuner.program.source import Program
from iree_tuner.space.verify.spec import verify_spec
from iree_tuner.spec.build import build_spec
from iree_tuner.spec.check import MatcherHits, ProgramCheck, SpecProblem, check_against_program, check_spec
from iree_tuner.spec.entry import Provenance, SpecEntry, entry_from_json, read_flags
from iree_tuner.spec.explain import ExplainedEntry, row_to_json
from iree_tuner.spec.explain import explain as explain_spec
from iree_tuner.spec.external import KernelUse
from iree_tuner.spec.grammar import pairs
from iree_tuner.spec.io import embed as embed_spec
from iree_tuner.spec.io import load_spec, save_spec, shipped_specs
from iree_tuner.spec.link import link_specs
from iree_tuner.spec.near.miss import NearMiss
from iree_tuner.targets import Target, parse_target, target_for_device
from iree_tuner.targets.registry import kinds
from iree_tuner.tuning.options import CompilerFlags

# Messages about the dispatches that a spec's matchers hit.


def hits_in(spec: ir.Module, program: Program, target: Target) -> tuple[MatcherHits, ...]:
    """Find what a spec's matchers hit in a program compiled with the flags that the spec records.

    Raises what `check_against_program` raises.
    """
    target = with_own_flags(target, spec)
    return check_against_program(spec, program.data, target, name=program.name).matchers


def tell_hits(name: str | Path, matchers: Sequence[MatcherHits], *, strict: bool) -> dict[str, object]:
    """Print how many of a spec's matchers hit. Raises TunerError if none does and `strict` is set."""
    hit = sum(each.hits != () for each in matchers)  # where it cannot be seen, it may
    said = f"{hit} of {len(matchers)} matchers hit"
    if matchers and not hit:
        why = "the spec has no effect here, as it is for other dispatches or another target"
        _no_effect(name, said, f"{why} (iree-tuner spec explain shows them)", strict=strict)
    else:
        people.print(f"{name}: {said}", soft_wrap=True)
    return {"matchers": len(matchers), "hits": hit}


def tell_calls(name: str | Path, use: KernelUse, *, strict: bool) -> dict[str, object]:
    """Print how a program uses a spec's kernels. Raises TunerError if it does not and `strict` is set."""
    calls, ops = use.dispatches, use.ops
    said = f"{calls} dispatch{'es' * (calls != 1)} of the program run{'s' * (calls == 1)} its kernels"
    replaced = f"{ops} of its kernels replace{'s' * (ops == 1)} ops of the program"
    if calls or ops:
        told = " and ".join([*([said] if calls else []), *([replaced] if ops else [])])
        people.print(f"{name}: {told}", soft_wrap=True)
    else:
        why = "the kernels have no effect here, as they are for other problems or another target"
        _no_effect(name, said, why, strict=strict)
    return {"kernel_calls": calls, "kernel_ops": ops}


def _no_effect(name: str | Path, said: str, why: str, *, strict: bool) -> None:
    if strict:
        raise TunerError(f"{said}: {why}", location=str(name))
    people.print(f"warning: {name}: {said}: {why}", style="yellow", soft_wrap=True)


def with_own_flags(target: Target, spec: ir.Module) -> Target:
    """Add the flags that a spec records to a target."""
    flags = tuple(flag for flag in read_flags(spec) if flag not in target.flags)
    return replace(target, flags=(*target.flags, *flags))


app = App(
    name="spec",
    help="""Build, link, check, embed and explain tuning specs. List the specs that ship.

    Example: `iree-tuner spec explain model.spec.mlir`
    """,
)


_MOST_NEAR = 3
"""Number of near misses to show per dispatch. A spec for many matmuls nearly matches every other matmul."""

Output = Annotated[
    Path,
    Parameter(
        name=["--output", "-o"],
        allow_leading_hyphen=True,
        help="Write to this file, .mlir or .mlirbc. `-` prints text.",
    ),
]
TargetName = Annotated[
    str | None, Parameter(name="--target", help="Compile for this target. Default: `llvm-cpu:host`.")
]
Device = Annotated[
    str | None, Parameter(name="--device", help="Use the target of this device instead: `local-task`.")
]
Strict = Annotated[
    bool,
    Parameter(name="--strict", negative="", help="Fail if none of the matchers hits. Default: warn."),
]
AnySpec = Annotated[
    Path, Parameter(allow_leading_hyphen=True, help="A spec, text or bytecode. `-` reads standard input.")
]


@app.command
def build(
    entries: Annotated[
        Path,
        Parameter(
            allow_leading_hyphen=True,
            help="JSON lines with the keys workload, configuration and, optionally, provenance. `-` reads "
            "standard input.",
        ),
    ],
    /,
    *,
    output: Output = STANDARD,
    name: Annotated[str, Parameter(help="Symbol name of the module.")] = "tuning_spec",
    as_json: AsJson = False,
) -> None:
    """Build a spec from entries in a JSON lines file. If two entries match an op, the first one applies.

    Example: `iree-tuner spec build entries.jsonl -o model.spec.mlir`
    """
    _write(build_spec(_entries(entries), new_context(), name=name), output, as_json=as_json)


@app.command
def link(
    *specs: AnySpec,
    output: Output = STANDARD,
    name: Annotated[str, Parameter(help="Symbol name of the module.")] = "linked_tuning_spec",
    program: Annotated[
        Path | None, Parameter(help="Print how many of the matchers hit a dispatch of this program.")
    ] = None,
    target: TargetName = None,
    device: Device = None,
    strict: Strict = False,
    compiling: CompilerFlags = NO_FLAGS,
    as_json: AsJson = False,
) -> None:
    """Link specs into one. If several specs match an op, the first one applies.

    Specs that contradict each other are an error.

    Example: `iree-tuner spec link mine.mlir starter.mlir -o both.mlir`
    """
    if not specs:
        raise UsageError("no specs to link", hint="name at least one")
    if strict and program is None:
        raise UsageError("--strict requires --program")
    context = new_context()
    modules = [load_spec(_checked(path), context, nested=True) for path in specs]
    linked = link_specs(modules, labels=[str(path) for path in specs], name=name, context=context)
    hits: dict[str, object] = {}
    if program is not None:
        found = hits_in(linked, opened(program), compiling.on(_target(target, device)))
        hits = tell_hits(name_of(output), found, strict=strict)
    _write(linked, output, as_json=as_json, facts=hits)


@app.command
def check(
    spec: AnySpec,
    /,
    *,
    program: Annotated[
        Path | None, Parameter(help="Also list what each matcher matches or nearly matches in this program.")
    ] = None,
    target: TargetName = None,
    device: Device = None,
    compiling: CompilerFlags = NO_FLAGS,
    as_json: AsJson = False,
) -> int:
    """Check a spec's grammar and names. With `--program`, also list what its matchers hit.

    Exit status 1 if there is a problem.

    Example: `iree-tuner spec check model.spec.mlir --program model.mlir --device local-task`
    """
    module = _load(spec, new_context())
    problems = check_spec(module)
    found = ProgramCheck((), (), ())
    if program is not None:
        source = opened(program)
        chosen = with_own_flags(compiling.on(_target(target, device)), module)
        problems.extend(_illegal(module, chosen, spec, source))
        found = check_against_program(module, source.data, chosen, name=source.name, near=True)
        problems.extend(found.problems)
    if found.near is None:
        people.print("near misses are unknown: the compiler crashed during the search", style="yellow")
    if as_json:
        for hits in found.matchers:
            reached = None if hits.hits is None else [asdict(hit) for hit in hits.hits]
            print_json({"matcher": hits.matcher, "hits": hits.count, "dispatches": reached})
        for problem in problems:
            print_json({"problem": problem.kind, "where": problem.where, "message": problem.message})
        for dispatch in found.dispatches:
            print_json(_dispatch_to_json(dispatch, found))
    else:
        _show_check(spec, found, problems)
    return 1 if problems else 0


@app.command
def embed(
    program: Annotated[
        Path, Parameter(allow_leading_hyphen=True, help="The program. `-` reads standard input.")
    ],
    spec: Annotated[Path, Parameter(help="The spec, text or bytecode.")],
    /,
    *,
    output: Output = STANDARD,
    replace: Annotated[
        bool, Parameter(negative="", help="Replace a spec that is already embedded in the program.")
    ] = False,
    target: TargetName = None,
    strict: Strict = False,
    compiling: CompilerFlags = NO_FLAGS,
    as_json: AsJson = False,
) -> None:
    """Embed a spec in a program, so that `iree-compile` applies it without further flags.

    With `--target`, `embed` also prints how many of the spec's matchers hit, and embeds a chip that no
    compiler flag can select (cuda:sm_90).

    Example: `iree-tuner spec embed model.mlir model.spec.mlir -o tuned.mlir`
    """
    if strict and target is None:
        raise UsageError("--strict requires --target")
    context = new_context()
    source = opened(_checked(program))
    module = parse_module(source.data, context, source.name)
    tuned = _load(spec, context)
    chosen = None if target is None else compiling.on(parse_target(target))
    if chosen is not None:
        select_target(module, chosen)
    try:
        embed_spec(module, tuned, replace=replace)
    except TunerError as error:
        raise TunerError(error.message, location=str(program), hint="--replace replaces it") from None
    hits: dict[str, object] = {}
    if chosen is not None:
        hits = tell_hits(spec, hits_in(tuned, source, chosen), strict=strict)
    _write(module, output, as_json=as_json, count=len(pairs(tuned)), facts=hits)


@app.command
def explain(spec: AnySpec, /, *, as_json: AsJson = False) -> None:
    """Show a spec as a table: the ops that it matches, the configurations, and the measured speedups.

    Example: `iree-tuner spec explain model.spec.mlir`
    """
    rows = explain_spec(_load(spec, new_context()))
    if as_json:
        for row in rows:
            print_json(row_to_json(row))
        return
    print_table(answers, _table(rows), otherwise="This spec changes nothing.")


def _target(target: str | None, device: str | None) -> Target:
    if target is not None and device is not None:
        raise UsageError("give --target or --device, not both")
    return target_for_device(device) if device is not None else parse_target(target or "llvm-cpu:host")


def _checked(path: Path) -> Path:
    """Reject mistyped options: a parameter that accepts `-` would otherwise accept them as its value."""
    if str(path).startswith("--"):
        raise UsageError(f"unknown option {path}")
    return path


def _illegal(module: ir.Module, target: Target, spec: Path, program: Program) -> list[SpecProblem]:
    try:
        return verify_spec(module, target, name=name_of(spec), program=program).problems()
    except TunerError:
        return []  # the check itself says what is wrong with the program


def _load(path: Path, context: ir.Context) -> ir.Module:
    return load_spec(_checked(path), context)


def _entries(path: Path) -> list[SpecEntry]:
    name = name_of(_checked(path))
    lines = [(f"{name}:{number}", line) for number, line in enumerate(read_text(path).splitlines(), start=1)]
    return [entry_from_json(parse_json(line, place), location=place) for place, line in lines if line.strip()]


def _write(
    module: ir.Module, output: Path, *, as_json: bool, count: int | None = None,
    facts: Mapping[str, object] | None = None,
) -> None:  # fmt: skip
    if _checked(output) == STANDARD:
        if as_json:
            raise UsageError("--json requires --output: JSON and the spec cannot share standard output")
        print(module)
        return
    save_spec(module, output)
    matchers = len(pairs(module)) if count is None else count
    if as_json:
        written = {"path": str(output), "count": matchers, "bytes": len(to_bytecode(module))}
        print_json({**written, **(facts or {})})
    else:
        noun = "matcher" if matchers == 1 else "matchers"
        people.print(f"{output}: {matchers} {noun}", soft_wrap=True)


def _dispatch_to_json(dispatch: str, found: ProgramCheck) -> dict[str, object]:
    misses = [miss for miss in found.near or () if miss.dispatch == dispatch]
    near = [{**asdict(miss), "reason": miss.reason} for miss in misses]
    return {"dispatch": dispatch, "matchers": _matchers_of(dispatch, found), "near": near}


def _matchers_of(dispatch: str, found: ProgramCheck) -> list[str]:
    hits = [(each.matcher, hit.dispatch) for each in found.matchers for hit in each.hits or ()]
    return [matcher for matcher, where in hits if where == dispatch]


def _show_check(spec: Path, found: ProgramCheck, problems: list[SpecProblem]) -> None:
    lines: list[str] = []
    for each in found.matchers:
        where = ", ".join(hit.dispatch for hit in each.hits or ())
        lines.append(f"@{each.matcher} matches {each.count}{': ' if where else ''}{where}")
    for dispatch in found.dispatches:
        lines.extend(_dispatch_lines(dispatch, found))
    lines.extend(f"error: {spec}: {problem}" for problem in problems)
    if not problems:
        lines.append(f"{spec}: no problems found")
    answers.print("\n".join(lines), soft_wrap=True)


def _dispatch_lines(dispatch: str, found: ProgramCheck) -> list[str]:
    """Describe which matchers hit a dispatch, and the near misses of matchers and dispatches without a hit.

    The list of near misses is shortened, but keeps the nearest miss of each matcher that matches nothing.
    """
    matchers = _matchers_of(dispatch, found)
    idle = {each.matcher for each in found.matchers if not each.hits}
    nearest = {miss.matcher: miss for miss in reversed(found.near or ()) if miss.matcher in idle}
    misses = [miss for miss in found.near or () if miss.dispatch == dispatch]
    misses = [miss for miss in misses if not matchers or miss.matcher in idle]
    shown = [
        miss for number, miss in enumerate(misses) if number < _MOST_NEAR or nearest.get(miss.matcher) is miss
    ]
    lines = [
        f"  @{miss.matcher} nearly matches {dispatch} ({miss.op}): {miss.reason}{_condition(miss)}"
        for miss in shown
    ]
    left_out = len(misses) - len(shown)
    more = [f"  and {left_out} more (--json lists all)"] if left_out else []
    hit = " and ".join(f"@{matcher}" for matcher in matchers)
    return [f"{dispatch} is matched by {hit}" if hit else f"{dispatch} is not matched", *lines, *more]


def _condition(miss: NearMiss) -> str:
    where = [miss.condition] if miss.condition else []
    where += [f"line {miss.line}"] if miss.line else []
    return f" [{', '.join(where)}]" if where else ""


def _table(rows: list[ExplainedEntry]) -> Table:
    names = ("matches", "sets", "speedup", "measured")
    explained = table(*names, words=names, apart=True)
    for row in rows:
        explained.add_row(_matched(row), _set(row), _speedup(row.provenance), _measured(row.provenance))
    return explained


def _matched(row: ExplainedEntry) -> str:
    sizes = ", ".join(f"{role}={'x'.join(map(str, values))}" for role, values in row.sizes)
    return "\n".join(line for line in (row.op, sizes, ", ".join(row.types), *row.conditions) if line)


def _set(row: ExplainedEntry) -> str:
    lines = [row.pipeline] if row.pipeline else []
    for setting in row.settings:
        label = f"op {setting.op}: " if len(row.settings) > 1 else ""
        lines.append(label + setting.value.replace("], ", "],\n"))
    return "\n".join(lines)


def _speedup(found: Provenance | None) -> str:
    if found is None:
        return "not recorded"
    low, high = found.interval
    times = f"{found.default_us:.1f} -> {found.tuned_us:.1f} us"
    return f"{found.speedup:.2f}x\n({low:.2f} to {high:.2f})\n{times}"


def _measured(found: Provenance | None) -> str:
    if found is None:
        return ""
    compiler = f"IREE {found.compiler}" if found.compiler else ""
    return "\n".join(filter(None, (found.device, found.chip, compiler, found.date, found.dispatch)))


@app.command
def shipped(
    *,
    backend: Annotated[
        str | None, Parameter(help="List only the specs for this backend: llvm-cpu, cuda, hip, vulkan.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the specs that ship, with their workloads, hardware and measured speedup.

    The speedup is the geometric mean over a spec's workloads.

    Example: `iree-tuner spec shipped --backend cuda`

    Parameters
    ----------
    as_json
        Print JSON, one object per spec.
    """
    backends = [name for name, kind in kinds().items() if kind.usual]
    if backend is not None and backend not in backends:
        raise UsageError(f"unknown backend '{backend}'", hint=f"one of: {', '.join(backends)}")
    context = new_context()
    names = ("backend", "spec", "workloads", "speedup", "measured on", "date")
    listed = table(*names, words=("backend", "spec", "measured on"))
    for each in (backend,) if backend else backends:
        for path in shipped_specs(each):
            rows = explain_spec(load_spec(path, context))
            told = [row.provenance for row in rows if row.provenance is not None]
            speedup = geometric_mean([found.speedup for found in told]) if told else 1.0
            chips, dates, compilers = (
                sorted({getattr(found, name) for found in told}) for name in ("chip", "date", "compiler")
            )
            if as_json:
                print_json({
                    "backend": each, "spec": str(path), "workloads": len(rows), "speedup": speedup,
                    "chips": chips, "dates": dates, "compilers": compilers,
                })  # fmt: skip
            name = "/".join(path.parts[len(path.parts) - path.parts[::-1].index(each) :])
            listed.add_row(each, name, str(len(rows)), f"{speedup:.2f}x", "; ".join(chips), ", ".join(dates))
    if not as_json:
        print_table(answers, listed, spare=("date",), otherwise="no specs ship for this backend")
