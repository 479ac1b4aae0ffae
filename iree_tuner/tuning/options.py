"""How to tune, as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from iree_tuner.errors import UsageError
from iree_tuner.execute.program_run import ProgramRun
from iree_tuner.search.registry import check_strategy
from iree_tuner.spec.starters import Starter
from iree_tuner.tuning.effort import Effort


@dataclass(frozen=True)
class TuningOptions:
    """How to tune; see `tune.tune_module` for what the fields mean.

    Attributes:
        effort: how much is tried.
        strategy: in what order.
        seed: of everything random.
        budget_s: seconds for everything, from reading the program to the last verdict; None: what the effort
            takes.
        candidates: what is tried of a workload at most; None: what effort and budget allow.
        self_test: try nothing but the default.
        starters: configurations to try first, by the workload's key.
        run: how the program is run.
        try_flags: whether compiler flags are tried too.
        in_model: candidates of a workload that are tried in the whole program.
        profiled: whether the program is profiled, before and after.
        rooflines: file that keeps rooflines that were measured.
        before_s: for how long a run that did not end has searched with each of these flags; 0 where none is
            gone on with.
    """

    effort: Effort
    strategy: str
    seed: int = 0
    budget_s: float | None = None
    candidates: int | None = None
    self_test: bool = False
    starters: Mapping[str, tuple[Starter, ...]] = field(default_factory=dict[str, tuple[Starter, ...]])
    run: ProgramRun = field(default_factory=ProgramRun)
    try_flags: bool = True
    in_model: int = 1
    profiled: bool = True
    rooflines: Path | None = None
    before_s: float = 0.0

    def __post_init__(self) -> None:
        """Raises UsageError for an unknown strategy, and for numbers that make no sense."""
        check_strategy(self.strategy)
        for name, value in (("candidates", self.candidates), ("in_model", self.in_model)):
            if value is not None and value < 1:
                raise UsageError(f"{name} must be at least 1, and is {value}")
        if self.seed < 0:
            raise UsageError(f"seed must be at least 0, and is {self.seed}")
        if self.budget_s is not None and not 0.0 < self.budget_s < math.inf:
            raise UsageError(f"budget_s must be above 0 and finite, and is {self.budget_s}")
