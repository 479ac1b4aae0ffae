"""How a program is tuned: the request, and the decisions that follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from iree_tuner.device.program_run import ProgramRun
from iree_tuner.spec.starters import Starter
from iree_tuner.tuning.options import Effort, TuningOptions, effort_named


@dataclass(frozen=True)
class TuningPlan:
    """The plan of a run.

    Attributes:
        options: what was asked for.
        run: how the program is run.
        starters: configurations to try first, by the workload's key.
        rooflines: file that keeps rooflines that were measured.
        before_s: for how long a run that did not end has searched with each of these flags; 0 where none is
            gone on with.
    """

    options: TuningOptions
    run: ProgramRun
    starters: Mapping[str, tuple[Starter, ...]]
    rooflines: Path | None = None
    before_s: float = 0.0

    @property
    def effort(self) -> Effort:
        """How much is tried."""
        return effort_named(self.options.effort)

    @property
    def try_flags(self) -> bool:
        """Whether compiler flags are tried too."""
        return self.options.is_long if self.options.try_flags is None else self.options.try_flags

    @property
    def profiled(self) -> bool:
        """Whether the program is profiled, before and after."""
        return self.options.is_long if self.options.profile is None else self.options.profile
