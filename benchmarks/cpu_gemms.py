"""The C kernel beside OpenBLAS and oneDNN, each by its own interface, in turns in one process.

    pip install scipy-openblas32 onednn-cpu-gomp
    OPENBLAS_CORETYPE=SkylakeX python benchmarks/cpu_gemms.py --threads 1 --json rows.jsonl

30 shapes in f32: products of transformers, of odd sizes and of one row, and convolutions of ResNet-50 and
MobileNet (nhwc by hwcf, no padding: the images are as large as the windows need). For each:

1. `--variants` of the kernel, in its own order, are compiled, checked against numpy and timed; the best one
   goes on. `--knobs` limits them: `lanes=8` are those for AVX2.
2. That one takes turns with `cblas_sgemm` and with oneDNN's matmul or convolution primitive. oneDNN has its
   weights once as they are in the program (`plain`), and once in the layout that it asks for, packed
   outside of the measurement (`packed`). For a convolution with a window, OpenBLAS multiplies a matrix whose
   windows were gathered outside of the measurement: what remains is less than a convolution.

A row has the median and the least time of each, and the kernel's speed relative to each: the median of the
rounds' ratios, and the ratio of least times, which other processes disturb less. All data are warm. Loops
over calls are in C; the kernel's workgroups are run by OpenMP, one after the other where there is one thread.
The process is bound to as many CPUs as threads. OpenBLAS 0.3.34 does not know every processor with AVX-512:
`OPENBLAS_CORETYPE` names one of its kernels, and rows say which ran.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from cpu_libraries import HOST, KERNEL, SHAPES, Array, Libraries, Product, Run, Shape, aligned
from iree.compiler import ir
from numpy.typing import NDArray

from iree_tuner.compiler.context import new_context
from iree_tuner.kernels.kernel import Knobs, Problem
from iree_tuner.kernels.site import find_sites
from iree_tuner.suite.programs import module_of

BATCH_S, QUICK_S = 0.002, 0.0005
LIBRARIES = ("openblas", "onednn_plain", "onednn_packed")


def main() -> None:
    """Compare each, print rows and a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--variants", type=int, default=24)
    parser.add_argument("--knobs", nargs="*", default=[], help="KNOB=VALUE that variants must have")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--shapes", type=int, nargs="*", help="numbers of shapes; all by default")
    parser.add_argument("--json", type=Path, help="file to which rows are appended, one a line")
    given = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-given.threads :])
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="iree_tuner_") as folder:
        libraries = Libraries(Path(folder), given.threads)
        for shape in [SHAPES[each] for each in given.shapes] if given.shapes else SHAPES:
            rows.append(row_of(shape, libraries, given))
            print(json.dumps(rows[-1]), flush=True)
            if given.json:
                with given.json.open("a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
    print(table(rows))


def problem_of(shape: Shape) -> Problem:
    """As the kernel sees it."""
    with new_context():
        ((site,),) = find_sites(module_of(shape.operation, ir.Context.current))
    return site.problem


def row_of(shape: Shape, libraries: Libraries, given: argparse.Namespace) -> dict[str, Any]:
    """One shape: the best variant, and all in turns."""
    rng = np.random.default_rng(0)
    left, right, result = arrays = [aligned(each) for each in shape.shapes]
    for each in (left, right):
        each[:] = rng.standard_normal(each.shape)
    matrix = aligned(shape.gemm[::2])
    matrix[:] = shape.gathered(left)
    flat = right.T if isinstance(shape, Product) and shape.transposed else right.reshape(shape.gemm[2], -1)
    want = (matrix.astype(np.float64) @ flat).reshape(result.shape)
    knobs, own, tried = best_of(problem_of(shape), libraries, given, arrays, want)
    runs: dict[str, Run] = {"kernel": own, "openblas": libraries.openblas(shape, [matrix, right, result])}
    for name, packed in (("onednn_plain", False), ("onednn_packed", True)):
        runs[name] = libraries.dnnl.primitive(shape, arrays, packed=packed)
    for name, run in runs.items():
        check(name, run, result, want)
    times = in_turns(list(runs.values()), given.rounds)
    row: dict[str, Any] = {
        "shape": shape.name,
        "threads": given.threads,
        "knobs": dict(knobs),
        "tried": tried,
    }
    row["us"] = {
        name: round(statistics.median(each) * 1e6, 2) for name, each in zip(runs, times, strict=True)
    }
    row["best_us"] = {name: round(min(each) * 1e6, 2) for name, each in zip(runs, times, strict=True)}
    m, n, k = shape.gemm
    row["kernel_gflops"] = round(2 * m * n * k / min(times[0]) / 1e9, 1)
    row["over"] = {
        name: round(statistics.median(b / a for a, b in zip(times[0], each, strict=True)), 3)
        for name, each in list(zip(runs, times, strict=True))[1:]
    }
    row["over_by_least"] = {
        name: round(min(each) / min(times[0]), 3) for name, each in list(zip(runs, times, strict=True))[1:]
    }
    row["openblas_core"] = libraries.blas.scipy_openblas_get_corename().decode()
    return row


def best_of(
    problem: Problem,
    libraries: Libraries,
    given: argparse.Namespace,
    arrays: Sequence[Array],
    want: NDArray[Any],
) -> tuple[Knobs, Run, int]:
    """The fastest of the first variants, each checked."""
    wanted = {name: int(value) for name, _, value in (each.partition("=") for each in given.knobs)}
    variants = [each for each in KERNEL.variants(problem, HOST) if wanted.items() <= dict(each).items()]
    found: list[tuple[float, int, Knobs, Run]] = []
    for number, knobs in enumerate(variants[: given.variants]):
        run = libraries.kernel(problem, knobs, arrays)
        check(str(knobs), run, arrays[-1], want)
        (times,) = in_turns([run], 8, QUICK_S)
        found.append((min(times), number, knobs, run))
    best = sorted(found, key=lambda each: each[:2])[:4]
    again = in_turns([run for _, _, _, run in best], 12)
    _, chosen = min(zip(again, best, strict=True), key=lambda each: min(each[0]))
    return chosen[2], chosen[3], len(found)


def check(name: str, run: Run, result: Array, want: NDArray[Any]) -> None:
    """Whether all of a result is written, and right."""
    result[:] = np.nan
    run(1)
    np.testing.assert_allclose(result, want, rtol=1e-4, atol=1e-3, err_msg=name)


def in_turns(runs: Sequence[Run], rounds: int, batch_s: float = BATCH_S) -> list[list[float]]:
    """Seconds of a call of each, of so many rounds; each round begins with another one."""
    counts = [max(1, round(batch_s / max(timed(run, 1), 1e-7))) for run in runs]
    counts = [
        max(1, round(batch_s / max(timed(run, max(1, n // 4)), 1e-7)))
        for run, n in zip(runs, counts, strict=True)
    ]
    times: list[list[float]] = [[] for _ in runs]
    for turn in range(rounds):
        for place in range(len(runs)):
            number = (turn + place) % len(runs)
            times[number].append(timed(runs[number], counts[number]))
    return times


def timed(run: Run, times: int) -> float:
    """Seconds of a call."""
    start = time.perf_counter()
    run(times)
    return (time.perf_counter() - start) / times


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown, by least times, with geometric means."""
    lines = [
        "| shape | kernel us | GFLOP/s | over OpenBLAS | over oneDNN | over oneDNN, packed |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        ratios = " | ".join(f"{row['over_by_least'][name]:.2f}" for name in LIBRARIES)
        lines.append(
            f"| {row['shape']} | {row['best_us']['kernel']:.1f} | {row['kernel_gflops']:.0f} | {ratios} |"
        )
    means = [geometric([row["over_by_least"][name] for row in rows]) for name in LIBRARIES]
    lines.append(f"| geometric mean | | | {' | '.join(f'{each:.2f}' for each in means)} |")
    for key, how in (("over_by_least", "least times"), ("over", "medians")):
        every = [row[key] for row in rows]
        plain = geometric([min(each["openblas"], each["onednn_plain"]) for each in every])
        packed = geometric([min(each.values()) for each in every])
        lines.append(
            f"\nOver the fastest for each shape, by {how}: {plain:.3f}; with oneDNN packed: {packed:.3f}"
        )
    return "\n".join(lines)


def geometric(values: Sequence[float]) -> float:
    """Mean."""
    return math.exp(statistics.fmean(map(math.log, values)))


if __name__ == "__main__":
    sys.exit(main())
