"""`iree-tuner kernel`: list, measure and use external kernels."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from iree_tuner.cli.db import NoDatabase, with_database
from iree_tuner.cli.inputs import INPUTS, NO_FLAGS, InputFlags, Knobs, ProgramName, opened, parse_knobs
from iree_tuner.cli.output import OUTPUT, AsJson, answers_to, knobs_text, people, print_json
from iree_tuner.cli.table import print_table, table
from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Workers
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.files import note_input, planned_output
from iree_tuner.kernels.find import executable_target, find_places
from iree_tuner.kernels.in_program import (
    ROUNDS,
    TUNED,
    Contest,
    InProgram,
    LayerError,
    TuningSpec,
    compare_in_program,
    compare_layers,
    configurations_of,
    hold_contests,
)
from iree_tuner.kernels.joint import JointProducts
from iree_tuner.kernels.kernel import ANY, Code, Kernel, KernelError, kernel_named, kernels, usual_kernels
from iree_tuner.kernels.moves import with_packed
from iree_tuner.kernels.site import Site
from iree_tuner.kernels.source import (
    Chosen,
    Outlook,
    chosen_in,
    competitors_of,
    each_once,
    find_competitors,
    outlook_of,
)
from iree_tuner.kernels.spec import save_kernel_spec
from iree_tuner.measure.statistics import comparison_facts, times_of
from iree_tuner.program.source import Program
from iree_tuner.report.progress import tell_stopping
from iree_tuner.report.view import use_of
from iree_tuner.targets import Target, parse_target
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.options import (
    AMOUNT,
    CANDIDATES,
    MEASURING,
    CompilerFlags,
    DatabaseOptions,
    DeviceOptions,
    Duration,
    at_least,
    check_budget,
)
from iree_tuner.tuning.records import Records, open_records
from iree_tuner.tuning.stop import StopRequest

app = App(
    name="kernel",
    help="""List, measure and use external kernels in place of compiled dispatches.

    Example: `iree-tuner kernel bench model.mlir -o kernels.mlir`
    """,
)


Names = Annotated[
    tuple[str, ...],
    Parameter(name="--kernel", negative="", help="Name of a kernel. Repeatable. Default: all but examples."),
]


@app.command(name="list")
def list_(*, as_json: AsJson = False) -> None:
    """List the installed kernels: target, description, and what is missing to use them.

    Example: `iree-tuner kernel list`
    """
    names = ("kernel", "backend", "description")
    listed, lacking = table(*names, words=names), dict[str, list[str]]()
    for each in kernels():
        missing = each.missing()
        listed.add_row(each.name, each.backend, each.summary)
        if missing:
            lacking.setdefault(missing, []).append(each.name)
        if as_json:
            record = {"kernel": each.name, "backend": each.backend}
            print_json({**record, "summary": each.summary, "missing": missing})
    console = answers_to(as_json=as_json)
    print_table(console, listed)
    for missing, those in lacking.items():
        console.print(f"{', '.join(those)}: {missing}", width=console.table_width)


@app.command
def spec(
    program: ProgramName,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="Write the spec to this file, .mlir.")],
    target: Annotated[
        str, Parameter(help="Compile for this target: llvm-cpu:host, cuda:sm_80.")
    ] = "llvm-cpu:host",
    kernel: Names = (),
    knob: Annotated[Knobs, Parameter(help="Set a knob of the kernels: rows=6. Repeatable.")] = (),
    compiling: CompilerFlags = NO_FLAGS,
    as_json: AsJson = False,
) -> int:
    """Write a spec that uses kernels wherever they apply in a program, without measuring.

    Example: `iree-tuner kernel spec model.mlir --kernel c_gemm_f32 -o kernels.mlir`
    """
    source = opened(program)
    planned_output(output, ".mlir")
    chosen = compiling.on(parse_target(target))
    wanted = _chosen(kernel, chosen)
    knobs = parse_knobs(knob)
    with Workers(1) as workers, people.status("reading the program"):
        outlook = outlook_of(find_places(source, chosen, workers, wanted), wanted)
    joint = outlook.joint if JointProducts.name in kernel else ()
    outlook = (outlook.rewritten if joint else None) or outlook
    pairs = each_once(outlook)
    made = [(site, _make(each, site, chosen, knobs)) for _, site, each in pairs]
    tell_refusals(outlook)
    if not made and not joint:
        raise TunerError("no kernel applies to the program", location=program)
    save_kernel_spec([*joint, *made], outlook.target, new_context(), output, movable=True)
    for site, code in joint:
        people.print(f"{site.problem.name}: {code.entry}")
    for (place, site, each), (_, code) in zip(pairs, made, strict=True):
        if as_json:
            record = {"problem": site.problem.name, "kernel": each.name, "knobs": dict(code.knobs)}
            print_json({**record, "functions": list(place.functions)})
        people.print(f"{site.problem.name}: {each.name}, {knobs_text(code.knobs)}")
    tell_use(program, output, chosen)
    return 0


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ContestOptions(DatabaseOptions, DeviceOptions):
    """How to compare kernels with the compiler's code.

    Attributes
    ----------
    spec
        Also compare kernels with the code that this tuning spec selects. A kernel must beat both.
    variants
        Maximum number of variants of a kernel to try per problem. 0 tries all.
    rounds
        Maximum number of interleaved sample pairs per comparison.
    budget_s
        Time limit for all comparisons: 90s, 10m. Default: no limit.
    alone
        Compare single dispatches only, not the whole program.
    layers
        Show how much each layer's results differ with kernels, and whether rounding explains it.
    """

    spec: Annotated[Path | None, Parameter(group=CANDIDATES)] = None
    variants: Annotated[int, Parameter(group=AMOUNT)] = 64
    budget_s: Annotated[Duration, Parameter(name="--budget", group=AMOUNT)] = None
    rounds: Annotated[int, Parameter(group=MEASURING)] = ROUNDS
    alone: Annotated[bool, Parameter(negative="", group=MEASURING)] = False
    layers: Annotated[bool, Parameter(negative="", group=MEASURING)] = False

    def __post_init__(self) -> None:
        """Raises UsageError for numbers out of range."""
        super().__post_init__()
        at_least(0, variants=self.variants)
        at_least(1, rounds=self.rounds)
        check_budget(self.budget_s)


_OPTIONS = ContestOptions()

_ALONE_PART = 0.6
"""Of the time of a budget, for kernels alone; the rest is for the whole program."""


@app.command
def bench(
    program: ProgramName, /, *, kernel: Names = (), options: ContestOptions = _OPTIONS,
    inputs: InputFlags = INPUTS, no_db: NoDatabase = False,
    output: Annotated[
        Path | None,
        Parameter(name=["--output", "-o"], group=OUTPUT, help="Write the winners to this file, .mlir."),
    ] = None,
    as_json: Annotated[AsJson, Parameter(group=OUTPUT)] = False,
) -> int:  # fmt: skip
    """Compare kernels with the compiler's code, first as single dispatches, then in the whole program.

    The results are checked. A kernel with wrong results is reported and never chosen.

    Example: `iree-tuner kernel bench examples/mlp_batch1.mlir --spec mlp.spec.mlir -o kernels.mlir`
    """
    options = with_database(options, no_db=no_db)
    source = inputs.sized(opened(program))
    if options.spec is not None:
        note_input(options.spec)
    if output is not None:
        planned_output(output, ".mlir")
    target, others = options.targets
    wanted = _chosen(kernel, target)
    started = {"kernels": [each.name for each in wanted], "device": target.device, "chip": options.chip}
    stop = StopRequest(tell_stopping)
    with (
        open_records(options.db, source.name, started, stop=stop, fresh=options.fresh) as records,
        Lab(target, options.jobs, devices=others) as lab,
    ):
        lab.start()
        chosen, executable, spec = _compete(source, wanted, lab, records, options, inputs, as_json=as_json)
        if output is not None and chosen:
            save_kernel_spec(chosen, executable, lab.context, output, movable=True)
            tell_use(program, output, target, spec)
        if not chosen:
            people.print("no kernel is faster than the compiler's code")
        failure = records.rescue()
    if failure:
        raise TunerError(failure)
    if stop.requested:  # what was found is written
        raise KeyboardInterrupt
    return 0


def _compete(
    source: Program, wanted: Sequence[Kernel], lab: Lab, records: Records, options: ContestOptions,
    inputs: InputFlags, *, as_json: bool,
) -> tuple[Chosen, str, Path | None]:  # fmt: skip
    """Compare kernels alone, then in the program: the winners, their target, and the tuning spec to use."""
    end, given = time.monotonic() + (options.budget_s or math.inf), options.spec
    with people.status("reading the program") as status:
        outlook = outlook_of(find_places(source, lab.target, lab.compilers, wanted), wanted)
        tell_refusals(outlook)
        if not outlook.pairs and not outlook.joint:
            raise TunerError("no kernel applies to the program", location=source.name)
        tuned = configurations_of((given,) if given else (), lab.context)
        found = find_competitors(
            competitors_of(outlook, (), lab, options.variants or math.inf), (), lab, records
        )
        own_s = (1.0 if options.alone else _ALONE_PART) * (end - time.monotonic())
        contests = hold_contests(
            found, lab, records, tuned=tuned, rounds=options.rounds, seconds=own_s, watch=status.update
        )
        choices = found.choices([each.result for each in contests if each.result], lab.target, lab)
        chosen, spec, executable = choices.get("kernels", []), None, outlook.target
        report_contests(contests, as_json)
        request = inputs.request(source, lab.target.user_flags)
        if choices and not options.alone:
            status.update("comparing the whole program")
            other = TuningSpec(given, lab.context) if given else None
            left_s = end - time.monotonic()
            compared = compare_in_program(source, request, choices, other, lab, options.rounds, left_s)
            report_program(compared, as_json)
            chosen = compared.chosen
            if compared.is_tuned and compared.best is not None:
                spec, executable = given, executable_target(compared.best.target, lab.compilers)
        if options.layers and choices:
            status.update("comparing layers")
            every = list(choices.values())[-1]
            report_layers(compare_layers(source, every, outlook.target, lab, request), as_json)
    return chosen, executable, spec


def _chosen(names: Sequence[str], target: Target) -> list[Kernel]:
    """Kernels by name. Raises UsageError for another target's kernel, TunerError if something is missing."""
    wanted = [kernel_named(name) for name in names] or usual_kernels(target.backend)
    for each in wanted:
        if each.backend not in (ANY, target.backend):
            raise UsageError(f"the kernel '{each.name}' is for {each.backend}, not for {target}")
    found = [each for each in wanted if not each.missing()]
    for each in wanted:
        if each.missing() and names:
            raise TunerError(f"the kernel '{each.name}': {each.missing()}")
        if each.missing():
            people.print(f"kernel {each.name} skipped: {each.missing()}", style="yellow")
    if not found:
        raise TunerError(f"no kernel is installed for {target}", hint="iree-tuner kernel list shows all")
    return found


