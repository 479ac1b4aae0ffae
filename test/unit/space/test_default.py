"""The compiler's own choice for assorted dispatches: in a space, or outside for a reason that is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from amounts import some
from contractions import Matmul
from conv_programs import Conv
from iree.compiler import ir
from space.made_workloads import matmul

from iree_tuner.compiler.worker import Workers
from iree_tuner.measure.candidate import Builder
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.space.build import build_spaces
from iree_tuner.space.compilers_choice import Default, Written, find_default, starting_point
from iree_tuner.space.constraints import build_constraints, knob, knob_attribute
from iree_tuner.space.emitted import emit
from iree_tuner.space.expressions import require
from iree_tuner.space.space import Space
from iree_tuner.targets import GpuLimits, parse_target

PROGRAMS = Path(__file__).parents[3] / "programs" / "ops"

CPU = "llvm-cpu:znver4"
MMT4D = "llvm-cpu:znver4+data-tiling"
SM_80 = "cuda:sm_80"
CDNA3 = "hip:gfx942"
RDNA3 = "hip:gfx1100"
AMPERE = "vulkan:ampere"

Program = str | Matmul | Conv
"""The name of a benchmark, or a program."""

ATTENTION = "attention_20x4096x64_keys_1024_f16"
ROWS = "matmul_1000x1200x1280_f16"

INSIDE: tuple[tuple[str, Program], ...] = (
    (CPU, "cpu_matmul_f32"),
    (CPU, "cpu_batch_matmul"),
    (CPU, "cpu_conv_stride_1"),
    (CPU, "cpu_conv_channels_first"),
    (CPU, "cpu_depthwise_conv"),
    (CPU, "cpu_softmax"),
    (CPU, "cpu_row_reduction"),
    (CPU, "cpu_attention"),
    (CPU, "cpu_matmul_one_row"),
    (CPU, "matmul_2048_i8"),
    (MMT4D, "cpu_matmul_f32"),
    (SM_80, "matmul_512x256x384_f32"),
    (SM_80, ATTENTION),
    (SM_80, ROWS),
    (SM_80, "batch_matmul_4x1024x2048x512_f16"),
    (SM_80, "matmul_1x4096x4096_f16"),
    (SM_80, "conv_nchw_fchw_f16"),
    (SM_80, "depthwise_conv_nhwc_hwc_f16"),
    (SM_80, Matmul(accumulate=True)),
    (CDNA3, ATTENTION),
    (CDNA3, ROWS),
    (CDNA3, "matmul_2048_i8"),
    (CDNA3, "matmul_512_bf16_accumulating"),
    (CDNA3, "conv_nhwc_hwcf_f16"),
    (CDNA3, "conv_nhwc_fhwc_stride_2_f16"),
    (CDNA3, "grouped_conv_ngchw_gfchw_f16"),
    (RDNA3, ATTENTION),
    (RDNA3, "grouped_conv_nhwgc_gfhwc_f16"),
    (RDNA3, "matmul_1x4096x4096_f16"),
    (RDNA3, Conv(size=(14, 14))),
    (AMPERE, "matmul_1024_f16_f16"),
    (AMPERE, "matmul_512x256x384_f32"),
    (AMPERE, ROWS),
    (AMPERE, "cpu_softmax"),
    (AMPERE, "cpu_conv_stride_1"),
    (AMPERE, "cpu_grouped_conv"),
    (AMPERE, "matmul_1x4096x4096_f16"),
)

OUTSIDE: tuple[tuple[str, Program, dict[str, tuple[str, ...]]], ...] = (
    (
        CPU,
        "cpu_grouped_conv",
        {
            "DoubleTilingExpert": (
                "vector_4 (8) must be 56 or a smaller power of four",
                "vector_7 (16) must be 3 or a smaller power of four",
                "distribution_3 (28) must be 56 or a smaller power of four",
                "distribution_4 (28) must be 56 or a smaller power of four",
            )
        },
    ),
    (
        CDNA3,
        "matmul_1024_f16_f16",
        {"TileAndFuse": ("the compiler uses VectorDistribute, not TileAndFuse",)},
    ),
    (
        # SPIR-V has no cooperative matrix of bf16
        AMPERE,
        "matmul_512_bf16_accumulating",
        {
            "BaseVectorize": ("the compiler uses CooperativeMatrixVectorize, not BaseVectorize",),
            "BaseDistribute": ("the compiler uses CooperativeMatrixVectorize, not BaseDistribute",),
        },
    ),
)
"""Choices that are in no space, with the reasons of each space."""

SAME_CODE: tuple[tuple[str, Program], ...] = (
    (CPU, "cpu_matmul_f32"),
    (CPU, "cpu_softmax"),
    (MMT4D, "cpu_matmul_f32"),
    (SM_80, ATTENTION),
    (SM_80, "conv_nchw_fchw_f16"),
    (CDNA3, ATTENTION),
    (CDNA3, ROWS),
    (RDNA3, "grouped_conv_nhwgc_gfhwc_f16"),
    (AMPERE, "matmul_1024_f16_f16"),
    (AMPERE, "cpu_conv_stride_1"),
)


@dataclass(frozen=True)
class Prepared:
    """A program's first dispatch that has a workload, and its spaces by label."""

    dispatch: Dispatch
    spaces: dict[str, Space]

    def defaults(self) -> dict[str, Default]:
        """What the choice is in each space."""
        return {
            label: find_default(space, Written.by_compiler(self.dispatch))
            for label, space in self.spaces.items()
        }

    def inside(self) -> tuple[Space, Default]:
        """The space that has the choice as a member."""
        defaults = self.defaults()
        for label, default in defaults.items():
            if default.assignment is not None:
                return self.spaces[label], default
        pytest.fail(str({label: default.reasons for label, default in defaults.items()}))


