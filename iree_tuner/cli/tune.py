"""`iree-tuner tune`: the main job."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from iree_tuner.cli.database import chosen_database
from iree_tuner.cli.durations import parse_duration
from iree_tuner.cli.groups import AMOUNT, CANDIDATES, DATABASE, DEVICE, MEASURING, OUTPUT
from iree_tuner.cli.inputs import InputFlags
from iree_tuner.cli.kernel_report import tell_use
from iree_tuner.cli.output import answers_to, people, print_json
from iree_tuner.cli.program_name import ProgramName
from iree_tuner.cli.report import how_to_use, report_result, result_to_json
from iree_tuner.errors import TunerError
from iree_tuner.files import note_input, planned_output, write
from iree_tuner.kernels.kernel import Kernel
from iree_tuner.kernels.registry import usual_kernels
from iree_tuner.program.source import load_program
from iree_tuner.report.page import check_installed
from iree_tuner.report.progress import Progress
from iree_tuner.search.registry import DEFAULT, strategy_names
from iree_tuner.store import Store
from iree_tuner.store.findings import Finding
from iree_tuner.targets import target_for_device
from iree_tuner.tune import TuningResult, tune_module
from iree_tuner.tuning.effort import EffortName

_STRATEGY = f"In what order candidates are tried: {', '.join(strategy_names())}."


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TuneFlags:
    """Flags of `tune`.

    Attributes
    ----------
    device
        Device URI: local-task, local-sync, cuda://0. Several GPUs of one kind share the work: give it again.
    chip
        What to compile for, with options: host, znver4, host+data-tiling.
    output
        The spec to write, .mlir or .mlirbc; the program's name with .spec.mlir by default.
    effort
        How much is tried: smoke only sees that it works; full takes hours.
    budget
        Time for all of it: 90s, 5m, 1h30m; spent where the program gains most by it.
    candidates
        Configurations of a workload that are tried at most (and variants of a kernel); by default what effort
        and budget allow.
    seed
        Seed of everything random.
    jobs
        Compile workers; one a core by default.
    db
        Database that keeps every trial, by default iree_tuner/trials.db in the user's data folder; a run
        resumes where an earlier one under the same setting ended.
    no_db
        Keep nothing, and resume nothing.
    fresh
        Try again what the database knows already.
    warm
        Time with data in the caches; otherwise buffers are rotated through more memory than they hold.
    vmfb
        Also write the program compiled with the spec.
    starter
        A spec whose configurations are tried first; may be given several times. Those that ship by default.
    try_flags
        Try compiler flags, too; by default in runs of a minute and more. None are tried where the chip has
        options.
    in_model
        Candidates of a workload that are tried in the whole program, where several win alone.
    profile
        Look where the program's time goes, before and after; by default in runs of a minute and more.
    report
        Also write a report of the run, as one HTML file.
    kernels
        Let external kernels compete with configurations, and write those that make the program faster as a
        spec, .mlir (docs/kernels.md).
    self_test
        Try nothing but the default itself, to see that the measurements call it a tie.
    as_json
        Print the results as JSON, one object a line.
    """

    device: Annotated[tuple[str, ...], Parameter(negative="", group=DEVICE)] = ("local-task",)
    chip: Annotated[str, Parameter(group=DEVICE)] = "host"
    jobs: Annotated[int | None, Parameter(group=DEVICE)] = None
    effort: Annotated[EffortName, Parameter(group=AMOUNT)] = "default"
    budget: Annotated[str | None, Parameter(group=AMOUNT)] = None
    candidates: Annotated[int | None, Parameter(group=AMOUNT)] = None
    in_model: Annotated[int, Parameter(group=AMOUNT)] = 1
    strategy: Annotated[str, Parameter(group=CANDIDATES, help=_STRATEGY)] = DEFAULT
    seed: Annotated[int, Parameter(group=CANDIDATES)] = 0
    starter: Annotated[tuple[Path, ...] | None, Parameter(negative="--no-starters", group=CANDIDATES)] = None
    try_flags: Annotated[
        bool | None, Parameter(name="--try-flags", negative="--keep-flags", group=CANDIDATES)
    ] = None
    kernels: Annotated[Path | None, Parameter(group=CANDIDATES)] = None
    self_test: Annotated[bool, Parameter(negative="", group=CANDIDATES)] = False
    warm: Annotated[bool, Parameter(negative="", group=MEASURING)] = False
    profile: Annotated[bool | None, Parameter(group=MEASURING)] = None
    db: Annotated[Path | None, Parameter(group=DATABASE)] = None
    no_db: Annotated[bool, Parameter(negative="", group=DATABASE)] = False
    fresh: Annotated[bool, Parameter(negative="", group=DATABASE)] = False
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], group=OUTPUT)] = None
    vmfb: Annotated[Path | None, Parameter(group=OUTPUT)] = None
    report: Annotated[Path | None, Parameter(group=OUTPUT)] = None
    as_json: Annotated[bool, Parameter(name="--json", negative="", group=OUTPUT)] = False


_INTERRUPTED = 130

_DEFAULTS = TuneFlags()
_INPUTS = InputFlags()


def tune(program: ProgramName, /, *, flags: TuneFlags = _DEFAULTS, inputs: InputFlags = _INPUTS) -> int:
    """Tune a program on a device: compiler flags, and a tuning spec for its dispatches.

    Ctrl-C ends the search; what was found until then is judged and written, with status 130. A second one
    leaves at once. Where nothing could be judged, nothing is written, and the status is 1.

    Example: `iree-tuner tune examples/mlp_batch1.mlir --effort quick -o mlp.spec.mlir`
    """
    start = time.monotonic()
    budget_s = None if flags.budget is None else parse_duration(flags.budget)
    db = chosen_database(flags.db, no_db=flags.no_db, fresh=flags.fresh)
    for starter in flags.starter or ():
        note_input(starter)
    source = inputs.sized(load_program(program))
    run = inputs.request(source)
    path = planned_output(flags.output or _beside(program), ".mlir", ".mlirbc")
    vmfb = planned_output(flags.vmfb, ".vmfb") if flags.vmfb else None
    page = planned_output(flags.report, ".html") if flags.report else None
    kernel_spec = planned_output(flags.kernels, ".mlir") if flags.kernels else None
    if page is not None:
        check_installed()
    if budget_s is not None:
        budget_s -= time.monotonic() - start
    with Progress(people) as progress:
        result = tune_module(
            source, device=flags.device, chip=flags.chip, effort=flags.effort, budget_s=budget_s,
            candidates=flags.candidates, strategy=flags.strategy, seed=flags.seed, jobs=flags.jobs,
            self_test=flags.self_test, starters=flags.starter, db=db, fresh=flags.fresh, warm=flags.warm,
            run=run, try_flags=flags.try_flags, in_model=flags.in_model, profile=flags.profile,
            kernels=_kernels(flags), observer=progress,
        )  # fmt: skip
    if not result.judged:  # what an earlier run wrote stays
        return _not_judged(result, as_json=flags.as_json)
    path = _save(result, path)
    if vmfb is not None:
        write(vmfb, result.vmfb())
    use = how_to_use(result, path)
    if page is not None:
        result.report([Finding("use", use)]).save(page)
    if result.run and not result.failure and (result.entries or result.flags):
        assert db is not None, "the run is in it"
        with Store.open(db) as store:
            store.add_finding(result.run, "use", use)
    for record in result_to_json(result, path) if flags.as_json else ():
        print_json(record)
    report_result(answers_to(as_json=flags.as_json), result, path)
    if result.kernels and kernel_spec is not None:
        result.save_kernels(kernel_spec)
        tell_use(program, kernel_spec, result.target, path if result.entries or result.flags else None)
    if result.failure:
        raise TunerError(result.failure)
    return _INTERRUPTED if result.interrupted else 0


def _not_judged(result: TuningResult, *, as_json: bool) -> int:
    """Say why there is no verdict; the status."""
    for record in result_to_json(result, None) if as_json else ():
        print_json(record)
    report_result(answers_to(as_json=as_json), result, None)
    if result.interrupted:
        people.print("interrupted before anything was judged: nothing is written", style="yellow")
        return _INTERRUPTED
    raise TunerError(f"not judged: {result.why_not_judged or 'nothing was tried'}; nothing is written")


def _kernels(flags: TuneFlags) -> tuple[Kernel, ...]:
    """Those that compete; none where they are not asked for."""
    if flags.kernels is None:
        return ()
    target = target_for_device(flags.device[0], flags.chip)
    found = tuple(each for each in usual_kernels(target.backend) if not each.missing())
    if not found:
        people.print(f"there is no kernel for {target} (iree-tuner kernel list)", style="yellow")
    return found


def _save(result: TuningResult, path: Path) -> Path:
    """Write the spec, elsewhere when its place has become unwritable meanwhile: it took too long to lose."""
    try:
        return result.save(path)
    except TunerError as error:
        kept = result.save(Path(tempfile.mkdtemp(prefix="iree_tuner_")) / path.name)
        people.print(f"{error}; the spec is in {kept} instead", style="yellow", markup=False)
        return kept


def _beside(program: str) -> Path:
    name = "program" if program == "-" else Path(program).name.rsplit(".", 1)[0]
    return Path(f"{name}.spec.mlir")
