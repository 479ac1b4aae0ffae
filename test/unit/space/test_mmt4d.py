"""Data-tiled contractions: what can be chosen for them, and that nothing else changes their code."""

from __future__ import annotations

from dataclasses import replace

import hand_made
import pytest
from amounts import amount, some
from iree.compiler import ir
from light_members import light
from space.made_workloads import matmul

from iree_tuner.errors import UsageError
from iree_tuner.measure.candidate import Builder
from iree_tuner.ops.workload import Workload
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.space.build import build_space
from iree_tuner.space.compilers_choice import Written, find_default
from iree_tuner.space.configuration import Assignment, Configuration, OpConfiguration
from iree_tuner.targets import CpuLimits, Target, parse_target

KERNEL = CpuLimits(native_vector_bytes=64, mmt4d_microkernel=True)
NO_KERNEL = replace(KERNEL, mmt4d_microkernel=False)


def mmt4d(m1: int, n1: int, k1: int, k0: int = 1, kind: str = "f32", result: str = "f32") -> Workload:
    dims = "(d0, d1, d2, d3, d4, d5) -> "
    return hand_made.workload(
        "contraction", "mmt4d", (m1, n1, k1, 16, 16, k0),
        ("parallel", "parallel", "reduction", "parallel", "parallel", "reduction"), (kind, kind, result),
        (f"{dims}(d0, d2, d3, d5)", f"{dims}(d1, d2, d4, d5)", f"{dims}(d0, d1, d3, d4)"),
        (("batch", ()), ("m", (0, 3)), ("n", (1, 4)), ("k", (2, 5))),
    )  # fmt: skip


def batch_mmt4d() -> Workload:
    dims = "(d0, d1, d2, d3, d4, d5, d6) -> "
    return hand_made.workload(
        "contraction", "batch_mmt4d", (8, 4, 6, 128, 16, 16, 1),
        ("parallel",) * 3 + ("reduction", "parallel", "parallel", "reduction"), ("f32", "f32", "f32"),
        (f"{dims}(d0, d1, d3, d4, d6)", f"{dims}(d0, d2, d3, d5, d6)", f"{dims}(d0, d1, d2, d4, d5)"),
        (("batch", (0,)), ("m", (1, 4)), ("n", (2, 5)), ("k", (3, 6))),
    )  # fmt: skip


def test_tiles_are_counted_and_never_cut(context: ir.Context) -> None:
    space = build_space(mmt4d(32, 48, 512, k0=2, kind="bf16"), KERNEL, context)
    assert space.pipeline == "Mmt4dTilingExpert"
    assert set(space.names) == {"distribution_0", "distribution_1", "vector_0", "vector_1"}
    chosen = {"distribution_0": 8, "distribution_1": 6, "vector_0": 2, "vector_1": 3}
    assert space.contains(chosen)
    (op,) = space.configuration(chosen).ops
    for level in ("distribution = [8, 6, 0, 0, 0, 0]", "vector_common_parallel = [2, 3, 0, 16, 16, 0]",
                  "vector_reduction = [0, 0, 1, 0, 0, 2]"):  # fmt: skip
        assert level in op.value


def test_the_accumulator_must_stay_small(context: ir.Context) -> None:
    space = build_space(mmt4d(32, 48, 1024), KERNEL, context)
    legal = {"distribution_0": 8, "distribution_1": 8, "vector_0": 4, "vector_1": 6}
    assert space.contains(legal)
    assert space.violations(legal | {"vector_1": 8}) == [
        "the accumulator: 32768 bytes must stay below 32768 (large vector check)"
    ]
    assert "vector_0 (4) must not exceed distribution_0 (2)" in space.violations(
        legal | {"distribution_0": 2}
    )


def test_without_microkernel_the_reduction_is_unrolled_but_not_too_far(context: ir.Context) -> None:
    space = build_space(mmt4d(32, 48, 1024), NO_KERNEL, context)
    once = {"distribution_0": 8, "distribution_1": 8, "vector_0": 1, "vector_1": 1, "vector_2": 4}
    assert space.contains(once)
    assert "vector_reduction = [0, 0, 4, 0, 0, 1]" in space.configuration(once).ops[0].value
    assert space.violations(once | {"vector_2": 8}) == [
        "8192 bytes of products compile for too long: at most 4096 are unrolled"
    ]


def test_types_without_microkernel_are_vectorized_all_the_same(context: ir.Context) -> None:
    assert "vector_2" in build_space(mmt4d(8, 8, 64, kind="f64", result="f64"), KERNEL, context).names
    assert "vector_2" not in build_space(mmt4d(8, 8, 64, kind="i8", result="i32"), KERNEL, context).names


def test_a_batch_is_distributed_and_not_vectorized(context: ir.Context) -> None:
    space = build_space(batch_mmt4d(), KERNEL, context)
    assert "distribution_0" in space.names
    assert "vector_0" not in space.names
    value = space.configuration(space.sample(1, seed=0)[0]).ops[0].value
    assert "vector_common_parallel = [1, " in value


def test_other_contractions_keep_their_pipeline(context: ir.Context) -> None:
    assert build_space(matmul(64, 64, 64), KERNEL, context).pipeline == "DoubleTilingExpert"


