"""`iree-tuner bench` with a codegen script, which is compared with the baseline and searched."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from iree_tuner.cli import bench as core
from iree_tuner.cli.db import NoDatabase, with_database
from iree_tuner.cli.inputs import INPUTS, CompiledName, InputFlags, opened
from iree_tuner.cli.output import OUTPUT, answers_to, knobs_text, people, print_json
from iree_tuner.cli.table import print_table, table
from iree_tuner.cli.tuned import AS_IT_IS, TunedFlags
from iree_tuner.device.program_run import ProgramRun
from iree_tuner.errors import UsageError
from iree_tuner.files import planned_output, write
from iree_tuner.measure.program import ProgramComparison, compare_programs
from iree_tuner.measure.statistics import comparison_facts, times_of
from iree_tuner.program.phases import compile_program
from iree_tuner.program.source import Program
from iree_tuner.report.progress import tell_stopping
from iree_tuner.script.build import compile_with_script
from iree_tuner.script.choices import ScriptSearch, Watch, search_script
from iree_tuner.script.commands.run import NO_SCRIPT, ScriptFlags
from iree_tuner.script.commands.script import LIBRARY_FLAG
from iree_tuner.script.script import Script
from iree_tuner.search.strategy import check_strategy
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.options import (
    AMOUNT,
    CANDIDATES,
    MEASURING,
    DatabaseOptions,
    DeviceOptions,
    Duration,
    at_least,
    check_budget,
)
from iree_tuner.tuning.records import open_records
from iree_tuner.tuning.stop import StopRequest
from iree_tuner.tuning.versions import depth_of, widened_of

_SECONDS = 120.0
_SHOWN = 3  # failed assignments


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class BenchOptions(DatabaseOptions, DeviceOptions):
    """How to measure a program and search a script's knobs.

    Attributes
    ----------
    search
        Search the script's knobs, and compare the best values in the whole program.
    trials
        Maximum number of knob assignments to try.
    budget_s
        Time limit for the search: 90s, 5m. Default: no limit.
    strategy
        Search strategy, as in `tune`: local, analytic, shuffle and others.
    seed
        Seed of all random choices.
    rounds
        Maximum number of interleaved sample pairs per comparison.
    """

    search: Annotated[bool, Parameter(negative="", group=CANDIDATES)] = False
    trials: Annotated[int, Parameter(group=AMOUNT)] = 64
    budget_s: Annotated[Duration, Parameter(name="--budget", group=AMOUNT)] = None
    strategy: Annotated[str, Parameter(group=CANDIDATES)] = "local"
    seed: Annotated[int, Parameter(group=CANDIDATES)] = 0
    rounds: Annotated[int, Parameter(group=MEASURING)] = 64

    def __post_init__(self) -> None:
        """Raises UsageError for values out of range."""
        super().__post_init__()
        if len(self.devices) > 1 and not self.search:
            raise UsageError("several devices require --search")
        check_strategy(self.strategy)
        at_least(1, trials=self.trials, rounds=self.rounds)
        at_least(0, seed=self.seed)
        check_budget(self.budget_s)


_OPTIONS = BenchOptions()


def bench(
    program: CompiledName,
    /,
    *,
    scripting: ScriptFlags = NO_SCRIPT,
    tuned: TunedFlags = AS_IT_IS,
    options: BenchOptions = _OPTIONS,
    inputs: InputFlags = INPUTS,
    no_db: NoDatabase = False,
    save_script_to: Annotated[Path | None, Parameter(name="--save-script", group=OUTPUT)] = None,
    as_json: Annotated[bool, Parameter(name="--json", negative="", group=OUTPUT)] = False,
) -> int:
    """Measure a program's run time. With a spec or a codegen script, compare it with the baseline.

    The baseline is the program as the compiler compiles it without them. `bench` checks that the
    results agree before it measures. With --search it tries the script's knobs on the dispatches that the
    script lowers, and compares the best assignment in the whole program. Exit status 1 if a version fails.

    Example: `iree-tuner bench model.mlir --spec model.spec.mlir`

    Example: `iree-tuner bench programs/matmuls/matmul.mlir --transform-script cpu_matmul --search`

    Parameters
    ----------
    save_script_to
        Write the linked script with the best knob values to this file, for iree-compile.
    as_json
        Print JSON, one object per line.
    """
    options = with_database(options, no_db=no_db)
    script = scripting.load()
    if script is not None and tuned.given:
        raise UsageError("--transform-script excludes --spec and --kernels")
    if script is None:
        if options.search or save_script_to is not None:
            flag = "--search" if options.search else "--save-script"
            raise UsageError(f"{flag} requires --transform-script")
        return core.bench(
            program, tuned=tuned, options=options, inputs=inputs, rounds=options.rounds, as_json=as_json
        )
    source, (target, others) = inputs.sized(opened(program)), options.targets
    if save_script_to is not None:
        planned_output(save_script_to, ".mlir")
    request = inputs.request(source, options.flags)
    with Lab(target, options.jobs, devices=others) as lab, people.status("compiling") as status:
        lab.start()
        lowered = compile_with_script(source, target, script, lab.compilers).lowered
        versions, stop = [("script", script)], StopRequest(tell_stopping)
        if options.search:
            versions += _searched(source, script, lowered, options, lab, stop, as_json, status.update)
        status.update("comparing the whole program")
        compared = _compare(source, versions, lab, request, options.rounds)
    _report(versions, compared, lowered, as_json)
    if save_script_to is not None:
        _save_best(versions, compared, save_script_to)
    if stop.requested:
        raise KeyboardInterrupt
    return 1 if any(not each.ok for each in compared) else 0


def _searched(
    source: Program, script: Script, lowered: tuple[str, ...], options: BenchOptions, lab: Lab,
    stop: StopRequest, as_json: bool, watch: Watch,
) -> list[tuple[str, Script]]:  # fmt: skip
    """Find the best knob values, if they differ from the script's own. Ctrl-C ends the search early."""
    started = {"script": script.name, "device": lab.target.device, "seed": options.seed}
    with stop, open_records(options.db, source.name, started, stop=stop, fresh=options.fresh) as records:
        found = search_script(
            source, script, lowered, lab, stop, strategy=options.strategy, trials=options.trials,
            seconds=options.budget_s or math.inf, seed=options.seed, rounds=options.rounds, watch=watch,
            records=records,
        )  # fmt: skip
        failure = records.rescue()
    if failure:
        people.print(failure, style="yellow")
    _tell_search(found, as_json)
    best = found.ranked[0].assignment if found.ranked else None
    return [] if best is None or dict(best) == script.defaults else [("best found", script.chosen(best))]


