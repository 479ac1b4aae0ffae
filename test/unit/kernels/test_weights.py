"""Weights that are computed from integers are found, and the source that is written for a tile of them."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import numpy_triton
import pytest
from after_abi import found_by, results_of_all
from amounts import some
from weights_given import KINDS, WEIGHTS, arrays_of, computed_site, one_row_site, wanted

from iree_tuner.kernels import split_sums
from iree_tuner.kernels.c_gemm import CGemm
from iree_tuner.kernels.find import find_here
from iree_tuner.kernels.packed_bits import Bits, NotPackedError, of_bits, widened
from iree_tuner.kernels.product_shape import RIGHT, product_shape
from iree_tuner.kernels.triton_gemm import TritonGemm
from iree_tuner.kernels.triton_norms import TritonNorms, function_from, function_of
from iree_tuner.kernels.triton_tiles import arrays_of as arrays_read
from iree_tuner.kernels.triton_tiles import function_of_tile, in_f32
from iree_tuner.kernels.triton_words import functions_of_words, packed_product
from iree_tuner.targets import parse_target

KERNEL, PROGRAMS = TritonGemm(), Path(__file__).parent / "weight_programs"


@pytest.fixture
def numpy_as_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    numpy_triton.install(monkeypatch, lambda: 0)


def test_the_program_and_the_op_alone_compute_the_weights_that_are_found() -> None:
    """Those of 4 bits are not among them, as numpy has no arrays of these.

    By default each third: what is found of each is computed below, for tiles, and compared with the same.
    """
    names = some([name for name in WEIGHTS if name != "fours"], 3)
    sites = [computed_site(name) for name in names]
    given = [arrays_of(site.problem) for site in sites]
    programs = [each for site in sites for each in (site.case, site.alone)]
    found = results_of_all(programs, [each for each in given for _ in range(2)])
    for name, own, *results in zip(names, given, found[::2], found[1::2], strict=True):
        expected = wanted(name, own)
        for (result,) in results:
            got = result.astype(np.float64).reshape(expected.shape)
            assert np.abs(got - expected).max() < 1e-2 * np.abs(expected).max(), name


SMALL, LARGE = [(4, 16), (8, 2)], [(16, 64), (32, 256)]
TILED = [(name, *tile) for tile in LARGE for name in WEIGHTS]
TILED += [
    (name, *tile)
    for tile, names in zip(SMALL, (some(WEIGHTS, 4), some(WEIGHTS, 5)), strict=True)
    for name in names
]
"""Small tiles are many, and of each the same is written: by default some weights have them."""


@pytest.mark.usefixtures("numpy_as_triton")
@pytest.mark.parametrize(("name", "bn", "bk"), TILED)
def test_weights_are_computed_for_each_tile(name: str, bn: int, bk: int) -> None:
    problem = computed_site(name).problem
    shape = product_shape(problem)
    assert not KERNEL.refuses(problem)
    nest = shape.computed[RIGHT]
    exact = function_of_tile(nest, shape.n, shape.k, bn, bk)
    wide = function_of_tile(in_f32(nest, "f32"), shape.n, shape.k, bn, bk)
    given = arrays_of(problem)
    read = [given[each] for each in arrays_read(nest)]
    pointers = [numpy_triton.Pointer(np.ascontiguousarray(each).reshape(-1)) for each in read]
    pointers = [each if each.array.dtype != np.uint8 else numpy_triton.Pointer(each.array.view(np.int8))
                for each in pointers]  # fmt: skip
    expected = WEIGHTS[name](*given[1 : 2 if name == "channels" else None])
    for batch in range(shape.batch):
        for column in range(0, shape.n, bn):
            for first in range(0, shape.k, bk):
                columns, depth = (
                    np.arange(start, start + size, dtype=np.int32).view(numpy_triton.Values)
                    for start, size in ((column, bn), (first, bk))
                )
                place = (batch, column, *pointers), columns[:, None], depth[None, :], first
                own = expected[batch] if shape.batch > 1 else expected
                own = own[first : first + bk, column : column + bn].T
                got, more = (np.broadcast_to(each(*place), (bn, bk))[: len(own)] for each in (exact, wide))
                np.testing.assert_array_equal(got, own)
                np.testing.assert_allclose(more, own.astype(np.float32), rtol=8e-3, atol=8e-3)


IN_WORDS = [name for name in WEIGHTS if name != "heads"]  # that one has many rows in two dimensions


@pytest.mark.usefixtures("numpy_as_triton")
@pytest.mark.parametrize("element", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("name", IN_WORDS)
def test_weights_of_one_row_are_taken_from_words(name: str, element: str) -> None:
    """In tiles of 32 columns, of 48. Steps share scales, or have their own."""
    problem = one_row_site(name, element).problem
    shape, given = product_shape(problem), arrays_of(problem)
    packed = packed_product(shape)
    assert packed is not None
    flat = [np.ascontiguousarray(each).reshape(-1) for each in given]
    flat = [each.view(np.int8) if each.dtype == np.uint8 else each for each in flat]
    arrays = tuple(map(numpy_triton.Pointer, flat))
    expected = wanted(
        name, [each.astype(np.float32) if each.dtype == KINDS["bf16"] else each for each in given]
    )
    for bk in (16, 32, 64):
        sharing = packed.sharing(32, bk, 32)
        functions, block = functions_of_words(packed, 32, bk, 32, sharing, element)
        found = np.empty((shape.batch, shape.n))
        for batch, column in product(range(shape.batch), range(0, shape.n, 32)):
            own = summed(functions, block, (batch, column, *arrays), shape.k)
            found[batch, column : column + 32] = own[: shape.n - column]
        found = found.reshape(expected.shape) if name != "channels" else found * given[2].astype(np.float64)
        assert np.abs(found - expected).max() < (1e-3 if element == "f16" else 1e-5) * np.abs(expected).max()


OPS = ("arith.andi", "arith.xori", "arith.shli", "arith.shrui", "arith.shrsi", "arith.addi", "arith.subi")


@pytest.mark.usefixtures("numpy_as_triton")
def test_fields_of_bytes_are_the_numbers_that_the_program_computes() -> None:
    """Chains of ops that are drawn, for all bytes, as words and as bytes: the same, or no field."""
    rng, counts = np.random.default_rng(0), [0, 0]
    every = np.arange(256, dtype=np.uint8).view(np.int8)
    computed = {
        "arith.andi": lambda x, by: x & by, "arith.xori": lambda x, by: x ^ by,
        "arith.shli": lambda x, by: x << by, "arith.shrsi": lambda x, by: x >> by,
        "arith.shrui": lambda x, by: (x.view(np.uint8) >> np.uint8(by)).view(np.int8),
        "arith.addi": lambda x, by: x + by, "arith.subi": lambda x, by: x - by,
    }  # fmt: skip
    for _ in range(4000):
        byte = int(rng.integers(4))
        word, alone, values = Bits("w", 8 * byte, 8, 0, 8), Bits("w", 0, 8, 0, 8), every
        try:
            for op in rng.choice(OPS, int(rng.integers(1, 4))):
                by = int(rng.choice([15, -16, 8, 7, 3, 112, -128])) if op in OPS[:2] else int(rng.integers(8))
                word, alone = (of_bits(op, each, 8, by) for each in (word, alone))
                values = computed[op](values, np.int8(by))
            conversion = str(rng.choice(["arith.sitofp", "arith.uitofp"]))
            name, shift, text = widened(conversion, word).written()
        except NotPackedError:
            continue
        expected = values.view(np.uint8) if conversion == "arith.uitofp" else values
        others = np.uint32(0xA55A96C3) & ~np.uint32(0xFF << 8 * byte)  # what else is in the words
        words = ((every.view(np.uint8).astype(np.uint32) << 8 * byte) | others).view(np.int32)
        space = {"w": words.view(numpy_triton.Values) >> shift, "large": np.int32(0x4B000000)}
        found = evaluated(text.format(name), space)
        np.testing.assert_array_equal(found, expected.astype(np.float32))
        counts[0] += 1
        try:
            text = widened(conversion, alone).of_byte()
        except NotPackedError:
            continue
        found = evaluated(text, {"w": every.view(numpy_triton.Values)})
        np.testing.assert_array_equal(found.astype(np.float32), expected.astype(np.float32))
        counts[1] += 1
    assert min(counts) > 300


def evaluated(text: str, names):
    """The value of an expression in Triton's language."""
    source = f"import triton.language as tl\n\n\ndef value({', '.join(names)}):\n    return {text}\n"
    return function_from(source, "value")(*names.values())


