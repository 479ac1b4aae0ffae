"""Spaces for Vulkan: what is in them, and why the rest is not. Needs no device."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import hand_made
import pytest
from by_hand import both
from iree.compiler import ir
from iree.compiler.dialects import iree_codegen
from space.made_workloads import conv, matmul, softmax

from iree_tuner.ops.workload import Workload
from iree_tuner.space.legality import Rules
from iree_tuner.space.providers import SpaceRequest, provider
from iree_tuner.space.space import Space
from iree_tuner.space.spirv.attributes import lowering_config, spirv_entries
from iree_tuner.targets import GpuLimits

AMPERE = GpuLimits(
    "vulkan",
    "sm_80",
    shared_memory_bytes=166912,
    mma=(
        "NV_MMA_SYNC_F32_16x8x16_F16",
        "NV_MMA_SYNC_F16_16x8x16_F16",
        "NV_MMA_SYNC_F32_16x8x16_BF16",
        "NV_WMMA_F32_16x16x16_F16",
        "NV_WMMA_F16_16x16x16_F16",
    ),
)
RDNA3 = GpuLimits(
    "vulkan",
    "rdna3",
    subgroup_sizes=(32, 64),
    shared_memory_bytes=65536,
    mma=("WMMAR3_F32_16x16x16_F16", "WMMAR3_BF16_16x16x16_BF16", "WMMAR3_I32_16x16x16_I8"),
)
TINY = GpuLimits("vulkan", "tiny", subgroup_sizes=(4,), max_threads=8, shared_memory_bytes=512)


def typed(workload: Workload, *types: str) -> Workload:
    return replace(workload, types=hand_made.named(*types))


def spaces(workload: Workload, limits: GpuLimits, context: ir.Context) -> dict[str, Space]:
    with context, ir.Location.unknown(context):
        modules = provider(workload.family).constraints(SpaceRequest(workload, limits, context))
    found = (Space(workload, module) for module in modules)
    return {space.pipeline: space for space in found}


def only(violations: Iterable[str]) -> str:
    (message,) = violations
    return message


@pytest.mark.parametrize(
    "workload", [matmul(2, 4, 4), conv(1, 2, 2), softmax(2, 4)], ids=lambda workload: workload.name
)
def test_interpreter_gives_the_set_of_z3(workload: Workload, context: ir.Context) -> None:
    for space in spaces(workload, TINY, context).values():
        ours, judged = both(space)
        assert ours == judged
        assert ours


@pytest.mark.parametrize(
    ("workload", "limits", "expected"),
    [
        (
            typed(matmul(512, 512, 512), "f16", "f16", "f32"),
            AMPERE,
            ["CooperativeMatrixVectorize", "MatmulPromoteVectorize", "BaseVectorize", "BaseDistribute"],
        ),
        (matmul(256, 512, 128), RDNA3, ["MatmulPromoteVectorize", "BaseVectorize", "BaseDistribute"]),
        # no matrix instruction divides 1000, but copies to shared memory do
        (
            matmul(1000, 1200, 1280, "f16"),
            AMPERE,
            ["MatmulPromoteVectorize", "BaseVectorize", "BaseDistribute"],
        ),
        (matmul(100, 77, 33), AMPERE, ["BaseVectorize", "BaseDistribute"]),
        (matmul(1, 1024, 2048), AMPERE, ["SubgroupReduce", "BaseVectorize", "BaseDistribute"]),
        (conv(56, 56, 64), AMPERE, ["BaseVectorize", "BaseDistribute"]),
        (softmax(512, 1024), RDNA3, ["SubgroupReduce", "BaseVectorize", "BaseDistribute"]),
        # the baseline profile has no subgroup operations
        (
            softmax(512, 1024),
            replace(AMPERE, arch="vp_android_baseline_2022"),
            ["BaseVectorize", "BaseDistribute"],
        ),
        # SPIR-V has no cooperative matrix of bf16, and no bitcast to its vectors
        (matmul(512, 512, 512, "bf16"), RDNA3, ["BaseVectorize", "BaseDistribute"]),
        (typed(softmax(64, 64), "i64", "i64", "i64"), AMPERE, ["BaseDistribute"]),
        (typed(softmax(64, 64), "i4", "i4", "i4"), AMPERE, []),
    ],
    ids=lambda value: value.name if isinstance(value, Workload) else "",
)
def test_pipelines_best_first(
    workload: Workload, limits: GpuLimits, expected: list[str], context: ir.Context
) -> None:
    assert list(spaces(workload, limits, context)) == expected


def test_other_families_have_no_pipeline(context: ir.Context) -> None:
    attention = replace(matmul(64, 64, 64), family="attention")
    assert spaces(attention, AMPERE, context) == {}


def test_instructions_are_those_that_become_spirv(context: ir.Context) -> None:
    half = spaces(matmul(256, 256, 256, "f16"), AMPERE, context)["CooperativeMatrixVectorize"]
    assert {knob.name: knob.values for knob in half.knobs}["native_n"] == (8, 16)
    # Widened operands are cut to the result's shape: 16x8x16 leaves no instruction.
    widened = typed(matmul(256, 256, 256), "f16", "f16", "f32")
    mixed = spaces(widened, AMPERE, context)["CooperativeMatrixVectorize"]
    assert "native_n" not in mixed.names
    chosen = mixed.configuration(mixed.sample(1, seed=0)[0]).ops[0].value
    assert "[16, 16, 16]]" in chosen
    assert "subgroup_size = 32" in chosen


def test_results_out_of_order_have_no_pipelines_that_cut_ops_one_by_one(context: ir.Context) -> None:
    plain = typed(matmul(256, 256, 256), "f16", "f16", "f32")
    transposed = replace(plain, maps=(*plain.maps[:2], *hand_made.mapped("(d0, d1, d2) -> (d1, d0)")))
    assert list(spaces(transposed, AMPERE, context)) == ["MatmulPromoteVectorize", "BaseVectorize"]


COOPERATIVE = {
    "subgroup_0": 32, "workgroup_0": 64, "subgroup_1": 32, "workgroup_1": 64, "reduction_2": 32,
    "threads_x": 64, "threads_y": 2, "pipeline_depth": 1, "store_stage": 0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"threads_x": 32}, "threads_x (32) must be a subgroup for each of 2 tiles along n"),
        ({"threads_y": 1}, "threads_y (1) must be the number of tiles along m, 2"),
        ({"pipeline_depth": 0, "store_stage": 1}, "store_stage (1) must be 0 without a pipeline"),
        (
            {"subgroup_0": 64, "subgroup_1": 64, "threads_x": 32, "threads_y": 1},
            "pipeline_depth (1) must be 0, or copies run ahead in a loop of more steps than that",
        ),
        (
            {"workgroup_0": 256, "subgroup_0": 128, "workgroup_1": 256, "subgroup_1": 128},
            "a thread holds 512 results, which must be at most 256: they are registers",
        ),
        (
            {"workgroup_0": 256, "workgroup_1": 256, "threads_x": 256, "threads_y": 8, "subgroup_0": 32},
            "a workgroup of 2048 threads must have at most 1024",
        ),
        (
            {"workgroup_0": 256, "subgroup_0": 64, "threads_y": 4, "reduction_2": 128, "pipeline_depth": 3},
            "327680 bytes of shared memory must be at most 166912",
        ),
    ],
    ids=lambda value: "",
)
def test_cooperative_says_why_not(change: Mapping[str, int], why: str, context: ir.Context) -> None:
    workload = typed(matmul(512, 512, 1024), "f16", "f16", "f32")
    space = spaces(workload, AMPERE, context)["CooperativeMatrixVectorize"]
    assert space.contains(COOPERATIVE)
    assert only(space.violations(COOPERATIVE | change)) == why


PROMOTE = {
    "workgroup_0": 32, "threads_y": 8, "workgroup_1": 128, "threads_x": 32, "reduction_2": 32,
    "pipeline_depth": 1, "store_stage": 1, "swap_workgroups": 0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            {"workgroup_1": 16, "threads_x": 1, "threads_y": 32},
            "threads_x (1) must be more than 1 where threads_y (32) is",
        ),
        (
            {"workgroup_0": 128, "threads_y": 8, "threads_x": 8},
            "the 256 results of a thread must be at most 128: they are registers",
        ),
        (
            {"pipeline_depth": 3, "workgroup_0": 64, "reduction_2": 64},
            "the 8192 steps that a thread has unrolled must be at most 6144: they compile for long",
        ),
        (
            {"reduction_2": 2},
            "a row of 2 must be made of vectors of 4, or it is not copied to shared memory",
        ),
        (
            {"workgroup_0": 512, "swap_workgroups": 1, "threads_y": 32},
            "workgroups of a loop that is not cut cannot",
        ),
        ({"threads_y": 2, "threads_x": 2}, "a workgroup of 4 threads must have 8 or more"),
    ],
    ids=lambda value: "",
)
def test_promotion_says_why_not(change: Mapping[str, int], why: str, context: ir.Context) -> None:
    space = spaces(matmul(512, 512, 256), AMPERE, context)["MatmulPromoteVectorize"]
    assert space.contains(PROMOTE)
    assert any(message.startswith(why) for message in space.violations(PROMOTE | change))


def test_promotion_of_bytes_leaves_out_vectors_of_eight(context: ir.Context) -> None:
    space = spaces(typed(matmul(256, 256, 256), "i8", "i8", "i32"), AMPERE, context)["MatmulPromoteVectorize"]
    narrow = PROMOTE | {"workgroup_1": 128, "threads_x": 32}
    assert space.contains(narrow)
    wide = narrow | {"workgroup_1": 256}
    assert only(space.violations(wide)).startswith("a thread's 8 elements along loop 1 must not be 8")


def test_without_a_loop_of_steps_there_is_one_pipeline(context: ir.Context) -> None:
    space = spaces(matmul(512, 512, 32), AMPERE, context)["MatmulPromoteVectorize"]
    whole = [member for member in space.enumerate() if member["reduction_2"] == 32]
    assert {(member["pipeline_depth"], member["store_stage"]) for member in whole} == {(1, 1)}


def test_subgroup_sizes_are_a_knob_where_there_are_several(context: ir.Context) -> None:
    workload = matmul(256, 256, 256)
    assert "subgroup_size" not in spaces(workload, AMPERE, context)["BaseVectorize"].names
    space = spaces(workload, RDNA3, context)["BaseVectorize"]
    (member,) = space.sample(1, seed=0)
    for size in (0, 32, 64):
        chosen = dict(member) | {
            "subgroup_size": size, "threads_x": 16, "threads_y": 8, "thread_0": 4, "thread_1": 4,
            "workgroup_0": 32, "workgroup_1": 64, "reduction_2": 4,
        }  # fmt: skip
        assert space.contains(chosen)
        written = space.configuration(chosen).ops[0].value
        assert (f"subgroup_size = {size}" in written) == (size > 0)
    few = chosen | {"threads_x": 8, "threads_y": 4, "workgroup_0": 16, "workgroup_1": 32}
    why = "a workgroup of 32 threads must be made of whole subgroups of 64"
    assert only(space.violations(few)) == why


def test_reductions_configure_every_op_alike(context: ir.Context) -> None:
    space = spaces(softmax(512, 1024), AMPERE, context)["SubgroupReduce"]
    chosen = {"threads_x": 128, "reduction_1": 512}
    assert space.contains(chosen)
    root, *others = space.configuration(chosen).ops
    assert "tile_sizes = [[1], [0, 512]]" in root.value
    assert [other.label for other in others] == ["companion_0", "companion_1"]
    assert all(other.value in root.value for other in others)
    long = "1024 elements at once must be 1 to 4 for each of 128 threads"
    assert space.violations(chosen | {"reduction_1": 1024}) == [long]


def test_configurations_are_read_back(context: ir.Context) -> None:
    space = spaces(matmul(256, 512, 128), AMPERE, context)["MatmulPromoteVectorize"]
    with context:
        for member in space.sample(20, seed=2):
            written = iree_codegen.CompilationInfoAttr(
                ir.Attribute.parse(space.configuration(member).ops[0].value)
            )
            found = spirv_entries(str(written.lowering_config), str(written.translation_info))
            template = ir.DictAttr(space.op.knobs)
            values = dict(pair for named in template for pair in knob_values(named.attr, found[named.name]))
            assert values == dict(member)


def knob_values(template: ir.Attribute, actual: ir.Attribute) -> Iterable[tuple[str, int]]:
    """Names and values of a template's knobs; what is fixed in it must be equal, and missing sizes are 0."""
    if isinstance(template, iree_codegen.IntKnobAttr):
        yield template.name, ir.IntegerAttr(actual).value
    elif isinstance(template, ir.ArrayAttr):
        items = list(ir.ArrayAttr(actual))
        zero = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)
        for place, item in enumerate(template):
            yield from knob_values(item, items[place] if place < len(items) else zero)
    elif isinstance(template, ir.DictAttr):
        for named in template:
            if named.name in ir.DictAttr(actual):
                yield from knob_values(named.attr, ir.DictAttr(actual)[named.name])
    else:
        assert template == actual