def _make(kernel: Kernel, site: Site, target: Target, knobs: Mapping[str, int]) -> Code:
    """Generate the code of the first variant that has the given knob values."""
    every = kernel.variants(site.problem, target)
    fitting = [
        each for each in every if not each or all(each.get(name) == value for name, value in knobs.items())
    ]
    if not fitting:
        names = ", ".join(dict.fromkeys(name for each in every for name in each))
        raise KernelError(
            f"{kernel.name} has no variant for {site.problem.name} with {knobs_text(knobs)}",
            hint=f"its knobs: {names}",
        )
    code = kernel.make(site.problem, target, fitting[0])
    return with_packed(kernel, site.problem, target, code)


_COLUMNS = (
    "problem", "kernel", "tried", "default us", "tuned us", "kernel us", "speedup over default",
    "speedup over tuned", "wins",
)  # fmt: skip
_WRONG = 3  # variants with wrong numbers that are shown


def tell_use(program: str, output: Path, target: Target, spec: Path | None = None) -> None:
    """Print the commands that compile a program with kernels, and with the tuning spec if there is one."""
    people.print("to use it:" if spec is None else "to use both:", style="bold")
    for line in use_of(program, target.flags, spec, str(target), output).commands:
        people.print(f"  {line}", soft_wrap=True)


