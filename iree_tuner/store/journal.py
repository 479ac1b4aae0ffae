"""A journal of trials: JSON lines, appended as trials end, so that a killed run loses at most one round."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from iree_tuner.errors import TunerError
from iree_tuner.measure.trial import Trial


class Journal:
    """Writes trials to a file; without a path it writes nothing.

    Raises:
        TunerError: the file cannot be opened. A write that fails later (a full disk) ends the journal, not
            the run: `failure` says why.
    """

    def __init__(self, path: Path | None) -> None:
        self.failure = ""
        self._file: IO[str] | None = None
        if path is not None:
            try:
                self._file = path.open("a")
            except OSError as error:
                raise TunerError(f"cannot write: {error.strerror}", location=str(path)) from None

    def write(self, trials: Sequence[Trial]) -> None:
        """Append trials and hand them to the operating system."""
        if self._file is None:
            return
        try:
            for trial in trials:
                self._file.write(json.dumps(trial_to_json(trial)) + "\n")
            self._file.flush()
        except OSError as error:
            self.failure = f"the journal ends here: {error.strerror}"
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()


def trial_to_json(trial: Trial) -> dict[str, object]:
    """A trial as JSON-ready data."""
    return {
        "workload": trial.workload,
        "assignment": dict(trial.assignment),
        "outcome": trial.outcome,
        "samples_us": list(trial.samples_us),
        "baseline_us": trial.baseline_us,
        "message": trial.message,
        "digest": trial.digest,
        "compile_s": trial.compile_s,
    }
