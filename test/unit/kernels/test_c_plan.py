"""The order in which variants of the C kernel are tried, on trials of two cores of a Xeon 6."""

import json
import math
from pathlib import Path

import pytest

from iree_tuner.kernels.c_plan import CTiling, Shape

TRIALS = Path(__file__).parents[3] / "benchmarks" / "results" / "c_gemm_order.jsonl"
CORES = 2


def recorded():
    """For each problem, the predicted cycles and the measured times of its trials."""
    for line in TRIALS.read_text().splitlines():
        row = json.loads(line)
        shape = Shape(**{
            name: tuple(value) if isinstance(value, list) else value for name, value in row["shape"].items()
        })  # fmt: skip
        pairs = []
        for *knobs, us in row["trials"]:
            chosen = dict(zip(row["knobs"], knobs, strict=True))
            pairs.append((CTiling(shape, chosen, row["packed"] and not chosen["dot"]).cycles(CORES), us))
        yield row["problem"], pairs


def loss(pairs, tried):
    """How much slower the best of the variants is that are predicted to be fastest."""
    first = sorted(pairs, key=lambda pair: pair[0])[:tried]
    return min(us for _, us in first) / min(us for _, us in pairs)


@pytest.mark.parametrize(("tried", "most"), [(1, 1.1), (4, 1.03)])
def test_few_variants_come_close_to_the_best(tried, most):
    losses = [loss(pairs, tried) for _, pairs in recorded()]
    assert math.exp(sum(map(math.log, losses)) / len(losses)) <= most


def test_wide_tiles_read_rows_less_often():
    """Three vectors of columns by eight rows take as many instructions as two by twelve."""
    image = Shape(24, 24, 24, 26 * 26 * 256, 26 * 256, 256, 192, 256, tuple(range(9)), 192, 1, 192)
    common = {"lanes": 16, "dot": 0, "depth": 512, "pack_left": 0, "pack_right": 0, "unroll": 1, "tiles": 16}
    wide, tall = (
        CTiling(image, {**common, "rows": rows, "vectors": vectors, "columns": 192}, True).cycles(CORES)
        for rows, vectors in ((8, 3), (12, 2))
    )
    assert wide < tall