Prepare = Callable[[str, Program], Prepared]


@pytest.fixture(scope="module")
def prepare(compilers: Workers, context: ir.Context) -> Prepare:
    known: dict[tuple[str, Program], Prepared] = {}

    def find(target_text: str, program: Program) -> Prepared:
        if (target_text, program) not in known:
            target = parse_target(target_text)
            source = PROGRAMS / f"{program}.mlir" if isinstance(program, str) else program.text
            dispatches = extract(load_program(source), target, compilers).dispatches
            dispatch = next(each for each in dispatches if each.workload is not None)
            assert dispatch.workload is not None
            assert dispatch.harness is not None
            emitted: tuple[bytes, ...] = ()
            if isinstance(dispatch.limits, GpuLimits):
                emitted = emit(dispatch.harness, dispatch.workload, target, compilers).modules
            spaces = build_spaces(dispatch.workload, dispatch.limits, context, emitted)
            known[target_text, program] = Prepared(dispatch, {space.label: space for space in spaces})
        return known[target_text, program]

    return find


@pytest.mark.parametrize(("target", "program"), some(INSIDE, 6), ids=str)
def test_inside(prepare: Prepare, target: str, program: Program) -> None:
    prepared = prepare(target, program)
    space, default = prepared.inside()
    assert default.assignment is not None
    assert space.contains(default.assignment)
    assert default.reasons == ()
    assert starting_point(space, Written.by_compiler(prepared.dispatch)) == default.assignment
    asked = {name: default.assignment[name] for name in space.secondary}
    usual = {"pipeline_depth": 1} if space.pipeline == "CooperativeMatrixVectorize" else {}
    assert asked == {**space.secondary, **usual}


@pytest.mark.parametrize(("target", "program", "reasons"), OUTSIDE, ids=str)
def test_outside(
    prepare: Prepare, target: str, program: Program, reasons: dict[str, tuple[str, ...]]
) -> None:
    found = prepare(target, program).defaults()
    assert {label: default.reasons for label, default in found.items()} == reasons
    assert all(default.assignment is None for default in found.values())


@pytest.mark.parametrize(("target", "program"), some(SAME_CODE, 8), ids=str)
def test_same_code(prepare: Prepare, compilers: Workers, target: str, program: Program) -> None:
    prepared = prepare(target, program)
    space, default = prepared.inside()
    assert default.assignment is not None
    assert prepared.dispatch.harness is not None
    builder = Builder(parse_target(target), compilers, timeout_s=120.0)
    by_compiler = builder.build(prepared.dispatch.harness, None)
    by_us = builder.build(prepared.dispatch.harness, space.configuration(default.assignment))
    assert (by_compiler.outcome, by_us.outcome) == ("ok", "ok"), by_us.message
    assert by_us.digest == by_compiler.digest


