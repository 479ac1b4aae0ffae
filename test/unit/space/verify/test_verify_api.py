"""What `verify_program` and `verify_spec` return, as Python sees it."""

from __future__ import annotations

from pathlib import Path

import pytest
from amounts import some
from iree.compiler import ir

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Workers
from iree_tuner.errors import TunerError
from iree_tuner.program.carried import carrying
from iree_tuner.program.extract import extract
from iree_tuner.space.verify.constraints import VerifyReport, verify_program
from iree_tuner.space.verify.spec import verify_spec
from iree_tuner.spec.io import load_spec
from iree_tuner.targets import parse_target

TARGET = parse_target("llvm-cpu:znver4")
SPECS = Path(__file__).parents[4] / "specs"

VECTORS = "vector_common_parallel = [8, 16, 0], vector_reduction = [0, 0, STEP]"
LEVELS = f"distribution = [DISTRIBUTION, 64, 0], {VECTORS}"
PROGRAM = """
#config = #iree_cpu.lowering_config<LEVELS>
#translation = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>
#info = #iree_codegen.compilation_info<lowering_config = #config, translation_info = #translation>
func.func @main(%a: tensor<256x512xf32>, %b: tensor<512x256xf32>)
    -> (tensor<256x256xf32>, tensor<256x256xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<256x256xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<256x256xf32>) -> tensor<256x256xf32>
  %0 = linalg.matmul {compilation_info = #info} ins(%a, %b : tensor<256x512xf32>, tensor<512x256xf32>)
    outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  %1 = linalg.matmul {compilation_info = #info} ins(%0, %0 : tensor<256x256xf32>, tensor<256x256xf32>)
    outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %0, %1 : tensor<256x256xf32>, tensor<256x256xf32>
}
"""


def program(step: int, distribution: int = 64) -> str:
    levels = LEVELS.replace("STEP", str(step)).replace("DISTRIBUTION", str(distribution))
    return PROGRAM.replace("LEVELS", levels)


def test_equal_configurations_of_different_ops_are_judged_apart(compilers: Workers) -> None:
    report = verify_program(program(512), TARGET, workers=compilers)
    assert not report.legal
    assert [each.location for each in report.configurations] == ["<text>:10:8", "<text>:12:8"]
    assert [each.workload for each in report.configurations] == [
        "matmul_256x256x512_f32_f32_f32", "matmul_256x256x256_f32_f32_f32"
    ]  # fmt: skip
    # A tile of the reduction is cut to it.
    messages = [each.findings[0].message for each in report.configurations]
    assert messages[0].startswith("the vector contraction: 262,144 bytes")
    assert messages[1].startswith("the vector contraction: 131,072 bytes")


def test_a_module_and_bytes_are_programs(compilers: Workers) -> None:
    module = ir.Module.parse(program(4), new_context())
    for source in (module, program(4).encode()):
        report = verify_program(source, TARGET, workers=compilers)
        assert report.legal
        assert report.count("legal") == 2
        assert all(each.space == "DoubleTilingExpert" for each in report.configurations)


def test_a_program_without_configurations_is_not_compiled() -> None:
    plain = program(4).replace("{compilation_info = #info}", "")
    assert verify_program(plain, TARGET) == VerifyReport(())


def test_extraction_does_not_do_what_is_judged(compilers: Workers) -> None:
    """The dispatches are those of the configurations, and the choice is the compiler's own."""
    noted, carried = carrying(program(512, distribution=48))
    dispatches = extract(noted, TARGET, compilers).dispatches
    assert len(carried) == 2
    assert [each.label for dispatch in dispatches for each in dispatch.carried] == ["root", "root"]
    for dispatch in dispatches:
        assert dispatch.harness is not None
        assert b"iree_tuner.carried" not in dispatch.harness.module
        assert "distribution = [48" not in dispatch.default


def test_dynamic_ops_are_judged_for_a_size(compilers: Workers) -> None:
    dynamic = """
#config = #iree_cpu.lowering_config<
  distribution = [64, 64, 0], vector_common_parallel = [8, 64, 0], vector_reduction = [0, 0, 64]>
#translation = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>
#info = #iree_codegen.compilation_info<lowering_config = #config, translation_info = #translation>
func.func @main(%a: tensor<?x64xf32>, %b: tensor<64x64xf32>) -> tensor<?x64xf32> {
  %z = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %m = tensor.dim %a, %c0 : tensor<?x64xf32>
  %e = tensor.empty(%m) : tensor<?x64xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = linalg.matmul {compilation_info = #info} ins(%a, %b : tensor<?x64xf32>, tensor<64x64xf32>)
    outs(%f : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %r : tensor<?x64xf32>
}
"""
    (unsized,) = verify_program(dynamic, TARGET, workers=compilers).configurations
    assert unsized.state == "unchecked"
    assert "set it with --dim" in unsized.findings[0].message
    (sized,) = verify_program(dynamic, TARGET, ["256"], workers=compilers).configurations
    assert sized.state == "error"
    assert sized.findings[0].message.startswith("the vector contraction: 131,072 bytes")


def test_a_program_that_does_not_compile_is_told(compilers: Workers) -> None:
    with pytest.raises(TunerError):
        verify_program(program(4).replace("linalg.fill", "linalg.fil"), TARGET, workers=compilers)


SHIPPED = [
    ("llvm-cpu/mlp_batch1.spec.mlir", "llvm-cpu:znver4", 2, 0),
    ("llvm-cpu/transformer_block.spec.mlir", "llvm-cpu:znver4", 4, 0),
    ("cuda/h200/bert_base.spec.mlir", "cuda:sm_90", 3, 1),
    ("cuda/h200/resnet50.spec.mlir", "cuda:sm_90", 16, 0),
]
"""A spec, its target, how many of its configurations are legal, and are not checked without a program."""


@pytest.mark.parametrize(("path", "target", "legal", "unchecked"), some(SHIPPED, 2))
def test_specs_that_ship_are_legal(
    path: str, target: str, legal: int, unchecked: int, compilers: Workers
) -> None:
    spec = load_spec(SPECS / path, new_context())
    report = verify_spec(spec, parse_target(target), name=path, workers=compilers)
    assert (report.count("legal"), report.count("unchecked")) == (legal, unchecked)
    assert report.legal
    assert not report.problems()
    assert all(each.location.startswith(path) for each in report.configurations)


def test_a_chip_with_less_shared_memory_refuses(compilers: Workers) -> None:
    """A spec for Hopper on Turing, which has 64 KiB."""
    spec = load_spec(SPECS / "cuda/h200/gemms.spec.mlir", new_context())
    report = verify_spec(spec, parse_target("cuda:sm_75"), name="gemms", workers=compilers)
    assert [each.state for each in report.configurations] == ["legal", "error"]
    (problem,) = report.problems()
    assert problem.kind == "illegal"
    assert problem.where == "match_matmul_2048x1280x1280_f16_f16_f16"
    assert problem.message.endswith("the operands take 92,160 of 65536 bytes of shared memory")
