"""Terms of the model for ops on GPUs that move data, each where it decides."""

import numpy as np
import pytest
from space.made_workloads import matmul, softmax

from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.indexing_map import IndexingMap
from iree_tuner.ops.workload import Workload
from iree_tuner.search.cost.gpu_streams import estimate, fits
from iree_tuner.targets.machine import Machine

GPU = Machine("gpu", "a GPU", 132, 16, 65536, 228 << 10, 0, 50 << 20)
TURNED = Workload(
    "generic", "transpose", (4096, 4096), ("parallel", "parallel"), (ElementType.named("f32"),) * 2,
    (IndexingMap.parse("(d0, d1) -> (d1, d0)"), IndexingMap.parse("(d0, d1) -> (d0, d1)")),
)  # fmt: skip
COPIED = Workload(
    "generic", "elementwise", (4096, 4096), ("parallel", "parallel"), (ElementType.named("f32"),) * 2,
    (IndexingMap.parse("(d0, d1) -> (d0, d1)"),) * 2,
)  # fmt: skip


def found(workload, *members):
    names = sorted({name for member in members for name in member})
    knobs = {name: np.array([member.get(name, 0) for member in members], float) for name in names}
    return estimate(workload, knobs, GPU)


def tile(rows, columns, own_rows, own_columns):
    threads = rows * columns // (own_rows * own_columns)
    return {"wg_0": rows, "wg_1": columns, "th_0": own_rows, "th_1": own_columns, "wg_size_x": threads}


def test_it_is_not_for_products():
    knobs = {"wg_0": np.ones(1), "th_0": np.ones(1)}
    assert fits(COPIED, knobs)
    assert not fits(matmul(64, 64, 64), knobs)
    assert not fits(COPIED, {"wg_0": np.ones(1)})


def test_small_workgroups_begin_too_often():
    small, large = found(COPIED, tile(1, 32, 1, 1), tile(1, 1024, 1, 4)).cycles
    assert small > 4 * large


def test_stores_of_parts_of_a_sector_cost_memory():
    """A thread with eight columns stores them in two parts of 16 bytes, each half a sector."""
    whole, parts = found(COPIED, tile(4, 128, 1, 4), tile(4, 256, 1, 8)).features["memory_cycles"] / (
        512,
        1024,
    )
    assert parts == pytest.approx(1.5 * whole)


def test_a_turned_operand_needs_tiles_that_are_wide_on_both_sides():
    flat, square = found(TURNED, tile(1, 1024, 1, 4), tile(32, 32, 4, 1)).cycles
    assert flat > 1.5 * square


def test_lanes_that_share_a_row_exchange_and_wait_less():
    shared = {"wg_0": 1, "th_k": 4, "subgroups": 4, "wg_size_x": 128}
    one_step, four_steps = found(
        softmax(8192, 2048), shared | {"red_1": 2048}, shared | {"red_1": 512}
    ).features["wait_cycles"]
    assert four_steps == 4 * one_step
    alone = found(softmax(8192, 2048), {"wg_0": 128, "th_0": 1, "red_1": 4, "wg_size_x": 128})
    assert alone.features["exchange_cycles"][0] == 1
    assert alone.cycles[0] > found(softmax(8192, 2048), shared | {"red_1": 2048}).cycles[0]
