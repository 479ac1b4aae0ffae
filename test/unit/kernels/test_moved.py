"""Transposes around a product are part of it: arrays are read and written in other orders."""

from pathlib import Path

import numpy as np
import pytest
from amounts import some
from iree.compiler import ir
from kernels.test_attention_sites import results
from problems import sites_in

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import session_for
from iree_tuner.kernels.c_gemm import CGemm
from iree_tuner.kernels.executable import why_unfit
from iree_tuner.kernels.find import find_here
from iree_tuner.kernels.product_shape import product_shape
from iree_tuner.kernels.ptx_gemm import PtxGemm
from iree_tuner.kernels.spec import save_kernel_spec
from iree_tuner.kernels.triton_gemm import TritonGemm
from iree_tuner.program.extract import extract_here
from iree_tuner.program.phases import select_target
from iree_tuner.spec.external import SPEC_FLAG
from iree_tuner.targets import parse_target

CUDA = parse_target("cuda:sm_89")
GATED = Path(__file__).parents[2] / "kernels" / "Inputs" / "gated.mlir"

HEADS = """
func.func @main(%x: tensor<34x32xf16>, %w: tensor<32x48xf16>, %b: tensor<48xf16>) -> tensor<2x3x17x16xf16> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<34x32xf16>, tensor<32x48xf16>) -> tensor<34x48xf32>
  %1 = stablehlo.convert %0 : (tensor<34x48xf32>) -> tensor<34x48xf16>
  %2 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<48xf16>) -> tensor<34x48xf16>
  %3 = stablehlo.add %1, %2 : tensor<34x48xf16>
  %4 = stablehlo.reshape %3 : (tensor<34x48xf16>) -> tensor<2x17x3x16xf16>
  %5 = stablehlo.transpose %4, dims = [0, 2, 1, 3] : (tensor<2x17x3x16xf16>) -> tensor<2x3x17x16xf16>
  return %5 : tensor<2x3x17x16xf16>
}
"""
LAYER = """
func.func @main(%x: tensor<2x17x32xf16>, %w: tensor<32x48xf16>, %b: tensor<48xf16>, %r: tensor<2x17x48xf16>)
    -> tensor<2x3x17x16xf16> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0]
      : (tensor<2x17x32xf16>, tensor<32x48xf16>) -> tensor<2x17x48xf32>
  %1 = stablehlo.convert %b : (tensor<48xf16>) -> tensor<48xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [2] : (tensor<48xf32>) -> tensor<2x17x48xf32>
  %3 = stablehlo.add %0, %2 : tensor<2x17x48xf32>
  %4 = stablehlo.convert %3 : (tensor<2x17x48xf32>) -> tensor<2x17x48xf16>
  %5 = stablehlo.add %r, %4 : tensor<2x17x48xf16>
  %6 = stablehlo.reshape %5 : (tensor<2x17x48xf16>) -> tensor<2x17x3x16xf16>
  %7 = stablehlo.transpose %6, dims = [0, 2, 1, 3] : (tensor<2x17x3x16xf16>) -> tensor<2x3x17x16xf16>
  return %7 : tensor<2x3x17x16xf16>
}
"""
ADDED = """
func.func @main(%x: tensor<34x32xf16>, %w: tensor<32x40xf16>, %r: tensor<34x40xf16>) -> tensor<40x2x17xf16> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<34x32xf16>, tensor<32x40xf16>) -> tensor<34x40xf32>
  %1 = stablehlo.convert %0 : (tensor<34x40xf32>) -> tensor<34x40xf16>
  %2 = stablehlo.multiply %1, %r : tensor<34x40xf16>
  %3 = stablehlo.reshape %2 : (tensor<34x40xf16>) -> tensor<2x17x40xf16>
  %4 = stablehlo.transpose %3, dims = [2, 0, 1] : (tensor<2x17x40xf16>) -> tensor<40x2x17xf16>
  return %4 : tensor<40x2x17xf16>
}
"""
TOGETHER = """
func.func @main(%x: tensor<2x3x17x16xf16>, %w: tensor<48x40xf16>, %r: tensor<34x40xf16>)
    -> tensor<34x40xf16> {
  %0 = stablehlo.transpose %x, dims = [0, 2, 1, 3] : (tensor<2x3x17x16xf16>) -> tensor<2x17x3x16xf16>
  %1 = stablehlo.reshape %0 : (tensor<2x17x3x16xf16>) -> tensor<34x48xf16>
  %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0]
      : (tensor<34x48xf16>, tensor<48x40xf16>) -> tensor<34x40xf32>
  %3 = stablehlo.convert %2 : (tensor<34x40xf32>) -> tensor<34x40xf16>
  %4 = stablehlo.add %3, %r : tensor<34x40xf16>
  return %4 : tensor<34x40xf16>
}
"""
SCORES = """
func.func @main(%q: tensor<4x17x16xf16>, %k: tensor<4x24x16xf16>) -> tensor<4x17x24xf32> {
  %0 = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2]
      : (tensor<4x17x16xf16>, tensor<4x24x16xf16>) -> tensor<4x17x24xf32>
  return %0 : tensor<4x17x24xf32>
}
"""
SHARED = """
func.func @main(%q: tensor<6x17x16xf16>, %k: tensor<2x24x16xf16>) -> tensor<6x17x24xf32> {
  %0 = stablehlo.broadcast_in_dim %k, dims = [0, 2, 3] : (tensor<2x24x16xf16>) -> tensor<2x3x24x16xf16>
  %1 = stablehlo.reshape %0 : (tensor<2x3x24x16xf16>) -> tensor<6x24x16xf16>
  %2 = stablehlo.dot_general %q, %1, batching_dims = [0] x [0], contracting_dims = [2] x [2]
      : (tensor<6x17x16xf16>, tensor<6x24x16xf16>) -> tensor<6x17x24xf32>
  return %2 : tensor<6x17x24xf32>
}
"""
PROGRAMS = {
    "heads": (
        HEADS, ("truncf", "bias", "moved"), lambda x, w, b: (x @ w + b).reshape(2, 17, 3, 16).swapaxes(1, 2),
    ),
    "layer": (
        LAYER, ("bias", "truncf", "residual", "moved"),
        lambda x, w, b, r: ((x @ w + b).reshape(r.shape) + r).reshape(2, 17, 3, 16).swapaxes(1, 2),
    ),
    "together": (
        TOGETHER, ("truncf", "residual", "moved"), lambda x, w, r: x.swapaxes(1, 2).reshape(34, 48) @ w + r,
    ),
    "added": (
        ADDED, ("truncf", "factor", "moved"),
        lambda x, w, r: (x @ w * r).reshape(2, 17, 40).transpose(2, 0, 1),
    ),
    "scores": (SCORES, ("moved",), lambda q, k: q @ k.swapaxes(1, 2)),
    "shared": (SHARED, ("moved",), lambda q, k: q @ np.repeat(k, 3, axis=0).swapaxes(1, 2)),
}  # fmt: skip


