"""Block-scaled contractions on gfx950, and what there is elsewhere. Compiles for GPUs; needs none."""

from __future__ import annotations

import pytest
from amounts import amount
from iree.compiler import ir
from light_members import light

from iree_tuner.compiler.worker import Workers
from iree_tuner.errors import TunerError
from iree_tuner.measure.candidate import Builder
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.extract import extract
from iree_tuner.program.source import Program
from iree_tuner.space.build import build_spaces
from iree_tuner.space.compilers_choice import Written, find_default
from iree_tuner.space.gpu.scaled import scaled_constraints
from iree_tuner.space.space import Space
from iree_tuner.targets import GpuLimits, parse_target

DIMS = "affine_map<(m, n, ko, kb) -> "


def program(rows: int, kind: str) -> Program:
    """`rows` x 512, of 32 blocks of 32. Four-bit floats come in as bytes: the HAL has no such type."""
    four = kind.startswith("f4")
    left, right = f"tensor<{rows}x32x32x{kind}>", f"tensor<512x32x32x{kind}>"
    given = (f"tensor<{rows}x32x16xi8>", "tensor<512x32x16xi8>") if four else (left, right)
    cast = "flow.tensor.bitcast" if four else "util.optimization_barrier"
    casts = [f"{cast} %{name}0 : {each}" for name, each in zip("ab", given, strict=True)]
    if four:
        casts = [f"{text} -> {kept}" for text, kept in zip(casts, (left, right), strict=True)]
    scales = (f"tensor<{rows}x32xf8E8M0FNU>", "tensor<512x32xf8E8M0FNU>")
    maps = ", ".join(f"{DIMS}({each})>" for each in ("m, ko, kb", "n, ko, kb", "m, ko", "n, ko", "m, n"))
    result = f"tensor<{rows}x512xf32>"
    text = f"""
func.func @main(%a0: {given[0]}, %b0: {given[1]}, %as: {scales[0]}, %bs: {scales[1]}) -> {result} {{
  %a = {casts[0]}
  %b = {casts[1]}
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : {result}
  %f = linalg.fill ins(%z : f32) outs(%e : {result}) -> {result}
  %r = linalg.generic {{indexing_maps = [{maps}],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}}
      ins(%a, %b, %as, %bs : {left}, {right}, {scales[0]}, {scales[1]}) outs(%f : {result}) {{
  ^bb0(%x: {kind}, %y: {kind}, %xs: f8E8M0FNU, %ys: f8E8M0FNU, %c: f32):
    %p = arith.scaling_extf %x, %xs : {kind}, f8E8M0FNU to f32
    %q = arith.scaling_extf %y, %ys : {kind}, f8E8M0FNU to f32
    %u = arith.mulf %p, %q : f32
    %v = arith.addf %c, %u : f32
    linalg.yield %v : f32
  }} -> {result}
  return %r : {result}
}}"""
    return Program("scaled.mlir", text.encode())


def dispatch_of(compilers: Workers, target: str, rows: int, kind: str) -> Dispatch:
    found = extract(program(rows, kind), parse_target(target), compilers).dispatches
    return next(each for each in found if each.workload and each.workload.family == "scaled_contraction")


def space_of(dispatch: Dispatch, context: ir.Context) -> Space:
    assert dispatch.workload is not None
    (found,) = build_spaces(dispatch.workload, dispatch.limits, context)
    return found


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        pytest.param("f8E4M3FN", 256, marks=pytest.mark.exhaustive),
        pytest.param("f8E5M2", 256, marks=pytest.mark.exhaustive),
        pytest.param("f4E2M1FN", 256, marks=pytest.mark.exhaustive),
        ("f4E2M1FN", 250),
    ],
)
def test_samples_compile(compilers: Workers, context: ir.Context, kind: str, rows: int) -> None:
    dispatch = dispatch_of(compilers, "hip:gfx950", rows, kind)
    space = space_of(dispatch, context)
    assert ("pad_k" in space.names) == (rows == 250)
    assert dispatch.harness is not None
    default = find_default(space, Written.by_compiler(dispatch))
    assert default.assignment is not None, default.reasons
    assert set(space.secondary) == {"prefetch_num_stages", "swizzle"}
    assert space.is_plain(default.assignment)
    configurations = [space.configuration(each) for each in light(space.sample(16, seed=0))[: amount(1, 4)]]
    built = list(Builder(parse_target("hip:gfx950"), compilers).build_all(dispatch.harness, configurations))
    assert [each.message for each in built if each.outcome != "ok"] == []
    assert len({each.digest for each in built}) == len(built)


def test_rows_are_padded_in_shared_memory_unless_shuffled(compilers: Workers, context: ir.Context) -> None:
    space = space_of(dispatch_of(compilers, "hip:gfx950", 256, "f4E2M1FN"), context)
    assert "pad_k" not in space.names
    large = {"wg_0": 256, "wg_1": 512, "red_2": 2}
    shuffled = space.complete({**large, "swizzle": 1})
    assert shuffled is not None
    plain = space.complete({**large, "red_2": 4, "swizzle": 0, "mma_idx": 0})
    assert plain is None
    assert any(
        "bytes of shared memory" in reason
        for reason in space.violations({**shuffled, "red_2": 4, "swizzle": 0, "mma_idx": 0})
    )


def test_no_space_without_an_instruction(compilers: Workers, context: ir.Context) -> None:
    dispatch = dispatch_of(compilers, "hip:gfx942", 256, "f8E4M3FN")
    assert dispatch.workload is not None
    assert isinstance(dispatch.limits, GpuLimits)
    assert dispatch.limits.scaled_mma == ()
    with context:
        assert scaled_constraints(dispatch.workload, dispatch.limits) == []
    with pytest.raises(
        TunerError, match="no search space on hip:gfx942 for the op family 'scaled_contraction'"
    ):
        space_of(dispatch, context)


def test_the_compiler_cannot_compile_its_own_choice_without_one(compilers: Workers) -> None:
    """Once it can, there is a way to tune it: docs/upstream/scaled_contraction_without_instruction.md."""
    dispatch = dispatch_of(compilers, "hip:gfx942", 256, "f8E4M3FN")
    assert dispatch.harness is not None
    built = Builder(parse_target("hip:gfx942"), compilers).build(dispatch.harness, None)
    assert "unrealized_conversion_cast" in built.message
