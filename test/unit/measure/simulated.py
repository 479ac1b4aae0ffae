"""Simulated devices: what disturbs times, in models that are seeded and quick.

A device runs executables that differ only by `gains`. Time goes on from batch to batch; what the machine
does (drift, load, throttling) is a series over all batches, what an executable does by itself (modes) one
over its own, and what comes with loading it (where data and code fall) stays while it is loaded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from iree_tuner.measure.sampling import turns
from iree_tuner.measure.statistics import Comparison, JudgePlan, judge

Floats = NDArray[np.float64]
Rng = np.random.Generator

TRACES = Path(__file__).parent / "traces"
PLACES = 4
COPIES = 6


def nothing(rng: Rng, count: int, columns: int) -> Floats | float:
    """No disturbance."""
    return 1.0


@dataclass(frozen=True)
class Model:
    """What disturbs a device; each value is a factor.

    Attributes:
        white: relative standard deviation of each batch by itself.
        machine: (rng, batches, 1) to factors of the batches, one after another.
        own: (rng, rounds, columns) to factors of each executable's own batches.
        loaded: (rng, 1, columns) to factors that stay while the executables are loaded.
        drift: relative change of times a batch, from the first on.
        step: of the clock, relative to the time.
        announced: where `machine` is above 1.2, the sensors say so.
    """

    white: float = 0.01
    machine: Callable[[Rng, int, int], Floats | float] = nothing
    own: Callable[[Rng, int, int], Floats | float] = nothing
    loaded: Callable[[Rng, int, int], Floats | float] = nothing
    drift: float = 0.0
    step: float = 0.0
    announced: bool = False


def switching(dwell: float, high: float, share: float = 0.5) -> Callable[[Rng, int, int], Floats]:
    """Two states that last `dwell` batches in the mean: 1, and `high` for that share of the time."""

    def series(rng: Rng, count: int, columns: int) -> Floats:
        leave_low, leave_high = min(1.0, share / dwell), min(1.0, (1 - share) / dwell)
        # At a change the new state is drawn regardless of the old one, so that changes can be drawn at once.
        changes = rng.random((count, columns)) < leave_low + leave_high
        changes[0] = True
        last = np.maximum.accumulate(np.where(changes, np.arange(count)[:, None], 0), axis=0)
        drawn = rng.random((count, columns)) < share
        return np.where(np.take_along_axis(drawn, last, axis=0), high, 1.0)

    return series


def spikes(share: float, size: float) -> Callable[[Rng, int, int], Floats]:
    """A share of the batches takes longer, by a factor with a long tail."""

    def series(rng: Rng, count: int, columns: int) -> Floats:
        hit = rng.random((count, columns)) < share
        return 1.0 + hit * size * rng.pareto(1.5, (count, columns))

    return series


def walk(step: float) -> Callable[[Rng, int, int], Floats]:
    """Random-walk drift."""
    return lambda rng, count, columns: np.exp(np.cumsum(rng.normal(0, step, (count, columns)), axis=0))


def waves(period: float, height: float) -> Callable[[Rng, int, int], Floats]:
    """Load of others that comes and goes smoothly: periods between half of `period` and twice that."""

    def series(rng: Rng, count: int, columns: int) -> Floats:
        times = np.arange(count)[:, None, None]
        periods = period * 2 ** rng.uniform(-1, 1, (1, columns, 4))
        phases = rng.uniform(0, 2 * np.pi, (1, columns, 4))
        sines = np.sin(2 * np.pi * times / periods + phases).sum(axis=2)
        return 1.0 + height * np.maximum(0.0, sines)

    return series


def either(low: float, high: float) -> Callable[[Rng, int, int], Floats]:
    """One of two factors, for each column."""
    return lambda rng, count, columns: rng.choice([low, high], (count, columns))


def trace(name: str) -> Callable[[Rng, int, int], Floats]:
    """A recording of copies that took turns (`benchmarks/verdicts.py --record`), from a random moment on.

    Which copy was which is drawn anew. A recording that is shorter than what is asked for begins again.
    """
    found = np.array(json.loads((TRACES / f"{name}.json").read_text(encoding="utf-8"))["rows"], float) / 1000

    def series(rng: Rng, count: int, columns: int) -> Floats:
        rows = (rng.integers(len(found)) + np.arange(count)) % len(found)
        return found[rows][:, rng.permutation(found.shape[1])[:columns]]

    return series


MODELS: dict[str, Model] = {
    "white 1 %": Model(),
    "white 3 %": Model(white=0.03),
    "white 10 %": Model(white=0.10),
    "linear drift": Model(drift=2e-4),
    "random walk": Model(machine=walk(0.005)),
    "sticky modes": Model(own=switching(15, 1.05)),
    "modes of the machine": Model(machine=switching(40, 1.3)),
    "modes by load": Model(loaded=either(1.0, 1.05)),
    "spikes": Model(own=spikes(0.1, 0.5)),
    "silent throttling": Model(machine=switching(150, 1.5, 0.2)),
    "announced throttling": Model(machine=switching(150, 1.5, 0.2), announced=True),
    "load waves": Model(machine=waves(200, 0.15)),
    "short load waves": Model(machine=waves(12, 0.15)),
    "coarse clock": Model(step=0.01),
    "trace, idle": Model(white=0.0, own=trace("idle")),
    "trace, loaded": Model(white=0.0, own=trace("loaded")),
    "trace, loaded, spikes and modes": Model(own=trace("loaded"), machine=spikes(0.05, 0.5), drift=1e-4),
}


@lru_cache
def _turns(columns: int) -> NDArray[np.intp]:
    """For each of the orders of `interleave`, the turn that each executable has."""
    return np.array([np.argsort(turns(columns, place)) for place in range(2 * columns)])


class Device:
    """Executables loaded at each place; `take` is what `judge` asks for. `gains` are true speedups."""

    def __init__(self, model: Model, gains: Sequence[float], rng: Rng) -> None:
        self._model = model
        self._rng = rng
        self._true = 100.0 / np.array([1.0, *gains])
        self._loaded = [model.loaded(rng, 1, len(self._true)) for _ in range(PLACES)]
        self._batches = 0
        self.rounds = 0

    def take(self, rounds: int) -> list[Floats]:
        """So many more rounds at each place."""
        self.rounds += rounds * PLACES
        return [self._place(loaded, rounds) for loaded in self._loaded]

    def _place(self, loaded: Floats | float, rounds: int) -> Floats:
        model, rng, columns = self._model, self._rng, len(self._true)
        taken = 2 * rounds if model.announced else rounds  # as `interleave` repeats so many at most
        machine = np.broadcast_to(model.machine(rng, taken * columns, 1), (taken * columns, 1))
        machine = machine.reshape(taken, columns)
        rows = np.arange(taken)[:, None]
        machine = machine[rows, _turns(columns)[rows % (2 * columns), np.arange(columns)]]
        times = self._true * loaded * machine * model.own(rng, taken, columns)
        times *= 1.0 + model.white * rng.standard_normal((taken, columns))
        moments = self._batches + np.arange(taken)[:, None] * columns
        times *= 1.0 + model.drift * moments
        self._batches += taken * columns
        if model.step:
            times = np.maximum(1.0, np.round(times / (100.0 * model.step))) * 100.0 * model.step
        if model.announced:
            good = (machine < 1.2).all(axis=1)
            times = times[np.argsort(~good, kind="stable")][:rounds]
        return times


def final(model: Model, rng: Rng, plan: JudgePlan, gain: float = 1.0) -> tuple[Comparison, int]:
    """What `tuning/finals.py` does, with six candidates as good as each other; and the pairs that it took."""
    first = Device(model, [gain] * COPIES, rng)
    found = judge(first.take, COPIES, plan)
    best = max(found, key=lambda comparison: comparison.speedup)
    if best.verdict != "win":
        return best, first.rounds
    second = Device(model, [gain], rng)
    (best,) = judge(second.take, 1, plan)
    return best, first.rounds + second.rounds