def summed(functions, block: int, more, depth: int):
    """The sums of a tile's columns."""
    begin, add, add_last, total = functions
    sums, large = begin(), np.int32(0x4B000000)
    for first in range(0, depth, block):
        sums = (add if first + block <= depth else add_last)(sums, more, first, depth, large)
    return total(sums)


@pytest.mark.parametrize("name", ["pairs", "halves", "channels"])
def test_weights_of_many_rows_are_computed_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a product would compute them for each tile. The product itself widens integers alone."""
    monkeypatch.setattr(split_sums, "LEAST_ELEMENTS", 1)
    found = found_by(split_sums.find_computed, (PROGRAMS / f"{name}.mlir").read_text())
    if name == "channels":
        assert not found
        return
    (site,), given = found, arrays_of(computed_site(name).problem)[1:]
    assert not TritonNorms().refuses(site.problem)
    workgroup, expected = [0], WEIGHTS[name](*given)
    numpy_triton.install(monkeypatch, lambda: workgroup[0])
    function, tiles = function_of(site.problem.nest, len(given))
    out = np.full(expected.size, np.nan, np.float16)
    bits = [each.view(np.int8) if each.dtype == np.uint8 else each for each in given]
    for workgroup[0] in range(tiles.workgroups):
        function(*(numpy_triton.Pointer(each.reshape(-1)) for each in bits), numpy_triton.Pointer(out))
    np.testing.assert_array_equal(out.reshape(expected.shape), expected)


def test_products_of_many_rows_leave_their_weights_to_another_kernel() -> None:
    problem = computed_site("pairs").problem
    (few, many) = (replace(problem, workload=with_rows(problem.workload, rows)) for rows in (256, 2048))
    assert not KERNEL.refuses(few)
    assert "once" in KERNEL.refuses(many)


def with_rows(workload, rows: int):
    return replace(workload, loops=(rows, *workload.loops[1:]))


def test_other_kernels_are_not_asked_about_computed_operands() -> None:
    """A matrix of bf16 is scaled and widened before its product, which the C kernel would read as it is."""
    text = (PROGRAMS / "scaled_before.mlir").read_text().replace("xi8", "xbf16").replace("f16", "f32")
    text = text.replace("bf32", "bf16")
    places = find_here(text.encode(), "p.mlir", parse_target("llvm-cpu:host")).places
    (place,) = [each for each in places if each.sites[-1].problem.operands]
    site, _ = place.site_for(CGemm())
    assert site is not None
    assert not site.problem.operands


CHOSEN = """
#id = affine_map<(i, j, k) -> (i, j, k)>
#turned = affine_map<(i, j, k) -> (j, i, k)>
func.func @main(%a: tensor<32x16x64xf32>, %b: tensor<32x16x64xf32>, %x: tensor<64x48xf16>)
    -> tensor<512x48xf32> {
  %c = tensor.empty() : tensor<32x16x64xi1>
  %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a, %b : tensor<32x16x64xf32>, tensor<32x16x64xf32>) outs(%c : tensor<32x16x64xi1>) {
    ^bb0(%p: f32, %q: f32, %o: i1):
      %g = arith.cmpf ogt, %p, %q : f32
      linalg.yield %g : i1
  } -> tensor<32x16x64xi1>
  %d = tensor.empty() : tensor<16x32x64xi1>
  %t = linalg.generic {indexing_maps = [#turned, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<32x16x64xi1>) outs(%d : tensor<16x32x64xi1>) {
    ^bb0(%p: i1, %o: i1):
      linalg.yield %p : i1
  } -> tensor<16x32x64xi1>
  %w = tensor.collapse_shape %t [[0, 1], [2]] : tensor<16x32x64xi1> into tensor<512x64xi1>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x48xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<512x48xf32>) -> tensor<512x48xf32>
  %r = linalg.matmul ins(%w, %x : tensor<512x64xi1>, tensor<64x48xf16>) outs(%f : tensor<512x48xf32>)
      -> tensor<512x48xf32>
  return %r : tensor<512x48xf32>
}"""


def test_conditions_of_larger_arrays_are_read() -> None:
    """Which expert gets a token, for example: a product moves and widens the conditions alone."""
    (place,) = find_here(CHOSEN.encode(), "p.mlir", parse_target("cuda:sm_89")).places
    site, _ = place.site_for(KERNEL)
    assert site is not None
    assert [str(each) for each in site.problem.inputs] == ["32x16x64xi1", "64x48xf16"]


def test_a_long_chain_before_a_product_is_an_array() -> None:
    """However long it is: nothing is too deep."""
    kind, same = "tensor<16x16xf16>", "affine_map<(i, j) -> (i, j)>"
    how = f'{{indexing_maps = [{same}, {same}], iterator_types = ["parallel", "parallel"]}}'
    body = "{ ^bb0(%a: f16, %o: f16): %n = arith.negf %a : f16 linalg.yield %n : f16 }"
    steps = "\n".join(
        f"%v{at + 1} = linalg.generic {how} ins(%v{at} : {kind}) outs(%e : {kind}) {body} -> {kind}"
        for at in range(1500)
    )
    text = f"""func.func @main(%x: {kind}, %v0: {kind}) -> tensor<16x16xf32> {{
      %e = tensor.empty() : {kind}
      {steps}
      %zero = arith.constant 0.0 : f32
      %empty = tensor.empty() : tensor<16x16xf32>
      %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x16xf32>) -> tensor<16x16xf32>
      %r = linalg.matmul ins(%x, %v1500 : {kind}, {kind}) outs(%init : tensor<16x16xf32>) -> tensor<16x16xf32>
      return %r : tensor<16x16xf32>
    }}"""
    places = find_here(text.encode(), "p.mlir", parse_target("llvm-cpu:host")).places
    assert [each for each in places if each.sites[0].problem.workload.op == "matmul"]
    assert not any(site.problem.operands for each in places for site in each.sites)
