"""`iree-tuner kernel`: external kernels in the place of what the compiler makes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from rich.table import Table

from iree_tuner.cli.durations import parse_duration
from iree_tuner.cli.inputs import InputFlags
from iree_tuner.cli.output import people, print_json
from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Workers
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.kernels.bench import (
    SPEC_FLAG,
    TUNED,
    InProgram,
    Outlook,
    bases_of,
    choices_of,
    compare_in_program,
    configurations_of,
    hold_contests,
    look_at,
    outlook_of,
)
from iree_tuner.kernels.contest import Contest
from iree_tuner.kernels.find import find_places
from iree_tuner.kernels.kernel import Code, Kernel, Knobs
from iree_tuner.kernels.layers import Layer, compare_layers
from iree_tuner.kernels.problem import KernelError
from iree_tuner.kernels.registry import kernel_named, kernels, usual_kernels
from iree_tuner.kernels.save import save_kernel_spec
from iree_tuner.kernels.site import Site
from iree_tuner.measure.statistics import Comparison
from iree_tuner.program.source import load_program
from iree_tuner.targets import Target, parse_target, target_for_device
from iree_tuner.tuning.lab import Lab

app = App(
    name="kernel",
    help="""Put kernels that the compiler did not make in the place of what it makes.

    Example: `iree-tuner kernel bench model.mlir -o kernels.mlir`
    """,
)

_DEFAULTS = InputFlags()
_COLUMNS = (
    "problem", "kernel", "tried", "default us", "tuned us", "kernel us", "over default", "over tuned",
    "wins alone",
)  # fmt: skip
_WRONG = 3  # variants with wrong numbers that are shown

Names = Annotated[
    tuple[str, ...],
    Parameter(name="--kernel", negative="", help="A kernel by name; all but examples by default."),
]
AsJson = Annotated[bool, Parameter(name="--json", negative="", help="Print one JSON object a line.")]


@app.command(name="list")
def list_(*, as_json: AsJson = False) -> None:
    """List the kernels that are installed.

    Example: `iree-tuner kernel list`
    """
    table = Table("kernel", "for", "what", "missing", box=None)
    for each in kernels():
        missing = each.missing()
        table.add_row(each.name, each.backend, each.summary, missing)
        if as_json:
            print_json(
                {"kernel": each.name, "backend": each.backend, "summary": each.summary, "missing": missing}
            )
    people.print(table, markup=False)


@app.command
def spec(
    program: str,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="The spec to write, .mlir.")],
    target: Annotated[
        str, Parameter(help="What to compile for: llvm-cpu:host, cuda:sm_80.")
    ] = "llvm-cpu:host",
    kernel: Names = (),
    knob: Annotated[tuple[str, ...], Parameter(negative="", help="A knob's value, as rows=6.")] = (),
    as_json: AsJson = False,
) -> int:
    """Write a spec that puts kernels in all places of a program that they compute, without measuring.

    Example: `iree-tuner kernel spec model.mlir --kernel c_gemm_f32 -o kernels.mlir`
    """
    _check_output(output)
    chosen, wanted = parse_target(target), _chosen(kernel, parse_target(target))
    knobs = _parse_knobs(knob)
    with Workers(1) as workers, people.status("reading the program"):
        outlook = outlook_of(find_places(load_program(program), chosen, workers), wanted)
    made = [(site, _make(each, site, chosen, knobs)) for _, site, each in outlook.pairs]
    _tell_refusals(outlook)
    if not made:
        raise TunerError("no kernel computes anything of the program", location=program)
    save_kernel_spec(made, outlook.target, new_context(), output)
    for (place, site, each), (_, code) in zip(outlook.pairs, made, strict=True):
        if as_json:
            record = {"problem": site.problem.name, "kernel": each.name, "knobs": dict(code.knobs)}
            print_json({**record, "functions": list(place.functions)})
        people.print(f"{site.problem.name}: {each.name}, {_told(code.knobs)}", markup=False)
    tell_use(program, output, chosen)
    return 0


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class BenchFlags:
    """Flags of `bench`.

    Attributes
    ----------
    device
        Device URI: local-task, cuda://0.
    chip
        What to compile for.
    spec
        A tuning spec; kernels must also be faster than what is tuned by it.
    variants
        Of a kernel, to try on a problem; 0 for all.
    budget
        Time for all contests: 90s, 10m.
    jobs
        Compile workers; one a core by default.
    alone
        Do not run the whole program.
    layers
        Say by layer how results differ with kernels, and whether types explain it.
    output
        Write the winners as a spec, .mlir.
    as_json
        Print one JSON object a line.
    """

    device: str = "local-task"
    chip: str = "host"
    spec: Path | None = None
    variants: int = 64
    budget: str | None = None
    jobs: int | None = None
    alone: Annotated[bool, Parameter(negative="")] = False
    layers: Annotated[bool, Parameter(negative="")] = False
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False


_FLAGS = BenchFlags()


@app.command
def bench(
    program: str, /, *, kernel: Names = (), flags: BenchFlags = _FLAGS, inputs: InputFlags = _DEFAULTS
) -> int:
    """Time kernels against what the compiler makes: alone, and in the program with them and without.

    Numbers are checked; of a kernel that computes something else the reason is shown, and it is never chosen.

    Example: `iree-tuner kernel bench examples/mlp_batch1.mlir --spec mlp.spec.mlir -o kernels.mlir`
    """
    if flags.output is not None:
        _check_output(flags.output)
    if flags.variants < 0 or (flags.jobs is not None and flags.jobs < 1):
        raise UsageError("--variants must be at least 0, and --jobs at least 1")
    seconds = math.inf if flags.budget is None else parse_duration(flags.budget)
    source, target = inputs.sized(load_program(program)), target_for_device(flags.device, flags.chip)
    wanted = _chosen(kernel, target)
    with Lab(target, flags.jobs) as lab, people.status("reading the program") as status:
        lab.start()
        outlook = look_at(source, target, wanted, lab)
        _tell_refusals(outlook)
        tuned = configurations_of(() if flags.spec is None else (flags.spec,), lab.context)
        contests = hold_contests(
            outlook,
            lab,
            tuned=tuned,
            most=flags.variants,
            seconds=seconds,
            watch=lambda line: status.update(line),
        )
        choices = choices_of(contests)
        chosen, spec = choices.get("kernels", []), None
        report_contests(contests, outlook, flags.as_json)
        if choices and not flags.alone:
            status.update("the whole program")
            bases = bases_of(source, target, flags.spec, lab.context)
            compared = compare_in_program(bases, choices, outlook, lab, inputs.request(source))
            report_program(compared, flags.as_json)
            chosen, spec = compared.chosen, flags.spec if compared.is_tuned else None
        if flags.layers and choices:
            status.update("layer by layer")
            every = list(choices.values())[-1]
            report_layers(
                compare_layers(source, every, outlook.target, lab, inputs.request(source)), flags.as_json
            )
        if flags.output is not None and chosen:
            save_kernel_spec(chosen, outlook.target, lab.context, flags.output)
            tell_use(program, flags.output, target, spec)
    if not chosen:
        people.print("no kernel is faster than what the compiler makes")
    return 0


def _check_output(output: Path) -> None:
    if output.suffix != ".mlir":
        raise UsageError(f"{output}: the name must end in .mlir")
    if not output.parent.is_dir():
        raise TunerError("there is no such folder", location=str(output.parent))


def _chosen(names: Sequence[str], target: Target) -> list[Kernel]:
    """The kernels to use. Raises UsageError for another target's, TunerError where something is missing."""
    wanted = [kernel_named(name) for name in names] or usual_kernels(target.backend)
    for each in wanted:
        if each.backend != target.backend:
            raise UsageError(f"the kernel '{each.name}' is for {each.backend}, not for {target}")
    found = [each for each in wanted if not each.missing()]
    for each in wanted:
        if each.missing() and names:
            raise TunerError(f"the kernel '{each.name}': {each.missing()}")
        if each.missing():
            people.print(f"{each.name} is left out: {each.missing()}", style="yellow", markup=False)
    if not found:
        raise TunerError(f"there is no kernel for {target}", hint="iree-tuner kernel list")
    return found


