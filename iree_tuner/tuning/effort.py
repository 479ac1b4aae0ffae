"""The levels of effort, in one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from iree_tuner.errors import UsageError
from iree_tuner.targets import Target


@dataclass(frozen=True)
class Effort:
    """The limits of one level of effort.

    Attributes:
        name: the level's name.
        trials: number of candidates for a workload with a quarter of the program's time or more.
        batch: number of candidates to compile together, and then to measure together.
        finalists: number of candidates in the final comparison with the default.
        rounds: maximum number of interleaved pairs per comparison. Most are decided after a few.
        least_share: workloads with a smaller share of the program's time are skipped.
        program_rounds: number of interleaved pairs in a comparison of the whole program.
        program_batch_s: minimum duration of one of its samples, in seconds.
        options: maximum number of compilations with other compiler flags.
        final_s: time limit for the final comparison of a workload, in seconds.
        model_steps: maximum number of comparisons of the whole program to find winners that slow it down.
        most_places: maximum number of code addresses at which to compare. The target requests a number.
        patience: how long a candidate may compile, as a multiple of the default's time. Code that takes
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
