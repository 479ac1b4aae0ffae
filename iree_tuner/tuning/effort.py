"""How much is tried: one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from iree_tuner.errors import UsageError
from iree_tuner.targets import Target


@dataclass(frozen=True)
class Effort:
    """Limits of one level of effort.

    Attributes:
        name: of the level.
        trials: candidates for a workload with a quarter of the program's time or more.
        batch: candidates compiled together, then measured together.
        finalists: candidates that are compared with the default in earnest.
        rounds: interleaved pairs of a comparison at most; most are decided after a few.
        least_share: workloads with a smaller share of the program's time are left alone.
        program_rounds: interleaved pairs of the whole program's comparison.
        program_batch_s: least length of one of its samples, in seconds.
        options: compilations of the program with other compiler flags that are tried, at most.
        final_s: what the finals of a workload may take, in seconds, when nothing is decided.
        model_steps: comparisons of the whole program at most that find out which winners hurt it.
        most_places: addresses of the code at which verdicts are taken, at most; a target asks for so many.
        patience: how long a candidate may compile, as a multiple of what the default takes. Code that takes
            much longer is unrolled without measure, and slow (docs/measuring.md has the figures).
    """

    name: str
    trials: int
    batch: int
    finalists: int
    rounds: int
    least_share: float
    program_rounds: int
    patience: float
    program_batch_s: float = 0.05
    most_places: int = 4
    options: int = 16
    model_steps: int = 8
    final_s: float = 240.0

    def places(self, target: Target) -> int:
        """Addresses of the code at which a verdict is taken."""
        return min(self.most_places, target.placements)

    def trials_for(self, share: float) -> int:
        """Candidates for a workload with that share of the time: in proportion, but a third at least."""
        return round(self.trials * min(1.0, max(1 / 3, share / _FULL_SHARE)))

    def compile_limit_s(self, default_s: float, *, waited_for: bool) -> float:
        """Seconds that a candidate may compile, where the default takes `default_s`.

        `waited_for` says that nothing is measured meanwhile; where it is, more patience costs little.
        """
        least = _LEAST_PATIENCE_S if waited_for else _LEAST_PATIENCE_BESIDE_S
        return max(least, self.patience * default_s)

    def most_ops(self, default_ops: int) -> int:
        """Operations that a candidate may have before code generation: LLVM's time grows faster."""
        return max(_LEAST_OPS, round(_OPS_A_TIME * self.patience * default_ops))


EffortName = Literal["smoke", "quick", "default", "full"]
"""The levels that there are."""

_FULL_SHARE = 0.25
_LEAST_PATIENCE_S = 1.0
_LEAST_PATIENCE_BESIDE_S = 5.0
_LEAST_OPS = 8000
_OPS_A_TIME = 2.0  # times as many operations as patience has times as many seconds

EFFORTS: dict[str, Effort] = {
    # To see that all of it works on a program and a device, in seconds: it decides little.
    "smoke": Effort(
        "smoke",
        trials=4,
        batch=4,
        finalists=1,
        rounds=16,
        least_share=0.05,
        program_rounds=8,
        patience=4.0,
        program_batch_s=0.001,
        most_places=1,
        final_s=8.0,
        options=3,
        model_steps=1,
    ),
    "quick": Effort(
        "quick",
        trials=24,
        batch=8,
        finalists=2,
        rounds=320,
        least_share=0.05,
        program_rounds=80,
        patience=4.0,
        program_batch_s=0.01,
        most_places=2,
        final_s=8.0,
        options=8,
        model_steps=4,
    ),
    "default": Effort(
        "default",
        trials=160,
        batch=16,
        finalists=6,
        rounds=1280,
        least_share=0.01,
        program_rounds=160,
        patience=4.0,
    ),
    "full": Effort(
        "full",
        trials=800,
        batch=16,
        finalists=8,
        rounds=2560,
        least_share=0.0,
        program_rounds=320,
        patience=20.0,
    ),
}


def effort_named(name: str) -> Effort:
    """Raises UsageError for an unknown name."""
    if name not in EFFORTS:
        raise UsageError(f"unknown effort '{name}'", hint=f"one of: {', '.join(EFFORTS)}")
    return EFFORTS[name]
