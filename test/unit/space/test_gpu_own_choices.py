"""Convolutions and products whose choice by the compiler lay in no space: it is a member, and so are others.

From the compiler's tests of its configurations (benchmarks/upstream_choices.py), with smaller sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from amounts import ALL, amount, some
from iree.compiler import ir
from light_members import light

from iree_tuner.compiler.worker import Workers
from iree_tuner.measure.candidate import Builder
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.space.build import build_spaces
from iree_tuner.space.compilers_choice import Written, find_default
from iree_tuner.space.emitted import emit
from iree_tuner.space.gpu.instructions import blocks_of, shape_of
from iree_tuner.space.space import Space
from iree_tuner.targets import GpuLimits, parse_target

UPSTREAM = Path(__file__).parents[2] / "upstream"
IGEMM, BLOCKS, THREADS = "TileAndFuse:igemm", "TileAndFuse:blocks", "TileAndFuse"


@dataclass(frozen=True)
class Case:
    """An op from zeros, the space that has the compiler's choice, and a member that is not that choice."""

    target: str
    label: str
    maps: tuple[str, str, str]
    kinds: str
    types: tuple[str, str, str]
    other: dict[str, int]

    @property
    def text(self) -> str:
        """The program."""
        image, filters, result = self.types
        element = result.removesuffix(">").rpartition("x")[2]
        loops = ", ".join(f"d{loop}" for loop in range(len(self.kinds)))
        maps = ", ".join(f"affine_map<({loops}) -> ({each})>" for each in self.maps)
        kinds = ", ".join('"parallel"' if kind == "p" else '"reduction"' for kind in self.kinds)
        narrow = image.removesuffix(">").rpartition("x")[2]
        return f"""
func.func @main(%a: {image}, %b: {filters}) -> {result} {{
  %zero = arith.constant 0.0 : {element}
  %e = tensor.empty() : {result}
  %f = linalg.fill ins(%zero : {element}) outs(%e : {result}) -> {result}
  %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
    ins(%a, %b : {image}, {filters}) outs(%f : {result}) {{
  ^bb0(%x: {narrow}, %y: {narrow}, %o: {element}):
    %v = arith.extf %x : {narrow} to {element}
    %w = arith.extf %y : {narrow} to {element}
    %p = arith.mulf %v, %w : {element}
    %s = arith.addf %o, %p : {element}
    linalg.yield %s : {element}
  }} -> {result}
  return %r : {result}
}}
"""


GROUPS = ("d5, d2 + d6, d3 + d7, d0, d4", "d5, d6, d7, d0, d1", "d0, d1, d2, d3, d4")
CASES = [
    Case(
        "hip:gfx950", BLOCKS, GROUPS, "pppppr" + "rr",
        ("tensor<32x10x10x32x8xf16>", "tensor<32x8x8x32x8xf16>", "tensor<32x8x3x3x8xf32>"),
        {"wg_0": 32, "wg_1": 4, "wg_2": 3, "sg_4": 2},
    ),
    Case(
        "hip:gfx950", IGEMM, GROUPS, "pppppr" + "rr",
        ("tensor<32x10x10x32x10xf16>", "tensor<32x8x8x32x10xf16>", "tensor<32x10x3x3x10xf32>"),
        {"wg_0": 2, "wg_2": 3, "sg_3": 1},
    ),
    Case(
        "hip:gfx942", IGEMM, ("d4, d1 + d5 * 2, d2 + d6 * 2, d3", "d4, d5, d6, d0", "d0, d1, d2, d3"),
        "pppprrr", ("tensor<16x21x21x40xbf16>", "tensor<16x10x10x40xbf16>", "tensor<40x3x3x40xf32>"),
        {"wg_1": 4, "wg_2": 2, "wg_3": 16},
    ),
    Case(
        "hip:gfx942", IGEMM, ("d4, d1 + d5 * 2, d2 + d6 * 2, d3", "d4, d5, d6, d0", "d0, d1, d2, d3"),
        "pppprrr", ("tensor<2x19x19x48xbf16>", "tensor<2x9x9x40xbf16>", "tensor<40x3x3x48xf32>"),
        {"wg_0": 64, "wg_1": 2, "wg_3": 32},
    ),
]  # fmt: skip


def prepared(
    path: Path | str, target: str, workers: Workers, context: ir.Context
) -> tuple[Dispatch, list[Space]]:
    (dispatch,) = extract(load_program(path), parse_target(target), workers).dispatches
    assert dispatch.workload is not None
    assert dispatch.harness is not None
    assert isinstance(dispatch.limits, GpuLimits)
    emitted = emit(dispatch.harness, dispatch.workload, parse_target(target), workers).modules
    return dispatch, list(build_spaces(dispatch.workload, dispatch.limits, context, emitted))


