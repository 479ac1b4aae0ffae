"""A tuning spec reaches what data tiling makes of a contraction, in the whole program, with right results."""

from __future__ import annotations

from dataclasses import replace

import iree.runtime as rt
import numpy as np
import pytest
from iree.compiler import ir

from iree_tuner.compiler.context import new_context, to_bytecode
from iree_tuner.ops.workload import Workload
from iree_tuner.program.extract import extract
from iree_tuner.program.phases import compile_program
from iree_tuner.program.source import Program, load_program
from iree_tuner.space.build import build_space
from iree_tuner.space.configuration import Configuration
from iree_tuner.spec.build import build_spec
from iree_tuner.spec.entry import SpecEntry
from iree_tuner.spec.io import embed_bytes
from iree_tuner.targets import Target, target_for_device

PROGRAM = load_program("""
#row = affine_map<(i, j) -> (i, j)>
func.func @main(%a: tensor<36x20xf32>, %b: tensor<20x52xf32>, %bias: tensor<52xf32>)
    -> tensor<36x52xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<36x52xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<36x52xf32>) -> tensor<36x52xf32>
  %product = linalg.matmul ins(%a, %b : tensor<36x20xf32>, tensor<20x52xf32>)
             outs(%fill : tensor<36x52xf32>) -> tensor<36x52xf32>
  %sum = linalg.generic {
      indexing_maps = [#row, affine_map<(i, j) -> (j)>, #row], iterator_types = ["parallel", "parallel"]}
      ins(%product, %bias : tensor<36x52xf32>, tensor<52xf32>) outs(%empty : tensor<36x52xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %s = arith.addf %x, %y : f32
      linalg.yield %s : f32
  } -> tensor<36x52xf32>
  return %sum : tensor<36x52xf32>
}
""")


@pytest.fixture(scope="module")
def target() -> Target:
    return target_for_device("local-sync", "host+data-tiling")


@pytest.fixture(scope="module")
def entry(target: Target, compilers) -> SpecEntry:
    """A configuration that is not the compiler's own."""
    found = extract(PROGRAM, target, compilers).dispatches
    (dispatch,) = (each for each in found if each.workload and each.workload.op == "mmt4d")
    assert isinstance(dispatch.workload, Workload)
    space = build_space(dispatch.workload, dispatch.limits, new_context())
    others = [space.configuration(each) for each in space.sample(8, seed=1)]
    return SpecEntry(dispatch.workload, next(each for each in others if not _is(each, dispatch.default)))


def _is(configuration: Configuration, lowering_config: str) -> bool:
    return lowering_config in configuration.ops[0].value


def _with_spec(entry: SpecEntry) -> Program:
    spec = build_spec([entry], new_context())
    return replace(PROGRAM, data=embed_bytes(PROGRAM.data, to_bytecode(spec), name=PROGRAM.name))


def _executables(program: Program, target: Target, compilers) -> list[str]:
    """What is configured: code generation goes on from it, and from nothing else."""
    stopped = compile_program(program, target, compilers, stop="executable-configurations", output="bytecode")
    module = ir.Module.parse(stopped.data, new_context())
    return [str(op) for op in module.body.operations if op.operation.name == "hal.executable"]


def test_the_configuration_arrives(target: Target, entry: SpecEntry, compilers) -> None:
    stopped = compile_program(
        _with_spec(entry), target, compilers, stop="executable-configurations", output="bytecode"
    )
    found: list[str] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "linalg.mmt4d":
            found.append(str(op.attributes["lowering_config"]))
        return ir.WalkResult.ADVANCE

    ir.Module.parse(stopped.data, new_context()).operation.walk(visit)
    assert len(found) == 1
    assert _is(entry.configuration, found[0])


def test_without_the_prologue_it_does_not(target: Target, entry: SpecEntry, compilers) -> None:
    """The compiler makes mmt4d ops after it has run the spec."""
    early = replace(entry, workload=replace(entry.workload, prologue=()))
    plain = _executables(PROGRAM, target, compilers)
    assert plain
    assert _executables(_with_spec(early), target, compilers) == plain
    assert _executables(_with_spec(entry), target, compilers) != plain


def test_code_differs_and_results_do_not(target: Target, entry: SpecEntry, compilers) -> None:
    default = compile_program(PROGRAM, target, compilers).data
    tuned = compile_program(_with_spec(entry), target, compilers).data
    assert tuned != default
    rng = np.random.default_rng(0)
    shapes = ((36, 20), (20, 52), (52,))
    a, b, bias = (rng.uniform(-1, 1, shape).astype(np.float32) for shape in shapes)
    for code in (default, tuned):
        np.testing.assert_allclose(_run(code, a, b, bias), a @ b + bias, rtol=1e-4, atol=1e-4)


def _run(vmfb: bytes, *arguments: np.ndarray) -> np.ndarray:
    config = rt.Config("local-sync")
    module = rt.load_vm_module(rt.VmModule.copy_buffer(config.vm_instance, vmfb), config)
    return module.main(*arguments).to_host()


def test_a_prologue_alone_changes_nothing(target: Target, entry: SpecEntry, compilers) -> None:
    """Running the pass earlier than the compiler does is the same as leaving it to the compiler."""
    sizes = entry.workload.loops
    other = replace(entry.workload, loops=(sizes[0] + 1, *sizes[1:]))  # in no dispatch
    found = _executables(_with_spec(replace(entry, workload=other)), target, compilers)
    assert found == _executables(PROGRAM, target, compilers)
