"""Spaces of threads that compute tiles of the result themselves, without matrix instructions."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import hand_made
import pytest
from amounts import amount
from gpu_workloads import GFX942, SM_80, batch_matmul, depthwise, grouped_channels_first
from iree.compiler import ir
from light_members import light
from space.made_workloads import matmul

from iree_tuner.measure.candidate import Builder
from iree_tuner.ops.workload import Workload
from iree_tuner.space.compilers_choice import Written, find_default
from iree_tuner.space.configuration import Configuration, OpConfiguration
from iree_tuner.space.gpu.simt import simt_constraints
from iree_tuner.space.space import Space
from iree_tuner.targets import GpuLimits, parse_target

PROGRAMS = Path(__file__).parents[2] / "space" / "Inputs"
WORKLOADS = [
    matmul(512, 256, 384),
    batch_matmul(4, 256, 512, 128, "f32"),
    depthwise(),
    grouped_channels_first("f32"),
]


def every(workload: Workload, limits: GpuLimits, context: ir.Context) -> list[Space]:
    with context, ir.Location.unknown(context):
        return [Space(workload, module) for module in simt_constraints(workload, limits)]


def simt(workload: Workload, limits: GpuLimits, context: ir.Context) -> Space:
    (space,) = every(workload, limits, context)
    return space


@pytest.mark.parametrize("limits", [SM_80, GFX942], ids=lambda limits: limits.arch)
@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.op)
def test_there_is_one_thread_for_each_threads_tile(
    workload: Workload, limits: GpuLimits, context: ir.Context
) -> None:
    space = simt(workload, limits, context)
    for member in space.sample(100, seed=0):
        tiles = {name: size for name, size in member.items() if name.startswith("wg_") and "size" not in name}
        threads = math.prod(size // member.get(name.replace("wg", "th"), 1) for name, size in tiles.items())
        assert threads == member["wg_size_x"] * member.get("wg_size_y", 1)
        assert threads <= limits.max_threads
        assert threads % limits.subgroup_size == 0


def test_what_a_thread_unrolls_is_bounded(context: ir.Context) -> None:
    space = simt(matmul(512, 256, 384), SM_80, context)
    for member in space.sample(200, seed=1):
        results = member["th_0"] * member["th_1"]
        assert results <= 256
        assert results * member["red_2"] <= 1024


def test_promoted_operands_fit_shared_memory(context: ir.Context) -> None:
    small = replace(SM_80, shared_memory_bytes=16384)
    promoted = [m for m in simt(matmul(512, 256, 384), small, context).sample(2000, seed=0) if m["promote"]]
    assert promoted
    for member in promoted:
        step = member["red_2"]
        assert 4 * step * (member["wg_0"] + member["wg_1"]) <= 16384


def test_rows_are_padded_only_in_shared_memory(context: ir.Context) -> None:
    space = simt(matmul(512, 256, 384), SM_80, context)
    (member,) = [m for m in space.sample(50, seed=0) if not m["promote"]][:1]
    assert any("no rows to pad" in reason for reason in space.violations({**member, "pad_rows": 1}))


def test_nothing_for_a_single_result(context: ir.Context) -> None:
    assert not every(matmul(1, 1, 512), SM_80, context)


@pytest.fixture(scope="module")
def dispatch(only_dispatch):
    return only_dispatch(PROGRAMS / "depthwise_f16.mlir", parse_target("cuda:sm_80"))


@pytest.fixture(scope="module")
def multiplication(only_dispatch):
    return only_dispatch(PROGRAMS / "matmul_f32.mlir", parse_target("cuda:sm_80"))


def test_the_compilers_choice_is_a_member(dispatch, context: ir.Context) -> None:
    space = simt(dispatch.workload, dispatch.limits, context)
    found = find_default(space, Written.by_compiler(dispatch))
    assert found.assignment is not None, found.reasons


def test_samples_compile(dispatch, multiplication, compilers, context: ir.Context) -> None:
    builder = Builder(parse_target("cuda:sm_80"), compilers)
    for each in (dispatch, multiplication):
        space = simt(each.workload, each.limits, context)
        members = [space.configuration(member) for member in light(space.sample(16, seed=0))[: amount(1, 3)]]
        assert [built.outcome for built in builder.build_all(each.harness, members)] == ["ok"] * len(members)


def test_options_without_promotion_are_dead(multiplication, compilers, context: ir.Context) -> None:
    """Which is why `pad_rows` is 0 there, and no stages are fetched ahead on CUDA."""
    builder = Builder(parse_target("cuda:sm_80"), compilers)
    space = simt(multiplication.workload, multiplication.limits, context)
    padded, fetched = "no_reduce_shared_memory_bank_conflicts = false", "prefetch_num_stages = 2"
    for promote, options, live in (
        (0, (padded, fetched), False),
        (1, (fetched,), False),
        (1, (padded,), True),
    ):
        members = light(space.sample(100, seed=0))
        member = next(each for each in members if each["promote"] == promote and not each["pad_rows"])
        (found,) = space.configuration(member).ops
        changed = found.value
        for option in options:
            changed = _with_option(changed, *option.split(" = "))
        digests = {
            builder.build(
                multiplication.harness, Configuration((OpConfiguration("root", found.attribute, text),))
            ).digest
            for text in (found.value, changed)
        }
        assert (len(digests) == 2) is live, options


def test_a_workgroup_tile_of_a_reduced_loop_is_dead(multiplication, compilers, context: ir.Context) -> None:
    space = simt(multiplication.workload, multiplication.limits, context)
    member = light(space.sample(16, seed=0))[0]
    (found,) = space.configuration(member).ops
    tiles = f"workgroup = [{member['wg_0']}, {member['wg_1']}, "
    assert f"{tiles}1]" in found.value
    builder = Builder(parse_target("cuda:sm_80"), compilers)
    texts = (found.value, found.value.replace(f"{tiles}1]", f"{tiles}0]"))
    operations = [OpConfiguration("root", found.attribute, text) for text in texts]
    built = [builder.build(multiplication.harness, Configuration((each,))) for each in operations]
    assert [each.outcome for each in built] == ["ok", "ok"]
    assert built[0].digest == built[1].digest


def test_the_compilers_choice_becomes_the_compilers_code(
    multiplication, compilers, context: ir.Context
) -> None:
    """So leaving out an entry, as the compiler does with `promote_operands`, is the same as the knob's 0."""
    space = simt(multiplication.workload, multiplication.limits, context)
    found = find_default(space, Written.by_compiler(multiplication))
    assert found.assignment is not None, found.reasons
    builder = Builder(parse_target("cuda:sm_80"), compilers)
    choices = (None, space.configuration(found.assignment))
    built = [builder.build(multiplication.harness, choice) for choice in choices]
    assert built[0].outcome == "ok"
    assert built[0].digest == built[1].digest


