"""What the measuring worker can be asked to do. Every function here runs in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from iree_tuner.build.outcome import Outcome
from iree_tuner.measure.data import outputs
from iree_tuner.measure.numerics import Agreement, compare
from iree_tuner.measure.runner import LoadedDispatch, calibrate, interleaved
from iree_tuner.program.dispatch import Harness

SEED = 0


@dataclass(frozen=True)
class Timed:
    """Samples of one executable, in microseconds a run, or why there are none."""

    outcome: Outcome
    samples_us: tuple[float, ...] = ()
    message: str = ""


def time_here(
    vmfb: bytes, harness: Harness, device: str, batch_s: float, batches: int, limit_us: float | None
) -> Timed:
    """Time an executable; give up after the first batch when that is slower than `limit_us`."""
    try:
        loaded = LoadedDispatch(vmfb, harness, device)
        loaded.fill(SEED)
        loaded.run(1)
        first = loaded.run(1) * 1e6
        if limit_us is not None and first > 2 * limit_us + _CALL_OVERHEAD_US:
            return Timed("too_slow", (first,))
        repeats = calibrate(loaded, batch_s)
        samples = [loaded.run(repeats) / repeats * 1e6]
        if limit_us is not None and samples[0] > limit_us:
            return Timed("too_slow", tuple(samples))
        samples += [loaded.run(repeats) / repeats * 1e6 for _ in range(batches - 1)]
    except (RuntimeError, ValueError) as error:
        return Timed("run_error", message=str(error).splitlines()[0])
    return Timed("ok", tuple(samples))


_CALL_OVERHEAD_US = 200.0  # of one call with one run, beside the run itself


def interleave_here(
    vmfbs: Sequence[bytes], harness: Harness, device: str, batch_s: float, rounds: int
) -> list[list[float]]:
    """Rounds of samples, in microseconds a run; every round has one of each executable."""
    loaded = [LoadedDispatch(vmfb, harness, device) for vmfb in vmfbs]
    for item in loaded:
        item.fill(SEED)
    repeats = [calibrate(item, batch_s) for item in loaded]
    return interleaved(loaded, repeats, rounds)


def agree_here(
    vmfb: bytes,
    default: bytes,
    harness: Harness,
    device: str,
    seeds: Sequence[int],
    accumulator_type: str,
    reduction_length: int,
) -> Agreement:
    """Run both on the same data and compare everything that they write."""
    ours, theirs = LoadedDispatch(vmfb, harness, device), LoadedDispatch(default, harness, device)
    worst = 0.0
    for seed in seeds:
        for item in (ours, theirs):
            item.fill(seed)
            item.run(1)
        pairs = zip(
            outputs(harness.bindings, ours.read()), outputs(harness.bindings, theirs.read()), strict=True
        )
        for (tensor, got), (_, expected) in pairs:
            found = compare(got, expected, tensor.element_type, accumulator_type, reduction_length)
            if not found.ok:
                return Agreement(False, found.worst, f"seed {seed}: {found.message}")
            worst = max(worst, found.worst)
    return Agreement(True, worst)
