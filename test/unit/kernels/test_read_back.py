"""Slices at positions in tensors: without reading them on the host, and with the same results."""

import numpy as np
import pytest
from after_abi import HOST, found_by, loaded, results_of_all, session

from iree_tuner.compiler.context import new_context, walk
from iree_tuner.kernels.find import find_here
from iree_tuner.kernels.fused_op import FusedOps
from iree_tuner.kernels.read_back import find_read_back
from iree_tuner.kernels.source import chains_in, outlook_of
from iree_tuner.kernels.spec import save_kernel_spec
from iree_tuner.program.phases import select_target
from iree_tuner.spec.external import SPEC_FLAG
from iree_tuner.targets import parse_target

ROW = """
func.func @main(%cache: tensor<3x20x8xf16>, %row: tensor<3x1x8xf16>, %at: tensor<i32>) -> tensor<3x20x8xf16> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r = stablehlo.dynamic_update_slice %cache, %row, %zero, %at, %zero
    : (tensor<3x20x8xf16>, tensor<3x1x8xf16>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x20x8xf16>
  return %r : tensor<3x20x8xf16>
}"""
"""A row of each head in a cache."""

WINDOW = """
func.func @main(%x: tensor<9x11xf32>, %part: tensor<4x5xf32>, %at: tensor<2xi32>) -> tensor<9x11xf32> {
  %i = stablehlo.slice %at [0:1] : (tensor<2xi32>) -> tensor<1xi32>
  %j = stablehlo.slice %at [1:2] : (tensor<2xi32>) -> tensor<1xi32>
  %row = stablehlo.reshape %i : (tensor<1xi32>) -> tensor<i32>
  %column = stablehlo.reshape %j : (tensor<1xi32>) -> tensor<i32>
  %r = stablehlo.dynamic_update_slice %x, %part, %row, %column
    : (tensor<9x11xf32>, tensor<4x5xf32>, tensor<i32>, tensor<i32>) -> tensor<9x11xf32>
  return %r : tensor<9x11xf32>
}"""
"""At a row and a column, which are computed."""

TURN = """
func.func @main(%table: tensor<2x40x6xf32>, %at: tensor<i32>) -> tensor<2x6xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %s = stablehlo.dynamic_slice %table, %zero, %at, %zero, sizes = [2, 1, 6]
    : (tensor<2x40x6xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x1x6xf32>
  %r = stablehlo.reshape %s : (tensor<2x1x6xf32>) -> tensor<2x6xf32>
  return %r : tensor<2x6xf32>
}"""
"""A row of a table, of a position."""

SOME = """
func.func @main(%x: tensor<50xi32>, %at: tensor<i64>) -> tensor<7xi32> {
  %two = stablehlo.constant dense<2> : tensor<i64>
  %half = stablehlo.multiply %at, %two : tensor<i64>
  %r = stablehlo.dynamic_slice %x, %half, sizes = [7] : (tensor<50xi32>, tensor<i64>) -> tensor<7xi32>
  return %r : tensor<7xi32>
}"""
"""Some elements, from twice the position on."""

PROGRAMS = {"row": ROW, "window": WINDOW, "turn": TURN, "some": SOME}
AT = (0, 1, 7, 19, 20, 1000, -1, -1000)


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_the_same_at_any_position(name: str) -> None:
    (site,) = found_by(find_read_back, PROGRAMS[name])
    assert b"tensor.extract " in site.case
    assert FusedOps().refuses(site.problem) == ""
    given = [[filled(each, at - number) for number, each in enumerate(site.problem.inputs)] for at in AT]
    programs = [each for _ in AT for each in (site.case, site.problem.fused)]
    found = results_of_all(programs, [each for values in given for each in (values, values)])
    for own, other in zip(found[::2], found[1::2], strict=True):
        np.testing.assert_array_equal(own, other)


def filled(array, at: int):
    """Numbers that are all different; a position, or two."""
    kind = np.dtype({"f16": "f2", "f32": "f4", "i32": "i4", "i64": "i8"}[array.element_type])
    count = int(np.prod(array.shape))
    values = np.arange(count) if count > 2 else at - 3 * np.arange(count)
    return values.astype(kind).reshape(array.shape)


