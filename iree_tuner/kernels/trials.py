"""Trials of kernels: what is known of them, and what is written down, in the tables of all trials."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from iree_tuner.build.candidate import Built
from iree_tuner.build.outcome import Outcome
from iree_tuner.kernels.identity import digest_of
from iree_tuner.kernels.kernel import Code, Kernel, Knobs
from iree_tuner.kernels.site import Site
from iree_tuner.measure.setting import Setting
from iree_tuner.measure.statistics import Comparison
from iree_tuner.measure.trial import Trial
from iree_tuner.measure.worker import Timed
from iree_tuner.ops.workload import Workload
from iree_tuner.program.bindings import Harness
from iree_tuner.program.fingerprint import fingerprint
from iree_tuner.space.configuration import Assignment
from iree_tuner.store.study import KERNEL, StudyKey
from iree_tuner.tuning.ledger import Ledger, Records


@dataclass(frozen=True)
class KernelTrial:
    """A kernel with one choice of its knobs.

    Attributes:
        knobs: the choice.
        trial: what became of it, as it is stored.
        code: what was made; None where it was not, or by an earlier run.
        vmfb: the harness with it; empty where it was not built, or by an earlier run.
    """

    knobs: Knobs
    trial: Trial
    code: Code | None = None
    vmfb: bytes = b""

    @property
    def outcome(self) -> Outcome:
        """`ok`, or how it ended."""
        return self.trial.outcome

    @property
    def message(self) -> str:
        """Why it failed."""
        return self.trial.message

    @property
    def time_us(self) -> float:
        """Least time of a run; infinite where there is none."""
        time_us = self.trial.time_us
        return time_us if self.outcome == "ok" and time_us is not None else math.inf

    @property
    def score(self) -> float:
        """That time relative to the default's in the same run, on which all runs agree; or infinite."""
        return self.trial.score if self.outcome == "ok" else math.inf

    def timed(self, found: Timed, default_us: float, device: str) -> KernelTrial:
        """As it is after it was timed."""
        trial = replace(
            self.trial, outcome=found.outcome, samples_us=found.samples_us, baseline_us=default_us,
            message=found.message, measure_s=found.seconds, device=device, worst=found.worst,
            readings=found.readings,
        )  # fmt: skip
        return replace(self, trial=trial)

    def ended(self, outcome: Outcome, message: str, worst: float | None = None) -> KernelTrial:
        """As it is when a second look found it to end otherwise."""
        trial = replace(self.trial, outcome=outcome, message=message, worst=worst, samples_us=())
        return replace(self, trial=trial)


def study_of(
    site: Site, kernel: Kernel, harness: Harness, workload: Workload, variants: int, setting: Setting
) -> StudyKey:
    """What has to be equal for the trials of another run to stand for those of this one.

    Args:
        site: the problem.
        kernel: what computes it.
        harness: the compiler's dispatch of the problem, which the kernel is timed in.
        workload: the dispatch's root op.
        variants: how many there are.
        setting: where and with what all is timed.
    """
    code = hashlib.sha256(repr((fingerprint(harness), site.case)).encode()).hexdigest()[:16]
    return StudyKey(setting, workload, code, digest_of(kernel), f"{KERNEL}{kernel.name}", variants)


class Book:
    """The trials of one kernel on one problem.

    Args:
        records: the run's.
        key: of the study; not asked for where nothing is kept.
        workload: key of the workload.
    """

    def __init__(self, records: Records, key: Callable[[], StudyKey], workload: str) -> None:
        self._ledger: Ledger = records.ledger(key, lambda _: "")
        self._workload = workload

    def known(self, knobs: Knobs) -> KernelTrial | None:
        """What an earlier run found; its code was not kept."""
        trial = self._ledger.known(Assignment.of(knobs))
        return None if trial is None else KernelTrial(knobs, trial)

    def made(self, knobs: Knobs, built: Built, code: Code | None = None) -> KernelTrial:
        """A trial that was compiled, or was not. Its digest is that of the kernel's code.

        That of the executable would not do: four bytes of what the compiler 3.13 makes around an object, in
        its table of entries, differ from process to process.
        """
        digest = _digest(code) if code is not None and built.outcome == "ok" else ""
        trial = Trial(
            self._workload, Assignment.of(knobs), built.outcome, message=built.message, digest=digest,
            compile_s=built.seconds,
        )  # fmt: skip
        return KernelTrial(knobs, trial, code, built.vmfb)

    def keep(self, found: KernelTrial) -> KernelTrial:
        """Write down a trial that has just ended."""
        return replace(found, trial=self._ledger.record(replace(found.trial, at=time.time())))

    def judged(self, found: KernelTrial, comparison: Comparison) -> None:
        """Keep the verdict of the finals: a variant against the compiler's own choice."""
        self._ledger.judged(found.trial.assignment, comparison)


def _digest(code: Code) -> str:
    """Equal for code that is equal, and started in the same way."""
    parts = (code.kind, code.entry, code.data, code.launch, code.scratch_bytes)
    return hashlib.sha256(repr(parts).encode()).hexdigest()