@pytest.mark.parametrize("case", some(CASES, 4), ids=lambda case: f"{case.label}-{case.types[0]}")
def test_the_choice_and_others_are_members_that_compile(
    case: Case, compilers: Workers, context: ir.Context
) -> None:
    dispatch, spaces = prepared(case.text, case.target, compilers, context)
    (space,) = [each for each in spaces if each.label == case.label]
    own = find_default(space, Written.by_compiler(dispatch))
    assert own.assignment is not None, own.reasons
    other = space.complete(case.other)
    assert other is not None, space.violations_of_part(case.other)
    assert other != own.assignment
    # The compiler's own compiles for a second (and test_default.py compiles such).
    members = [other, *([own.assignment, *space.sample(6, seed=0)] if ALL else [])]
    builder = Builder(parse_target(case.target), compilers)
    built = list(builder.build_all(dispatch.harness, [space.configuration(each) for each in members]))
    assert {each.outcome for each in built} == {"ok"}, [each.message for each in built]


@pytest.mark.parametrize(
    ("name", "label", "error"),
    [
        ("padded_conv_adds", IGEMM, "write affecting operations on global resources"),
        ("padded_sum_in_place", THREADS, "write affecting operations on shared resources"),
    ],
)
def test_what_adds_in_place_is_padded_as_far_as_it_compiles(
    name: str, label: str, error: str, compilers: Workers, context: ir.Context
) -> None:
    """The compiler's own choice does not compile (docs/upstream), and is out."""
    dispatch, spaces = prepared(UPSTREAM / f"{name}.mlir", "hip:gfx942", compilers, context)
    (space,) = [each for each in spaces if each.label == label]
    assert find_default(space, Written.by_compiler(dispatch)).assignment is None
    builder = Builder(parse_target("hip:gfx942"), compilers)
    own = builder.build(dispatch.harness, None)
    assert own.outcome == "compile_error"
    assert error in own.message
    members = [space.configuration(each) for each in light(space.sample(16, seed=0))[: amount(1, 6)]]
    assert {each.outcome for each in builder.build_all(dispatch.harness, members)} == {"ok"}


def test_one_instruction_is_enough_where_tiles_divide_or_cover(
    compilers: Workers, context: ir.Context
) -> None:
    text = (UPSTREAM / "padded_sum_in_place.mlir").read_text().replace("90x", "60x")
    _, (space, *_) = prepared(text, "hip:gfx942", compilers, context)
    one = {"mma_idx": 0, "sg_0": 1, "sg_1": 1, "wg_1": 32}
    assert space.complete(one | {"wg_0": 64}) is not None
    assert space.complete(one | {"wg_0": 32}) is None
    assert any("padded sums" in each for each in space.violations_of_part(one | {"wg_0": 32}))


def test_complex_operands_are_not_promoted(compilers: Workers, context: ir.Context) -> None:
    """The compiler crashes on it; a tile that is wider than its loop it chooses itself."""
    left, right, result = (f"tensor<{each}xcomplex<f32>>" for each in ("2x96x51", "2x51x16", "2x96x16"))
    text = f"""
func.func @main(%a: {left}, %b: {right}) -> {result} {{
  %zero = complex.constant [0.0 : f32, 0.0 : f32] : complex<f32>
  %e = tensor.empty() : {result}
  %f = linalg.fill ins(%zero : complex<f32>) outs(%e : {result}) -> {result}
  %r = linalg.batch_matmul ins(%a, %b : {left}, {right}) outs(%f : {result}) -> {result}
  return %r : {result}
}}
"""
    dispatch, (space,) = prepared(text, "hip:gfx1201", compilers, context)
    own = find_default(space, Written.by_compiler(dispatch))
    assert own.assignment is not None, own.reasons
    assert own.assignment["wg_2"] > 16
    assert "promote" not in space.names


def test_instructions_for_blocks(context: ir.Context) -> None:
    with context:
        mma = ir.Attribute.parse("#iree_gpu.mma_layout<MFMA_F32_32x32x4x2B_F16>")
        assert (shape_of(mma), blocks_of(mma)) == ((32, 32, 4), 2)
        plain = ir.Attribute.parse("#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>")
        assert (shape_of(plain), blocks_of(plain)) == ((16, 16, 16), 1)
