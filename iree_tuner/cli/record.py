"""`iree-tuner db record`: measure samples of search spaces, to develop searches on."""

from __future__ import annotations

import gzip
import json
from contextlib import closing
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from iree_tuner.cli.database import default_database
from iree_tuner.cli.output import people, print_json
from iree_tuner.cli.program_name import ProgramName
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.files import planned_folder, write
from iree_tuner.program.dynamic import sized
from iree_tuner.program.source import load_program
from iree_tuner.record import Recorded, record_module
from iree_tuner.report.progress import Progress
from iree_tuner.store.recordings import Recording, to_recording


def record(
    program: ProgramName,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="Folder; a file a workload.")],
    device: Annotated[str, Parameter(help="Device URI: local-task, local-sync.")] = "local-task",
    chip: Annotated[str, Parameter(help="What to compile for: host, znver4.")] = "host",
    count: Annotated[int, Parameter(help="Members of each space; 0 is all of them.")] = 350,
    seed: Annotated[int, Parameter(help="Of the sample.")] = 0,
    jobs: Annotated[int | None, Parameter(help="Compile workers; one a core by default.")] = None,
    db: Annotated[Path | None, Parameter(help="Database that keeps every trial, to go on later.")] = None,
    no_db: Annotated[bool, Parameter(negative="", help="Keep nothing but the recordings.")] = False,
    fresh: Annotated[bool, Parameter(negative="", help="Measure again what the database knows.")] = False,
    warm: Annotated[bool, Parameter(negative="", help="Time with data in the caches.")] = False,
    dim: Annotated[tuple[str, ...], Parameter(negative="", help="As in `tune`.")] = (),
    as_json: Annotated[
        bool, Parameter(name="--json", negative="", help="One JSON object a workload.")
    ] = False,
) -> int:
    """Measure a random sample of the search space of each workload of a program, into recordings.

    The best ones are timed a second time, in turns with the default. `iree-tuner db replay` runs strategies
    on the files. Ctrl-C writes what was measured; the same command goes on with the rest.

    Example: `iree-tuner db record examples/mlp_batch1.mlir --count 350 -o recordings`
    """
    if count < 0 or (jobs is not None and jobs < 1):
        raise UsageError("--count must be at least 0, and --jobs at least 1")
    if no_db and (db or fresh):
        raise UsageError("--no-db goes neither with --db nor with --fresh")
    source = sized(load_program(program), dim)
    planned_folder(output)
    written, interrupted = 0, False
    with Progress(people) as progress:
        found = record_module(
            source, device=device, chip=chip, count=count, seed=seed, jobs=jobs,
            db=None if no_db else db or default_database(), fresh=fresh, warm=warm, observer=progress,
        )  # fmt: skip
        with closing(found):
            for item in found:
                path = _write(item, output, chip)
                written += path is not None
                interrupted = interrupted or item.interrupted
                _tell(item, path, as_json=as_json)
    if interrupted:  # what was measured is written
        raise KeyboardInterrupt
    if not written:
        raise TunerError("nothing was recorded", location=program)
    return 0


def _write(item: Recorded, folder: Path, chip: str) -> Path | None:
    """Compressed: a recording of 350 members takes 10 KB."""
    if item.recording is None:
        return None
    suffix = "" if chip == "host" else f".{chip}"
    path = folder / f"{item.name}{suffix}.jsonl.gz"
    lines = "".join(json.dumps(line) + "\n" for line in to_recording(item.recording))
    write(path, gzip.compress(lines.encode(), mtime=0))
    return path


def _tell(item: Recorded, path: Path | None, *, as_json: bool) -> None:
    recording = item.recording
    outcomes = _outcomes(recording) if recording else {}
    if as_json:
        print_json(
            {
                "workload": item.name,
                "path": str(path) if path else None,
                "outcomes": outcomes,
                "note": item.note,
            }
        )
    counted = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items()) or "nothing"
    note = f" ({item.note})" if item.note else ""
    people.print(f"{item.name}: {counted}{f', in {path}' if path else ''}{note}", markup=False)


def _outcomes(recording: Recording) -> dict[str, int]:
    found: dict[str, int] = {}
    for trial in recording.trials:
        found[trial.outcome] = found.get(trial.outcome, 0) + 1
    return dict(sorted(found.items(), key=lambda item: -item[1]))
