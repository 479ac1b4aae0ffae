"""`iree-tuner db record`: measure samples of search spaces, for the development of strategies."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from iree_tuner.cli.db import NoDatabase, with_database
from iree_tuner.cli.inputs import Dimensions, ProgramName, opened, tell_caution
from iree_tuner.cli.output import people, print_json
from iree_tuner.errors import TunerError
from iree_tuner.files import planned_folder, write
from iree_tuner.program.dynamic import sized
from iree_tuner.report.progress import Progress
from iree_tuner.store.recordings import to_recording
from iree_tuner.tuning.options import RecordingOptions
from iree_tuner.tuning.recording import Recorded, record_program

_DEFAULTS = RecordingOptions()


def record(
    program: ProgramName,
    /,
    *,
    output: Annotated[
        Path, Parameter(name=["--output", "-o"], help="Write one file per workload to this folder.")
    ],
    options: RecordingOptions = _DEFAULTS,
    no_db: NoDatabase = False,
    dim: Dimensions = (),
    as_json: Annotated[
        bool, Parameter(name="--json", negative="", help="Print JSON, one object per workload.")
    ] = False,
) -> int:
    """Measure a random sample of each workload's search space and write it as a recording.

    The best candidates are measured again, interleaved with the baseline. `iree-tuner db replay` runs
    strategies on recordings. Ctrl-C writes the measurements so far. To continue, run the same command again.

    Example: `iree-tuner db record examples/mlp_batch1.mlir --count 350 -o recordings`
    """
    options = with_database(options, no_db=no_db)
    tell_caution(options.scheduler)
    source = sized(opened(program), dim)
    planned_folder(output)
    written, interrupted = 0, False
    with Progress(people) as progress, closing(record_program(source, options, progress)) as found:
        for item in found:
            path = _write(item, output, options.chip)
            written += path is not None
            interrupted = interrupted or item.interrupted
            _tell(item, path, as_json=as_json)
    if interrupted:  # what was measured is written
        raise KeyboardInterrupt
    if not written:
        raise TunerError("no workload could be recorded", location=program)
    return 0


def _write(item: Recorded, folder: Path, chip: str) -> Path | None:
    """Write a recording, compressed: 350 assignments take 10 KB."""
    if item.recording is None:
        return None
    suffix = "" if chip == "host" else f".{chip}"
    path = folder / f"{item.name}{suffix}.jsonl.gz"
    lines = "".join(json.dumps(line) + "\n" for line in to_recording(item.recording))
    write(path, gzip.compress(lines.encode(), mtime=0))
    return path


def _tell(item: Recorded, path: Path | None, *, as_json: bool) -> None:
    recording = item.recording
    counts = Counter(trial.outcome for trial in recording.trials) if recording else Counter[str]()
    outcomes = dict(counts.most_common())
    if as_json:
        written = str(path) if path else None
        print_json({"workload": item.name, "path": written, "outcomes": outcomes, "note": item.note})
    counted = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items()) or "no trials"
    note = f" ({item.note})" if item.note else ""
    people.print(f"{item.name}: {counted}{f', written to {path}' if path else ''}{note}")
