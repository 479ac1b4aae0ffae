"""Spaces of batched contractions and grouped convolutions with matrix instructions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from amounts import amount
from gpu_workloads import (
    GFX942,
    SM_80,
    batch_matmul,
    depthwise,
    grouped_channels_first,
    grouped_channels_last,
)
from iree.compiler import ir
from light_members import light

from iree_tuner.measure.candidate import Builder
from iree_tuner.ops.indexing_map import IndexingMap
from iree_tuner.ops.workload import Workload
from iree_tuner.space.build import build_spaces
from iree_tuner.space.compilers_choice import Written, find_default
from iree_tuner.space.configuration import Assignment
from iree_tuner.space.emitted import emit
from iree_tuner.space.gpu.matrix import matrix_constraints
from iree_tuner.space.gpu.matrix_problem import direct_problem, igemm_problem
from iree_tuner.space.legality import Rules
from iree_tuner.space.space import Space
from iree_tuner.targets import GpuLimits, parse_target

UPSTREAM = Path(__file__).parents[2] / "upstream"
PROGRAMS = Path(__file__).parents[2] / "space" / "Inputs"
SHAPES = {SM_80.arch: [(16, 8, 16)], GFX942.arch: [(16, 16, 16), (32, 32, 8)]}


def spaces(workload: Workload, limits: GpuLimits, context: ir.Context) -> list[Space]:
    with context, ir.Location.unknown(context):
        return [Space(workload, module) for module in matrix_constraints(workload, limits)]


def subgroups(member: Mapping[str, int], m: list[int], n: list[int], limits: GpuLimits) -> float:
    """Of a member's tiles, counted here once more: tiles of subgroups in a workgroup's tile."""
    rows, columns, _ = SHAPES[limits.arch][member["mma_idx"]]
    pieces = math.prod(member[f"wg_{loop}"] / member[f"sg_{loop}"] for loop in [*m, *n])
    return pieces / rows / columns


@pytest.mark.parametrize("limits", [SM_80, GFX942])
def test_threads_are_those_that_the_tiles_are_for(limits: GpuLimits, context: ir.Context) -> None:
    space, _ = spaces(batch_matmul(4, 1024, 2048, 512), limits, context)
    for member in space.sample(200, seed=0):
        threads = member["wg_size_x"]
        assert threads == subgroups(member, [1], [2], limits) * limits.subgroup_size
        assert threads <= limits.max_threads


@pytest.mark.parametrize("limits", [SM_80, GFX942])
def test_operands_fit_shared_memory(limits: GpuLimits, context: ir.Context) -> None:
    space, _ = spaces(batch_matmul(4, 1024, 2048, 512), limits, context)
    for member in space.sample(200, seed=1):
        depth = member["red_3"] * SHAPES[limits.arch][member["mma_idx"]][2]
        assert (member["wg_1"] + member["wg_2"]) * depth * 2 <= limits.shared_memory_bytes


def test_batch_loops_have_tiles_of_one(context: ir.Context) -> None:
    space, _ = spaces(batch_matmul(4, 1024, 2048, 512), SM_80, context)
    (member,) = space.sample(1, seed=0)
    text = space.configuration(member).ops[0].value
    assert f"workgroup = [1, {member['wg_1']}, {member['wg_2']}, 0]" in text
    assert f"subgroup = [0, {member['sg_1']}, {member['sg_2']}, 0]" in text
    assert "convert_acc_gemm" in text


@pytest.mark.parametrize("limits", [SM_80, GFX942])
def test_layouts_have_whole_instructions_in_each_subgroup(limits: GpuLimits, context: ir.Context) -> None:
    _, space = spaces(batch_matmul(4, 1024, 2048, 512), limits, context)
    assert space.pipeline == "VectorDistribute"
    for member in space.sample(200, seed=0):
        rows, columns, depth = SHAPES[limits.arch][member["mma_idx"]]
        assert member["wg_1"] % (member["sg_m_cnt"] * rows) == 0
        assert member["wg_2"] % (member["sg_n_cnt"] * columns) == 0
        assert member["red_3"] % depth == 0
        assert member["wg_size_x"] == member["sg_m_cnt"] * member["sg_n_cnt"] * limits.subgroup_size
        assert member["wg_size_x"] <= limits.max_threads


def test_samples_of_both_pipelines_compile(dispatch, compilers, context: ir.Context) -> None:
    builder = Builder(parse_target("cuda:sm_80"), compilers)
    for space in spaces(dispatch.workload, dispatch.limits, context):
        members = [space.configuration(member) for member in light(space.sample(16, seed=0))[: amount(1, 3)]]
        built = list(builder.build_all(dispatch.harness, members))
        assert [each.outcome for each in built] == ["ok"] * len(members), [each.message for each in built]


def test_sizes_that_no_instruction_divides_are_padded(context: ir.Context) -> None:
    (space,) = spaces(batch_matmul(3, 100, 200, 60), GFX942, context)
    for member in space.sample(50, seed=0):
        depth = member["red_3"] * SHAPES["gfx942"][member["mma_idx"]][2]
        assert member["pad_k"] == depth
        padding = f"padding = [1, {member['wg_1']}, {member['wg_2']}, {depth}]"
        assert padding in space.configuration(member).ops[0].value


def test_reduced_loops_of_gathered_patches_are_one() -> None:
    first = igemm_problem(grouped_channels_first())
    assert first is not None
    assert first.loops == (2, 4, 64, 32, 32, 32 * 9)
    assert (first.batch, first.m, first.n, first.k) == ((1,), (2,), (0, 3, 4), (5,))
    last = igemm_problem(grouped_channels_last())
    assert last is not None
    assert last.loops == (2, 32, 16, 4, 64, 9 * 32)
    assert (last.batch, last.m, last.n, last.k) == ((3,), (0, 1, 2), (4,), (5,))


def test_a_filter_in_another_order_keeps_loops_apart() -> None:
    workload = grouped_channels_last()
    image, _, result = workload.maps
    filter_ = IndexingMap.through(8, (3, 4, 7, 5, 6))
    problem = igemm_problem(replace(workload, maps=(image, filter_, result)))
    assert problem is not None
    assert problem.loops == (2, 32, 16, 4, 64, 9, 32)
    assert problem.k == (5, 6)


def test_convolutions_are_offered_directly_where_windows_move_by_one(context: ir.Context) -> None:
    labels = [space.label for space in spaces(grouped_channels_last(), GFX942, context)]
    assert labels == ["TileAndFuse", "TileAndFuse:igemm"]
    assert direct_problem(grouped_channels_last(stride=2)) is None
    assert [s.label for s in spaces(grouped_channels_last(stride=2), GFX942, context)] == [
        "TileAndFuse:igemm"
    ]


def test_what_a_thread_gathers_is_bounded(context: ir.Context) -> None:
    space = spaces(grouped_channels_first(), SM_80, context)[1]
    for member in space.sample(200, seed=2):
        pixels = member["wg_0"] * member["wg_3"] * member["wg_4"]
        gathered = pixels * member["red_5"] * 16 * member["sg_0"]
        assert gathered <= 64 * member["wg_size_x"]


def test_nothing_without_a_fitting_instruction(context: ir.Context) -> None:
    assert not spaces(batch_matmul(4, 256, 512, 128, "f32"), SM_80, context)
    assert not spaces(depthwise(), GFX942, context)


def test_blocks_of_instructions_are_left_out(context: ir.Context) -> None:
    space, _ = spaces(batch_matmul(4, 256, 512, 128), GFX942, context)
    assert {knob.name: knob.values for knob in space.knobs}["mma_idx"] == (0, 1)


@pytest.fixture(scope="module")
def dispatch(only_dispatch):
    return only_dispatch(PROGRAMS / "batch_matmul_f16.mlir", parse_target("cuda:sm_80"))


def test_the_compilers_choice_is_a_member(dispatch, context: ir.Context) -> None:
    space, _ = spaces(dispatch.workload, dispatch.limits, context)
    found = find_default(space, Written.by_compiler(dispatch))
    assert found.assignment is not None, found.reasons


def test_the_compiler_takes_wrong_thread_counts_and_the_space_does_not(
    dispatch, compilers, context: ir.Context
) -> None:
    space, _ = spaces(dispatch.workload, dispatch.limits, context)
    member = light(space.sample(16, seed=0))[0]
    wrong = Assignment.of({**member, "wg_size_x": 2 * member["wg_size_x"]})
    builder = Builder(parse_target("cuda:sm_80"), compilers)
    for assignment in (member, wrong):
        built = builder.build(dispatch.harness, space.configuration(assignment))
        assert built.outcome == "ok", built.message
    assert any("wg_size_x" in reason for reason in space.violations(wrong))


def test_a_gathered_convolution_has_the_loops_that_gathering_leaves(
    only_dispatch, compilers, context: ir.Context
) -> None:
    target = parse_target("hip:gfx942")
    dispatch = only_dispatch(UPSTREAM / "igemm_reduction_loops.mlir", target)
    emitted = emit(dispatch.harness, dispatch.workload, target, compilers)
    spaces = build_spaces(dispatch.workload, dispatch.limits, context, emitted.modules)
    (space,) = [each for each in spaces if each.label == "TileAndFuse:igemm"]
    assert find_default(space, Written.by_compiler(dispatch)).assignment is not None
    members = [space.configuration(member) for member in light(space.sample(16, seed=1))[: amount(1, 2)]]
    built = list(Builder(target, compilers).build_all(dispatch.harness, members))
    assert {each.outcome for each in built} == {"ok"}, [each.message for each in built]


@pytest.mark.parametrize(
    ("program", "label"),
    [
        ("two_products_f16", "VectorDistribute"),
        ("eight_rows_f16", "TileAndFuse:sparse"),
        ("padded_f16", "TileAndFuse:padded"),
    ],
)
def test_what_the_emitter_leaves_out_has_a_space(
    program: str, label: str, only_dispatch, compilers, context: ir.Context
) -> None:
    target = parse_target("hip:gfx942")
    found = only_dispatch(PROGRAMS / f"{program}.mlir", target)
    emitted = emit(found.harness, found.workload, target, compilers).modules
    by_label = {each.label: each for each in build_spaces(found.workload, found.limits, context, emitted)}
    assert len(by_label) > 1, "beside those that there were"
    space = by_label[label]
    choice = find_default(space, Written.by_compiler(found))
    assert choice.assignment is not None, choice.reasons
    members = [space.configuration(member) for member in light(space.sample(16, seed=0))[: amount(1, 6)]]
    built = list(Builder(target, compilers).build_all(found.harness, members))
    assert [each.outcome for each in built] == ["ok"] * len(members), [each.message for each in built]
    rules = Rules(space, found.limits)
    for configuration in members:
        judged = rules.judge(Written.of(configuration, context))
        assert judged.legal, judged.violations
