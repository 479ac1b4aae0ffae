"""Configurations that somebody wrote, judged by what the compiler insists on, not by what a search tries."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from amounts import amount
from iree.compiler import ir
from space.gpu_workloads import SM_80, batch_matmul
from space.made_workloads import conv, matmul, softmax

from iree_tuner.compiler.worker import Workers
from iree_tuner.measure.candidate import Builder
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.space.build import build_space, build_spaces
from iree_tuner.space.compilers_choice import Written
from iree_tuner.space.configuration import Assignment
from iree_tuner.space.emitted import emit
from iree_tuner.space.legality import Judgement, Rules
from iree_tuner.space.rulings import CPU_RULINGS, GPU_RULINGS, SPIRV_RULINGS
from iree_tuner.space.space import Space
from iree_tuner.targets import CpuLimits, parse_target

PROGRAMS = Path(__file__).parents[3] / "programs" / "ops"
DOUBLE_TILING = "#iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>"


@pytest.fixture(scope="module")
def space(context: ir.Context) -> Space:
    return build_space(matmul(256, 512, 128), CpuLimits(), context)


def levels(distribution: str, parallel: str, reduction: str) -> str:
    vectors = f"vector_common_parallel = [{parallel}, 0], vector_reduction = [0, 0, {reduction}]"
    return f"distribution = [{distribution}, 0], {vectors}"


def judged(space: Space, written: str, translation: str = DOUBLE_TILING) -> Judgement:
    return Rules(space, CpuLimits()).judge(Written(f"#iree_cpu.lowering_config<{written}>", translation))


def test_members_of_a_space_are_legal(context: ir.Context) -> None:
    for workload in (matmul(256, 512, 128), conv(56, 56, 64), softmax(128, 256)):
        space = build_space(workload, CpuLimits(), context)
        rules = Rules(space, CpuLimits())
        for member in space.sample(amount(15, 50), seed=0):
            found = rules.judge(Written.of(space.configuration(member), context))
            assert found.legal, found
            assert not found.violations
            # Tiles of companions come along where they are written.
            assert found.values.items() <= dict(member).items()


def test_a_value_that_no_search_tries_is_legal(space: Space) -> None:
    found = judged(space, levels("50, 96", "5, 16", "5"))
    assert found == Judgement(values=found.values)
    assert found.values["distribution_0"] == 50
    member = {**space.sample(1, seed=0)[0], **found.values}
    assert any(each.startswith("distribution_0 (50) must be") for each in space.violations(member))


def test_a_rule_is_told_with_its_values_and_what_the_attribute_calls_it(space: Space) -> None:
    found = judged(
        space,
        "distribution = [64, 64, 0], vector_common_parallel = [32, 64, 0], vector_reduction = [0, 0, 128]",
    )
    assert not found.legal
    rule = next(each for each in found.violations if each.severity == "error")
    assert rule.message == "the vector contraction: 1,048,576 bytes must stay below 8192 (large vector check)"
    assert rule.rule == "the vector contraction: {} bytes must stay below 8192 (large vector check)"


def test_a_tile_is_cut_to_what_is_around_it(space: Space) -> None:
    """The compiler takes it as 8x16, which is no large vector; a reader may not have meant it."""
    found = judged(
        space,
        "distribution = [8, 16, 0], vector_common_parallel = [256, 512, 0], vector_reduction = [0, 0, 4]",
    )
    assert found.legal
    messages = [each.message for each in found.violations]
    assert "vector_common_parallel[0] (256) must not exceed distribution[0] (8)" in messages


def test_what_the_space_has_no_knobs_for_is_not_judged(space: Space) -> None:
    written = levels("64, 64", "256, 512", "4")
    other = judged(space, written, DOUBLE_TILING.replace("DoubleTilingExpert", "Mmt4dTilingExpert"))
    assert other.unread == ("the compiler uses Mmt4dTilingExpert, not DoubleTilingExpert",)
    level = judged(space, f"{written}, vector_inner_parallel = [8, 0, 0]")
    assert level.unread == ("vector_inner_parallel[0] is 8, but is always 0 in this space",)
    assert level.legal
    assert not level.violations


ODD = [
    (
        "#iree_gpu.lowering_config<{workgroup = [64, 64, 0]}>",
        "the lowering config is #iree_gpu.lowering_config",
    ),
    ("#iree_codegen.lowering_config<tile_sizes = [[64, 64]]>", "and #iree_cpu.lowering_config for DoubleT"),
    ("", "the lowering config is missing"),
    ("#iree_cpu.lowering_config<distribution = [[64], 64, 0]>", "distribution has scalable tiles"),
    ("#iree_cpu.lowering_config<distribution = [-1, 0, 0]>", "distribution[0] is -1"),
]
"""Lowering configs that do not fit the pipeline, or no pipeline."""


@pytest.mark.parametrize(("lowering", "why"), ODD)
def test_what_does_not_fit_the_pipeline_is_told(lowering: str, why: str, space: Space) -> None:
    found = Rules(space, CpuLimits()).judge(Written(lowering, DOUBLE_TILING))
    assert any(why in each for each in found.unread), found


ODD_ON_GPUS = [
    ("{workgroup = 3, reduction = [0, 0, 2]}", "workgroup is 3"),
    ('{workgroup = [1, "x", 64, 0]}', 'workgroup[1] is "x", but must be an integer'),
    ("{}", "mma_kind is not set"),
]


@pytest.mark.parametrize(("entries", "why"), ODD_ON_GPUS)
def test_entries_of_other_kinds_are_told(entries: str, why: str, context: ir.Context) -> None:
    space = next(
        each for each in build_spaces(batch_matmul(4, 256, 512, 128), SM_80, context) if "Fuse" in each.label
    )
    pipeline = "pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64] subgroup_size = 32"
    for options in ("", ", {gpu_pipeline_options = 3 : i64}"):
        translation = f"#iree_codegen.translation_info<{pipeline}{options}>"
        written = Written(f"#iree_gpu.lowering_config<{entries}>", translation)
        found = Rules(space, SM_80).judge(written)
        assert any(why in each for each in found.unread), found


@pytest.mark.parametrize("program", ["matmul_1000x1200x1280_f16", "attention_20x4096x64_keys_1024_f16"])
def test_gpu_spaces_are_copied_and_their_members_legal(
    program: str, context: ir.Context, compilers: Workers
) -> None:
    """Attributes of attention with knobs in them print, and do not parse again."""
    target = parse_target("hip:gfx942")
    (dispatch,) = extract(load_program(PROGRAMS / f"{program}.mlir"), target, compilers).dispatches
    for space in spaces_of(dispatch, context, compilers):
        before = space.text
        rules = Rules(space, dispatch.limits)
        assert space.text == before
        for member in space.sample(amount(8, 20), seed=1):
            found = rules.judge(Written.of(space.configuration(member), context))
            assert found.legal, (space.label, member, found.violations)


CHANGES = [
    ("TileAndFuse", {"wg_1": 96}, r"^workgroup\[1\] \(96\) must divide dim_1 \(1024\), or cover it$"),
    ("TileAndFuse", {"red_2": 64}, r"^the operands take [\d,]+ of 65536 bytes of shared memory$"),
    ("TileAndFuse", {"sg_size": 63}, r"^subgroups have 32 or 64 threads here, not 63$"),
    ("VectorDistribute", {"wg_size_x": 96}, r"no thread layout can be derived"),
    ("TileAndFuse", {"wg_size_x": 96, "prefetch_num_stages": 1}, ""),
    ("VectorDistribute", {"sg_m_cnt": 3}, ""),
]
"""A space, knobs that are changed, and what the compiler is to refuse; nothing where it does not."""


@pytest.fixture(scope="module")
def multiplication(context: ir.Context, compilers: Workers) -> tuple[Dispatch, dict[str, Space]]:
    program = load_program(PROGRAMS / "matmul_1024_f16_f32.mlir")
    (dispatch,) = extract(program, parse_target("hip:gfx942"), compilers).dispatches
    return dispatch, {each.label: each for each in spaces_of(dispatch, context, compilers)}


@pytest.mark.parametrize(("label", "changes", "message"), CHANGES)
def test_the_compiler_agrees(
    label: str, changes: dict[str, int], message: str, context: ir.Context, compilers: Workers, multiplication
) -> None:
    target = parse_target("hip:gfx942")
    dispatch, spaces = multiplication
    space = spaces[label]
    start = {"wg_0": 64, "wg_1": 64, "prefetch_num_stages": 2, "waves_per_eu": 0, "mma_idx": 0}
    fused = {"sg_0": 2, "sg_1": 2, "red_2": 2}
    distributed = {"red_2": 32, "sg_m_cnt": 1, "sg_n_cnt": 1}
    member = space.complete({**start, **(fused if label == "TileAndFuse" else distributed)})
    assert member is not None
    configuration = space.configuration(Assignment.of({**member, **changes}))
    found = Rules(space, dispatch.limits).judge(Written.of(configuration, context))
    rules = [each.message for each in found.violations if each.severity == "error"]
    assert dispatch.harness is not None
    builder = Builder(target, compilers)
    built = builder.result(builder.submit(dispatch.harness, configuration))
    assert found.legal == (built.outcome == "ok") == (not message), (rules, built.message)
    assert not message or any(re.search(message, each) for each in rules), rules


def spaces_of(dispatch: Dispatch, context: ir.Context, workers: Workers) -> tuple[Space, ...]:
    assert dispatch.workload is not None
    assert dispatch.harness is not None
    emitted = emit(dispatch.harness, dispatch.workload, parse_target("hip:gfx942"), workers)
    return build_spaces(dispatch.workload, dispatch.limits, context, emitted.modules)


def test_rulings_have_reasons_and_patterns() -> None:
    for rulings in (CPU_RULINGS, GPU_RULINGS, SPIRV_RULINGS):
        assert len({each.name for each in rulings}) == len(rulings)
        for each in rulings:
            assert each.reason
            assert "3.13" in each.releases
            for pattern in (*(each.rules or ()), *each.nothing, *(each.only_where or ())):
                re.compile(pattern)


def test_patterns_of_rulings_are_of_asserts_that_there_are(context: ir.Context, compilers: Workers) -> None:
    """A message that is worded anew must not become a warning unseen."""
    messages: list[str] = []
    for program in ("cpu_attention", "cpu_conv_stride_1", "cpu_grouped_conv"):
        source, target = load_program(PROGRAMS / f"{program}.mlir"), parse_target("llvm-cpu:znver4")
        (dispatch,) = extract(source, target, compilers).dispatches
        assert dispatch.workload is not None
        space = build_space(dispatch.workload, dispatch.limits, context)
        messages += [each.message for each in space.program.assertions]
    tiles = CPU_RULINGS[1]
    for pattern in (*(tiles.rules or ()), *tiles.nothing, *(tiles.only_where or ())):
        assert any(re.search(pattern, message) for message in messages), pattern


def test_batches_are_judged(context: ir.Context) -> None:
    """Spaces that are built here, as the compiler's emitter has no room for them."""
    for space in build_spaces(batch_matmul(4, 256, 512, 128), SM_80, context):
        rules = Rules(space, SM_80)
        member = space.sample(1, seed=0)[0]
        assert rules.judge(Written.of(space.configuration(member), context)).legal
        if space.label == "TileAndFuse":
            changed = space.configuration(Assignment.of({**member, "wg_2": 96}))
            found = rules.judge(Written.of(changed, context))
            assert not found.legal
            assert any(
                "workgroup[2] (96) must divide dim_2 (512)" in each.message for each in found.violations
            )