def test_interchange_is_written_and_read(context: ir.Context) -> None:
    with context:
        swapped = lowering_config([[64, 32, 16]], [1, 0, 2])
        assert str(swapped).endswith("[{sizes = [64, 32, 16], interchange = [1, 0, 2]}]>")
        assert str(lowering_config([[1, 2], []])).endswith("[[1, 2], []]>")


SQUARE, ROW = matmul(256, 256, 256, "f16"), matmul(1, 1024, 2048)


@pytest.mark.parametrize(
    ("workload", "pipeline", "changes", "rule"),
    [
        (SQUARE, "CooperativeMatrixVectorize", {"workgroup_0": 32}, "hold a tile of a subgroup"),
        (SQUARE, "CooperativeMatrixVectorize", {"workgroup_1": 48}, "must divide dim_1 (256)"),
        (ROW, "SubgroupReduce", {"reduction_2": 512}, "must be 1 to 4 elements for each of 32"),
        (ROW, "SubgroupReduce", {"reduction_2": 2048}, ""),  # no loop, and no vectors
        (matmul(256, 512, 128), "BaseVectorize", {"workgroup_0": 24}, ""),  # threads idle
    ],
)  # fmt: skip
def test_what_the_compiler_refuses_of_what_a_person_wrote(workload, pipeline, changes, rule, context) -> None:
    space = spaces(workload, AMPERE, context)[pipeline]
    rules, member = Rules(space, AMPERE), dict(space.sample(1, seed=0)[0])
    assert rules.violations(member) == []
    found = [each.message for each in rules.violations({**member, **changes}) if each.severity == "error"]
    assert (rule in only(found)) if rule else not found
