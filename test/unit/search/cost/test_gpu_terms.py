"""Terms of the model for GPUs, each where it decides."""

import numpy as np
import pytest
from space.made_workloads import matmul

from iree_tuner.search.cost.gpu import estimate
from iree_tuner.targets.machine import Machine

GPU = Machine("gpu", "a GPU", 132, 16, 65536, 228 << 10, 0, 50 << 20)
BASE = {
    "wg_0": 128,
    "wg_1": 128,
    "red_2": 4,
    "mma_idx": 0,
    "sg_0": 4,
    "sg_1": 8,
    "wg_size_x": 128,
    "sg_size": 32,
}
BARE = "no_reduce_shared_memory_bank_conflicts"


def found(workload, *changes):
    members = [{BARE: 0, **BASE, **change} for change in changes]
    knobs = {name: np.array([each[name] for each in members], float) for name in members[0]}
    return estimate(workload, knobs, np.zeros(len(members)), GPU)


@pytest.mark.parametrize(("steps", "times"), [(1, 2), (2, 4), (4, 8), (8, 8), (5, 2)])
def test_rows_a_power_of_two_apart_meet_in_a_bank(steps, times):
    """`steps` instructions deep: 16 elements of two bytes each."""
    padded, bare = found(
        matmul(1024, 1024, 1280, "f16"), {"red_2": steps}, {"red_2": steps, BARE: 1}
    ).features["left_x"]
    assert (padded, bare) == (1, times)


def test_without_padding_the_same_tiles_take_longer():
    padded, bare = found(matmul(2048, 2048, 2048, "f16"), {}, {BARE: 1}).cycles
    assert padded < bare


def test_registers_spill_for_accumulators_not_for_what_is_under_way():
    wide, deep = found(
        matmul(2048, 2048, 2048, "f16"), {"wg_0": 256, "sg_0": 8, "sg_1": 16}, {"red_2": 16}
    ).features["spill_x"]
    assert wide > 1
    assert deep == 1
