"""Sums of much to few results become two ops that compute the same."""

import numpy as np
import pytest
from after_abi import HOST, found_by, results_of_all

from iree_tuner.kernels import nest
from iree_tuner.kernels.find import find_here
from iree_tuner.kernels.fused_op import FusedOps
from iree_tuner.kernels.split_sums import find_sums

NORM = "(d0, d1, d2, d3, d4) -> (d0, d2, d3, d1, d4)", "(d0, d1, d2, d3, d4) -> (d0, d1)"
ROWS = "(d0, d1) -> (d0, d1)", "(d0, d1) -> (d0)"


def program(shape, result, maps=NORM, start="0.0", op="arith.addf") -> str:
    kinds = ", ".join(['"parallel"'] * len(result) + ['"reduction"'] * (len(shape) - len(result)))
    of, to = ("x".join(map(str, each)) for each in (shape, result))
    read, written = (f"affine_map<{each}>" for each in maps)
    return f"""
func.func @main(%x: tensor<{of}xf32>) -> tensor<{to}xf32> {{
  %zero = arith.constant {start} : f32
  %empty = tensor.empty() : tensor<{to}xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<{to}xf32>) -> tensor<{to}xf32>
  %sum = linalg.generic {{indexing_maps = [{read}, {written}], iterator_types = [{kinds}]}}
      ins(%x : tensor<{of}xf32>) outs(%filled : tensor<{to}xf32>) {{
  ^bb0(%in: f32, %out: f32):
    %0 = {op} %out, %in : f32
    linalg.yield %0 : f32
  }} -> tensor<{to}xf32>
  return %sum : tensor<{to}xf32>
}}"""


def sums_in(text: str):
    return found_by(find_sums, text)


@pytest.mark.parametrize(
    "shape",
    [pytest.param((2, 16, 30, 32, 20), marks=pytest.mark.exhaustive), (1, 70, 3, 5, 31)],  # as below
)
def test_both_compute_the_same(shape) -> None:
    (site,) = sums_in(program(shape, (shape[0], shape[3])))
    assert site.problem.fused.count(b"linalg.generic") == 2
    assert FusedOps().refuses(site.problem) == ""
    x = np.random.default_rng(0).standard_normal(shape, np.float32)
    wanted = x.astype(float).sum((1, 2, 4))
    for (found,) in results_of_all((site.case, site.problem.fused), [[x], [x]]):
        # The one op adds one number after the other, which is less exact.
        np.testing.assert_allclose(found, wanted, atol=5e-3)


GROUP_NORM = """
func.func @main(%x: tensor<2x16x30x640xf16>) -> (tensor<2x16x30x32x20xf32>, tensor<2x32xf32>) {
  %wide = stablehlo.convert %x : (tensor<2x16x30x640xf16>) -> tensor<2x16x30x640xf32>
  %groups = stablehlo.reshape %wide : (tensor<2x16x30x640xf32>) -> tensor<2x16x30x32x20xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%groups init: %zero) applies stablehlo.add across dimensions = [1, 2, 4]
    : (tensor<2x16x30x32x20xf32>, tensor<f32>) -> tensor<2x32xf32>
  %count = stablehlo.constant dense<9600.0> : tensor<2x32xf32>
  %mean = stablehlo.divide %sum, %count : tensor<2x32xf32>
  %same = stablehlo.broadcast_in_dim %mean, dims = [0, 3] : (tensor<2x32xf32>) -> tensor<2x16x30x32x20xf32>
  %distances = stablehlo.subtract %groups, %same : tensor<2x16x30x32x20xf32>
  %squares = stablehlo.multiply %distances, %distances : tensor<2x16x30x32x20xf32>
  %variance = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [1, 2, 4]
    : (tensor<2x16x30x32x20xf32>, tensor<f32>) -> tensor<2x32xf32>
  return %distances, %variance : tensor<2x16x30x32x20xf32>, tensor<2x32xf32>
}"""


def test_what_is_computed_before_a_sum_is_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that distances from a mean are not written to memory, where others read them, too."""
    monkeypatch.setattr(nest, "FULL", 0.0)  # clusters sum groups of 20 whole, and divide
    monkeypatch.setattr(nest, "_NEIGHBORS", 16)
    squares, mean, values = sums_in(GROUP_NORM)
    counts = [len(each.problem.inputs) for each in (squares, mean, values)]
    assert counts == [2, 1, 1], "what replaces most is first"
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 16, 30, 640), np.float32).astype(np.float16)
    means = rng.standard_normal((2, 32), np.float32)
    groups = x.astype(float).reshape(2, 16, 30, 32, 20)
    wanted = ((groups - means[:, None, None, :, None]) ** 2).sum((1, 2, 4))
    given, total = {(2, 16, 30, 640): x, means.shape: means}, groups.sum((1, 2, 4))
    programs, inputs, expected = [], [], []
    for site, sums in ((squares, wanted), (values, total), (mean, total / 9600)):
        assert site.problem.fused.count(b"linalg.generic") == 2 + (site is mean)
        for text in (site.case, site.problem.fused):
            programs.append(text)
            inputs.append([given[each.shape] for each in site.problem.inputs])
            expected.append(sums)
    for (found,), sums in zip(results_of_all(programs, inputs), expected, strict=True):
        np.testing.assert_allclose(found, sums, rtol=1e-4, atol=5e-2)


def test_a_program_has_them_among_what_is_found() -> None:
    found = find_here(program((2, 16, 30, 32, 20), (2, 32)).encode(), "norm", HOST, chains=True)
    assert [place.sites[0].problem.name for place in found.places] == ["fused_2x32_f32"]


@pytest.mark.parametrize(
    "text",
    [
        program((8192, 8192), (8192,), ROWS),  # enough results
        program((2, 4, 4, 32, 20), (2, 32)),  # little to add up
        program((4, 8192), (4,), ROWS),  # one loop, which neighbouring threads share
        program((2, 16, 30, 32, 20), (2, 32), start="1.0"),
        program((2, 16, 30, 32, 20), (2, 32), op="arith.maximumf"),
    ],
    ids=["results", "terms", "loop", "start", "maximum"],
)
def test_others_stay_as_they_are(text: str) -> None:
    assert sums_in(text) == []
