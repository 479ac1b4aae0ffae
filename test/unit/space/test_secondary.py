"""Tiles first: plain members, then variants; nobody twice, nobody left out."""

from __future__ import annotations

from itertools import islice

import pytest
from amounts import amount
from by_hand import CONTEXT, space_of
from gpu_workloads import GFX942, SM_80, batch_matmul
from hypothesis import given, settings
from hypothesis import strategies as st
from space.made_workloads import matmul, softmax

from iree_tuner.space.build import build_spaces
from iree_tuner.space.configuration import Assignment
from iree_tuner.space.constraints import knob
from iree_tuner.space.expressions import require
from iree_tuner.space.joint import JointSpace
from iree_tuner.space.space import Space
from iree_tuner.targets import CpuLimits, GpuLimits

RDNA3 = GpuLimits("vulkan", "rdna3", subgroup_sizes=(32, 64), shared_memory_bytes=65536)
STAGES, WAVES, TILE = "prefetch_num_stages", "waves_per_eu", "wg_0"


def small(tiles: int, stages: tuple[int, ...], waves: int, memory: int) -> Space:
    """A tile that is held once a stage, and a wish for waves that large tiles have no room for."""

    def fill() -> None:
        tile, stage = knob(TILE, range(1, tiles + 1), "listed"), knob(STAGES, stages, "listed")
        wish = knob(WAVES, range(waves), "listed")
        require(tile * stage <= memory, "memory")
        require(wish.equals(0) | (tile < 4), "room")

    return space_of(fill, (TILE, STAGES, WAVES))


smalls = st.builds(
    small,
    st.integers(1, 8),
    st.sets(st.sampled_from((0, 1, 2, 3)), min_size=1).map(lambda found: tuple(sorted(found))),
    st.integers(1, 3),
    st.integers(6, 24),
)
joints = st.lists(smalls, min_size=1, max_size=3).map(JointSpace)


def is_plain(space: Space, member: Assignment) -> bool:
    """By the values that occur: a knob that has one value, or never the plain one, is no option."""
    members = list(space.enumerate())
    found = {name: {each[name] for each in members} for name in (STAGES, WAVES)}
    plain = {STAGES: 2, WAVES: 0}
    return all(
        member[name] == plain[name] for name in plain if len(found[name]) > 1 and plain[name] in found[name]
    )


@settings(deadline=None, max_examples=amount(20, 100))
@given(joints, st.integers(0, 9))
def test_each_member_comes_once_and_plain_ones_first(joint: JointSpace, seed: int) -> None:
    order = list(joint.staged(seed))
    assert len(order) == len(set(order)) == joint.count()
    assert set(order) == set(joint.shuffled(seed))
    plain = [is_plain(joint.spaces[place], member) for place, member in map(joint.split, order)]
    assert plain == sorted(plain, reverse=True)
    assert [joint.is_plain(member) for member in order] == plain
    assert order == list(joint.staged(seed))


def test_without_options_the_order_is_the_shuffled_one() -> None:
    joint = JointSpace([small(8, (2,), 1, 24)])
    assert not joint.spaces[0].secondary
    assert list(joint.staged(5)) == list(joint.shuffled(5))


def test_tiles_for_caches_and_peeling_are_no_options() -> None:
    for workload in (matmul(64, 96, 128), softmax(64, 96)):
        (space,) = build_spaces(workload, CpuLimits(), CONTEXT)
        assert {"cache_0", "enable_loop_peeling"} <= set(space.names)
        assert not space.secondary


OPTIONS = {
    "hip": (
        GFX942,
        {
            "TileAndFuse": {
                "no_reduce_shared_memory_bank_conflicts": 0,
                "flush_denormals": 0,
                "waves_per_eu": 0,
                "prefetch_num_stages": 2,
            },
            "VectorDistribute": {
                "no_reduce_shared_memory_bank_conflicts": 0,
                "reorder_workgroups_strategy": 0,
                "flush_denormals": 0,
                "waves_per_eu": 0,
                "prefetch_num_stages": 2,
            },
        },
    ),
    "cuda": (
        SM_80,
        {
            "TileAndFuse": {"no_reduce_shared_memory_bank_conflicts": 0},
            "VectorDistribute": {
                "no_reduce_shared_memory_bank_conflicts": 0,
                "reorder_workgroups_strategy": 0,
            },
        },
    ),
}


@pytest.mark.parametrize("target", OPTIONS)
def test_the_options_of_gpus(target: str) -> None:
    limits, expected = OPTIONS[target]
    spaces = build_spaces(batch_matmul(4, 512, 512, 512), limits, CONTEXT)
    assert {space.label: dict(space.secondary) for space in spaces} == expected


def test_the_options_of_vulkan() -> None:
    spaces = build_spaces(matmul(512, 512, 512), RDNA3, CONTEXT)
    found = {space.label: dict(space.secondary) for space in spaces}
    order = {"swap_workgroups": 0, "subgroup_size": 0}
    assert found["BaseVectorize"] == order
    assert found["MatmulPromoteVectorize"] == order | {"pipeline_depth": 1, "store_stage": 1}


@pytest.mark.parametrize("target", OPTIONS)
def test_the_first_of_a_real_space_are_plain_and_legal(target: str) -> None:
    joint = JointSpace(build_spaces(batch_matmul(4, 512, 512, 512), OPTIONS[target][0], CONTEXT))
    first = list(islice(joint.staged(2), 100))
    assert len(set(first)) == 100
    assert all(map(joint.is_plain, first))
    assert all(map(joint.contains, first[:: amount(10, 1)]))
    assert {joint.split(member)[0] for member in first} == {0, 1}
    # Most of the same number from the whole space are variants of other tiles.
    assert sum(map(joint.is_plain, islice(joint.shuffled(2), 100))) < 60


def test_a_space_that_cannot_be_enumerated_begins_at_once() -> None:
    def fill() -> None:
        tiles = [knob(f"wg_{place}", range(1, 65), "listed") for place in range(6)]
        stage = knob(STAGES, (0, 2, 3), "listed")
        require(
            (tiles[0] + tiles[1] * tiles[2]).equals(tiles[3] * tiles[4] + tiles[5]) | stage.equals(2), "ties"
        )

    joint = JointSpace([space_of(fill, (*(f"wg_{place}" for place in range(6)), STAGES))])
    first = list(islice(joint.staged(0), 50))
    assert len(set(first)) == 50
    assert all(member[STAGES] == 2 for member in first)