def tell_refusals(outlook: Outlook) -> None:
    """Print the problems that kernels do not support, and why, and searches that failed."""
    for note in outlook.notes:
        people.print(note, style="yellow")
    for each in outlook.refusals:
        where = ", ".join(dict.fromkeys(each.functions))
        line = f"{each.kernel} does not support {each.problem} in {where}: {each.why}"
        people.print(line, style="dim")


def report_contests(contests: Sequence[Contest], as_json: bool) -> None:
    """Print the comparisons of single dispatches, and the wrong results."""
    held = table(*_COLUMNS, words=_COLUMNS[:1])
    for contest in contests:
        if as_json:
            print_json(contest_to_json(contest))
        over_default = contest.final.comparison
        best = f"{over_default.candidate_us:.1f}" if over_default else ""
        tuned = f"{contest.tuned.candidate_us:.1f}" if contest.tuned else ""
        alone = contest.kind.default_us if contest.kind else 0.0
        default_us = over_default.default_us if over_default else alone  # taken in turns with `best`
        default = f"{default_us:.1f}" if default_us else ""
        held.add_row(
            contest.site.problem.name, contest.kernel, str(len(contest.trials)), default, tuned, best,
            times_of(over_default), times_of(contest.over_tuned), "yes" if contest.wins else "no",
        )  # fmt: skip
        if contest.note:
            people.print(f"{contest.site.problem.name}, {contest.kernel}: {contest.note}", style="yellow")
        wrong = [each for each in contest.trials if each.outcome == "wrong_result"]
        for each in wrong[:_WRONG]:
            people.print(
                f"{contest.kernel} with {knobs_text(each.assignment)} computes wrong results: {each.message}",
                style="red",
            )
        if len(wrong) > _WRONG:
            people.print(f"{len(wrong) - _WRONG} other variants compute wrong results too", style="red")
    if contests:
        print_table(answers_to(as_json=as_json), held, spare=("default us", "tuned us", "kernel us", "wins"))
    for contest in contests:
        if contest.final.winner is not None:
            best = f"best variant of {contest.kernel}: {knobs_text(contest.knobs)}"
            people.print(f"{contest.site.problem.name}: {best}")


