"""The records of a run, and known results of earlier runs."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from iree_tuner.compiler.process import shared_folder
from iree_tuner.space.configuration import Assignment
from iree_tuner.store import Store, StoreError, write_rescue
from iree_tuner.store.queries import Relative, relatives
from iree_tuner.store.trial import StudyKey, Trial
from iree_tuner.tuning.stop import StopRequest


@dataclass
class Records:
    """A run's place in the store. Without a store nothing is kept.

    When a write fails (a full disk), nothing more is written and the run is asked to stop; what could not be
    written is kept in `unsaved`.
    """

    store: Store | None
    stop: StopRequest
    run: int = 0
    fresh: bool = False
    failures: Path | None = None
    failure: StoreError | None = None
    unsaved: list[tuple[StudyKey, Trial]] = field(default_factory=list[tuple[StudyKey, Trial]])

    def study(self, key: Callable[[], StudyKey]) -> tuple[StudyKey | None, int, Mapping[Assignment, Trial]]:
        """Open a study: its key and number, and trials of earlier runs; without a store, no key is made."""
        if self.store is None:
            return None, 0, {}
        made, study = key(), 0
        known: Mapping[Assignment, Trial] = {}
        try:
            study = self.store.study(made)
            known = {} if self.fresh else self.store.trials(study)
        except StoreError as error:
            self._fail(error)
        return made, study, known

    def relatives(self, key: StudyKey, studies: int, trials: int) -> list[Relative]:
        """Known results of similar workloads (see `store.queries`); nothing for a fresh run."""
        if self.store is None or self.fresh or self.failure is not None:
            return []
        try:
            return relatives(self.store, key, studies, trials)
        except StoreError as error:
            self._fail(error)
            return []

    def write(self, action: Callable[[Store], None]) -> bool:
        """Write something; False when it is not written."""
        if self.store is None or self.failure is not None:
            return False
        try:
            action(self.store)
        except StoreError as error:
            self._fail(error)
            return False
        return True

    def rescue(self) -> str:
        """Save trials that could not be stored to a separate file. Returns a message, or an empty text."""
        if self.failure is None:
            return ""
        if not self.unsaved:
            return str(self.failure)
        path = Path(tempfile.mkdtemp(prefix="iree_tuner_", dir=shared_folder())) / "trials.jsonl"
        try:
            write_rescue(path, self.unsaved)
        except StoreError as error:
            return f"{self.failure}; {len(self.unsaved)} trials are lost: {error}"
        saved = f"{len(self.unsaved)} trials were saved to {path}"
        return f"{self.failure}; {saved}: store them with iree-tuner db import {path}"

    def _fail(self, error: StoreError) -> None:
        self.failure = error
        self.stop.request()


@contextmanager
def open_records(
    path: str | Path | None, program: str, options: Mapping[str, object], *, stop: StopRequest, fresh: bool
) -> Generator[Records]:
    """A new run in a database. Raises StoreError.

    Args:
        path: of the database; None for a run that stores nothing.
        program: its name.
        options: those of the run.
        stop: a request to stop.
        fresh: ignore earlier trials.
    """
    if path is None:
        yield Records(None, stop)
        return
    with Store.open(Path(path)) as store:
        run = store.start_run(program, options)
        records = Records(store, stop, run, fresh, Path(f"{path}.failures"))
        state = "failed"
        try:
            yield records
            state = "interrupted" if stop.requested else "done"
        finally:
            records.write(lambda store: store.end_run(run, state))
