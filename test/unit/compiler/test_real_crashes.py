"""The real compiler dies in a worker, in two ways; the caller hears how, and goes on."""

import signal

import pytest
from programs import ZERO_MATMUL

from iree_tuner.compiler.worker import WorkerError, Workers, session_for

HALF_PRECISION = ZERO_MATMUL.replace("f32", "f16")
TURING = ("--iree-hal-target-device=cuda", "--iree-cuda-target=sm_75")
"""IREE 3.13 chooses an instruction for it that it does not have, and LLVM gives up."""

NOTHING = "func.func @nothing(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }"

BATCHED = """
func.func @batched(%a: tensor<4x64x64xf16>, %b: tensor<4x64x64xf16>) -> tensor<4x64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x64x64xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  %r = linalg.batch_matmul ins(%a, %b : tensor<4x64x64xf16>, tensor<4x64x64xf16>)
       outs(%fill : tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  return %r : tensor<4x64x64xf32>
}
"""
CONSTRAINED = (
    "--iree-hal-target-device=hip",
    "--iree-rocm-target=gfx942",
    "--iree-codegen-emit-pipeline-constraints",
)
"""IREE 3.13's emitter of constraints follows a null pointer where there is a batch."""


@pytest.fixture(scope="module")
def workers():
    with Workers(1) as pool:
        yield pool


def compile_text(source, flags):
    session = session_for(flags)
    return len(session.to_vmfb(session.parse(source)))


@pytest.mark.exhaustive  # test_real_failures in test/unit/measure has one, too
def test_an_llvm_error_is_told_with_its_message(workers):
    with pytest.raises(WorkerError, match="LLVM ERROR: Cannot select") as caught:
        workers.call(compile_text, HALF_PRECISION, TURING, timeout_s=120)
    assert caught.value.end.exit_code in (-signal.SIGABRT, 1)
    assert workers.call(compile_text, NOTHING, TURING, timeout_s=120) > 0


def test_a_crash_of_the_compiler_is_told_with_its_signal(workers):
    with pytest.raises(WorkerError) as caught:
        workers.call(compile_text, BATCHED, CONSTRAINED, timeout_s=120)
    assert caught.value.end.exit_code == -signal.SIGSEGV