def test_only_known_options_are_taken() -> None:
    target = parse_target("llvm-cpu:host+data-tiling")
    assert str(target) == "llvm-cpu:host+data-tiling"
    assert {"--iree-opt-data-tiling", "--iree-llvmcpu-target-cpu=host"} <= set(target.flags)
    assert "--iree-opt-data-tiling" not in parse_target("llvm-cpu:host").flags
    with pytest.raises(UsageError, match="no option 'data-tilin'"):
        parse_target("llvm-cpu:host+data-tilin")


PROGRAM = """
func.func @mm(%a: tensor<128x64xf32>, %b: tensor<64x192xf32>) -> tensor<128x192xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<128x192xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<128x192xf32>) -> tensor<128x192xf32>
  %r = linalg.matmul ins(%a, %b : tensor<128x64xf32>, tensor<64x192xf32>)
       outs(%fill : tensor<128x192xf32>) -> tensor<128x192xf32>
  return %r : tensor<128x192xf32>
}
"""


@pytest.fixture(scope="module")
def tiled(compilers) -> tuple[Target, Dispatch]:
    """The data-tiled matmul, for a CPU with AVX-512, whatever this machine is."""
    from iree_tuner.program.extract import extract
    from iree_tuner.program.source import load_program

    target = parse_target("llvm-cpu:znver4+data-tiling")
    dispatches = extract(load_program(PROGRAM), target, compilers).dispatches
    (found,) = (dispatch for dispatch in dispatches if dispatch.workload is not None)
    return target, found


def test_the_dispatch_is_described_as_what_it_becomes(tiled, context: ir.Context) -> None:
    _, dispatch = tiled
    assert dispatch.workload.name == "mmt4d_8x12x64x16x16x1_f32_f32_f32"
    assert dispatch.workload.prologue[0] == "iree-codegen-materialize-device-encoding"
    assert dispatch.limits.mmt4d_microkernel
    space = build_space(dispatch.workload, dispatch.limits, context)
    default = find_default(space, Written.by_compiler(dispatch))
    assert default.assignment is not None, default.reasons


@pytest.mark.exhaustive  # test_what_has_a_knob_changes_code compiles three members
def test_samples_compile(tiled, compilers, context: ir.Context) -> None:
    target, dispatch = tiled
    space = build_space(dispatch.workload, dispatch.limits, context)
    chosen = [
        space.configuration(assignment) for assignment in light(space.sample(16, seed=0))[: amount(1, 4)]
    ]
    built = list(Builder(target, compilers).build_all(dispatch.harness, chosen))
    assert [each.message for each in built if each.outcome != "ok"] == []
    assert len({each.digest for each in built}) == len(chosen)


BASE = {
    "distribution": "[4, 6, 0, 0, 0, 0]",
    "vector_common_parallel": "[1, 1, 0, 16, 16, 0]",
    "vector_reduction": "[0, 0, 1, 0, 0, 1]",
}


def _configured(options: str = "", **levels: str) -> Configuration:
    config = ", ".join(f"{name} = {sizes}" for name, sizes in (BASE | levels).items())
    value = (
        f"#iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<{config}>, "
        f"translation_info = <pipeline = #iree_cpu.pipeline<Mmt4dTilingExpert>{options}>>"
    )
    return Configuration((OpConfiguration("root", "compilation_info", value),))


DEAD = {
    "vector_reduction": "[0, 0, 8, 0, 0, 1]",
    "cache_parallel": "[2, 3, 0, 0, 0, 0]",
    "cache_reduction": "[0, 0, 32, 0, 0, 0]",
    "vector_inner_parallel": "[1, 1, 0, 0, 0, 0]",
    "distribution": "[4, 6, 0, 8, 8, 0]",
    "options": ", {enable_loop_peeling}",
}


@pytest.mark.parametrize(
    "dead",
    [DEAD, *(pytest.param({name: DEAD[name]}, marks=pytest.mark.exhaustive) for name in DEAD)],
    ids=["all", *DEAD],
)
def test_what_has_no_knob_changes_no_code(dead: dict[str, str], tiled, compilers) -> None:
    target, dispatch = tiled
    builder = Builder(target, compilers)
    with_it, without = (builder.build(dispatch.harness, _configured(**each)) for each in (dead, {}))
    assert (with_it.outcome, without.outcome) == ("ok", "ok")
    assert with_it.vmfb == without.vmfb


def test_what_has_a_knob_changes_code(tiled, compilers, context: ir.Context) -> None:
    target, dispatch = tiled
    space = build_space(dispatch.workload, dispatch.limits, context)
    base = Assignment.of({"distribution_0": 4, "distribution_1": 6, "vector_0": 1, "vector_1": 1})
    moved = [base, *(Assignment.of({**base, name: 2}) for name in some(space.names, 2))]
    built = Builder(target, compilers).build_all(
        dispatch.harness, [space.configuration(each) for each in moved]
    )
    assert len({each.digest for each in built if each.outcome == "ok"}) == len(moved)


def test_inner_tiles_cannot_be_cut(tiled, compilers) -> None:
    target, dispatch = tiled
    cut = _configured(distribution="[8, 12, 0, 0, 0, 0]", vector_common_parallel="[1, 1, 0, 8, 16, 0]")
    built = Builder(target, compilers).build(dispatch.harness, cut)
    assert built.outcome == "compile_error"
    assert "large vector sizes" in built.message
