"""Reductions of large arrays along any loops, and large elementwise ops, are kernels of their own."""

from functools import partial

import ml_dtypes
import numpy as np
import pytest
from kernels.after_abi import found_by, results
from kernels.numpy_triton import written

from iree_tuner.kernels import nest, normalizing, split_sums
from iree_tuner.kernels.formula import INPUT, FormulaTerm
from iree_tuner.kernels.nest import Access, Nest
from iree_tuner.kernels.normalizing import find_normalizing
from iree_tuner.kernels.split_sums import find_chains, find_reductions
from iree_tuner.kernels.triton_norms import TritonNorms

KERNEL = TritonNorms()
KINDS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "i32": np.int32}


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Small arrays are large ones here."""
    for module in (split_sums, normalizing):
        for name in ("LARGE", "LEAST_ELEMENTS"):
            monkeypatch.setattr(module, name, 1 << 10)
    monkeypatch.setattr(nest, "FULL", 0.0)  # odd and small sizes are in clusters as well
    monkeypatch.setattr(nest, "_NEIGHBORS", 16)


def reduction(shape: str, along: int, kept: str, element: str, op: str, start: str, before: str = "") -> str:
    """A program that reduces `%x`, or what `before` computes as `%y`, along one dimension."""
    value = "%y" if before else "%x"
    return f"""
