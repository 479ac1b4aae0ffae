"""Layer by layer: what is right differs by rounding, what is wrong is found where it begins."""

from types import SimpleNamespace

import pytest
from amounts import ALL
from contests import code_of
from wrong_kernels import Transposed

from iree_tuner.device.program_request import request
from iree_tuner.errors import TunerError
from iree_tuner.kernels import in_program as layering
from iree_tuner.kernels.c_gemm import CGemm
from iree_tuner.kernels.find import find_places
from iree_tuner.kernels.in_program import compare_layers
from iree_tuner.kernels.source import outlook_of
from iree_tuner.program.source import load_program

pytestmark = pytest.mark.skipif(bool(CGemm().missing()), reason=CGemm().missing())

EMPTY = """
module attributes { transform.with_named_sequence } {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    transform.yield
  }
}
"""
CHAIN = """
func.func @main(%a: tensor<24x40xf32>, %b: tensor<40x64xf32>, %c: tensor<64x64xf32>) -> tensor<24x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<24x64xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<24x64xf32>) -> tensor<24x64xf32>
  %x = linalg.matmul ins(%a, %b : tensor<24x40xf32>, tensor<40x64xf32>)
      outs(%i : tensor<24x64xf32>) -> tensor<24x64xf32>
  %f = tensor.empty() : tensor<24x64xf32>
  %j = linalg.fill ins(%zero : f32) outs(%f : tensor<24x64xf32>) -> tensor<24x64xf32>
  %y = linalg.matmul ins(%x, %c : tensor<24x64xf32>, tensor<64x64xf32>)
      outs(%j : tensor<24x64xf32>) -> tensor<24x64xf32>
  return %y : tensor<24x64xf32>
}
"""


def layers_of(text, lab):
    """A program's layers with the C kernel wherever it goes."""
    program, target = load_program(text), lab.target
    outlook = outlook_of(find_places(program, target, lab.compilers, [CGemm()]), [CGemm()])
    chosen = [(site, code_of(kernel, site, target)) for _, site, kernel in outlook.pairs]
    return compare_layers(program, chosen, outlook.target, lab, request(program))


@pytest.fixture(scope="module")
def found(lab):
    """The chain's layers with a kernel in each place; with the same kernels it is compiled once."""
    program, target = load_program(CHAIN), lab.target
    outlook = outlook_of(find_places(program, target, lab.compilers, [CGemm()]), [CGemm()])
    sites = [site for _, site, _ in outlook.pairs]
    known = {}

    def layers(*kernels, inputs=()):
        chosen = [(site, code_of(kernel, site, target)) for site, kernel in zip(sites, kernels, strict=True)]

        def call(function, data, name, own, cases):
            key = own == target or tuple(type(each) for each in kernels)
            if key not in known:
                known[key] = lab.compilers.call(function, data, name, own, cases)
            return known[key]

        here = SimpleNamespace(
            target=target, context=lab.context, measurer=lab.measurer, compilers=SimpleNamespace(call=call)
        )
        return compare_layers(program, chosen, outlook.target, here, request(program, inputs=inputs))

    return layers


def test_right_kernels_differ_by_rounding(found) -> None:
    right = found(CGemm(), CGemm())
    names = [each.name for each in right]
    assert names == ["matmul_24x64x40_f32_f32_f32", "matmul_24x64x64_f32_f32_f32", "result 0"]
    assert [each.before for each in right] == [0, 1, 2]
    assert all(each.explained and not each.message for each in right)
    assert all(each.overflown == 0 for each in right)


def test_wrong_kernels_are_found_where_they_are(found) -> None:
    wrong = found(CGemm(), Transposed())
    assert [each.explained for each in wrong] == [True, False, False]
    assert wrong[1].relative > 0.1
    assert "got" in wrong[1].message
    assert "expected" in wrong[1].message


def test_what_overflows_in_both_does_not_differ(found) -> None:
    layers = found(CGemm(), CGemm(), inputs=(1e30, 1e30, 1e30))
    assert [each.overflown for each in layers] == [1, 1, 1]
    assert [each.largest for each in layers] == [0, 0, 0]
    wrong = found(CGemm(), Transposed(), inputs=(1e10, 1e10, 1e25))  # finite, and then not
    assert [each.overflown for each in wrong] == [0, 1, 1]


