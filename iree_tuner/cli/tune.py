"""`iree-tuner tune`: tune a program and write a spec."""

from __future__ import annotations

import shlex
import shutil
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from msgspec import structs

from iree_tuner.cli.db import NoDatabase, with_database
from iree_tuner.cli.inputs import INPUTS, InputFlags, ProgramName, is_command, opened, tell_caution
from iree_tuner.cli.output import OUTPUT, Json, answers_to, people, print_json
from iree_tuner.cli.report import how_to_use, nothing_to_json, report_result, result_to_json
from iree_tuner.compiler.process import shared_folder
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.files import arguments_of_command, note_input, planned_output, write
from iree_tuner.program.dynamic import parse_sizes, sized_cases
from iree_tuner.report.page import check_installed
from iree_tuner.report.progress import Progress
from iree_tuner.spec.io import shipped_specs
from iree_tuner.store import Store
from iree_tuner.store.record import Use, as_json
from iree_tuner.targets.find import kind_for_device
from iree_tuner.tune import TuningResult, tune_program
from iree_tuner.tuning.earlier import EarlierResult, read_earlier
from iree_tuner.tuning.flags import sources_of
from iree_tuner.tuning.options import CANDIDATES, INSTANT, TuningOptions
from iree_tuner.tuning.queue import NOT_TRIED
from iree_tuner.tuning.reading import NothingToTuneError
from iree_tuner.tuning.source import CandidateSource, known_sources
from iree_tuner.tuning.timeline import SEARCH


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True, kw_only=True)
class Outputs:
    """The files to write.

    Attributes
    ----------
    output
        Write the spec to this file, .mlir or .mlirbc. Default: the program's name with .spec.mlir. A spec
        that is there is replaced only by a faster result.
    kernels
        Write the external kernels that make the program faster to this second spec, .mlir (docs/kernels.md).
        Default: the output's name with .kernels.mlir. Kernels are compared with the compiler's code in runs
        with a budget, with the efforts default and full, and with this option.
    no_kernels
        Compare no external kernels.
    also
        Use a source of candidates by its name: flags, runtime (its flags), kernels, scripts (also
        scripts=FILE), or one that a package brings; may be repeated (docs/howto). By default, runs of a
        minute or more use those that are usual.
    without
        Leave out such a source; may be repeated.
    vmfb
        Also write the compiled program, .vmfb.
    report
        Also write a report of the run, .html.
    verbose
        Also print how the result was found: the time of each stage, all kernels that were tried, each change.
    as_json
        Print the results as JSON, one object per line.
    """

    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None
    kernels: Annotated[Path | None, Parameter(group=CANDIDATES)] = None
    no_kernels: Annotated[bool, Parameter(negative="", group=CANDIDATES)] = False
    also: Annotated[tuple[str, ...], Parameter(name="--with", negative="", group=CANDIDATES)] = ()
    without: Annotated[tuple[str, ...], Parameter(negative="", group=CANDIDATES)] = ()
    vmfb: Path | None = None
    report: Path | None = None
    verbose: Annotated[bool, Parameter(negative="")] = False
    as_json: Json = False


_INTERRUPTED = 130
_KERNELS = "kernels"

_OPTIONS, _OUTPUTS = TuningOptions(), Outputs()


