"""`iree-tuner db`: list the trials of earlier runs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated

from cyclopts import App, Parameter
from rich.table import Table

from iree_tuner.cli.database import AsJson, Database, to_read
from iree_tuner.cli.db_files import export, import_, merge, prune
from iree_tuner.cli.output import answers, print_json
from iree_tuner.cli.table import print_table, table
from iree_tuner.errors import UsageError
from iree_tuner.measure.causes import cause_of
from iree_tuner.measure.trial import Trial
from iree_tuner.store.failures import failures as grouped
from iree_tuner.store.queries import LastVerdict, StudySummary, find_studies, key_of, ranked, summaries
from iree_tuner.store.rows import trial_to_json

app = App(
    name="db",
    help="""List, export, merge and prune stored trials. Record search spaces and replay searches on them.

    The trials of one workload, target and space form a study.

    Example: `iree-tuner db list`
    """,
)
app.command(export)
app.command(import_, name="import")
app.command(merge)
app.command(prune)

Study = Annotated[
    str, Parameter(help="The study: its number, or its workload's name or key, as `db list` shows.")
]
Limit = Annotated[int, Parameter(help="Number of rows to show. 0 shows all.")]


@app.command(name="list")
def list_(*, db: Database = None, as_json: AsJson = False) -> None:
    """List the studies: workload, target, device, number of trials and best time.

    `score` is the best time divided by the baseline's: 0.5 is twice as fast.

    Example: `iree-tuner db list --db tuning.db`
    """
    with to_read(db) as store:
        found = summaries(store)
    if as_json:
        for each in found:
            print_json(_summary_to_json(each))
        return
    names = ("study", "workload", "target", "device", "trials", "best", "score", "last run")
    studies = table(*names, words=("workload", "target", "device", "trials"), apart=True)
    for each in found:
        setting = each.key.setting
        ends = ", ".join(f"{count} {outcome}" for outcome, count in each.outcomes.items())
        studies.add_row(
            str(each.number), _workload(each), setting.target, _device(each), ends,
            _time(each.best), _score(each.best), _day(each.last_run),
        )  # fmt: skip
    print_table(answers, studies, spare=("last run", "target"), otherwise="no studies")


@app.command
def show(study: Study, /, *, limit: Limit = 20, db: Database = None, as_json: AsJson = False) -> None:
    """Show the trials of a study, best first.

    `score` is a trial's time divided by the baseline's: 0.5 is twice as fast.

    Example: `iree-tuner db show matmul_512x768x1024_f32_f32_f32 --limit 5`
    """
    if limit < 0:
        raise UsageError("--limit must not be negative")
    with to_read(db) as store:
        for number in find_studies(store, study):
            trials = ranked(list(store.trials(number).values()))
            shown = trials[:limit] if limit else trials
            if as_json:
                for trial in shown:
                    print_json({"study": number, "time_us": trial.time_us, **trial_to_json(trial)})
                continue
            key = key_of(store, number)
            title = f"study {number}: {key.workload.name}, {key.space_label}, {key.setting.target}"
            answers.print(title, markup=False)
            print_table(answers, _trials(shown), spare=("conditions", "compile", "samples"))
            if len(shown) < len(trials):
                answers.print(f"{len(trials) - len(shown)} more (--limit 0 shows all)")


@app.command
def best(*, db: Database = None, as_json: AsJson = False) -> None:
    """Show the best trial of each study, and its last comparison with the baseline.

    Example: `iree-tuner db best --json`
    """
    with to_read(db) as store:
        found = [(each, each.best) for each in summaries(store) if each.best is not None]
    names = ("study", "workload", "target", "time", "score", "verdict", "knobs")
    leaders = table(*names, words=("workload", "target", "verdict", "knobs"), apart=True)
    for each, trial in found:
        if as_json:
            print_json(_best_to_json(each, trial))
            continue
        leaders.add_row(
            str(each.number), _workload(each), each.key.setting.target, _time(trial), _score(trial),
            _verdict(each.verdict), _knobs(trial),
        )  # fmt: skip
    if not as_json:
        print_table(answers, leaders, spare=("target",), otherwise="no successful trials")


@app.command
def failures(*, limit: Limit = 0, db: Database = None, as_json: AsJson = False) -> None:
    """Group failed trials by cause, each with a reproducer.

    A reproducer is a folder with the dispatch, its configuration, and a command of IREE's tools that shows
    the failure.

    Example: `iree-tuner db failures --limit 10`
    """
    if limit < 0:
        raise UsageError("--limit must not be negative")
    with to_read(db) as store:
        found = grouped(store, cause_of)
    found = found[:limit] if limit else found
    names = ("outcome", "count", "studies", "cause", "reproducer")
    causes = table(*names, words=("cause", "reproducer"), apart=True)
    for each in found:
        if as_json:
            print_json(asdict(each))
        causes.add_row(each.outcome, str(each.count), str(each.studies), each.named_cause, each.reproducer)
    if not as_json:
        print_table(answers, causes, otherwise="no failures")


def _summary_to_json(each: StudySummary) -> dict[str, object]:
    best = each.best
    return {
        "study": each.number,
        "workload": each.key.workload.name,
        "workload_key": each.key.workload.key,
        "target": each.key.setting.target,
        "device": each.key.setting.device,
        "processor": each.key.setting.processor,
        "compiler": each.key.setting.compiler,
        "space": each.key.space_label,
        "space_count": each.key.space_size,
        "count": sum(each.outcomes.values()),
        "outcomes": each.outcomes,
        "time_us": best and best.time_us,
        "score": best.score if best is not None and best.baseline_us > 0 else None,
        "last_run": each.last_run,
        "program": each.program,
    }


def _best_to_json(each: StudySummary, trial: Trial) -> Mapping[str, object]:
    verdict = each.verdict
    chosen = None if verdict is None or verdict.assignment is None else dict(verdict.assignment)
    compared = None if verdict is None else {**asdict(verdict.comparison), "assignment": chosen}
    summary = _summary_to_json(each)
    kept = {name: summary[name] for name in ("study", "workload", "target", "time_us", "score")}
    space = {"space": each.key.space_label}
    return {**kept, "assignment": dict(trial.assignment), "comparison": compared, **space}


def _trials(shown: list[Trial]) -> Table:
    names = ("outcome", "time", "score", "samples", "compile", "conditions", "knobs")
    trials = table(*names, words=("conditions", "knobs"))
    for trial in shown:
        trials.add_row(
            trial.outcome, _time(trial), _score(trial), str(len(trial.samples_us)),
            f"{trial.compile_s:.2f} s", _conditions(trial), _knobs(trial),
        )  # fmt: skip
    return trials


def _conditions(trial: Trial) -> str:
    found = trial.readings
    parts = (
        (found.clock_mhz, "{:.0f} MHz"),
        (found.temperature_c, "{:.0f} C"),
        (found.load, "load {:.1f}"),
        (found.stolen, "{:.1%} stolen by the hypervisor"),
        (found.throttled or None, "{} samples discarded (throttled)"),
    )
    return ", ".join(form.format(value) for value, form in parts if value is not None)


def _workload(each: StudySummary) -> str:
    return f"{each.key.workload.name}\n{each.key.space_label}"


def _device(each: StudySummary) -> str:
    return f"{each.key.setting.device}\n{each.key.setting.processor}"


def _knobs(trial: Trial) -> str:
    return " ".join(f"{name}={value}" for name, value in trial.assignment.items())


def _time(trial: Trial | None) -> str:
    return "" if trial is None or trial.time_us is None else f"{trial.time_us:.2f} us"


def _score(trial: Trial | None) -> str:
    return "" if trial is None or trial.time_us is None or trial.baseline_us <= 0 else f"{trial.score:.3f}"


def _verdict(found: LastVerdict | None) -> str:
    if found is None:
        return "not compared"
    low, high = found.comparison.interval
    return f"{found.comparison.verdict} {found.comparison.speedup:.2f}x ({low:.2f} to {high:.2f})"


def _day(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at)) if at else ""
