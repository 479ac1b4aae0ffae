"""Chains of slices, joins and elementwise ops become one op, which is one dispatch and computes the same."""

from functools import cache

import numpy as np
import pytest
from after_abi import HOST, found_by, results, results_of_all, session
from amounts import amount, some
from chain_programs import AFTER_PRODUCT, APPENDED, HALVES, NEGATED, PROGRAMS, H, T, X
from random_chains import random_chain

from iree_tuner.compiler.context import new_context, walk
from iree_tuner.kernels.find import dispatches_of, find_here
from iree_tuner.kernels.fused_op import FusedOps
from iree_tuner.kernels.source import chains_in, outlook_of, with_chains
from iree_tuner.kernels.spec import save_kernel_spec
from iree_tuner.kernels.split_sums import find_chains, find_sliced_inputs
from iree_tuner.program.phases import select_target
from iree_tuner.spec.external import SPEC_FLAG
from iree_tuner.targets import parse_target
from iree_tuner.tuning.versions import FENCES

OTHERS = ("cuda:sm_90", "hip:gfx942", "vulkan:ampere")


@cache
def found_in(text: str):
    """The chains of a program, whether or not they save dispatches."""
    return found_by(find_chains, text)


@cache
def dispatches(program: str | bytes) -> int:
    own = session()
    with own.context:
        (found,) = dispatches_of([program], own, HOST)
        return found


def equal(ours, theirs) -> None:
    """Bit for bit, but for the kind of NaN."""
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


def inputs_of(arrays):
    """Random numbers, and now and then one that is none or infinite."""
    rng, found = np.random.default_rng(0), []
    for each in arrays:
        if each.element_type == "i32":
            found.append(rng.integers(-100, 100, each.shape, dtype=np.int32))
            continue
        values = rng.standard_normal(each.shape).astype(f"f{int(each.element_type[1:]) // 8}")
        values[rng.random(each.shape) < 0.2] = np.inf
        values[rng.random(each.shape) < 0.1] = np.nan
        found.append(values)
    return found


def same_results(sites) -> None:
    """Without and with the chain; all of them are one program."""
    given = [inputs_of(site.problem.inputs) for site in sites]
    found = results_of_all(
        [each for site in sites for each in (site.case, site.problem.fused)],
        [each for each in given for _ in range(2)],
    )
    for ours, theirs in zip(found[::2], found[1::2], strict=True):
        equal(ours, theirs)


def generics(program: bytes) -> int:
    return program.count(b"linalg.generic")


@pytest.mark.parametrize("name", some(PROGRAMS, 4))
def test_a_chain_is_one_dispatch_with_the_same_results(name: str) -> None:
    (site,) = found_in(PROGRAMS[name])
    assert generics(site.problem.fused) == 1
    assert (dispatches(site.case) > 1, dispatches(site.problem.fused)) == (True, 1)
    same_results([site])


@pytest.mark.parametrize("seed", range(amount(1, 60)))
def test_random_chains_compute_the_same(seed: int) -> None:
    sites = found_in(random_chain(seed))
    assert all(generics(site.problem.fused) == 1 for site in sites)
    same_results(sites)


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", OTHERS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_other_targets_compile_it(name: str, target: str) -> None:
    own = session(parse_target(target))
    (site,) = found_in(PROGRAMS[name])
    with own.context:
        module = own.parse(site.problem.fused)
        select_target(module, parse_target(target))
        assert own.to_vmfb(module)


def placed(text: str, path, chains=1):
    """A program's results without and with the chains that save dispatches, of the same inputs."""
    places = find_here(text.encode(), "p.mlir", HOST, chains=True)
    chosen = chains_in(outlook_of(places, [FusedOps()]))
    assert len(chosen) == chains
    save_kernel_spec(chosen, places.target, new_context(), path)
    return (f"{SPEC_FLAG}={path}",)


def test_several_are_counted_in_one_compilation() -> None:
    own = session()
    with own.context:
        sites = [site for text in some(PROGRAMS.values(), 4) for site in found_in(text)]
        several = [each for site in sites for each in (site.case, site.problem.fused)]
        assert dispatches_of(several, own, HOST) == [dispatches(each) for each in several]


def test_a_spec_puts_it_into_the_program(tmp_path) -> None:
    """After a product whose narrow result it takes: that is the product's, and so is what makes it narrow."""
    (site,) = found_in(AFTER_PRODUCT)
    assert [str(each) for each in site.problem.inputs] == ["6x64xf16", "6x8xf32", "6x8xf32"]
    flags = placed(AFTER_PRODUCT, tmp_path / "fused.mlir")
    own = session(flags=flags)
    with own.context:
        assert (dispatches(AFTER_PRODUCT), *dispatches_of([AFTER_PRODUCT], own, HOST)) == (6, 2)
    rng = np.random.default_rng(0)
    given = [rng.standard_normal(each).astype(np.float16) for each in ((6, 32), (32, 64))]
    given += [rng.standard_normal((6, 8)).astype(np.float32) for _ in range(2)]
    equal(results(AFTER_PRODUCT, given), results(AFTER_PRODUCT, given, flags))


STACKED = """
func.func @main(%caches: tensor<3x256x512xf32>, %small: tensor<3x16x16xf32>, %w: tensor<512x64xf32>)
    -> (tensor<256x64xf32>, tensor<16x16xf32>) {
  %layer = tensor.extract_slice %caches[1, 0, 0] [1, 256, 512] [1, 1, 1]
      : tensor<3x256x512xf32> to tensor<256x512xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<256x64xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<256x64xf32>) -> tensor<256x64xf32>
  %r = linalg.matmul ins(%layer, %w : tensor<256x512xf32>, tensor<512x64xf32>)
      outs(%start : tensor<256x64xf32>) -> tensor<256x64xf32>
  %part = tensor.extract_slice %small[1, 0, 0] [1, 16, 16] [1, 1, 1]
      : tensor<3x16x16xf32> to tensor<16x16xf32>
  return %r, %part : tensor<256x64xf32>, tensor<16x16xf32>
}
"""
"""A product of a large part of an input, and a small part of another one."""


