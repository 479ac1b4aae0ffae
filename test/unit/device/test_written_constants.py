"""docs/upstream/constant_written.md: a defect of IREE 3.13, and that results do not suffer."""

from __future__ import annotations

from pathlib import Path

import iree.runtime as rt
import numpy as np
import pytest
from amounts import some

from iree_tuner.device.program_loaded import LoadedProgram
from iree_tuner.device.program_request import request
from iree_tuner.program.phases import compile_program
from iree_tuner.program.source import load_program

DEVICE = "local-task"
SUM = (Path(__file__).parents[2] / "upstream" / "constant_written.mlir").read_text()
SORT = """
func.func @main() -> tensor<4xf32> {
  %x = util.unfoldable_constant dense<[3.0, 1.0, 2.0, 0.0]> : tensor<4xf32>
  %0 = iree_linalg_ext.sort dimension(0) outs(%x : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.cmpf ogt, %a, %b : f32
    iree_linalg_ext.yield %1 : i1
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
ROWS = """
func.func @main(%row: tensor<1x8xf32>) -> tensor<4x8xf32> {
  %c = arith.constant dense<2.0> : tensor<4x8xf32>
  %x = util.optimization_barrier %c : tensor<4x8xf32>
  %0 = tensor.insert_slice %row into %x[2, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
"""
FROM_JAX = """
func.func @main(%x: tensor<2x3xf32>, %place: tensor<i32>) -> tensor<5x3xf32> {
  %c = stablehlo.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0], [9.0, 1.0, 2.0],
                                 [3.0, 4.0, 5.0]]> : tensor<5x3xf32>
  %held = stablehlo.optimization_barrier %c : tensor<5x3xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %held, %x, %place, %zero
    : (tensor<5x3xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<5x3xf32>
  return %0 : tensor<5x3xf32>
}
"""


CASES = [
    pytest.param(SUM, True, id="sum"),
    pytest.param(SORT, True, id="sort"),
    pytest.param(FROM_JAX, True, id="from JAX"),
    pytest.param(ROWS, False, id="rows"),
]


@pytest.mark.parametrize(("text", "writes"), some(CASES, 2))
def test_results_begin_with_the_constants(text, writes, cpu, compilers, tmp_path) -> None:
    program, path = load_program(text), tmp_path / "module.vmfb"
    path.write_bytes(compile_program(program, cpu, compilers).data)
    loaded = LoadedProgram(str(path), DEVICE, request(program))
    (first,) = loaded.results_of(0)
    loaded.batch(3)
    (later,) = loaded.results_of(0)
    np.testing.assert_array_equal(first, later)
    loaded.results()
    assert bool(loaded.known.overwrites) == writes


def test_calls_write_to_a_constant(cpu, compilers) -> None:
    config = rt.Config(DEVICE)
    module = rt.VmModule.copy_buffer(
        config.vm_instance, compile_program(load_program(SUM), cpu, compilers).data
    )
    hal = rt.create_hal_module(config.vm_instance, config.device)
    context = rt.SystemContext(vm_modules=[hal, module], config=config)
    found = [context.modules.module["sum"]().to_host().tolist() for _ in range(2)]
    assert found == [[4, 9, 14, 19], [7, 16, 25, 34]], "mended: the workaround can go"
