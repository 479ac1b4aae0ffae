"""The records of a search, and known results of earlier ones."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from iree_tuner.compiler.orphans import shared_folder
from iree_tuner.measure.candidate import GIVEN_UP
from iree_tuner.measure.statistics import Comparison
from iree_tuner.measure.trial import Trial
from iree_tuner.space.configuration import Assignment
from iree_tuner.store import Store, StoreError, write_rescue
from iree_tuner.store.relatives import Relative, relatives
from iree_tuner.store.study import StudyKey
from iree_tuner.tuning.stop import StopRequest

_FINE = ("ok", "too_slow")


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

    def ledger(self, key: Callable[[], StudyKey], reproduce: Callable[[Trial], str]) -> Ledger:
        """The part of it for one study."""
        if self.store is None:
            return Ledger(self, None, 0, {}, reproduce)
        made = key()
        study = 0
        known: Mapping[Assignment, Trial] = {}
        try:
            study = self.store.study(made)
            known = {} if self.fresh else self.store.trials(study)
        except StoreError as error:
            self._fail(error)
        return Ledger(self, made, study, known, reproduce)

    def relatives(self, key: StudyKey, studies: int, trials: int) -> list[Relative]:
        """Known results of similar workloads (see `store.relatives`); nothing for a fresh run."""
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
    path: str | Path | None, program: str, options: Mapping[str, object], *, stop: StopRequest, fresh: bool,
    run: int = 0,
) -> Generator[Records]:  # fmt: skip
    """A run in a database, a new one or one that goes on. Raises StoreError.

    Args:
        path: of the database; None for a run that keeps nothing.
        program: its name.
        options: what a new run was asked for.
        stop: a request to stop.
        fresh: know nothing of earlier trials.
        run: number of the run to go on with; 0 for a new one.
    """
    if path is None:
        yield Records(None, stop)
        return
    with Store.open(Path(path)) as store:
        if run:
            store.resume_run(run)
        else:
            run = store.start_run(program, options)
        records = Records(store, stop, run, fresh, Path(f"{path}.failures"))
        state = "failed"
        try:
            yield records
            state = "interrupted" if stop.requested else "done"
        finally:
            records.write(lambda store: store.end_run(run, state))


class Ledger:
    """Trials of one study."""

    def __init__(
        self,
        records: Records,
        key: StudyKey | None,
        study: int,
        known: Mapping[Assignment, Trial],
        reproduce: Callable[[Trial], str],
    ) -> None:
        self._records = records
        self._key = key
        self._study = study
        self._known = known
        self._reproduce = reproduce

    def known(self, assignment: Assignment) -> Trial | None:
        """The result of an assignment in an earlier run under the same setting."""
        return self._known.get(assignment)

    @property
    def known_assignments(self) -> list[Assignment]:
        """All of those, in the order in which they ended."""
        return sorted(self._known, key=lambda assignment: self._known[assignment].at)

    def record(self, trial: Trial) -> Trial:
        """Keep a trial that has ended; a failure gets its reproducer."""
        if trial.outcome not in _FINE and not trial.message.startswith(GIVEN_UP):
            trial = replace(trial, reproducer=self._reproduce(trial))
        if self._key is None:
            return trial
        run, study = self._records.run, self._study
        if not self._records.write(lambda store: store.add(study, run, [trial])):
            self._records.unsaved.append((self._key, trial))
        return trial

    def judged(self, assignment: Assignment | None, comparison: Comparison) -> None:
        """Keep a verdict."""
        if self._key is not None:
            run, study = self._records.run, self._study
            self._records.write(lambda store: store.add_verdict(study, run, assignment, comparison))
