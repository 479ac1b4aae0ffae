"""Scalars that constants decide, and epilogues of which a part looks like another one's."""

from pathlib import Path

import numpy as np
import pytest
from iree.compiler import ir
from kernels.after_abi import found_by, placed, results
from kernels.numpy_triton import written

from iree_tuner.compiler.context import new_context
from iree_tuner.kernels.c_gemm import CGemm
from iree_tuner.kernels.find import find_here, target_here
from iree_tuner.kernels.known import fold_known
from iree_tuner.kernels.normalizing import find_normalizing
from iree_tuner.kernels.spec import save_kernel_spec
from iree_tuner.spec.external import SPEC_FLAG
from iree_tuner.targets import parse_target

HOST, CUDA = parse_target("llvm-cpu:host"), parse_target("cuda:sm_89")
NORMS = Path(__file__).parent / "norms"

PADDED = """
func.func @main(%x: tensor<2x20x16xf16>, %w: tensor<2x16x8xf16>) -> tensor<2x20x8xf32> {
  %c = stablehlo.constant dense<ZERO> : tensor<i32>
  %0 = stablehlo.convert %c : (tensor<i32>) -> tensor<f16>
  %1 = stablehlo.pad %x, %0, low = [0, 2, 0], high = [0, 0, 0], interior = [0, 0, 0]
      : (tensor<2x20x16xf16>, tensor<f16>) -> tensor<2x22x16xf16>
  %2 = stablehlo.convolution(%1, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
      window = {rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x22x16xf16>, tensor<2x16x8xf16>) -> tensor<2x20x8xf32>
  return %2 : tensor<2x20x8xf32>
}"""
"""As `jnp.pad` has it, and a convolution that sees only what was before."""

ADDED = """
func.func @main(%x: tensor<24x32xf32>, %a: tensor<32x48xf32>, %b: tensor<32x48xf32>) -> tensor<24x48xf32> {
  %0 = stablehlo.dot %x, %a : (tensor<24x32xf32>, tensor<32x48xf32>) -> tensor<24x48xf32>
  %1 = stablehlo.multiply %0, %0 : tensor<24x48xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<24x48xf32>
  %c = stablehlo.constant dense<4.471500e-02> : tensor<24x48xf32>
  %3 = stablehlo.multiply %c, %2 : tensor<24x48xf32>
  %4 = stablehlo.add %0, %3 : tensor<24x48xf32>
  %d = stablehlo.constant dense<0.797884583> : tensor<24x48xf32>
  %5 = stablehlo.multiply %d, %4 : tensor<24x48xf32>
  %6 = stablehlo.tanh %5 : tensor<24x48xf32>
  %one = stablehlo.constant dense<1.0> : tensor<24x48xf32>
  %7 = stablehlo.add %one, %6 : tensor<24x48xf32>
  %half = stablehlo.constant dense<0.5> : tensor<24x48xf32>
  %8 = stablehlo.multiply %half, %7 : tensor<24x48xf32>
  %9 = stablehlo.multiply %0, %8 : tensor<24x48xf32>
  %10 = stablehlo.dot %x, %b : (tensor<24x32xf32>, tensor<32x48xf32>) -> tensor<24x48xf32>
  %11 = stablehlo.add %9, %10 : tensor<24x48xf32>
  return %11 : tensor<24x48xf32>
}"""
"""In the GELU, the product and a multiple of its power are added, as its result and the other product are."""


def sites_of(text: str, target):
    return [site for place in find_here(text.encode(), "p.mlir", target).places for site in place.sites]


def test_a_padding_whose_value_is_converted_joins_the_convolution() -> None:
    assert [site.problem.padding for site in sites_of(PADDED.replace("ZERO", "0"), CUDA)] == [
        (), ((0, 0), (2, 0), (0, 0)),
    ]  # fmt: skip
    assert [site.problem.padding for site in sites_of(PADDED.replace("ZERO", "1"), CUDA)] == [()]


@pytest.mark.parametrize("ddof", [0, 1, 700])
def test_a_choice_is_made_as_the_program_makes_it(monkeypatch: pytest.MonkeyPatch, ddof: int) -> None:
    """NaN stays where nothing is left of the count."""
    text = (NORMS / "var.mlir").read_text().replace("dense<0> : tensor<i32>", f"dense<{ddof}> : tensor<i32>")
    (site,) = found_by(find_normalizing, text)
    rng = np.random.default_rng(0)
    shapes = [each.shape for each in site.problem.inputs]
    given = [np.float16(rng.standard_normal(each)) if each else np.float32(700 - ddof) for each in shapes]
    out = written(monkeypatch, site.problem, given)
    (wanted,) = results(text, [each for each in given if each.ndim])
    np.testing.assert_allclose(out.reshape(wanted.shape), wanted, rtol=2.0**-9, atol=2.0**-9)
    assert np.isfinite(wanted).all() == (ddof < 700)


