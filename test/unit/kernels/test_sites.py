"""What of a program is a problem for kernels, and with which epilogue."""

import pytest
from problems import conv, einsum, matmul, site_in, sites_in

from iree_tuner.kernels import find, site
from iree_tuner.kernels.find import find_here, find_joint_here, target_here
from iree_tuner.kernels.kernel import Conv, conv_of
from iree_tuner.kernels.product_shape import Gemm, gemm_of
from iree_tuner.kernels.source import outlook_of
from iree_tuner.targets import parse_target

LAYER = """
#id = affine_map<(m, n) -> (m, n)>
#last = affine_map<(m, n) -> (n)>
func.func @layer(%a: tensor<64x32xf16>, %b: tensor<32x48xf16>, %bias: tensor<48xf32>) -> tensor<64x48xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x48xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x48xf32>) -> tensor<64x48xf32>
  %sums = linalg.matmul ins(%a, %b : tensor<64x32xf16>, tensor<32x48xf16>)
      outs(%init : tensor<64x48xf32>) -> tensor<64x48xf32>
  %added = linalg.generic {indexing_maps = [#id, #last, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums, %bias : tensor<64x48xf32>, tensor<48xf32>) outs(%empty : tensor<64x48xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %s = arith.addf %x, %y : f32
      linalg.yield %s : f32
  } -> tensor<64x48xf32>
  %half = tensor.empty() : tensor<64x48xf16>
  %done = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%added : tensor<64x48xf32>) outs(%half : tensor<64x48xf16>) {
    ^bb0(%x: f32, %o: f16):
      %p = arith.maximumf %x, %zero : f32
      %h = arith.truncf %p : f32 to f16
      linalg.yield %h : f16
  } -> tensor<64x48xf16>
  return %done : tensor<64x48xf16>
}
"""


def test_a_layer_with_ever_more_of_its_epilogue() -> None:
    (sites,) = sites_in(LAYER)
    assert [site.problem.epilogue for site in sites] == [(), ("bias",), ("bias", "relu", "truncf")]
    last = sites[-1].problem
    assert [str(each) for each in last.inputs] == ["64x32xf16", "32x48xf16", "48xf32"]
    assert str(last.result) == "64x48xf16"
    assert last.name == "matmul_64x48x32_f16_f16_f32_bias_relu_truncf"
    assert sites[-1].function == "layer"


def test_the_case_is_a_program_of_the_same_problem() -> None:
    site = site_in(LAYER)
    again = site_in(site.case.decode())
    assert again.problem == site.problem
    assert again.case == site.case


@pytest.mark.parametrize(
    "text",
    [
        LAYER.replace("arith.addf %x, %y", "arith.divf %x, %y"),
        LAYER.replace("[#id, #last, #id]", "[#id, affine_map<(m, n) -> (m - m)>, #id]"),
        LAYER.replace("ins(%added : tensor<64x48xf32>)", "ins(%sums : tensor<64x48xf32>)"),
    ],
    ids=["quotient", "one bias for all", "two users"],
)
def test_what_is_no_epilogue(text: str) -> None:
    (sites,) = sites_in(text)
    assert {step for site in sites for step in site.problem.epilogue} <= {"computed"}


START = "%init = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x48xf32>) -> tensor<64x48xf32>"
DYNAMIC = (
    matmul(16, 16, 16)
    .replace("tensor<16x16xf32>", "tensor<?x16xf32>")
    .replace("tensor.empty()", "tensor.empty(%d)")
    .replace("%zero = ", "%d = arith.constant 16 : index\n%zero = ")
)


@pytest.mark.parametrize(
    "text",
    [
        matmul(16, 16, 16, start="1.0"),
        DYNAMIC,
        LAYER.replace(START, "%init = tensor.empty() : tensor<64x48xf32>"),
    ],
    ids=["starts from ones", "dynamic", "starts from anything"],
)
def test_what_is_no_problem(text: str) -> None:
    assert sites_in(text) == []


def test_products() -> None:
    assert gemm_of(site_in(matmul(8, 16, 24)).problem) == Gemm(8, 16, 24, transposed=False)
    assert gemm_of(site_in(matmul(8, 16, 24, transposed=True)).problem) == Gemm(8, 16, 24, transposed=True)
    assert gemm_of(site_in(conv((4, 6), 8, 16)).problem) is None


@pytest.mark.parametrize(
    ("spec", "plain"),
    [
        ("bmk,kn->bmn", Gemm(32, 16, 24, transposed=False)),  # rows of all batches follow each other
        ("mk,nk->mn", Gemm(8, 16, 24, transposed=True)),
        ("bmk,bkn->bmn", None),
        ("km,kn->mn", None),
        ("mk,kn->nm", None),
        ("bmk,kn->mbn", None),
    ],
)
def test_layouts_of_products(spec: str, plain: Gemm | None) -> None:
    sizes = {"b": 4, "m": 8, "n": 16, "k": 24}
    assert gemm_of(site_in(einsum(spec, sizes)).problem) == plain


def test_convolutions() -> None:
    found = conv_of(site_in(conv((4, 6), 8, 16, stride=2, dilation=3, more=5)).problem)
    assert found == Conv(2, 4, 6, 16, 3, 3, 8, (2, 2), (3, 3))
    assert (found.in_h, found.in_w) == (13, 17)
    assert conv_of(site_in(matmul(8, 16, 24)).problem) is None


@pytest.mark.parametrize("chip", ["host", "host+data-tiling+no-microkernels"])
def test_kernels_are_for_the_executables_of_a_choice_of_flags(chip: str) -> None:
    """The compiler refuses kernels for others, and flags make others."""
    target = parse_target(f"llvm-cpu:{chip}")
    assert target_here(target) == find_here(LAYER.encode(), "p.mlir", target).target
    assert ('ukernels = "none"' in target_here(target)) == ("no-microkernels" in chip)


@pytest.mark.parametrize(
    ("room", "search", "left"),
    [(find, "find_pools", 1), (find, "find_readings", 1), (site, "_attention_of", 1), (site, "_sites_of", 0)],
)
def test_a_search_that_fails_leaves_the_others_kernels(monkeypatch, room, search: str, left: int) -> None:
    def fails(*_given: object) -> None:
        raise IndexError("no such dimension")

    fails.__name__ = search
    monkeypatch.setattr(room, search, fails)
    given = LAYER.encode(), "p.mlir", parse_target("cuda:sm_89")
    found = find_here(*given, chains=True, norms=True)
    assert len(found.places) == left
    (note,) = outlook_of(found, ()).notes
    step = "rewritten" if search == "find_readings" else search.strip("_")
    assert note == f"a search for kernels failed, {step}: IndexError: no such dimension"


def test_joint_products_are_searched_apart(monkeypatch) -> None:
    def fails(*_given: object, **_more: object) -> None:
        raise ValueError("no product")

    monkeypatch.setattr(find, "find_joint", fails)
    *found, (note,) = find_joint_here(LAYER.encode(), "p.mlir", parse_target("cuda:sm_89"))
    assert found == [(), ()]
    assert note.endswith("ValueError: no product")