def _parse_knobs(texts: Sequence[str]) -> Knobs:
    found: dict[str, int] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not value.lstrip("-").isdigit():
            raise UsageError(f"'{text}' is no value of a knob", hint="as rows=6")
        found[name] = int(value)
    return found


def _make(kernel: Kernel, site: Site, target: Target, knobs: Knobs) -> Code:
    """Code with the first variant that has the values asked for."""
    every = kernel.variants(site.problem, target)
    fitting = [each for each in every if all(each.get(name) == value for name, value in knobs.items())]
    if not fitting:
        names = ", ".join(dict.fromkeys(name for each in every for name in each))
        raise KernelError(
            f"{kernel.name} has no variant for {site.problem.name} with {_told(knobs)}",
            hint=f"its knobs: {names}",
        )
    return kernel.make(site.problem, target, fitting[0])


def _told(knobs: Knobs) -> str:
    return " ".join(f"{name}={value}" for name, value in knobs.items())


def _tell_refusals(outlook: Outlook) -> None:
    for each in outlook.refusals:
        where = ", ".join(dict.fromkeys(each.functions))
        people.print(f"{each.problem} in {where}: not {each.kernel}: {each.why}", style="dim", markup=False)


def tell_use(program: str, output: Path, target: Target, spec: Path | None = None) -> None:
    """Print how a program is compiled with kernels, and with a tuning spec, if they belong together."""
    people.print("use it, one way or another:" if spec is None else "use both:")
    tuned = "" if spec is None else f" --spec {spec}"
    lines = [f"iree-tuner compile {program}{tuned} --kernels {output} --target {target} -o kernels.vmfb"]
    if spec is None:  # the same flags for the target, as executables are matched by them
        lines.append(f"iree-compile {program} {' '.join(target.flags)} {SPEC_FLAG}={output} -o kernels.vmfb")
    for line in lines:
        people.print(f"  {line}", soft_wrap=True, markup=False)


