"""`iree-tuner db`: list the trials of earlier runs."""

from __future__ import annotations

import csv
import json
import os
import re
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Literal, TextIO, TypeVar

from cyclopts import App, Parameter
from rich.table import Table

from iree_tuner.cli.output import AsJson, answers, knobs_text, people, print_json
from iree_tuner.cli.table import print_table, table
from iree_tuner.device.outcome import Outcome
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.files import STANDARD, planned_output, writing
from iree_tuner.measure.statistics import times_of
from iree_tuner.store import Store
from iree_tuner.store.exchange import Added, csv_rows, import_file, records, to_t4, write_lines
from iree_tuner.store.exchange import merge as merge_stores
from iree_tuner.store.queries import (
    LastVerdict,
    StudySummary,
    Unwanted,
    all_studies,
    find_studies,
    key_of,
    ranked,
    summaries,
    unwanted,
)
from iree_tuner.store.queries import failures as grouped
from iree_tuner.store.queries import prune as delete
from iree_tuner.store.recordings import Recording, to_recording
from iree_tuner.store.rows import trial_to_json
from iree_tuner.store.trial import Trial
from iree_tuner.tuning.options import DATABASE, DatabaseOptions

# The database that stores trials, and the options that the `db` commands share.


Options = TypeVar("Options", bound=DatabaseOptions)


def default_database() -> Path:
    """`iree_tuner/trials.db` in the user's folder for data, as the XDG base directories say."""
    home = os.environ.get("XDG_DATA_HOME", "")
    folder = Path(home) if Path(home).is_absolute() else Path.home() / ".local" / "share"
    return folder / "iree_tuner" / "trials.db"


def with_database(options: Options, *, no_db: bool) -> Options:
    """Set the database: the default one if none is named, none with `--no-db`.

    Raises UsageError for flags that exclude each other.
    """
    if no_db and (options.db or options.fresh):
        raise UsageError("--no-db excludes --db and --fresh")
    return options if no_db else replace(options, db=options.db or default_database())


NoDatabase = Annotated[
    bool, Parameter(negative="", group=DATABASE, help="Store nothing, and resume nothing.")
]


Database = Annotated[
    Path | None,
    Parameter(name="--db", help="The database. Default: iree_tuner/trials.db in the user's data folder."),
]


def to_read(path: Path | None) -> Store:
    """Open a database to read from. It must exist."""
    return Store.open(path or default_database(), readonly=True)


def to_change(path: Path | None, *, create: bool = False) -> Store:
    """Open a database to write to."""
    return Store.open(path or default_database(), create=create)


# `iree-tuner db export|import|merge|prune`: copy trials between databases and files, and delete trials.


Form = Literal["trials", "csv", "recordings", "t4"]

_SUFFIXES: Mapping[Form, tuple[str, ...]] = {
    "trials": (".jsonl",), "csv": (".csv",), "recordings": (".jsonl",), "t4": (".json",),
}  # fmt: skip
ImportedFile = Annotated[Path, Parameter(help="A file that `db export`, `db record` or a run wrote.")]
OtherDatabase = Annotated[Path, Parameter(help="The database to read. It is not changed.")]

_DAYS = {"d": 1, "w": 7}


def export(
    study: Annotated[
        str | None, Parameter(help="Number of a study, or its workload. Default: all studies.")
    ] = None,
    /,
    *,
    form: Annotated[
        Form, Parameter(name="--format", help="Format of the file. Only trials keeps everything.")
    ] = "trials",
    output: Annotated[
        Path,
        Parameter(name=["--output", "-o"], allow_leading_hyphen=True, help="Write to this file. `-` prints."),
    ] = STANDARD,
    db: Database = None,
) -> None:
    """Export the trials of one study, or of all, to a file.

    The formats recording and t4 hold one study per file.

    Example: `iree-tuner db export 3 --format t4 -o results.json`
    """
    with to_read(db) as store:
        chosen = all_studies(store) if study is None else find_studies(store, study)
        if form in ("recordings", "t4") and len(chosen) != 1:
            raise UsageError(
                f"a file in the format {form} holds one study, but {len(chosen)} are selected",
                hint="name one by number",
            )
        if output == STANDARD:
            _export(store, chosen, form, sys.stdout)
            sys.stdout.flush()
            return
        planned_output(output, *_SUFFIXES[form])
        with writing(output) as file:
            stream = TextIOWrapper(file, encoding="utf-8", write_through=True)
            try:
                _export(store, chosen, form, stream)
            finally:
                stream.detach()  # the file is not its own


def _export(store: Store, chosen: list[int], form: Form, stream: TextIO) -> None:
    if form == "trials":
        write_lines(stream, records(store, chosen))
        return
    if form == "csv":
        csv.writer(stream, lineterminator="\n").writerows(csv_rows(store, chosen))
        return
    trials = store.trials(chosen[0]).values()
    if form == "t4":
        stream.write(json.dumps(to_t4(trials), indent=1) + "\n")
        return
    for line in to_recording(Recording(key_of(store, chosen[0]), tuple(trials))):
        stream.write(json.dumps(line) + "\n")


def import_(file: ImportedFile, /, *, db: Database = None, as_json: AsJson = False) -> None:
    """Import trials from a file: exported trials, a recording, or trials that a run could not store.

    Example: `iree-tuner db import trials.jsonl --db tuning.db`
    """
    if not file.is_file():  # before a database is made for it
        raise TunerError("is a folder" if file.is_dir() else "no such file", location=str(file))
    with to_change(db, create=True) as store:
        _tell_added(import_file(store, file), as_json=as_json)


