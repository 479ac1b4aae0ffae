"""`iree-tuner kernel`: external kernels in the place of what the compiler makes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from iree_tuner.cli.database import chosen_database
from iree_tuner.cli.durations import parse_duration
from iree_tuner.cli.inputs import InputFlags
from iree_tuner.cli.kernel_report import (
    report_contests,
    report_layers,
    report_program,
    tell_refusals,
    tell_use,
    told,
)
from iree_tuner.cli.knobs import Knobs, parse_knobs
from iree_tuner.cli.output import answers_to, people, print_json
from iree_tuner.cli.program_name import ProgramName
from iree_tuner.cli.table import print_table, table
from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Workers
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.files import note_input, planned_output
from iree_tuner.kernels.bench import (
    Chosen,
    bases_of,
    choices_of,
    compare_in_program,
    configurations_of,
    hold_contests,
    look_at,
    outlook_of,
)
from iree_tuner.kernels.contest import ROUNDS
from iree_tuner.kernels.find import find_places
from iree_tuner.kernels.kernel import Code, Kernel
from iree_tuner.kernels.layers import compare_layers
from iree_tuner.kernels.problem import KernelError
from iree_tuner.kernels.registry import kernel_named, kernels, usual_kernels
from iree_tuner.kernels.save import save_kernel_spec
from iree_tuner.kernels.site import Site
from iree_tuner.program.source import Program, load_program
from iree_tuner.report.progress import tell_stopping
from iree_tuner.targets import Target, parse_target, target_for_devices
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.ledger import Records, open_records
from iree_tuner.tuning.stop import StopRequest

app = App(
    name="kernel",
    help="""Put kernels that the compiler did not make in the place of what it makes.

    Example: `iree-tuner kernel bench model.mlir -o kernels.mlir`
    """,
)

_DEFAULTS = InputFlags()

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
    listed = table("kernel", "for", "what", "missing", words=("kernel", "for", "what", "missing"))
    for each in kernels():
        missing = each.missing()
        listed.add_row(each.name, each.backend, each.summary, missing)
        if as_json:
            print_json(
                {"kernel": each.name, "backend": each.backend, "summary": each.summary, "missing": missing}
            )
    print_table(answers_to(as_json=as_json), listed)


@app.command
def spec(
    program: ProgramName,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="The spec to write, .mlir.")],
    target: Annotated[
        str, Parameter(help="What to compile for: llvm-cpu:host, cuda:sm_80.")
    ] = "llvm-cpu:host",
    kernel: Names = (),
    knob: Annotated[Knobs, Parameter(help="A knob's value, as rows=6.")] = (),
    as_json: AsJson = False,
) -> int:
    """Write a spec that puts kernels in all places of a program that they compute, without measuring.

    Example: `iree-tuner kernel spec model.mlir --kernel c_gemm_f32 -o kernels.mlir`
    """
    source = load_program(program)
    planned_output(output, ".mlir")
    chosen, wanted = parse_target(target), _chosen(kernel, parse_target(target))
    knobs = parse_knobs(knob)
    with Workers(1) as workers, people.status("reading the program"):
        outlook = outlook_of(find_places(source, chosen, workers), wanted)
    made = [(site, _make(each, site, chosen, knobs)) for _, site, each in outlook.pairs]
    tell_refusals(outlook)
    if not made:
        raise TunerError("no kernel computes anything of the program", location=program)
    save_kernel_spec(made, outlook.target, new_context(), output)
    for (place, site, each), (_, code) in zip(outlook.pairs, made, strict=True):
        if as_json:
            record = {"problem": site.problem.name, "kernel": each.name, "knobs": dict(code.knobs)}
            print_json({**record, "functions": list(place.functions)})
        people.print(f"{site.problem.name}: {each.name}, {told(code.knobs)}", markup=False)
    tell_use(program, output, chosen)
    return 0


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class BenchFlags:
    """Flags of `bench`.

    Attributes
    ----------
    device
        Device URI: local-task, cuda://0. Several GPUs of one kind share the variants: give it again.
    chip
        What to compile for.
    spec
        A tuning spec; kernels must also be faster than what is tuned by it.
    variants
        Of a kernel, to try on a problem; 0 for all.
    rounds
        Interleaved pairs of a comparison at most.
    budget
        Time for all contests: 90s, 10m.
    jobs
        Compile workers; one a core by default.
    db
        Database that keeps every trial; what it knows under the same setting is not tried again.
    no_db
        Keep nothing, and know nothing.
    fresh
        Try again what the database knows already.
    alone
        Do not run the whole program.
    layers
        Say by layer how results differ with kernels, and whether types explain it.
    output
        Write the winners as a spec, .mlir.
    as_json
        Print one JSON object a line.
    """

    device: Annotated[tuple[str, ...], Parameter(negative="")] = ("local-task",)
    chip: str = "host"
    spec: Path | None = None
    variants: int = 64
    rounds: int = ROUNDS
    budget: str | None = None
    jobs: int | None = None
    db: Path | None = None
    no_db: Annotated[bool, Parameter(negative="")] = False
    fresh: Annotated[bool, Parameter(negative="")] = False
    alone: Annotated[bool, Parameter(negative="")] = False
    layers: Annotated[bool, Parameter(negative="")] = False
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False


_FLAGS = BenchFlags()


@app.command
def bench(
    program: ProgramName, /, *, kernel: Names = (), flags: BenchFlags = _FLAGS, inputs: InputFlags = _DEFAULTS
) -> int:
    """Time kernels against what the compiler makes: alone, and in the program with them and without.

    Numbers are checked; of a kernel that computes something else the reason is shown, and it is never chosen.

    Example: `iree-tuner kernel bench examples/mlp_batch1.mlir --spec mlp.spec.mlir -o kernels.mlir`
    """
    if flags.variants < 0 or flags.rounds < 1 or (flags.jobs is not None and flags.jobs < 1):
        raise UsageError("--variants must be at least 0, --rounds and --jobs at least 1")
    db = chosen_database(flags.db, no_db=flags.no_db, fresh=flags.fresh)
    source = inputs.sized(load_program(program))
    if flags.spec is not None:
        note_input(flags.spec)
    if flags.output is not None:
        planned_output(flags.output, ".mlir")
    target, others = target_for_devices(flags.device, flags.chip)
    wanted = _chosen(kernel, target)
    options = {"kernels": [each.name for each in wanted], "device": target.device, "chip": flags.chip}
    with (
        open_records(db, source.name, options, stop=StopRequest(tell_stopping), fresh=flags.fresh) as records,
        Lab(target, flags.jobs, devices=others) as lab,
    ):
        lab.start()
        won = _compete(source, wanted, lab, records, flags, inputs)
        if flags.output is not None and won.chosen:
            save_kernel_spec(won.chosen, won.target, lab.context, flags.output)
            tell_use(program, flags.output, target, won.spec)
        if not won.chosen:
            people.print("no kernel is faster than what the compiler makes")
        failure = records.rescue()
    if failure:
        raise TunerError(failure)
    return 0


@dataclass(frozen=True)
class _Won:
    """What is to be used: kernels, for an executable target, and with them a tuning spec or none."""

    chosen: Chosen
    target: str
    spec: Path | None


def _compete(
    source: Program, wanted: Sequence[Kernel], lab: Lab, records: Records, flags: BenchFlags,
    inputs: InputFlags,
) -> _Won:  # fmt: skip
    """Contests, and the program with what is best there."""
    seconds = math.inf if flags.budget is None else parse_duration(flags.budget)
    with people.status("reading the program") as status:
        outlook = look_at(source, lab.target, wanted, lab)
        tell_refusals(outlook)
        tuned = configurations_of(() if flags.spec is None else (flags.spec,), lab.context)
        contests = hold_contests(
            outlook, lab, tuned=tuned, most=flags.variants, rounds=flags.rounds, seconds=seconds,
            watch=lambda line: status.update(line), records=records,
        )  # fmt: skip
        choices = choices_of(contests)
        chosen, spec = choices.get("kernels", []), None
        report_contests(contests, outlook, flags.as_json)
        if choices and not flags.alone:
            status.update("the whole program")
            bases = bases_of(source, lab.target, flags.spec, lab.context)
            compared = compare_in_program(
                bases, choices, outlook, lab, inputs.request(source), rounds=flags.rounds
            )
            report_program(compared, flags.as_json)
            chosen, spec = compared.chosen, flags.spec if compared.is_tuned else None
        if flags.layers and choices:
            status.update("layer by layer")
            every = list(choices.values())[-1]
            report_layers(
                compare_layers(source, every, outlook.target, lab, inputs.request(source)), flags.as_json
            )
    return _Won(chosen, outlook.target, spec)


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


def _make(kernel: Kernel, site: Site, target: Target, knobs: Mapping[str, int]) -> Code:
    """Code with the first variant that has the values asked for."""
    every = kernel.variants(site.problem, target)
    fitting = [each for each in every if all(each.get(name) == value for name, value in knobs.items())]
    if not fitting:
        names = ", ".join(dict.fromkeys(name for each in every for name in each))
        raise KernelError(
            f"{kernel.name} has no variant for {site.problem.name} with {told(knobs)}",
            hint=f"its knobs: {names}",
        )
    return kernel.make(site.problem, target, fitting[0])