def tune(
    program: ProgramName, /, *, inputs: InputFlags = INPUTS, options: TuningOptions = _OPTIONS,
    no_db: NoDatabase = False, outputs: Outputs = _OUTPUTS,
) -> int:  # fmt: skip
    """Search for faster configurations of a program's dispatches and write them as a tuning spec.

    `tune` compares the program with the spec and without it on the device, and prints the verdict and the
    commands that apply the spec.

    Ctrl-C stops the search. `tune` then compares and writes the results so far, and exits with status 130. A
    second Ctrl-C exits at once. If nothing could be compared, `tune` writes nothing and exits with status 1.

    Example: `iree-tuner tune examples/mlp_batch1.mlir --effort quick -o mlp.spec.mlir`
    """
    start = time.monotonic()
    options = with_database(options, no_db=no_db)
    tell_caution(options.scheduler)
    for starter in options.starters or ():
        note_input(Path(starter))
    source = sized_cases(opened(program), parse_sizes(inputs.dim))
    run = inputs.request(source, options.flags)
    path = planned_output(outputs.output or _beside(program), ".mlir", ".mlirbc")
    vmfb = planned_output(outputs.vmfb, ".vmfb") if outputs.vmfb else None
    page = planned_output(outputs.report, ".html") if outputs.report else None
    sources = _sources(options, outputs)
    saved = _KERNELS in {each.name for each in sources}
    kernel_spec = planned_output(outputs.kernels or _kernels_beside(path), ".mlir") if saved else None
    if page is not None:
        check_installed()
    if options.budget_s is not None:
        profile = True if options.profile is None and options.is_long else options.profile  # as asked for
        options = replace(options, budget_s=options.budget_s - (time.monotonic() - start), profile=profile)
    plan = replace(options, try_flags=False, compiled=vmfb is not None)  # flags are among the sources
    earlier = _earlier(plan, path, kernel_spec or _kernels_beside(path))
    try:
        with Progress(people) as progress, _starting_with(earlier, plan) as plan:
            result = tune_program(source, plan, run=run, sources=sources, observer=progress, earlier=earlier)
    except NothingToTuneError as error:
        if outputs.as_json:
            print_json(nothing_to_json(error))
        raise
    if not result.judged:  # what an earlier run wrote stays
        return _not_judged(result, outputs)
    stays, others = list[Path](), list[Path]()
    path, kernel_spec = _specs_written(result, path, kernel_spec, earlier, stays)
    if vmfb is not None:
        others.append(_written(result, lambda to: write(to, result.vmfb()), vmfb, stays))
    use = how_to_use(result, path, kernel_spec) if result.gained else Use()
    use = structs.replace(use, again=_again(no_db=no_db))
    if page is not None:
        result.report(use).save(page)
        others.append(page)
    _keep_use(options, result, use)
    _tell(result, outputs, path, kernel_spec, stays, others)
    if result.failure:
        raise TunerError(result.failure)
    return _INTERRUPTED if result.interrupted else 0


def _earlier(options: TuningOptions, path: Path, kernels: Path) -> EarlierResult | None:
    """The result that a new one may replace, if the files are one."""
    if options.self_test or not path.is_file():
        return None
    with tempfile.TemporaryDirectory(prefix="iree_tuner_") as folder:
        copied = Path(folder) / path.name  # no output may replace an input
        try:
            shutil.copy(path, copied)
            found = read_earlier(copied, kernels if kernels.is_file() else None, options.targets[0])
        except (TunerError, OSError) as error:
            why = error.message if isinstance(error, TunerError) else error
            people.print(f"{path} counts as no earlier result: {why}", style="yellow", soft_wrap=True)
            return None
    return replace(found, path=path) if found else None


@contextmanager
def _starting_with(earlier: EarlierResult | None, options: TuningOptions) -> Generator[TuningOptions]:
    """The options with the spec that a result may replace as the first of the starters, if there are any.

    A copy is read, as above.
    """
    with tempfile.TemporaryDirectory(prefix="iree_tuner_") as folder:
        if earlier is not None and options.starters != ():
            copy = Path(shutil.copy(earlier.path, folder))
            shipped = shipped_specs(options.targets[0].backend)
            given = shipped if options.starters is None else options.starters
            options = replace(options, starters=(copy, *given))
        yield options


def _again(*, no_db: bool) -> str:
    """The command that repeats the run."""
    command, *rest = arguments_of_command() or ("tune",)
    fresh = [] if no_db or "--fresh" in rest else ["--fresh"]
    return shlex.join(["iree-tuner", command, *fresh, *rest])


def _keep_use(options: TuningOptions, result: TuningResult, use: Use) -> None:
    """Keep the commands that use the result with the run, for reports."""
    if result.run and not result.failure:
        assert options.db is not None, "the run is in it"
        with Store.open(Path(options.db)) as store:
            store.add_finding(result.run, "use", as_json(use))


def _tell(
    result: TuningResult, outputs: Outputs, path: Path | None = None, kernels: Path | None = None,
    stays: Sequence[Path] = (), others: Sequence[Path] = (),
) -> None:  # fmt: skip
    """Print the result: its specs, which files of earlier results stay, and the other files."""
    written = (None if each in stays else each for each in (path, kernels))
    for record in result_to_json(result, *written) if outputs.as_json else ():
        print_json(record)
    report_result(
        answers_to(as_json=outputs.as_json), result, path, kernels, stays=stays,
        written=[each for each in others if each not in stays], verbose=outputs.verbose,
    )  # fmt: skip


