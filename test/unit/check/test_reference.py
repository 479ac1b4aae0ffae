"""The reference against the compiler's own choice on the CPU, which it knows nothing of."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from amounts import ALL
from planted import bench_for, without_reference
from programs import BATCH_OF_ONE_CONVOLUTION, MASKED, ONE_MATMUL, TWO_EPILOGUES, ZERO_MATMUL

from iree_tuner.check.check import THOROUGH_SEEDS, Check
from iree_tuner.check.reference import Unsupported, read_ahead, reference_outputs, write_ahead
from iree_tuner.device.data import fill
from iree_tuner.device.memory import LoadedDispatch
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.targets import parse_target
from iree_tuner.tuning.lab import Lab

ROOT = Path(__file__).parents[3]
TOO_LARGE = {"cpu_matmul_f32", "cpu_matmul_f16"}
FILES = [
    *sorted((ROOT / "examples").glob("*.mlir")),
    *sorted(path for path in (ROOT / "programs/ops").glob("cpu_*.mlir") if path.stem not in TOO_LARGE),
]

MASK_OF_BITS = MASKED.replace("32x48xf32", "32x48xi1")
"""Bytes in memory, of which the compiler takes the lowest bit."""

GATHER = """
func.func @gather(%table: tensor<4x24xf32>, %which: tensor<40xi32>) -> tensor<40x24xf32> {
  %empty = tensor.empty() : tensor<40x24xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%which : tensor<40xi32>) outs(%empty : tensor<40x24xf32>) {
    ^bb0(%x: i32, %o: f32):
      %row = arith.index_cast %x : i32 to index
      %column = linalg.index 1 : index
      %y = tensor.extract %table[%row, %column] : tensor<4x24xf32>
      linalg.yield %y : f32
  } -> tensor<40x24xf32>
  return %r : tensor<40x24xf32>
}
"""

PADDED_POOLING = """
func.func @pooling(%a: tensor<1x9x9x6xf32>) -> tensor<1x5x5x6xf32> {
  %low = arith.constant -1.0 : f32
  %padded = tensor.pad %a low[0, 1, 1, 0] high[0, 1, 1, 0] {
    ^bb0(%b: index, %i: index, %j: index, %c: index):
      tensor.yield %low : f32
  } : tensor<1x9x9x6xf32> to tensor<1x11x11x6xf32>
  %window = tensor.empty() : tensor<3x3xf32>
  %empty = tensor.empty() : tensor<1x5x5x6xf32>
  %fill = linalg.fill ins(%low : f32) outs(%empty : tensor<1x5x5x6xf32>) -> tensor<1x5x5x6xf32>
  %r = linalg.pooling_nhwc_max {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
      ins(%padded, %window : tensor<1x11x11x6xf32>, tensor<3x3xf32>)
      outs(%fill : tensor<1x5x5x6xf32>) -> tensor<1x5x5x6xf32>
  return %r : tensor<1x5x5x6xf32>
}
"""

QUANTIZE = """
func.func @quantize(%a: tensor<64x33xf32>, %u: tensor<64x33xi8>) -> tensor<64x33xi8> {
  %scale = arith.constant 23.7 : f32
  %low = arith.constant -128.0 : f32
  %high = arith.constant 127.0 : f32
  %three = arith.constant 3 : i8
  %empty = tensor.empty() : tensor<64x33xi8>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>,
                                        affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%a, %u : tensor<64x33xf32>, tensor<64x33xi8>) outs(%empty : tensor<64x33xi8>) {
    ^bb0(%x: f32, %w: i8, %o: i8):
      %scaled = arith.mulf %x, %scale : f32
      %whole = math.roundeven %scaled : f32
      %above = arith.maximumf %whole, %low : f32
      %within = arith.minimumf %above, %high : f32
      %q = arith.fptosi %within : f32 to i8
      %positive = arith.cmpi sgt, %q, %w : i8
      %half = arith.shrui %w, %three : i8
      %sum = arith.addi %q, %half : i8
      %least = arith.minui %sum, %w : i8
      %y = arith.select %positive, %least, %sum : i8
      linalg.yield %y : i8
  } -> tensor<64x33xi8>
  return %r : tensor<64x33xi8>
}
"""

FUNCTIONS = """
func.func @functions(%a: tensor<32x40xf32>) -> tensor<32x40xf32> {
  %one = arith.constant 1.0 : f32
  %empty = tensor.empty() : tensor<32x40xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<32x40xf32>) outs(%empty : tensor<32x40xf32>) {
    ^bb0(%x: f32, %o: f32):
      %square = arith.mulf %x, %x : f32
      %more = arith.addf %square, %one : f32
      %root = math.rsqrt %more : f32
      %log = math.log %more : f32
      %tanh = math.tanh %x : f32
      %erf = math.erf %x : f32
      %sin = math.sin %x : f32
      %floor = math.floor %x : f32
      %s0 = arith.addf %root, %log : f32
      %s1 = arith.addf %tanh, %erf : f32
      %s2 = arith.addf %sin, %floor : f32
      %s3 = arith.addf %s0, %s1 : f32
      %y = arith.addf %s2, %s3 : f32
      linalg.yield %y : f32
  } -> tensor<32x40xf32>
  return %r : tensor<32x40xf32>
}
"""

SIGNED_BITS = """
func.func @bits(%a: tensor<33xi1>, %b: tensor<33xi1>) -> tensor<33xi1> {
  %sum = arith.addi %a, %b : tensor<33xi1>
  %r = arith.maxsi %a, %sum : tensor<33xi1>
  return %r : tensor<33xi1>
}
"""

EIGHT_BITS = """
func.func @eight(%a: tensor<64xf8E4M3FN>, %b: tensor<64xf8E5M2>) -> (tensor<64xf32>, tensor<64xf32>) {
  %t = math.tanh %a : tensor<64xf8E4M3FN>
  %s = arith.addf %t, %a : tensor<64xf8E4M3FN>
  %x = arith.extf %s : tensor<64xf8E4M3FN> to tensor<64xf32>
  %m = arith.mulf %b, %b : tensor<64xf8E5M2>
  %y = arith.extf %m : tensor<64xf8E5M2> to tensor<64xf32>
  return %x, %y : tensor<64xf32>, tensor<64xf32>
}
"""

DIVIDED = """
func.func @divided(%a: tensor<512x16xf32>) -> tensor<512x16xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<512xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<512xf32>) -> tensor<512xf32>
  %sums = linalg.reduce { arith.addf }
      ins(%a : tensor<512x16xf32>) outs(%fill : tensor<512xf32>) dimensions = [1]
  %out = tensor.empty() : tensor<512x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
                                        affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%a, %sums : tensor<512x16xf32>, tensor<512xf32>) outs(%out : tensor<512x16xf32>) {
    ^bb0(%x: f32, %s: f32, %o: f32):
      %y = arith.divf %x, %s : f32
      linalg.yield %y : f32
  } -> tensor<512x16xf32>
  return %r : tensor<512x16xf32>
}
"""
"""Sums of both signs, some of which nearly cancel."""

SIGN = """
func.func @sign(%a: tensor<7x64xi1>) -> tensor<7x64xi8> {
  %r = arith.extsi %a : tensor<7x64xi1> to tensor<7x64xi8>
  return %r : tensor<7x64xi8>
}
"""
"""A true boolean with a sign is minus one."""

SUM = """
func.func @sum(%x: tensor<4x48xKIND>) -> tensor<KIND> {
  %zero = stablehlo.constant dense<ZERO> : tensor<KIND>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [0, 1]
    : (tensor<4x48xKIND>, tensor<KIND>) -> tensor<KIND>
  return %r : tensor<KIND>
}
"""
"""A result without dimensions."""


def sum_of(kind):
    return SUM.replace("ZERO", "0" if kind == "i32" else "0.0").replace("KIND", kind)


PROGRAMS = {
    "several": FUNCTIONS + SIGNED_BITS + SIGN + sum_of("bf16"),
    "signed_bits": SIGNED_BITS,
    "eight_bits": EIGHT_BITS,
    "divided": DIVIDED,
    "zero_matmul": ZERO_MATMUL,
    "one_matmul": ONE_MATMUL,
    "bf16_matmul": ZERO_MATMUL.replace("128xf32", "128xbf16").replace("128x64xf32", "128x64xbf16"),
    "convolution": BATCH_OF_ONE_CONVOLUTION,
    "two_epilogues": TWO_EPILOGUES,
    "masked_attention": MASKED,
    "mask_of_bits": MASK_OF_BITS,
    "gather": GATHER,
    "padded_pooling": PADDED_POOLING,
    "quantize": QUANTIZE,
    "functions": FUNCTIONS,
}


def check_against_reference(bench):
    """For each kind of values, the default against the reference; runs in a worker."""
    check, loaded = Check(bench), LoadedDispatch(bench.default, bench.harness, bench.device)
    return check.thorough(loaded)


def each_dispatch_agrees(program, target, compilers):
    dispatches = [each for each in extract(program, target, compilers).dispatches if each.harness]
    assert dispatches
    for dispatch in dispatches:
        found = compilers.call(check_against_reference, bench_for(dispatch, target, compilers))
        assert found.ok, f"{dispatch.name}: {found.message}"
        assert not found.note, f"{dispatch.name}: {found.note}"


@pytest.mark.parametrize("name", PROGRAMS if ALL else ("several", "mask_of_bits"))
def test_the_default_computes_what_the_program_says(cpu, compilers, name):
    each_dispatch_agrees(load_program(PROGRAMS[name]), cpu, compilers)


@pytest.mark.exhaustive  # "several" has one of bf16
@pytest.mark.parametrize("kind", ["f32", "i32", "f64"])
def test_a_result_without_dimensions(cpu, compilers, kind):
    each_dispatch_agrees(load_program(sum_of(kind)), cpu, compilers)


@pytest.mark.parametrize(
    "path", [path for path in FILES if ALL or path.stem == "cpu_grouped_conv"], ids=lambda path: path.stem
)
def test_the_default_of_whole_programs_does(cpu, compilers, path):
    each_dispatch_agrees(load_program(str(path)), cpu, compilers)


def test_data_tiled_matmuls_do(compilers):
    each_dispatch_agrees(load_program(ZERO_MATMUL), parse_target("llvm-cpu:host+data-tiling"), compilers)


@pytest.fixture(scope="module")
def matmul(only_dispatch):
    return only_dispatch(ZERO_MATMUL).harness


def image_of(harness, seed=1):
    return fill(harness.bindings, harness.buffer_bytes, seed)


def test_it_is_not_numpy_alone_that_says_so(matmul):
    """The outputs of the one program whose formula is short are also what NumPy makes of the inputs."""
    image = image_of(matmul)
    a, b = (
        image[each.offset : each.offset + each.length].view(np.float32).reshape(shape)
        for each, shape in zip(matmul.bindings, ((96, 128), (128, 64)), strict=False)
    )
    (found,) = reference_outputs(matmul, image)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    assert np.abs(found - expected).max() <= np.abs(expected).max() * 2.0**-24


def test_the_buffer_is_not_changed(matmul):
    image = image_of(matmul)
    before = image.copy()
    reference_outputs(matmul, image)
    assert np.array_equal(image, before)


def test_what_is_too_large_is_unsupported(only_dispatch):
    harness = only_dispatch(ZERO_MATMUL.replace("128", "1024").replace("96", "512").replace("64x", "512x")
                            .replace("x64xf32", "x512xf32")).harness  # fmt: skip
    found = reference_outputs(harness, image_of(harness))
    assert found == Unsupported("more than 2^27 evaluations")


def test_an_unknown_op_is_unsupported_and_named(only_dispatch, cpu, compilers):
    bench = without_reference(bench_for(only_dispatch(ZERO_MATMUL), cpu, compilers))
    found = reference_outputs(bench.harness, image_of(bench.harness))
    assert found == Unsupported("hal.interface.workgroup.id")
    agreement = compilers.call(check_against_reference, bench)
    assert agreement.ok
    assert agreement.note == "not checked against a reference: hal.interface.workgroup.id"


@pytest.mark.parametrize("program", [ZERO_MATMUL, QUANTIZE])
def test_what_is_found_out_ahead_is_what_a_check_would_find_out(program, only_dispatch, tmp_path):
    harness = only_dispatch(program).harness
    prefix = str(tmp_path / "0")
    assert read_ahead(harness, prefix, 1) is None, "not found out yet"
    write_ahead(harness, prefix, (1, 2))
    assert read_ahead(harness, prefix, 0) is None
    for seed in (1, 2):
        (ahead,) = read_ahead(harness, prefix, seed)
        (now,) = reference_outputs(harness, fill(harness.bindings, harness.stride, seed))
        assert ahead.dtype == now.dtype
        assert np.array_equal(ahead, now)


def test_so_is_that_there_is_none(only_dispatch, cpu, compilers, tmp_path):
    bench = without_reference(bench_for(only_dispatch(ZERO_MATMUL), cpu, compilers))
    write_ahead(bench.harness, str(tmp_path / "0"), (0, 1))
    for seed in (0, 1):
        assert read_ahead(bench.harness, str(tmp_path / "0"), seed) == Unsupported(
            "hal.interface.workgroup.id"
        )


def test_a_check_asks_for_what_was_found_out_ahead(only_dispatch, cpu, compilers, tmp_path):
    bench = replace(bench_for(only_dispatch(ZERO_MATMUL), cpu, compilers), references=str(tmp_path / "0"))
    write_ahead(bench.harness, bench.references, THOROUGH_SEEDS)
    assert not compilers.call(check_against_reference, bench).note
    right = Path(f"{bench.references}.1")
    right.write_bytes(Path(f"{bench.references}.2").read_bytes())
    assert "the default itself is wrong: seed 1" in compilers.call(check_against_reference, bench).note


def test_references_are_found_out_where_that_delays_no_measuring(only_dispatch, cpu, compilers):
    bench = bench_for(only_dispatch(ZERO_MATMUL), cpu, compilers)
    with Lab(cpu, jobs=1) as lab:
        assert lab.referenced(bench) is bench
        lab.alternate = lab.on_host = False
        found = lab.referenced(bench)
        lab.compilers.settle()
        assert read_ahead(bench.harness, found.references, 2) is not None
        assert lab.referenced(bench).references != found.references
    assert not Path(found.references).parent.exists()