def vector_times_matrix(n: int, k: int) -> Workload:
    return replace(
        matmul(1, n, k, "f16"),
        op="vecmat",
        types=hand_made.named("f16", "f16", "f32"),
        maps=matmul(1, n, k).maps,
    )


def test_few_rows_are_reduced_by_whole_subgroups(context: ir.Context) -> None:
    tiles, shared = every(vector_times_matrix(4096, 4096), GFX942, context)
    assert (tiles.pipeline, shared.pipeline) == ("TileAndFuse", "VectorDistribute")
    for member in shared.sample(100, seed=0):
        assert member["wg_size_x"] == 64 * member["subgroups"]
        assert member["red_2"] == member["wg_size_x"] * member["th_k"]
        assert 4096 % member["red_2"] == 0
        assert member["th_k"] * 16 <= GFX942.max_load_bits


def test_reductions_that_lanes_do_not_divide_are_not_shared(context: ir.Context) -> None:
    assert len(every(vector_times_matrix(1000, 777), GFX942, context)) == 1


def _with_option(text: str, name: str, value: str) -> str:
    start = text.index("#iree_gpu.pipeline_options<") + len("#iree_gpu.pipeline_options<")
    end = text.index(">", start)
    options = dict(item.split(" = ") for item in text[start:end].split(", "))
    options[name] = value
    order = ("prefetch_num_stages", "no_reduce_shared_memory_bank_conflicts", "use_igemm_convolution")
    return text[:start] + ", ".join(f"{key} = {options[key]}" for key in order if key in options) + text[end:]