def test_a_program_that_does_not_call_its_kernels_is_told(monkeypatch, lab) -> None:
    monkeypatch.setattr(layering, "save_kernel_spec", lambda _, target, context, path: path.write_text(EMPTY))
    with pytest.raises(TunerError, match="calls kernels 0 times, not 2"):
        layers_of(CHAIN, lab)


PREFIX = """
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%a: tensor<24x64xf32>, %b: tensor<64x64xf32>, %c: tensor<64x64xf32>) -> tensor<24x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<24x64xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<24x64xf32>) -> tensor<24x64xf32>
  %x = linalg.matmul ins(%a, %b : tensor<24x64xf32>, tensor<64x64xf32>)
      outs(%i : tensor<24x64xf32>) -> tensor<24x64xf32>
  %y = linalg.matmul ins(%x, %c : tensor<24x64xf32>, tensor<64x64xf32>)
      outs(%i : tensor<24x64xf32>) -> tensor<24x64xf32>
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<24x64xf32>) outs(%e : tensor<24x64xf32>) {
  ^bb0(%sum: f32, %old: f32):
    %positive = arith.maximumf %sum, %zero : f32
    linalg.yield %positive : f32
  } -> tensor<24x64xf32>
  return %z : tensor<24x64xf32>
}
"""


def test_the_beginning_of_a_problem_may_be_another(lab) -> None:
    """The second product without its relu is the first: it is one layer all the same, with its kernel."""
    layers = layers_of(PREFIX, lab)
    names = ["matmul_24x64x64_f32_f32_f32", "matmul_24x64x64_f32_f32_f32_relu", "result 0"]
    assert [each.name for each in layers] == names
    assert all(each.explained for each in layers)


BOTH = """
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%a: tensor<24x64xf32>, %b: tensor<64x64xf32>, %c: tensor<24x32xf32>, %d: tensor<32x64xf32>)
    -> tensor<24x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<24x64xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<24x64xf32>) -> tensor<24x64xf32>
  %x = linalg.matmul ins(%a, %b : tensor<24x64xf32>, tensor<64x64xf32>)
      outs(%i : tensor<24x64xf32>) -> tensor<24x64xf32>
  %y = linalg.matmul ins(%c, %d : tensor<24x32xf32>, tensor<32x64xf32>)
      outs(%i : tensor<24x64xf32>) -> tensor<24x64xf32>
  %z = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<24x64xf32>, tensor<24x64xf32>) outs(%e : tensor<24x64xf32>) {
  ^bb0(%one: f32, %other: f32, %old: f32):
    %sum = arith.addf %one, %other : f32
    %positive = arith.maximumf %sum, %zero : f32
    linalg.yield %positive : f32
  } -> tensor<24x64xf32>
  return %z : tensor<24x64xf32>
}
"""


def test_of_two_products_that_are_added_one_takes_the_addition(lab) -> None:
    """By default the next test compares layers of this kind."""
    names = ["matmul_24x64x64_f32_f32_f32", "matmul_24x64x32_f32_f32_f32_residual_relu"]
    if ALL:
        layers = layers_of(BOTH, lab)
        assert [each.name for each in layers] == [*names, "result 0"]
        assert all(each.explained for each in layers)
    outlook = outlook_of(find_places(load_program(BOTH), lab.target, lab.compilers, [CGemm()]), [CGemm()])
    assert [site.problem.name for _, site, _ in outlook.pairs] == names


def test_the_addition_goes_to_the_product_whose_case_is_elsewhere_too(lab) -> None:
    """Its matcher matches at both places: the other product would be left without a kernel."""
    first, last = BOTH.index("  %z ="), BOTH.index("  return")
    again = BOTH[first:last].replace("%z =", "%w =").replace("%x, %y", "%v, %z")
    product = """
  %t = math.absf %a : tensor<24x64xf32>
  %v = linalg.matmul ins(%t, %b : tensor<24x64xf32>, tensor<64x64xf32>)
      outs(%i : tensor<24x64xf32>) -> tensor<24x64xf32>
"""
    layers = layers_of(BOTH[:last] + product + again + BOTH[last:].replace("%z", "%w"), lab)
    taking = "matmul_24x64x64_f32_f32_f32_residual_relu"
    assert [each.name for each in layers] == [taking, "matmul_24x64x32_f32_f32_f32", taking, "result 0"]
    assert all(each.explained for each in layers)
