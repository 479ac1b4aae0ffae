"""`iree-tuner db export|import|merge|prune`: copy trials between databases and files, and delete trials."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Mapping
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Literal, TextIO

from cyclopts import Parameter

from iree_tuner.cli.database import AsJson, Database, to_change, to_read
from iree_tuner.cli.output import people, print_json
from iree_tuner.device.outcome import Outcome
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.files import STANDARD, planned_output, writing
from iree_tuner.store import Store
from iree_tuner.store.exchange import Added, counts, records
from iree_tuner.store.exchange import merge as merge_stores
from iree_tuner.store.lines import import_file, write_lines
from iree_tuner.store.prune import Unwanted, unwanted
from iree_tuner.store.prune import prune as delete
from iree_tuner.store.queries import all_studies, find_studies, key_of
from iree_tuner.store.recordings import Recording, to_recording
from iree_tuner.store.spreadsheet import csv_rows
from iree_tuner.store.t4 import to_t4

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
        print_json(counts(added))
    else:
        parts = ", ".join(f"{count} {name}" for name, count in counts(added).items())
        people.print(f"added: {parts}")