def report_contests(contests: Sequence[Contest], outlook: Outlook, as_json: bool) -> None:
    """Print how kernels did alone, and what is wrong of them."""
    table = Table(*_COLUMNS, box=None)
    for contest, (place, _, _) in zip(contests, outlook.pairs, strict=True):
        if as_json:
            print_json(contest_to_json(contest, place.functions))
        best = f"{contest.over_default.candidate_us:.1f}" if contest.over_default else ""
        tuned = f"{contest.tuned.candidate_us:.1f}" if contest.tuned else ""
        table.add_row(
            contest.site.problem.name,
            contest.kernel,
            str(len(contest.trials)),
            f"{contest.default_us:.1f}",
            tuned,
            best,
            _ratio(contest.over_default),
            _ratio(contest.over_tuned),
            "yes" if contest.wins else "no",
        )
        if contest.note:
            people.print(
                f"{contest.site.problem.name}, {contest.kernel}: {contest.note}", style="yellow", markup=False
            )
        wrong = [each for each in contest.trials if each.outcome == "wrong_result"]
        for each in wrong[:_WRONG]:
            people.print(
                f"{contest.kernel} is wrong with {_told(each.knobs)}: {each.message}",
                style="red",
                markup=False,
            )
        if len(wrong) > _WRONG:
            people.print(f"and with {len(wrong) - _WRONG} other variants", style="red")
    if contests:
        people.print(table, markup=False)
    for contest in contests:
        if contest.best is not None:
            people.print(
                f"{contest.site.problem.name}: {contest.kernel} {_told(contest.best.knobs)}", markup=False
            )


def _ratio(found: Comparison | None) -> str:
    if found is None:
        return ""
    low, high = found.interval
    return f"{found.speedup:.2f}x ({low:.2f} to {high:.2f})"


def report_program(compared: InProgram, as_json: bool) -> None:
    """Print each version of a program against its default."""
    rows = [(f"{each.what} against default", len(each.chosen), each.found) for each in compared.versions]
    if compared.over_tuned is not None and compared.best is not None:
        rows.append((f"{compared.best.what} against tuned", len(compared.best.chosen), compared.over_tuned))
    for what, count, found in rows:
        if as_json:
            figures = comparison_to_json(found.comparison)
            note = {"note": found.agreement.note} if found.agreement.note else {}
            print_json({"program": what, "kernels": count, "error": found.error, **figures, **note})
        people.print(f"the program, {what}: {found.error or _ratio(found.comparison)}", markup=False)
    for note in dict.fromkeys(each.agreement.note for _, _, each in rows if each.agreement.note):
        people.print(note, style="yellow", markup=False)
    best = compared.best.what if compared.best else "the default"
    if compared.best is not None and compared.best.chosen and not compared.chosen:
        best = f"{TUNED}, as kernels make no difference to it"
    people.print(f"the program is fastest: {best}", markup=False)


def report_layers(layers: Sequence[Layer], as_json: bool) -> None:
    """Print how the results of layers and of the program differ with kernels."""
    table = Table("layer", "largest difference", "of the largest value", "of the tolerance", "", box=None)
    for each in layers:
        if as_json:
            print_json({"layer": each.name, **{k: v for k, v in asdict(each).items() if k != "name"}})
        explained = "the order of sums explains it" if each.explained else each.message
        figures = (f"{each.largest:.3g}", f"{each.relative:.2g}", f"{each.worst:.2g}")
        table.add_row(each.name, *figures, "no difference" if not each.largest else explained)
    people.print(table, markup=False)


def comparison_to_json(found: Comparison | None) -> dict[str, object]:
    """A comparison's figures; empty where there is none."""
    if found is None:
        return {}
    return {
        "speedup": found.speedup, "interval": list(found.interval), "verdict": found.verdict,
        "default_us": found.default_us, "time_us": found.candidate_us, "pairs": found.pairs,
    }  # fmt: skip


def contest_to_json(contest: Contest, functions: Sequence[str]) -> dict[str, object]:
    """A contest as JSON: the figures, and how many variants ended how."""
    outcomes: dict[str, int] = {}
    for trial in contest.trials:
        outcomes[trial.outcome] = outcomes.get(trial.outcome, 0) + 1
    return {
        "problem": contest.site.problem.name, "functions": list(functions), "kernel": contest.kernel,
        "trials": len(contest.trials), "outcomes": outcomes, "note": contest.note, "chosen": contest.wins,
        "knobs": dict(contest.best.knobs) if contest.best else {},
        "over_default": comparison_to_json(contest.over_default),
        "tuned": comparison_to_json(contest.tuned), "over_tuned": comparison_to_json(contest.over_tuned),
        "wrong": [{"knobs": dict(each.knobs), "message": each.message} for each in contest.trials
                  if each.outcome == "wrong_result"],
    }  # fmt: skip