def site_of(text: str):
    (place,) = find_here(text.encode(), "p.mlir", CUDA).places
    site, why = place.site_for(TritonGemm())
    assert site is not None, why
    return site


@pytest.mark.parametrize(("text", "steps", "reference"), some(PROGRAMS.values(), 3), ids=some(PROGRAMS, 3))
def test_what_is_found_computes_what_the_program_does(text, steps, reference) -> None:
    site = site_of(text)
    assert site.problem.epilogue == steps
    rng = np.random.default_rng(0)
    given = [rng.standard_normal(each.shape).astype(np.float16) for each in site.problem.inputs]
    wanted = reference(*(each.astype(np.float64) for each in given))
    assert site.problem.result.shape == wanted.shape
    for program in some((site.one_op, site.case), 2):
        assert np.abs(results(program, given) - wanted).max() < 0.02
    (dispatch,) = extract_here(site.one_op, "p.mlir", CUDA).dispatches
    assert why_unfit(dispatch.harness, site.problem) == ""
    assert all(each.refuses(site.problem) for each in (CGemm(), PtxGemm())), "they read in one order"


def test_steps_are_those_of_the_arrays_in_the_program() -> None:
    shape = product_shape(site_of(HEADS).problem)
    assert (shape.sizes["m"], shape.sizes["n"]) == ((2, 17), (3, 16))
    assert shape.steps["RESULT"] == {"batch": (0,), "m": (816, 16), "n": (272, 1), "k": (0,)}
    assert shape.steps["EXTRA0"] == {"batch": (0,), "m": (0, 0), "n": (16, 1), "k": (0,)}
    shape = product_shape(site_of(SHARED).problem)
    assert (shape.sizes["batch"], shape.sizes["m"]) == ((2,), (51,)), "heads that share keys are rows"


