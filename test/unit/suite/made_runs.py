"""Runs of the suite that nobody made: seeded, with the noise of real ones.

As a script it writes folders, whose arguments are separated by `+`.
"""

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from paired import compare_pairs

from iree_tuner.measure.statistics import CONFIDENCE_Z, center_of
from iree_tuner.profiling.roofline import MemoryLevel, Roofline, to_json
from iree_tuner.suite.backends.backend import Conditions
from iree_tuner.suite.results import Results, ResultsFolder, Row, RunFacts

NASTY = "</script><script>alert(1)</script>&\"'`<b>{{ 7*7 }}<!--"
BACKENDS = ("iree", "iree-tuned", "numpy", "torch", "onnxruntime", "jax")
ROOFS = {
    "local-task": Roofline("a CPU", (("f32", 1.4e11), ("i8", 4e11)),
                           (MemoryLevel(3e11, 1 << 21), MemoryLevel(9e10, 1 << 25), MemoryLevel(3e10)),
                           "measured: made up"),
    "cuda://0": Roofline("a GPU", (("f16", 8e14), ("f32", 5e13)),
                         (MemoryLevel(2e13, 5 << 20), MemoryLevel(4e12)), "datasheet: made up"),
}  # fmt: skip
ROUNDS = 24


@dataclass(frozen=True)
class Noise:
    """What disturbs times: standard deviations of logarithms; how often a sample is a spike, and how high."""

    white: float = 0.02
    shift: float = 0.015  # of a row from run to run
    spikes: float = 0.05
    spike: float = 0.5


@dataclass(frozen=True)
class Made:
    """What a run is like. `slower` has factors of times by operation, or by operation and back end."""

    id: str = "run-1"
    seed: int = 0
    operations: int = 8
    backends: Sequence[str] = BACKENDS
    devices: Sequence[str] = ("local-task",)
    commit: str = "a1b2c3d4"
    compiler: str = "3.13.0"
    started: float = 1_760_000_000.0
    conditions: Conditions = field(default_factory=lambda: Conditions(threads=2))
    noise: Noise = Noise()
    slower: Mapping[object, float] = field(default_factory=dict)
    broken: Sequence[str] = ()
    against: str = ""


def operations(count):
    """Name, kind, flops and bytes of some operations; the same for each run."""
    found = []
    for number in range(count):
        rng = np.random.default_rng(number)
        m, n, k = (int(2 ** rng.integers(5, 10)) for _ in range(3))
        kind = ("matmul", "batch_matmul", "convolution", "attention", "softmax")[number % 5]
        element = ("f32", "f32", "f16", "i8")[number % 4]
        work = 5.0 * m * n if kind == "softmax" else 2.0 * m * n * k
        size = {"f32": 4.0, "f16": 2.0, "i8": 1.0}[element]
        moved = size * (2 * m * n if kind == "softmax" else m * k + k * n + m * n)
        sizes = f"{m}x{n}" if kind == "softmax" else f"{m}x{n}x{k}"
        found.append((f"{kind}_{sizes}_{element}t_{element}t_{element}t", kind, work, moved, element))
    return list(dict.fromkeys(found))


_known = {}


def made_run(made):
    """Its results, as a run of the suite writes them. Tests have many in common."""
    key = repr(made)
    if key not in _known:
        _known[key] = _made(made)
    return _known[key]


def _made(made):
    facts = RunFacts(
        made.id, f"made up {made.seed}", made.commit, made.compiler,
        {"numpy": "2.1", "torch": "2.13.0"}, {each: ROOFS[each].name for each in made.devices},
        {each: to_json(ROOFS[each]) for each in made.devices}, made.conditions, made.against, made.started,
    )  # fmt: skip
    rows = [row for device in made.devices for each in operations(made.operations)
            for row in _rows(made, device, *each)]  # fmt: skip
    return Results(facts, tuple(rows))