def _save_best(versions: list[tuple[str, Script]], compared: list[ProgramComparison], path: Path) -> None:
    """Write the fastest correct version of the script."""
    speedups = [each.comparison.speedup if each.ok and each.comparison else 0.0 for each in compared]
    (_, script), found, _ = max(zip(versions, compared, speedups, strict=True), key=lambda each: each[2])
    if not found.ok:
        people.print(f"{path} was not written: no version of the script is correct", style="yellow")
        return
    write(path, script.text())
    people.print(f"{path}: iree-compile ... {LIBRARY_FLAG}={path}", soft_wrap=True)


def _compare(
    source: Program, versions: list[tuple[str, Script]], lab: Lab, request: ProgramRun, rounds: int
) -> list[ProgramComparison]:
    default = compile_program(source, lab.target, lab.compilers).data
    built = [compile_with_script(source, lab.target, script, lab.compilers).vmfb for _, script in versions]
    depth = depth_of(source, lab)
    lab.settle()
    return compare_programs(
        [[default, *built]], lab.measurer.device, lab.measurer.workers, rounds, depth, request,
        batch_s=core.BATCH_S, seconds=_SECONDS, widened=partial(widened_of, source, lab),
    )  # fmt: skip


def _tell_search(found: ScriptSearch, as_json: bool) -> None:
    for trial in found.trials:
        if as_json:
            print_json({"knobs": dict(trial.assignment), "outcome": trial.outcome, "message": trial.message,
                        "time_us": trial.time_us if trial.outcome == "ok" else None})  # fmt: skip
    outcomes = Counter(trial.outcome for trial in found.trials)
    ended = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())
    people.print(f"{len(found.trials)} of {found.members} assignments tried: {ended}")
    for line in found.left_out:
        people.print(f"not searched: {line}", style="yellow")
    wrong = [each for each in found.trials if each.outcome == "wrong_result"]
    failed = [each for each in found.trials if each.outcome not in ("ok", "too_slow", "wrong_result")]
    for each in (*wrong[:_SHOWN], *failed[:_SHOWN]):
        line = f"{each.outcome} with {knobs_text(each.assignment)}: {each.message}"
        people.print(line, style="red" if each in wrong else "yellow")
    for each in found.ranked[:1]:
        alone = f"{each.time_us or 0.0:.1f} us, {1 / each.score:.2f}x of {found.default_us:.1f} us"
        people.print(f"best assignment, dispatches alone: {knobs_text(each.assignment)}: {alone}")


def _report(
    versions: list[tuple[str, Script]], compared: list[ProgramComparison], lowered: tuple[str, ...],
    as_json: bool,
) -> None:  # fmt: skip
    names = ("version", "default us", "us", "speedup (98% CI)", "verdict", "knobs")
    judgements = table(*names, words=("version", "verdict", "knobs"))
    for (name, script), found in zip(versions, compared, strict=True):
        knobs = knobs_text(script.defaults)
        if as_json:
            print_json({"version": name, "knobs": script.defaults, "error": found.error,
                        "lowered": list(lowered), **comparison_facts(found.comparison)})  # fmt: skip
        judged = found.comparison
        times = (f"{judged.default_us:.1f}", f"{judged.candidate_us:.1f}") if judged else ("", "")
        verdict = judged.verdict if judged else found.error
        judgements.add_row(name, *times, times_of(judged), verdict, knobs)
    console = answers_to(as_json=as_json)
    console.print(f"lowered by the script: {', '.join(lowered)}")
    print_table(console, judgements, spare=("default us", "us"))