def test_what_others_use_is_left() -> None:
    """The sums before the transpose are a result, too; and what an attention reads is not a product's."""
    both = HEADS.replace("-> tensor<2x3x17x16xf16> {", "-> (tensor<2x3x17x16xf16>, tensor<34x48xf16>) {")
    both = both.replace("return %5 : ", "return %5, %3 : ").replace("xf16>\n}", "xf16>, tensor<34x48xf16>\n}")
    assert site_of(both).problem.epilogue == ("truncf", "bias")


@pytest.mark.skipif(bool(TritonGemm().missing()), reason=TritonGemm().missing())
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (GATED.read_text(), [("truncf", "silu"), ("truncf", "factor"), ("truncf",), ("scale", "moved")]),
        (LAYER, [("bias", "truncf", "residual", "moved")]),
    ],
    ids=["gated", "layer"],
)
def test_programs_for_a_gpu_have_nothing_but_kernels(text: str, wanted, tmp_path) -> None:
    """A gated layer on 154 rows and scores of heads, as JAX exports them: four kernels, and no transpose."""
    target, kernel = parse_target("cuda:sm_90"), TritonGemm()
    places = find_here(text.encode(), "p.mlir", target)
    chosen = []
    for place in places.places:
        site, why = place.site_for(kernel)
        assert site is not None, why
        chosen.append((site, kernel.make(site.problem, target, kernel.variants(site.problem, target)[0])))
    assert [site.problem.epilogue for site, _ in chosen] == wanted
    spec = tmp_path / "k.mlir"
    save_kernel_spec(chosen, places.target, new_context(), spec)
    session = session_for((*target.flags, f"{SPEC_FLAG}={spec}"))
    with session.context, ir.Location.unknown():
        module = session.parse(text.encode(), "p.mlir")
        select_target(module, target)
        data = session.to_vmfb(module)
    assert data.count(b".visible .entry") == data.count(b".target sm_90a") == len(chosen)


def test_a_transpose_between_two_products_is_read_by_the_second() -> None:
    text = """
    func.func @main(%a: tensor<8x16xf16>, %b: tensor<16x24xf16>, %c: tensor<8x32xf16>) -> tensor<24x32xf32> {
      %zero = arith.constant 0.0 : f32
      %e0 = tensor.empty() : tensor<8x24xf32>
      %i0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<8x24xf32>) -> tensor<8x24xf32>
      %p = linalg.matmul ins(%a, %b : tensor<8x16xf16>, tensor<16x24xf16>)
          outs(%i0 : tensor<8x24xf32>) -> tensor<8x24xf32>
      %h = arith.truncf %p : tensor<8x24xf32> to tensor<8x24xf16>
      %e1 = tensor.empty() : tensor<24x8xf16>
      %t = linalg.transpose ins(%h : tensor<8x24xf16>) outs(%e1 : tensor<24x8xf16>) permutation = [1, 0]
      %e2 = tensor.empty() : tensor<24x32xf32>
      %i1 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<24x32xf32>) -> tensor<24x32xf32>
      %r = linalg.matmul ins(%t, %c : tensor<24x8xf16>, tensor<8x32xf16>)
          outs(%i1 : tensor<24x32xf32>) -> tensor<24x32xf32>
      return %r : tensor<24x32xf32>
    }"""
    first, second = sites_in(text)
    assert [site.problem.epilogue for site in first] == [(), ("truncf",)]
    assert [site.problem.epilogue for site in second] == [(), ("moved",)]