CHOSEN = """
func.func @main(%x: tensor<5x7xf16>, %y: tensor<5x7xf16>, %at: tensor<i32>) -> tensor<5x7xf16> {
  %three = stablehlo.constant dense<3> : tensor<i32>
  %small = stablehlo.compare LT, %at, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %r = stablehlo.select %small, %x, %y : (tensor<i1>, tensor<5x7xf16>, tensor<5x7xf16>) -> tensor<5x7xf16>
  return %r : tensor<5x7xf16>
}"""
"""One of two arrays, by a condition: `jnp.where` with a scalar, which `jnp.var` has, too."""


SCALED = """
func.func @main(%x: tensor<5x7xf16>, %y: tensor<5x7xf16>, %at: tensor<i32>) -> tensor<5x7xf16> {
  %number = tensor.extract %at[] : tensor<i32>
  %wide = arith.sitofp %number : i32 to f16
  %half = arith.constant 0.5 : f16
  %by = arith.mulf %wide, %half : f16
  %empty = tensor.empty() : tensor<5x7xf16>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x7xf16>) outs(%empty : tensor<5x7xf16>) {
  ^bb0(%in: f16, %out: f16):
    %0 = arith.mulf %in, %by : f16
    linalg.yield %0 : f16
  } -> tensor<5x7xf16>
  return %r : tensor<5x7xf16>
}"""
"""Times a number that is computed of one in a tensor."""


@pytest.mark.parametrize("text", [CHOSEN, SCALED])
def test_bodies_read_scalars_themselves(text: str, tmp_path) -> None:
    (site,) = found_by(find_read_back, text)
    path = tmp_path / "kernels.mlir"
    save_kernel_spec([(site, FusedOps().make(site.problem))], "unit", new_context(), path)
    flags = (f"{SPEC_FLAG}={path}",)
    assert [reads_back(text, HOST, each) for each in ((), flags)] == [1, 0]
    own, other = loaded(text), loaded(text, flags)
    x, y = np.random.default_rng(0).standard_normal((2, 5, 7)).astype(np.float16)
    for at in (-1, 2, 3, 9):
        given = [x, y, np.array(at, np.int32)]
        np.testing.assert_array_equal(own("main", given), other("main", given))


@pytest.mark.parametrize("device", ["cuda:sm_90", "vulkan:ampere", "hip:gfx942"])
def test_a_device_reads_nothing_back(device: str, tmp_path) -> None:
    target, text = parse_target(device), f"module {{ {ROW} }}"
    found = find_here(text.encode(), "p.mlir", target, chains=True)
    chosen = chains_in(outlook_of(found, [FusedOps()]))
    path = tmp_path / "kernels.mlir"
    save_kernel_spec(chosen, found.target, new_context(), path)
    loads = [reads_back(text, target, flags) for flags in ((), (f"{SPEC_FLAG}={path}",))]
    assert loads == [1, 0]


def test_a_host_reads_its_own_memory() -> None:
    found = find_here(ROW.encode(), "p.mlir", parse_target("llvm-cpu:host"), chains=True)
    assert chains_in(outlook_of(found, [FusedOps()])) == []


def reads_back(text: str, target, flags) -> int:
    """How often a program reads an element on the host."""
    own = session(target, flags)
    with own.context:
        module = own.parse(text)
        select_target(module, target)
        own.run(module, stop="flow")
        return sum(op.name == "flow.tensor.load" for op in walk(module.operation))


CONTROLLED = """
func.func @main(%cache: tensor<20x8xf16>, %row: tensor<1x8xf16>, %at: i32) -> tensor<20x8xf16> {
  %place = arith.index_cast %at : i32 to index
  %r = tensor.insert_slice %row into %cache[%place, 0] [1, 8] [1, 1] : tensor<1x8xf16> into tensor<20x8xf16>
  return %r : tensor<20x8xf16>
}"""
"""The position is the host's."""


def test_what_the_host_knows_stays() -> None:
    assert found_by(find_read_back, CONTROLLED) == []
