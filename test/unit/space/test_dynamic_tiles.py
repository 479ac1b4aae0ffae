"""The tiles of a loop whose size is known only at run time."""

from dataclasses import replace

import pytest
from space.made_workloads import conv, matmul

from iree_tuner.ops.workload import DynamicLoop
from iree_tuner.space.build import build_space, undivided
from iree_tuner.targets import CpuLimits


def dynamic(m: int):
    return replace(matmul(m, 60, 28), dynamic=(DynamicLoop(0),))


@pytest.mark.parametrize("m", [33, 48, 60, 64])
def test_they_do_not_divide_the_size_that_stands_for_it(context, m):
    space = build_space(dynamic(m), CpuLimits(), context)
    of_64 = build_space(dynamic(64), CpuLimits(), context)
    assert {knob.name: knob.values for knob in space.knobs} == {k.name: k.values for k in of_64.knobs}
    assert space.count() == of_64.count()
    values = {knob.name: set(knob.values) for knob in space.knobs}
    assert values["distribution_0"] <= {2**i for i in range(7)} | {3 * 2**i for i in range(6)}
    assert 60 in values["distribution_1"]


def test_it_may_always_be_peeled(context):
    tiles = {"distribution_0": 16, "vector_0": 4, "distribution_1": 20, "vector_1": 4, "vector_2": 4}
    peeled = {**tiles, "enable_loop_peeling": 1, "cache_0": 0, "cache_1": 0, "cache_2": 0}
    assert build_space(dynamic(64), CpuLimits(), context).contains(peeled)
    static = build_space(matmul(64, 60, 28), CpuLimits(), context)
    assert static.violations(peeled) == ["there is nothing to peel: every tile divides"]


@pytest.mark.parametrize(("m", "prime"), [(1, 1), (2, 3), (3, 3), (4, 3), (96, 89), (97, 97), (128, 127)])
def test_builders_for_gpus_see_rows_that_no_tile_divides(m, prime):
    given = dynamic(m)
    assert undivided(given).loops == (prime, 60, 28)
    assert undivided(given) == given
    assert undivided(matmul(m, 60, 28)).loops == (m, 60, 28)


def test_builders_for_gpus_do_not_tile_other_dynamic_loops():
    given = replace(conv(16, 18, 8), dynamic=(DynamicLoop(0), DynamicLoop(1), DynamicLoop(2)))
    assert given.role("output_image") == (1, 2)
    assert undivided(given).loops[:3] == (1, 1, 17)