func.func @main(%x: tensor<{shape}x{element}>) -> tensor<{kept}x{element}> {{
  %s = stablehlo.constant dense<{start}> : tensor<{element}>
  {before}
  %z = stablehlo.reduce({value} init: %s) applies stablehlo.{op} across dimensions = [{along}]
      : (tensor<{shape}x{element}>, tensor<{element}>) -> tensor<{kept}x{element}>
  return %z : tensor<{kept}x{element}>
}}"""


HIDDEN = """
func.func @main(%x: tensor<9x5x70xf32>, %n: tensor<9xi32>) -> tensor<9x5xf32> {
  %s = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %i = stablehlo.iota dim = 2 : tensor<9x5x70xi32>
  %m = stablehlo.broadcast_in_dim %n, dims = [0] : (tensor<9xi32>) -> tensor<9x5x70xi32>
  %c = stablehlo.compare LT, %i, %m : (tensor<9x5x70xi32>, tensor<9x5x70xi32>) -> tensor<9x5x70xi1>
  %l = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<9x5x70xf32>
  %y = stablehlo.select %c, %x, %l : tensor<9x5x70xi1>, tensor<9x5x70xf32>
  %z = stablehlo.reduce(%y init: %s) applies stablehlo.maximum across dimensions = [2]
      : (tensor<9x5x70xf32>, tensor<f32>) -> tensor<9x5xf32>
  return %z : tensor<9x5xf32>
}"""
"""The highest of as many as there are: positions are compared with a length."""

MASKED = """
func.func @main(%x: tensor<9x5x70xf16>, %n: tensor<9x70xi1>) -> tensor<9x5xf16> {
  %s = stablehlo.constant dense<0xFC00> : tensor<f16>
  %m = stablehlo.broadcast_in_dim %n, dims = [0, 2] : (tensor<9x70xi1>) -> tensor<9x5x70xi1>
  %l = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f16>) -> tensor<9x5x70xf16>
  %y = stablehlo.select %m, %x, %l : tensor<9x5x70xi1>, tensor<9x5x70xf16>
  %z = stablehlo.reduce(%y init: %s) applies stablehlo.maximum across dimensions = [2]
      : (tensor<9x5x70xf16>, tensor<f16>) -> tensor<9x5xf16>
  return %z : tensor<9x5xf16>
}"""
"""The same by an array of conditions."""

KEPT = """
func.func @main(%x: tensor<40x70xf32>) -> tensor<40x1xf32> {
  %s = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<40x1xf32>
  %f = linalg.fill ins(%s : f32) outs(%e : tensor<40x1xf32>) -> tensor<40x1xf32>
  %z = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, 0)>],
      iterator_types = ["parallel", "reduction"]} ins(%x : tensor<40x70xf32>) outs(%f : tensor<40x1xf32>) {
    ^bb0(%a: f32, %b: f32):
      %m = arith.maxnumf %a, %b : f32
      linalg.yield %m : f32
  } -> tensor<40x1xf32>
  return %z : tensor<40x1xf32>
}"""
"""As PyTorch has it, whose result keeps the dimension."""

MEAN = """
func.func @main(%x: tensor<6x300x50xbf16>, %b: tensor<50xf32>) -> (tensor<6x50xbf16>, tensor<6x50xf32>) {
  %s = stablehlo.constant dense<0.0> : tensor<f32>
  %w = stablehlo.convert %x : (tensor<6x300x50xbf16>) -> tensor<6x300x50xf32>
  %t = stablehlo.reduce(%w init: %s) applies stablehlo.add across dimensions = [1]
      : (tensor<6x300x50xf32>, tensor<f32>) -> tensor<6x50xf32>
  %n = stablehlo.constant dense<300.0> : tensor<6x50xf32>
  %m = stablehlo.divide %t, %n : tensor<6x50xf32>
  %a = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<50xf32>) -> tensor<6x50xf32>
  %v = stablehlo.add %m, %a : tensor<6x50xf32>
  %r = stablehlo.exponential %v : tensor<6x50xf32>
  %z = stablehlo.convert %r : (tensor<6x50xf32>) -> tensor<6x50xbf16>
  return %z, %r : tensor<6x50xbf16>, tensor<6x50xf32>
}"""
"""A mean and ops after it, with a vector. The last one narrows what is a result, too."""

SQUARED = "%y = stablehlo.multiply %x, %x : tensor<33x70xf32>"
FOUND = {
    "middle": (reduction("3x40x70", 1, "3x70", "f16", "maximum", "0xFC00"), np.maximum),
    "first": (reduction("41x7x9", 0, "7x9", "f32", "maximum", "0xFF800000"), np.maximum),
    "squares": (
        reduction("33x70", 1, "33", "f32", "add", "0.0", SQUARED),
        np.add,
    ),
    "narrow": (reduction("5x700", 1, "5", "bf16", "add", "0.0"), np.add),
    "narrow_mean": (MEAN, np.add),
    "hidden": (HIDDEN, np.maximum),
    "masked": (MASKED, np.maximum),
    "kept": (KEPT, np.maximum),
}  # fmt: skip


def values(rng, array):
    """Random ones of an array."""
    if array.element_type == "i1":
        return rng.integers(0, 2, array.shape).astype(bool)
    if array.element_type == "i32":
        return rng.integers(1, 70, array.shape, np.int32)
    return rng.standard_normal(array.shape).astype(KINDS[array.element_type])


@pytest.mark.parametrize("wanted", [528, 8, 1])
@pytest.mark.parametrize("name", FOUND)
def test_they_compute_what_the_program_does(monkeypatch, name: str, wanted: int) -> None:
    """Over numpy, in parts that are combined afterwards as the spec does; by clusters; or whole."""
    text, combine = FOUND[name]
    monkeypatch.setattr(nest, "WORKGROUPS", wanted)
    site, *_ = found_by(partial(find_reductions, taken=()), text)
    assert KERNEL.refuses(site.problem) == ""
    rng = np.random.default_rng(0)
    given = [values(rng, each) for each in site.problem.inputs]
    parts = written(monkeypatch, site.problem, given).astype(np.float32)
    assert parts.shape[-1] == 1 or wanted == 528
    (expected,) = results(site.case, given)
    if name == "narrow":  # the program rounds every sum to 8 bits
        expected = given[0].astype(np.float32).sum(1)
    near = {"f32": 1e-5, "f16": 0.0, "bf16": 2.0**-6}[site.problem.result.element_type]
    found = combine.reduce(parts, -1).reshape(expected.shape)
    np.testing.assert_allclose(found, expected.astype(np.float32), rtol=near, atol=near)


def test_elementwise_ops_after_whole_sums_are_computed_with_them(monkeypatch) -> None:
    """Up to a value that others read. Sums that are written in parts have none; each is also found alone."""
    find = partial(find_reductions, taken=())
    monkeypatch.setattr(nest, "WORKGROUPS", 8)
    after, alone = found_by(find, MEAN)
    assert [each.op for each in after.problem.nest.after][-1] == "math.exp"
    assert [each.shape for each in after.problem.inputs] == [(6, 300, 50), (50,)]
    assert alone.problem.nest.after == ()
    monkeypatch.setattr(nest, "WORKGROUPS", 1 << 20)
    (alone,) = found_by(find, MEAN)
    assert alone.problem.nest.after == ()


def test_a_number_that_is_none_stays() -> None:
    """Of what `maximumf` compares, as in the program."""
    (site,) = found_by(partial(find_reductions, taken=()), FOUND["middle"][0])
    assert site.problem.nest.combine == "arith.maximumf"
    (other,) = found_by(partial(find_reductions, taken=()), KEPT)
    assert other.problem.nest.combine == "arith.maxnumf"


def test_a_nan_is_the_highest(monkeypatch) -> None:
    (site,) = found_by(partial(find_reductions, taken=()), FOUND["first"][0])
    x = np.zeros((41, 7, 9), np.float32)
    x[3, 2, 1] = np.nan
    parts = written(monkeypatch, site.problem, [x])
    assert [*zip(*np.isnan(np.maximum.reduce(parts, -1)).nonzero(), strict=True)] == [(2, 1)]


SOFTMAX = """
func.func @main(%x: tensor<6x30x50xf16>, %y: tensor<6x30x50xf16>) -> tensor<6x30x50xf16> {
  %l = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %o = stablehlo.constant dense<0.0> : tensor<f32>
  %w = stablehlo.convert %x : (tensor<6x30x50xf16>) -> tensor<6x30x50xf32>
  %m = stablehlo.reduce(%w init: %l) applies stablehlo.maximum across dimensions = [1]
      : (tensor<6x30x50xf32>, tensor<f32>) -> tensor<6x50xf32>
  %b = stablehlo.broadcast_in_dim %m, dims = [0, 2] : (tensor<6x50xf32>) -> tensor<6x30x50xf32>
  %d = stablehlo.subtract %w, %b : tensor<6x30x50xf32>
  %e = stablehlo.exponential %d : tensor<6x30x50xf32>
  %s = stablehlo.reduce(%e init: %o) applies stablehlo.add across dimensions = [1]
      : (tensor<6x30x50xf32>, tensor<f32>) -> tensor<6x50xf32>
  %a = stablehlo.broadcast_in_dim %s, dims = [0, 2] : (tensor<6x50xf32>) -> tensor<6x30x50xf32>
  %p = stablehlo.divide %e, %a : tensor<6x30x50xf32>
  %z = stablehlo.convert %p : (tensor<6x30x50xf32>) -> tensor<6x30x50xf16>
  return %z : tensor<6x30x50xf16>
}"""


def test_what_others_read_is_computed_again(monkeypatch) -> None:
    """Unless that reads more: nothing of a softmax is written but maxima, sums and results."""
    find = partial(find_reductions, taken=())
    highest, of_cast, sums, of_exponents = found_by(find, SOFTMAX)
    assert [str(site.problem.inputs[0]) for site in (of_cast, of_exponents)] == ["6x30x50xf32"] * 2
    (whole,) = found_by(find_normalizing, SOFTMAX)
    given = [[str(each) for each in site.problem.inputs] for site in (highest, sums, whole)]
    assert [sorted(each) for each in given] == [
        ["6x30x50xf16"], ["6x30x50xf16", "6x50xf32"], ["6x30x50xf16", "6x50xf32", "6x50xf32"],
    ]  # fmt: skip
    inputs = [values(np.random.default_rng(0), each) for each in sums.problem.inputs]
    (expected,) = results(sums.case, inputs)
    found = np.add.reduce(written(monkeypatch, sums.problem, inputs), -1)
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-5)
    text = SOFTMAX.replace("stablehlo.exponential %d", "stablehlo.add %d, %k")
    text = text.replace("%y: tensor<6x30x50xf16>", "%k: tensor<6x30x50xf32>")
    *_, sums = found_by(find, text)
    assert [str(each) for each in sums.problem.inputs] == ["6x30x50xf32"], "of two arrays"
    product = """%e = stablehlo.exponential %d : tensor<6x30x50xf32>
  %q = stablehlo.dot_general %e, %y, batching_dims = [0] x [0], contracting_dims = [1] x [1]
      : (tensor<6x30x50xf32>, tensor<6x30x50xf16>) -> tensor<6x50x50xf32>"""
    text = SOFTMAX.replace("%e = stablehlo.exponential %d : tensor<6x30x50xf32>", product)
    text = text.replace("-> tensor<6x30x50xf16> {", "-> (tensor<6x30x50xf16>, tensor<6x50x50xf32>) {")
    kinds = "tensor<6x30x50xf16>, tensor<6x50x50xf32>"
    text = text.replace("return %z : tensor<6x30x50xf16>", f"return %z, %q : {kinds}")
    *_, sums = found_by(find, text)
    assert [str(each) for each in sums.problem.inputs] == ["6x30x50xf32"], "a product reads it anyway"


def test_others_are_left_to_the_compiler() -> None:
    find = partial(find_reductions, taken=())
    assert not found_by(find, reduction("33x70", 1, "33", "f32", "add", "1.0")), "it starts from something"
    assert not found_by(find, reduction("33x70", 1, "33", "f32", "multiply", "1.0"))
    assert not found_by(find, reduction("3x70", 1, "3", "f32", "add", "0.0")), "it is small"
    assert not found_by(partial(find_reductions, taken=range(9)), KEPT), "another site has it"


MODULATED = """
func.func @main(%x: tensor<2x7x7x40xf16>, %s: tensor<2x40xf16>, %n: tensor<7x7xf16>, %w: tensor<3x3x40x8xf16>)
    -> tensor<2x5x5x8xf16> {
  %a = stablehlo.broadcast_in_dim %s, dims = [0, 3] : (tensor<2x40xf16>) -> tensor<2x7x7x40xf16>
  %b = stablehlo.broadcast_in_dim %n, dims = [1, 2] : (tensor<7x7xf16>) -> tensor<2x7x7x40xf16>
  %0 = stablehlo.multiply %x, %a : tensor<2x7x7x40xf16>
  %1 = stablehlo.add %0, %b : tensor<2x7x7x40xf16>
  %z = stablehlo.convolution(%1, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x7x7x40xf16>, tensor<3x3x40x8xf16>) -> tensor<2x5x5x8xf16>
  return %z : tensor<2x5x5x8xf16>
}"""


def test_large_elementwise_ops_that_join_nothing_are_one_kernel(monkeypatch) -> None:
    """What a convolution reads; not what follows one, which joins it."""
    (site,) = found_by(find_normalizing, MODULATED)
    assert {each.shape for each in site.problem.inputs} == {(2, 7, 7, 40), (2, 40), (7, 7)}
    rng = np.random.default_rng(0)
    given = [rng.standard_normal(each.shape).astype(np.float16) for each in site.problem.inputs]
    out = written(monkeypatch, site.problem, given)
    noise, scale, x = sorted((each.astype(np.float32) for each in given), key=lambda each: each.size)
    wanted = x * scale[:, None, None] + noise[..., None]
    np.testing.assert_allclose(out.astype(np.float32), wanted, rtol=2.0**-9, atol=2.0**-9)


PARTS = """
func.func @main(%x: tensor<2x9x96xf16>, %y: tensor<2x9x96xf16>)
    -> (tensor<2x16x9x4xf16>, tensor<2x16x9x4xf16>, tensor<2x16x9x4xf16>) {
  %j = stablehlo.concatenate %x, %y, dim = 2 : (tensor<2x9x96xf16>, tensor<2x9x96xf16>) -> tensor<2x9x192xf16>
  %h = stablehlo.reshape %j : (tensor<2x9x192xf16>) -> tensor<2x9x16x12xf16>
  %t = stablehlo.transpose %h, dims = [0, 2, 1, 3] : (tensor<2x9x16x12xf16>) -> tensor<2x16x9x12xf16>
  %q = stablehlo.slice %t [0:2, 0:16, 0:9, 0:4] : (tensor<2x16x9x12xf16>) -> tensor<2x16x9x4xf16>
  %k = stablehlo.slice %t [0:2, 0:16, 0:9, 4:8] : (tensor<2x16x9x12xf16>) -> tensor<2x16x9x4xf16>
  %v = stablehlo.slice %t [0:2, 0:16, 0:9, 8:12] : (tensor<2x16x9x12xf16>) -> tensor<2x16x9x4xf16>
  %a = stablehlo.tanh %q : tensor<2x16x9x4xf16>
  %b = stablehlo.tanh %k : tensor<2x16x9x4xf16>
  return %a, %b, %v : tensor<2x16x9x4xf16>, tensor<2x16x9x4xf16>, tensor<2x16x9x4xf16>
}"""
"""Heads of two joined arrays, whose parts are queries, keys and values: more heads than a loop has cases."""


def test_parts_are_read_where_they_were_before_they_were_joined() -> None:
    sites = [*found_by(find_chains, PARTS), *found_by(find_normalizing, PARTS)]
    read, behind = [(2, 9, 96)] * 2, [(2, 16, 9, 12)]  # where a product before them takes the move
    assert [[each.shape for each in site.problem.inputs] for site in sites] == [read, behind] * 3
    rng = np.random.default_rng(0)
    given = [rng.standard_normal((2, 9, 96)).astype(np.float16) for _ in range(2)]
    for site in sites[::2]:
        ((ours,), (theirs,)) = (results(each, given) for each in (site.problem.fused, site.case))
        np.testing.assert_array_equal(ours.reshape(theirs.shape), theirs)


JOINED = """
func.func @main(%x: tensor<2x9x96xf16>, %y: tensor<18x32xf16>, %w: tensor<32x96xf16>) -> tensor<2x9x192xf16> {
  %p = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0]
      : (tensor<18x32xf16>, tensor<32x96xf16>) -> tensor<18x96xf32>
  %c = stablehlo.convert %p : (tensor<18x96xf32>) -> tensor<18x96xf16>
  %l = stablehlo.logistic %c : tensor<18x96xf16>
  %m = stablehlo.multiply %c, %l : tensor<18x96xf16>
  %t = stablehlo.reshape %m : (tensor<18x96xf16>) -> tensor<2x9x96xf16>
  %j = stablehlo.concatenate %x, %t, dim = 2 : (tensor<2x9x96xf16>, tensor<2x9x96xf16>) -> tensor<2x9x192xf16>
  return %j : tensor<2x9x192xf16>
}"""


def test_a_product_before_may_compute_what_is_joined() -> None:
    """Its epilogue is found first, and then the chain that only joins."""
    found = found_by(find_chains, JOINED)
    assert ["math.exp" in {each.op for each in site.problem.nest.terms} for site in found] == [True, False]


@pytest.mark.parametrize(
    ("sizes", "strides", "written_at", "cluster"),
    [
        ((4, 4096, 256), (1 << 20, 256, 1), (256, None, 1), True),
        ((2, 4096, 32, 20), (2621440, 640, 20, 1), (32, None, 1, None), False),  # 20 of 32 lanes
        ((4096, 32, 16), (512, 16, 1), (None, 1, None), False),  # 32 bytes of each kilobyte
    ],
)
def test_clusters_read_lines_that_are_full(monkeypatch, sizes, strides, written_at, cluster: bool) -> None:
    monkeypatch.undo()
    own = Nest(sizes, (Access(0, 0, strides),), (FormulaTerm(INPUT, "f32"),), written_at)
    found = nest.tiles_of(own.merged())
    assert found.cluster == cluster
    assert found.workgroups >= 256