@pytest.mark.skipif(bool(CGemm().missing()), reason=CGemm().missing())
def test_a_part_of_a_longer_epilogue_is_not_taken_for_a_short_one(tmp_path: Path) -> None:
    """Each product is computed once."""
    kernel = CGemm()
    chosen = {}
    for site in (place.sites[-1] for place in find_here(ADDED.encode(), "p.mlir", HOST).places):
        chosen[site.case] = site, kernel.make(site.problem, HOST, kernel.variants(site.problem, HOST)[0])
    path = tmp_path / "k.mlir"
    save_kernel_spec([*chosen.values()], target_here(HOST), new_context(), path)
    assert placed(ADDED, (f"{SPEC_FLAG}={path}",)) == 2
    rng = np.random.default_rng(0)
    given = [rng.standard_normal(each).astype(np.float32) for each in ((24, 32), (32, 48), (32, 48))]
    (own,), (wanted,) = results(ADDED, given, (f"{SPEC_FLAG}={path}",)), results(ADDED, given)
    assert {site.problem.epilogue for site, _ in chosen.values()} == {("gelu_tanh",), ("residual",)}
    np.testing.assert_allclose(own, wanted, rtol=1e-3, atol=1e-3)


ODD = """
func.func @main(%x: tensor<8xf32>, %n: tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, f32) {
  %e = tensor.empty() : tensor<f32>
  %u = tensor.extract %e[] : tensor<f32>
  %o = arith.constant 1.0 : f32
  %v = arith.addf %u, %o : f32
  %i = arith.constant 2 : index
  %t = arith.constant dense<true> : tensor<4xi1>
  %k = tensor.extract %t[%i] : tensor<4xi1>
  %z = tensor.empty() : tensor<8xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%z : tensor<8xf32>) {
    ^bb0(%p: f32, %q: f32):
      %s = arith.select %k, %p, %o : f32
      linalg.yield %s : f32
  } -> tensor<8xf32>
  %m = tensor.extract %n[] : tensor<f32>
  %b = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%z : tensor<8xf32>) {
    ^bb0(%p: f32, %q: f32):
      %s = arith.mulf %m, %p : f32
      linalg.yield %s : f32
  } -> tensor<8xf32>
  %c = arith.constant dense<(1.0, 2.0)> : tensor<complex<f32>>
  %d = tensor.extract %c[] : tensor<complex<f32>>
  %r = complex.re %d : complex<f32>
  %f = linalg.fill ins(%r : f32) outs(%z : tensor<8xf32>) -> tensor<8xf32>
  return %a, %b, %f, %v : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, f32
}"""
"""A condition of constants, an undefined scalar, one that the program gets, and a complex constant."""


def test_what_constants_do_not_decide_stays() -> None:
    context = new_context()
    with context, ir.Location.unknown():
        module = ir.Module.parse(
            ODD.replace("func.func", "util.func public").replace("  return", "  util.return")
        )
        (found,) = fold_known(module)
        assert b"dense<true>" in found.case
        left = str(module)
    assert left.count("tensor.extract") == 2, "of nothing, and of what the program gets"
    assert "arith.select" not in left


CONSTANTS = """
util.global private @weights = dense<[0.5, 2.0]> : tensor<2xf16>
util.global private mutable @state = dense<[0.5, 2.0]> : tensor<2xf16>
func.func @main(%x: tensor<64x48xf16>) -> (tensor<64x48xf32>, tensor<729xi32>) {
  %two = GLOBAL
  %a = stablehlo.broadcast_in_dim %two, dims = [1] : (tensor<2xf16>) -> tensor<48x2xf16>
  %b = stablehlo.broadcast_in_dim %two, dims = [0] : (tensor<2xf16>) -> tensor<2x48xf16>
  %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<48x2xf16>, tensor<2x48xf16>) -> tensor<48x48xf16>
  %d = stablehlo.dot_general %x, %c, contracting_dims = [1] x [0]
      : (tensor<64x48xf16>, tensor<48x48xf16>) -> tensor<64x48xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %at = stablehlo.constant dense<0> : tensor<729x1xi32>
  %one = stablehlo.constant dense<1> : tensor<729xi32>
  %start = stablehlo.constant dense<2> : tensor<729xi32>
  %counts = "stablehlo.scatter"(%start, %at, %one) <{scatter_dimension_numbers = #stablehlo.scatter<
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    %o = stablehlo.add %p, %q : tensor<i32>
    stablehlo.return %o : tensor<i32>
  }) : (tensor<729xi32>, tensor<729x1xi32>, tensor<729xi32>) -> tensor<729xi32>
  %sums = "stablehlo.reduce_window"(%counts, %zero) <{
      padding = dense<[[728, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 729>}> ({
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    %o = stablehlo.add %p, %q : tensor<i32>
    stablehlo.return %o : tensor<i32>
  }) : (tensor<729xi32>, tensor<i32>) -> tensor<729xi32>
  return %d, %sums : tensor<64x48xf32>, tensor<729xi32>
}"""
"""A product, and running sums of places, of which one or both are computed of constants only."""


@pytest.mark.parametrize(
    ("name", "products"), [("@weights", ["64x48x48"]), ("@state", ["48x48x2", "64x48x48"])]
)
def test_what_the_compiler_computes_once_takes_no_kernel(name: str, products: list[str]) -> None:
    """It fails where it would run a kernel for a GPU while it compiles the program."""
    text = CONSTANTS.replace("GLOBAL", f"util.global.load {name} : tensor<2xf16>")
    found = find_here(text.encode(), "p.mlir", CUDA, chains=True, norms=True).places
    names = [place.sites[0].problem.name for place in found]
    assert [each.split("_")[1] for each in names if each.startswith("matmul")] == products
    assert not [each for each in names if "729" in each]