UPDATED = (
    STACKED.replace(
        "return %r, %part",
        """%updated = tensor.insert_slice %small into %caches[0, 0, 0] [3, 16, 16] [1, 1, 1]
      : tensor<3x16x16xf32> into tensor<3x256x512xf32>
  return %r, %updated""",
    )
    .replace("tensor<16x16xf32>) {", "tensor<3x256x512xf32>) {")
    .replace("tensor<256x64xf32>, tensor<16x16xf32>\n}", "tensor<256x64xf32>, tensor<3x256x512xf32>\n}")
)
"""The same input is also updated, and returned."""


def test_an_input_that_is_updated_gets_no_barrier() -> None:
    """The compiler does not see behind one that the update needs a copy, and would write to the caller's."""
    assert len(found_by(find_sliced_inputs, STACKED)) == 2
    assert found_by(find_sliced_inputs, UPDATED) == []
    other = UPDATED.replace("@main", "@other")
    assert found_by(find_sliced_inputs, STACKED + other) == [], "inputs of both have the same name and type"


@pytest.mark.parametrize("flags", some([(FENCES,), ()], 2))
def test_a_barrier_is_put_behind_inputs_that_are_read_in_large_parts(flags, tmp_path) -> None:
    """So that kernels read the parts in place; in functions with fences, too."""
    own = placed(STACKED, tmp_path / "inputs.mlir", chains=2)
    compiling = session(flags=(*flags, *own))
    with compiling.context:
        module = compiling.parse(STACKED)
        select_target(module, HOST)
        compiling.run(module, stop="flow")
        barriers = [op for op in walk(module.operation) if op.name == "util.optimization_barrier"]
        assert [op.operands[0].owner.operation.name for op in barriers] == ["hal.tensor.import"]
    rng = np.random.default_rng(0)
    given = [rng.standard_normal(each).astype(np.float32) for each in ((3, 256, 512), (3, 16, 16), (512, 64))]
    equal(results(STACKED, given), results(STACKED, given, own))


def test_what_the_compiler_fuses_is_left_to_it() -> None:
    assert len(found_in(NEGATED)) == 1
    places = find_here(NEGATED.encode(), "p.mlir", HOST, chains=True).places
    assert not [place for place in places if place.sites[0].problem.fused]


def test_an_outer_product_is_read_through_a_joined_part_as_its_factors() -> None:
    (site,) = found_in(PROGRAMS["encoded"])
    assert {each.shape for each in site.problem.inputs} == {(4, 6, 2), (5,)}


def test_what_others_use_is_not_computed_twice() -> None:
    """The sum is a result too: a chain begins after it."""
    text = HALVES.replace(f"%w = stablehlo.convert %o : (tensor<4x6x16xf16>) -> {X}",
                          f"%v = stablehlo.convert %o : (tensor<4x6x16xf16>) -> {X}\n"
                          f"%w = stablehlo.exponential %v : {X}")  # fmt: skip
    text = text.replace(") -> tensor<4x6x16xf16> {", f") -> (tensor<4x6x16xf16>, {X}) {{")
    text = text.replace("return %z : tensor<4x6x16xf16>", f"return %z, %w : tensor<4x6x16xf16>, {X}")
    (site,) = found_in(text)
    assert [str(each) for each in site.problem.inputs] == ["4x6x16xf32", "6x8xf32", "6x8xf32"]


def test_nothing_is_computed_again_for_each_repetition() -> None:
    """What is repeated is computed before."""
    text = HALVES.replace(f"%cc = stablehlo.broadcast_in_dim %c, dims = [1, 2] : ({T}) -> {H}",
                          f"%d = stablehlo.cosine %c : {T}\n"
                          f"%cc = stablehlo.broadcast_in_dim %d, dims = [1, 2] : ({T}) -> {H}")  # fmt: skip
    (site,) = found_in(text)
    assert b"math.cos" not in site.problem.fused


def test_an_update_in_place_stays_one() -> None:
    assert found_in(APPENDED) == []


def test_each_choice_of_kernels_is_tried_without_and_with_chains() -> None:
    (site,) = found_in(HALVES)
    chain = (site, FusedOps().make(site.problem))
    assert with_chains({}, [chain]) == {"fused ops": [chain]}
    other = (site, FusedOps().make(site.problem, HOST, {}))
    found = with_chains({"kernels": [other]}, [chain])
    assert found == {"kernels": [other], "kernels and fused ops": [other, chain]}
    assert with_chains({"kernels": [other]}, []) == {"kernels": [other]}


def test_the_choice_with_most_kernels_is_also_tried_with_norms() -> None:
    (site,) = found_in(HALVES)
    chain, norm, one, two = ((site, FusedOps().make(site.problem, HOST, {})) for _ in range(4))
    assert with_chains({}, [], [norm]) == {"norms": [norm]}
    found = with_chains({"kernels": [one], "more kernels": [one, two]}, [chain], [norm])
    assert list(found) == [
        "kernels", "more kernels", "kernels and fused ops", "more kernels and fused ops",
        "more kernels and norms",
    ]  # fmt: skip
    assert found["more kernels and norms"] == [one, two, norm]
