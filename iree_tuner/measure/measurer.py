"""Ask the measuring worker, and turn its crashes and time-outs into outcomes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from iree_tuner.compiler.worker import WorkerCrashError, Workers, WorkerTimeoutError
from iree_tuner.measure.numerics import Agreement
from iree_tuner.measure.statistics import Comparison, compare_pairs
from iree_tuner.measure.worker import Timed, agree_here, interleave_here, time_here
from iree_tuner.ops.workload import Workload
from iree_tuner.program.dispatch import Harness

_SCREEN_BATCH_S = 0.005
_SCREEN_BATCHES = 5
_FINAL_BATCH_S = 0.01
_TIMEOUT_S = 60.0
_SEEDS = (0, 1)


class Measurer:
    """One device's measuring worker. It is restarted by itself after a crash or a time-out.

    Nothing else may use the device's cores while it works; the tuning loop sees to that.
    """

    def __init__(self, device: str, workers: Workers | None = None) -> None:
        self.device = device
        self.workers = workers or Workers(1)

    def time(self, vmfb: bytes, harness: Harness, limit_us: float | None = None) -> Timed:
        """Screen one executable: warm-up, calibration, a few batches; `too_slow` beyond `limit_us`."""
        try:
            return self.workers.call(
                time_here, vmfb, harness, self.device, _SCREEN_BATCH_S, _SCREEN_BATCHES, limit_us,
                timeout_s=_TIMEOUT_S,
            )  # fmt: skip
        except WorkerCrashError as error:
            return Timed("run_crash", message=str(error))
        except WorkerTimeoutError:
            return Timed("run_timeout", message=f"no result after {_TIMEOUT_S:.0f} s")

    def compare(
        self, placed: Sequence[tuple[bytes, Sequence[bytes]]], harness: Harness, rounds: int
    ) -> list[Comparison]:
        """Interleave the default with candidates; one comparison for each candidate.

        Args:
            placed: for each place of the code, the default and the candidates built there.
            harness: what they were built from.
            rounds: pairs for each candidate, over all places.

        Raises:
            WorkerCrashError, WorkerTimeoutError: an executable that ran in the screening did not here.
        """
        each = max(1, -(-rounds // len(placed)))
        groups: list[list[tuple[float, ...]]] = []
        for default, candidates in placed:
            samples = self.workers.call(
                interleave_here, (default, *candidates), harness, self.device, _FINAL_BATCH_S, each
            )
            groups.append(list(zip(*samples, strict=True)))
        count = len(placed[0][1])
        return [
            compare_pairs([(columns[0], columns[1 + index]) for columns in groups]) for index in range(count)
        ]

    def agrees(self, vmfb: bytes, default: bytes, harness: Harness, workload: Workload) -> Agreement:
        """Compare an executable's outputs with the default's, on two seeds."""
        accumulator = workload.types[-1] if workload.types else "f32"
        try:
            return self.workers.call(
                agree_here,
                vmfb,
                default,
                harness,
                self.device,
                _SEEDS,
                accumulator,
                workload.reduction_length,
            )
        except (WorkerCrashError, WorkerTimeoutError) as error:
            return Agreement(False, math.inf, str(error))

    def close(self) -> None:
        """Stop the worker."""
        self.workers.close()
