"""Programs with f32 for f16 and bf16: what they compute, and what they take."""

import numpy as np
import pytest
from amounts import some
from iree.compiler import ir

from iree_tuner.compiler.session import CompileError
from iree_tuner.compiler.worker import session_for
from iree_tuner.device.program_loaded import LoadedProgram
from iree_tuner.device.program_request import request
from iree_tuner.program.phases import compile_widened, run_phases
from iree_tuner.program.source import load_program
from iree_tuner.program.widened import widen

LINALG = """
util.global private @w = #flow.parameter.named<"model"::"w"> : tensor<64x32xKIND>
util.global private mutable @state = dense<0.5> : tensor<8x32xKIND>
func.func @main(%x: tensor<8x64xKIND>, %f: KIND) -> (tensor<8x32xKIND>, tensor<8x32xf32>) {
  %w = util.global.load @w : tensor<64x32xKIND>
  %s = util.global.load @state : tensor<8x32xKIND>
  %y = linalg.matmul ins(%x, %w : tensor<8x64xKIND>, tensor<64x32xKIND>) outs(%s : tensor<8x32xKIND>)
      -> tensor<8x32xKIND>
  util.global.store %y, @state : tensor<8x32xKIND>
  %g = math.exp %y : tensor<8x32xKIND>
  %e = arith.extf %g : tensor<8x32xKIND> to tensor<8x32xf32>
  return %g, %e : tensor<8x32xKIND>, tensor<8x32xf32>
}"""

CONSTANT = """
func.func @main(%x: tensor<4x8xf16>) -> tensor<4x8xf16> {
  %w = arith.constant dense_resource<w> : tensor<4x8xf16>
  %r = arith.addf %x, %w : tensor<4x8xf16>
  return %r : tensor<4x8xf16>
}
{-# dialect_resources: { builtin: { w: "0x04000000VALUES" } } #-}"""

FENCED = """
func.func @main$async(%a: !hal.buffer_view, %wait: !hal.fence, %signal: !hal.fence) -> !hal.buffer_view
    attributes {iree.abi.stub} {
  %x = hal.tensor.import wait(%wait) => %a : !hal.buffer_view -> tensor<4x64xbf16>
  %y = arith.mulf %x, %x : tensor<4x64xbf16>
  %d = hal.tensor.barrier join(%y : tensor<4x64xbf16>) => %signal : !hal.fence
  %v = hal.tensor.export %d : tensor<4x64xbf16> -> !hal.buffer_view
  return %v : !hal.buffer_view
}"""

STABLEHLO = """
func.func @main(%x: tensor<4x64xbf16>, %w: tensor<64x16xbf16>) -> tensor<4x16xbf16> {
  %y = stablehlo.dot %x, %w : (tensor<4x64xbf16>, tensor<64x16xbf16>) -> tensor<4x16xbf16>
  %t = stablehlo.tanh %y : tensor<4x16xbf16>
  return %t : tensor<4x16xbf16>
}"""

TORCH = """
func.func @main(%x: !torch.vtensor<[4,64],f16>, %w: !torch.vtensor<[64,16],f16>)
    -> !torch.vtensor<[4,16],f16> {
  %y = torch.aten.mm %x, %w
      : !torch.vtensor<[4,64],f16>, !torch.vtensor<[64,16],f16> -> !torch.vtensor<[4,16],f16>
  return %y : !torch.vtensor<[4,16],f16>
}"""

BITS = """
func.func @main(%x: tensor<8xf16>) -> tensor<8xi16> {
  %e = tensor.empty() : tensor<8xi16>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%x : tensor<8xf16>) outs(%e : tensor<8xi16>) {
  ^bb0(%a: f16, %o: i16):
    %b = arith.bitcast %a : f16 to i16
    linalg.yield %b : i16
  } -> tensor<8xi16>
  return %r : tensor<8xi16>
}"""

PLAIN = "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {\n  return %x : tensor<8xf32>\n}"


def loaded(text, cpu, folder, seed=1):
    """Results of a program and of its widened form, on the same inputs."""
    program = load_program(text)
    run = request(program)
    made = []
    compiled = run_phases(program.data, "t", cpu, stop=None, output="vmfb").data
    for number, data in enumerate((compiled, compile_widened(program.data, "t", cpu))):
        assert data
        path = folder / f"{number}.vmfb"
        path.write_bytes(data)
        like = {"like": made[0]} if made else {}
        made.append(LoadedProgram(str(path), "local-task", run, **like))
    return [each.results_of(seed) for each in made]


@pytest.mark.parametrize("form", some(["linalg bf16", "linalg f16", "constant", "torch", "stablehlo"], 3))
def test_it_computes_the_same_but_for_rounding(form, cpu, tmp_path):
    text = {"constant": CONSTANT.replace("VALUES", "003C" * 32), "stablehlo": STABLEHLO, "torch": TORCH}.get(
        form, LINALG.replace("KIND", form.rpartition(" ")[2])
    )
    narrow, wide = loaded(text, cpu, tmp_path)
    for own, exact in zip(narrow, wide, strict=True):
        assert exact.dtype == np.float32
        rough = own.astype(np.float64)
        assert not np.array_equal(rough, exact)
        assert np.max(np.abs(rough - exact)) < 0.05 * np.max(np.abs(rough))


def widened(text, cpu):
    session = session_for(cpu.flags)
    with session.context, ir.Location.unknown():
        module = session.parse(text)
        session.run(module, stop="input")
        return widen(module, session), module


def test_parameters_stay_as_they_are_stored(cpu):
    done, module = widened(LINALG.replace("KIND", "f16"), cpu)
    assert done
    kinds = {
        str(op.attributes["sym_name"]): str(op.attributes["type"])
        for op in module.body.operations
        if op.operation.name == "util.global"
    }
    assert kinds == {'"w"': "tensor<64x32xf16>", '"state"': "tensor<8x32xf32>"}


def test_buffers_hold_what_tensors_are_made_of(cpu):
    done, module = widened(FENCED, cpu)
    assert done
    assert "bf16" not in str(module)


def test_without_narrow_floats_nothing_is_compiled(cpu):
    assert widened(PLAIN, cpu)[0] is False
    assert compile_widened(PLAIN.encode(), "t", cpu) == b""


def test_programs_that_need_the_bits_are_not_widened(cpu):
    with pytest.raises(CompileError):
        widened(BITS, cpu)
    assert compile_widened(BITS.encode(), "t", cpu) == b""