def merge(other: OtherDatabase, /, *, db: Database = None, as_json: AsJson = False) -> None:
    """Copy everything that another database has and this one lacks.

    Example: `iree-tuner db merge colleague.db --db tuning.db`
    """
    with to_read(other) as source, to_change(db, create=True) as store:
        _tell_added(merge_stores(store, source), as_json=as_json)


def prune(
    *,
    older_than: Annotated[str | None, Parameter(help="Only trials older than this: 90d, 12w.")] = None,
    outcome: Annotated[Outcome | None, Parameter(help="Only trials with this outcome.")] = None,
    compiler: Annotated[str | None, Parameter(help="Only trials of this compiler release: 3.13.0.")] = None,
    study: Annotated[
        str | None, Parameter(help="Only trials of this study: its number, or its workload.")
    ] = None,
    yes: Annotated[bool, Parameter(negative="", help="Delete the trials. Default: only count them.")] = False,
    db: Database = None,
    as_json: AsJson = False,
) -> None:
    """Delete the trials that meet all given conditions. Without `--yes`, only count them.

    Example: `iree-tuner db prune --older-than 90d --outcome compile_crash --yes`
    """
    if older_than is None and outcome is None and compiler is None and study is None:
        raise UsageError("prune needs a condition", hint="--older-than, --outcome, --compiler or --study")
    age_s = None if older_than is None else _age_s(older_than)
    with to_change(db) if yes else to_read(db) as store:
        studies = None if study is None else tuple(find_studies(store, study))
        found = unwanted(store, Unwanted(age_s, outcome, compiler, studies))
        if yes and found:
            delete(store, found)
    if as_json:
        print_json({"count": len(found), "deleted": yes})
    else:
        what = "deleted" if yes else "would be deleted; --yes deletes them"
        people.print(f"{len(found)} {'trial' if len(found) == 1 else 'trials'} {what}")


def _age_s(written: str) -> float:
    found = re.fullmatch(r"(\d{1,6})([dw])", written)
    if found is None:
        raise UsageError(f"'{written}' is not an age", hint="write it as 90d or 12w")
    return int(found[1]) * _DAYS[found[2]] * 86400.0


def _tell_added(added: Added, *, as_json: bool) -> None:
    if as_json:
        print_json(asdict(added))
    else:
        parts = ", ".join(f"{count} {name}" for name, count in asdict(added).items())
        people.print(f"added: {parts}")


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
    places = dict.fromkeys((each.key.setting.device, each.key.setting.processor) for each in found)
    several = ["device"] * (len(places) > 1)
    names = ("study", "workload", "target", *several, "trials", "best", "score", "last run")
    studies = table(*names, words=("workload", "target", "device", "trials"), apart=True)
    for each in found:
        setting = each.key.setting
        place = [f"{setting.device}\n{setting.processor}"] if several else []
        ends = ", ".join(f"{count} {outcome}" for outcome, count in each.outcomes.items())
        last_run = time.strftime("%Y-%m-%d %H:%M", time.localtime(each.last_run)) if each.last_run else ""
        studies.add_row(
            str(each.number), _workload(each), setting.target, *place, ends, _time(each.best),
            _score(each.best), last_run,
        )  # fmt: skip
    print_table(answers, studies, spare=("last run", "target"), otherwise="no studies")
    for device, processor in () if several else places:
        answers.print(f"all on {device}, {processor}")


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
            answers.print(title)
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
            _verdict(each.verdict), knobs_text(trial.assignment),
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
        found = grouped(store)
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
    best, key, setting = each.best, each.key, each.key.setting
    return {
        "study": each.number, "workload": key.workload.name, "workload_key": key.workload.key,
        "target": setting.target, "device": setting.device, "processor": setting.processor,
        "compiler": setting.compiler, "space": key.space_label, "space_count": key.space_size,
        "count": sum(each.outcomes.values()), "outcomes": each.outcomes,
        "time_us": best and best.time_us,
        "score": best.score if best is not None and best.baseline_us > 0 else None,
        "last_run": each.last_run, "program": each.program,
    }  # fmt: skip


def _best_to_json(each: StudySummary, trial: Trial) -> Mapping[str, object]:
    verdict = each.verdict
    chosen = None if verdict is None or verdict.assignment is None else dict(verdict.assignment)
    compared = None if verdict is None else {**asdict(verdict.comparison), "assignment": chosen}
    summary = _summary_to_json(each)
    kept = {name: summary[name] for name in ("study", "workload", "target", "time_us", "score")}
    own = {"assignment": dict(trial.assignment), "comparison": compared, "space": each.key.space_label}
    return kept | own


def _trials(shown: list[Trial]) -> Table:
    names = ("outcome", "time", "score", "samples", "compile", "conditions", "knobs")
    trials = table(*names, words=("conditions", "knobs"))
    for trial in shown:
        trials.add_row(
            trial.outcome, _time(trial), _score(trial), str(len(trial.samples_us)),
            f"{trial.compile_s:.2f} s", _conditions(trial), knobs_text(trial.assignment),
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


def _time(trial: Trial | None) -> str:
    return "" if trial is None or trial.time_us is None else f"{trial.time_us:.2f} us"


def _score(trial: Trial | None) -> str:
    return "" if trial is None or trial.time_us is None or trial.baseline_us <= 0 else f"{trial.score:.3f}"


def _verdict(found: LastVerdict | None) -> str:
    if found is None:
        return "not compared"
    return f"{found.comparison.verdict} {times_of(found.comparison)}"