CHANGES: tuple[tuple[str, Program, str, str, str], ...] = (
    (
        CDNA3,
        ROWS,
        "workgroup = [64, ",
        "workgroup = [48, ",
        "workgroup[0] is 48, but wg_0 is 64",
    ),
    (
        CDNA3,
        ROWS,
        "reduction = [0, 0, 8]",
        "reduction = [0, 4, 8]",
        "reduction[1] is 4 : i64, but is always 0 : i64 in this space",
    ),
    (
        CDNA3,
        ATTENTION,
        "16x16x32_F16, col_major = true",
        "16x16x32_F16",
        "both instructions or none must be transposed",
    ),
    (
        CDNA3,
        ATTENTION,
        "promote_operands = [1], promotion_types",
        "promote_operands = [0], promotion_types",
        "decomposition_config.pv_attrs.lowering_config.promote_operands is [0], "
        "which is not among the options of promote_value",
    ),
    (
        AMPERE,
        "matmul_512x256x384_f32",
        "workgroup_size = [32, 8, 1]",
        "workgroup_size = [32, 8, 1] subgroup_size = 64",
        "subgroup_size is 64 : i64, but is never set in this space",
    ),
    (
        AMPERE,
        "matmul_512x256x384_f32",
        "[[32, 128, 32]]",
        "[[32, 128, 32], [4]]",
        "tile_sizes is [[32, 128, 32], [4]], but is always",
    ),
    (
        CPU,
        "cpu_matmul_f32",
        "distribution = [64, 64, 0]",
        "distribution = [64, 62, 0]",
        "distribution_1 (62) must be",
    ),
    (
        CPU,
        "cpu_conv_stride_1",
        "Expert>",
        "Expert>, {enable_loop_peeling}",
        "enable_loop_peeling is set, but is never set in this space",
    ),
)
"""Edits of choices that put them outside, and why."""


@pytest.mark.parametrize(("target", "program", "old", "new", "reason"), CHANGES)
def test_edited_choice_is_outside_and_its_start_is_near(
    prepare: Prepare, target: str, program: Program, old: str, new: str, reason: str
) -> None:
    prepared = prepare(target, program)
    space, default = prepared.inside()
    assert default.assignment is not None
    written = Written.by_compiler(prepared.dispatch)
    texts = written.lowering, written.translation, written.decomposition
    assert any(old in text for text in texts)
    edited = Written(*(text.replace(old, new, 1) for text in texts))
    found = find_default(space, edited)
    assert found.assignment is None
    assert any(each.startswith(reason) for each in found.reasons), found.reasons
    start = starting_point(space, edited)
    assert start is not None
    assert space.contains(start)
    different = [name for name in space.names if start[name] != default.assignment[name]]
    assert len(different) <= 4, different


def test_choice_of_another_pipeline_starts_nowhere(prepare: Prepare) -> None:
    written = Written.by_compiler(prepare(CPU, "cpu_matmul_f32").dispatch)
    space = prepare(CPU, "cpu_attention").spaces["LinalgExtTileAndVectorize"]
    assert starting_point(space, written) is None


def test_constraints_that_hold_alone_but_not_together_are_named(context: ir.Context) -> None:
    """The product is 12 and the sum 8, so that the two are 2 and 6; with a third one unrelated."""

    def fill() -> dict[str, ir.Attribute]:
        a, b, c = (knob(name, (1, 2, 3, 4, 6), "a divisor of 12") for name in "abc")
        require((a * b).equals(c * 12), "the product must be 12 times c")
        require((a + b).equals(8), "the sum must be 8")
        require(a < b, "a must be less than b ({})", b)
        return {name: knob_attribute(name) for name in "abc"}

    with context:
        pipeline = ir.Attribute.parse("#iree_gpu.pipeline<TileAndFuse>")
        space = Space(matmul(4, 4, 4), build_constraints(pipeline, fill))
    assert dict(space.complete({"c": 1}) or {}) == {"a": 2, "b": 6, "c": 1}
    (reason,) = space.violations_of_part({"c": 2})
    assert reason.startswith("not in combination: ")
    assert "the product must be 12 times c" in reason
    assert "the sum must be 8" in reason
    assert "a must be less than b" not in reason
    assert space.violations_of_part({"c": 1}) == []