def _not_judged(result: TuningResult, outputs: Outputs) -> int:
    """Print why there is no verdict. Returns the exit status."""
    _tell(result, outputs)
    if result.interrupted:
        people.print("interrupted before anything was compared: no file was written", style="yellow")
        return _INTERRUPTED
    why = result.why_not_judged or "nothing was tried"
    before_s = result.time.total_s - result.time.seconds().get(SEARCH, 0.0)
    hint = f"pass a longer --budget: all but the search took {before_s:.0f} s" if NOT_TRIED in why else None
    why = f"{'' if why.startswith('not ') else 'not judged: '}{why}; no file was written"
    raise TunerError(why, hint=hint)


def _sources(options: TuningOptions, outputs: Outputs) -> tuple[CandidateSource, ...]:
    """The sources of candidates. Raises UsageError for flags that exclude each other, and unknown names."""
    asked = outputs.kernels is not None
    if asked and outputs.no_kernels:
        raise UsageError("--no-kernels excludes --kernels")
    known = known_sources()
    also = [each.partition("=")[::2] for each in outputs.also]
    for flag, names in (("--with", [name for name, _ in also]), ("--without", outputs.without)):
        for name in names:
            if name not in known:
                raise UsageError(f"{flag}: unknown source '{name}'", hint=", ".join(known))
    for name, value in also:
        known[name] = known[name].given(value) if value else known[name]
    named = {*(name for name, _ in also), *([_KERNELS] if asked else ())}
    left_out = {*outputs.without, *([_KERNELS] if outputs.no_kernels else ())}
    if both := named & left_out:
        raise UsageError(f"--without excludes --with: {', '.join(sorted(both))}")
    short = not (options.is_long or options.effort == INSTANT or options.budget_s is not None)
    narrow = bool(options.pipelines or options.knobs or options.self_test or short)
    named |= {each.name for each in sources_of(options, ())} - left_out
    backend = kind_for_device(options.devices[0], options.chip).name
    found: list[CandidateSource] = []
    for name, source in known.items():
        usual = source.usual(backend)
        if name in named and usual is None and name == _KERNELS:
            people.print(
                f"no kernel is installed for {backend}: iree-tuner kernel list shows all", style="yellow"
            )
        elif name in named:
            found.append(usual or source)
        elif usual is not None and name not in left_out and not narrow:
            found.append(usual)
    return tuple(found)


def _specs_written(
    result: TuningResult, path: Path, kernels: Path | None, earlier: EarlierResult | None, stays: list[Path]
) -> tuple[Path, Path | None]:
    """Write the specs, unless those of the earlier result are kept. Returns the paths of the result's.

    Kernels of an earlier result that is replaced are moved away: they do not belong to the new spec.
    """
    if earlier is not None and result.keeps_earlier:
        stays += [path, *([earlier.kernels] if earlier.kernels else [])]
        return path, earlier.kernels
    wanted, path = path, _written(result, result.save, path, stays)
    if kernels is not None and result.changes_of(_KERNELS):
        return path, _written(result, partial(result.save_changes, _KERNELS), kernels, stays)
    if earlier is not None and earlier.kernels is not None and path == wanted and path not in stays:
        moved = earlier.kernels.with_name(f"earlier.{earlier.kernels.name}")
        earlier.kernels.replace(moved)
        people.print(f"{earlier.kernels} is now {moved}: the new result has no kernels", soft_wrap=True)
    return path, None


def _written(result: TuningResult, save: Callable[[Path], object], path: Path, stays: list[Path]) -> Path:
    """Write a file of the result. Returns its path, and adds a file that it does not replace to `stays`."""
    if result.proven or not path.exists():
        return _save(save, path)
    stays.append(path)
    if not result.gained or result.keeps_earlier:  # nothing new is worth a file
        return path
    return _save(save, path.with_name(f"uncertain.{path.name}"))


def _save(save: Callable[[Path], object], path: Path) -> Path:
    """Write a file.

    If its path has become unwritable, write it to a temporary folder: it must not be lost.
    """
    try:
        save(path)
    except TunerError as error:
        path = Path(tempfile.mkdtemp(prefix="iree_tuner_", dir=shared_folder())) / path.name
        save(path)
        people.print(f"{error}; {path} was written instead", style="yellow")
    return path


def _beside(program: str) -> Path:
    path = program.split()[0] if is_command(program) else program
    name = "program" if program == "-" else Path(path).name.rsplit(".", 1)[0]
    return Path(f"{name}.spec.mlir")


def _kernels_beside(spec: Path) -> Path:
    return spec.with_name(f"{spec.name.rsplit('.', 1)[0].removesuffix('.spec')}.kernels.mlir")
