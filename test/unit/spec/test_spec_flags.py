"""A spec says which compiler flags it belongs to."""

import pytest
from iree.compiler import ir

from iree_tuner.cli.main import run
from iree_tuner.compiler.context import new_context
from iree_tuner.spec.build import build_spec
from iree_tuner.spec.entry import read_flags

FLAGS = ("--iree-opt-data-tiling", "--iree-llvmcpu-enable-ukernels=none")
PROGRAM = """
func.func @mm(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>, %c: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<8x8xf32>, tensor<8x8xf32>)
                     outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
"""


@pytest.mark.parametrize("flags", [(), FLAGS])
def test_flags_are_read_back(flags):
    context = new_context()
    text = str(build_spec([], context, flags=flags))
    module = ir.Module.parse(text, new_context())
    assert module.operation.verify()
    assert read_flags(module) == flags


def test_the_command_compiles_with_them(tmp_path, capsys):
    spec, program, out = tmp_path / "a.spec.mlir", tmp_path / "a.mlir", tmp_path / "a.vmfb"
    spec.write_text(str(build_spec([], new_context(), flags=FLAGS)))
    program.write_text(PROGRAM)
    assert run(["compile", str(program), "--spec", str(spec), "-o", str(out), "--json"]) == 0
    assert '"--iree-opt-data-tiling", "--iree-llvmcpu-enable-ukernels=none"]' in capsys.readouterr().out
    assert run(["compile", str(program), "-o", str(tmp_path / "plain.vmfb")]) == 0
    assert out.read_bytes() != (tmp_path / "plain.vmfb").read_bytes()
