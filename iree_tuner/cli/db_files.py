"""`iree-tuner db export|import|merge|prune`: databases to files and back."""

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
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.execute.outcome import Outcome
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
ImportedFile = Annotated[Path, Parameter(help="What `db export`, `db record` or a run wrote.")]
OtherDatabase = Annotated[Path, Parameter(help="The database to take from; it stays as it is.")]

_DAYS = {"d": 1, "w": 7}


def export(
    study: Annotated[
        str | None, Parameter(help="Number of a study, or its workload; all of them by default.")
    ] = None,
    /,
    *,
    form: Annotated[Form, Parameter(name="--format", help="trials loses nothing.")] = "trials",
    output: Annotated[
        Path, Parameter(name=["--output", "-o"], allow_leading_hyphen=True, help="`-` prints it.")
    ] = STANDARD,
    db: Database = None,
) -> None:
    """Write trials to a file, of all studies or one. Recordings and T4 hold one study a file.

    Example: `iree-tuner db export 3 --format t4 -o results.json`
    """
    with to_read(db) as store:
        chosen = all_studies(store) if study is None else find_studies(store, study)
        if form in ("recordings", "t4") and len(chosen) != 1:
            raise UsageError(f"{form} hold one study, and these are {len(chosen)}", hint="name one by number")
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
    """Add the trials of a file: exported ones, a recording, or what a run could not store.

    Example: `iree-tuner db import trials.jsonl --db tuning.db`
    """
    if not file.is_file():  # before a database is made for it
        raise TunerError("is a folder" if file.is_dir() else "no such file", location=str(file))
    with to_change(db, create=True) as store:
        _tell_added(import_file(store, file), as_json=as_json)


def merge(other: OtherDatabase, /, *, db: Database = None, as_json: AsJson = False) -> None:
    """Add all that another database holds and this one does not.

    Example: `iree-tuner db merge colleague.db --db tuning.db`
    """
    with to_read(other) as source, to_change(db, create=True) as store:
        _tell_added(merge_stores(store, source), as_json=as_json)


def prune(
    *,
    older_than: Annotated[str | None, Parameter(help="Age of the trials: 90d, 12w.")] = None,
    outcome: Annotated[Outcome | None, Parameter(help="How they ended.")] = None,
    compiler: Annotated[str | None, Parameter(help="Release of the compiler: 3.13.0.")] = None,
    study: Annotated[str | None, Parameter(help="A study's number, or a workload.")] = None,
    yes: Annotated[bool, Parameter(negative="", help="Delete; otherwise only say what.")] = False,
    db: Database = None,
    as_json: AsJson = False,
) -> None:
    """Delete the trials that fit all that is given; without `--yes` only say how many there are.

    Example: `iree-tuner db prune --older-than 90d --outcome compile_crash --yes`
    """
    if older_than is None and outcome is None and compiler is None and study is None:
        raise UsageError("say which trials", hint="--older-than, --outcome, --compiler or --study")
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
        raise UsageError(f"'{written}' is not an age", hint="write 90d or 12w")
    return int(found[1]) * _DAYS[found[2]] * 86400.0


def _tell_added(added: Added, *, as_json: bool) -> None:
    if as_json:
        print_json(counts(added))
    else:
        parts = ", ".join(f"{count} {name}" for name, count in counts(added).items())
        people.print(f"new: {parts}")