def _rows(made, device, name, kind, work, moved, element):
    roof = ROOFS[device]
    least = roof.attainable_us(work, moved, element)
    rows, base = [], None
    for place, backend in enumerate(made.backends):
        row = Row(
            name, kind, {"m": 1}, backend, {"iree": "default", "iree-tuned": "spec"}.get(backend, ""), device,
            roof.name, flops=work, bytes=moved, compute_type=element, at=made.started,
        )  # fmt: skip
        why = _why_not(made, row)
        if why:
            rows.append(replace(row, state=why[0], message=why[1]))
            continue
        rng = np.random.default_rng([made.seed, place, *name.encode(), *device.encode()])
        share = np.random.default_rng([place, *name.encode()]).uniform(0.15, 0.9)
        shift = math.exp(rng.normal(0, made.noise.shift))
        factor = made.slower.get(name, 1.0) * made.slower.get((name, backend), 1.0)
        noise = disturbances(rng, ROUNDS, 2, made.noise) * shift * least / share
        again, samples = noise[:, 0], noise[:, 1] * factor
        base = samples if base is None else base
        rows.append(_timed(row, samples, base, least, again if made.against else None))
    return rows


def _why_not(made, row):
    if row.operation in made.broken:
        return "failed", "the results are wrong: at [3, 4] got 1.5, expected 2.5"
    if row.backend == "numpy" and row.compute_type != "f32":
        return "skipped", f"no fast {row.compute_type} matmul: BLAS supports f32 and f64"
    if row.backend == "jax" and row.kind == "attention":
        return "missing", "jax is not installed: pip install jax"
    return None


def _timed(row, samples, base, least, again):
    center, error = center_of(samples)
    time_us = float(np.median(samples))
    row = replace(
        row, verification="SUCCESS", time_us=time_us, samples_us=tuple(samples.tolist()),
        interval_us=(math.exp(center - CONFIDENCE_Z * error), math.exp(center + CONFIDENCE_Z * error)),
        roofline_share=least / time_us, normalized_us=time_us, worst_error=0.1, reference="numpy",
    )  # fmt: skip
    speedup = compare_pairs([(base, samples)])
    row = replace(row, speedup=speedup.speedup, speedup_interval=speedup.interval)
    if again is None:
        return row
    change = compare_pairs([(again, samples)])
    return replace(row, change=change.speedup, change_interval=change.interval)


def disturbances(rng, rounds, columns, noise):
    """Factors of samples."""
    white = np.exp(rng.normal(0, noise.white, (rounds, columns)))
    hit = rng.random((rounds, columns)) < noise.spikes
    return white * (1 + hit * noise.spike * rng.pareto(1.5, (rounds, columns)))


def write(results, folder):
    """As a run writes them."""
    target = ResultsFolder(Path(folder))
    target.begin(results.facts)
    for row in results.rows:
        target.add(row)


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    for name in ("id", "commit", "compiler", "against"):
        parser.add_argument(f"--{name}", default=getattr(Made(), name))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--operations", type=int, default=8)
    parser.add_argument("--days", type=int, default=0)
    parser.add_argument("--devices", default="local-task")
    parser.add_argument("--slower", action="append", default=[], metavar="PLACE=FACTOR")
    parser.add_argument("--broken", action="append", type=int, default=[], metavar="PLACE")
    given = parser.parse_args(arguments)
    names = [name for name, *_ in operations(given.operations)]
    slower = (each.split("=") for each in given.slower)
    made = Made(
        given.id, given.seed, given.operations, devices=given.devices.split(","), commit=given.commit,
        compiler=given.compiler, against=given.against, started=Made().started + 86400.0 * given.days,
        slower={names[int(place)]: float(factor) for place, factor in slower},
        broken=[names[place] for place in given.broken],
    )  # fmt: skip
    write(made_run(made), given.folder)


if __name__ == "__main__":
    for each in " ".join(sys.argv[1:]).split(" + "):
        main(each.split())