def report_program(compared: InProgram, as_json: bool) -> None:
    """Print the comparison of each version of the program with the baseline."""
    best = compared.best
    rows = [(version, "default", found) for version, found in compared.versions]
    if compared.over_tuned is not None and best is not None:
        rows.append((best, TUNED, compared.over_tuned))
    for version, against, found in rows:
        what, count = f"{version.what} against {against}", len(chosen_in(version.changes))
        if as_json:
            figures = comparison_facts(found.comparison)
            note = {"note": found.agreement.note} if found.agreement.note else {}
            print_json({"program": what, "kernels": count, "error": found.error, **figures, **note})
        answers_to(as_json=as_json).print(f"the program, {what}: {found.error or times_of(found.comparison)}")
    for note in dict.fromkeys(each.agreement.note for _, _, each in rows if each.agreement.note):
        people.print(note, style="yellow")
    fastest = best.what if best else "the default"
    if best is not None and chosen_in(best.changes) and not compared.chosen:
        fastest = f"{TUNED} (kernels make no difference)"
    people.print(f"fastest version of the program: {fastest}")


def report_layers(layers: Sequence[LayerError], as_json: bool) -> None:
    """Print how much the results of each layer and of the program differ with kernels."""
    names = ("layer", "max difference", "of max value", "of tolerance", "cause")
    differences = table(*names, words=("layer", "cause"))
    for each in layers:
        if as_json:
            figures = {
                k: v if isinstance(v, str) or math.isfinite(v) else None for k, v in asdict(each).items()
            }
            print_json({"layer": figures.pop("name"), **figures})
        word = "order of summation" if each.explained else each.message
        word = word if each.largest or not each.explained else "no difference"
        if each.overflown:
            word += f"; {100 * each.overflown:.2g} % of the values overflow without kernels too"
        figures = f"{each.largest:.3g}", f"{each.relative:.2g}", f"{each.worst:.2g}"
        differences.add_row(each.name, *figures, word)
    print_table(answers_to(as_json=as_json), differences, spare=("of max value",))


def contest_to_json(contest: Contest) -> dict[str, object]:
    """Convert a contest to JSON-ready data: its times, and a count of outcomes."""
    return {
        "problem": contest.site.problem.name, "functions": list(contest.place.functions),
        "kernel": contest.kernel, "trials": len(contest.trials),
        "outcomes": Counter(each.outcome for each in contest.trials),
        "note": contest.note, "chosen": contest.wins,
        "knobs": dict(contest.knobs), "over_default": comparison_facts(contest.final.comparison),
        "tuned": comparison_facts(contest.tuned), "over_tuned": comparison_facts(contest.over_tuned),
        "wrong": [{"knobs": dict(each.assignment), "message": each.message} for each in contest.trials
                  if each.outcome == "wrong_result"],
    }  # fmt: skip
