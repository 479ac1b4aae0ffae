"""Functions of buffer views, with fences and without, and those that cannot be called."""

import numpy as np
import pytest

from iree_tuner.device.program_loaded import LoadedProgram
from iree_tuner.device.program_request import request
from iree_tuner.program.entries import entries_of
from iree_tuner.program.phases import run_phases
from iree_tuner.program.source import load_program
from iree_tuner.targets import parse_target

HOST = parse_target("llvm-cpu:host")
VIEW, FENCES = "!hal.buffer_view", "%wait: !hal.fence, %signal: !hal.fence"
STUB = 'attributes {iree.abi.model = "coarse-fences", iree.abi.stub}'
IMPORT = f"  %x = hal.tensor.import wait(%wait) => %a : {VIEW} -> tensor<4xf32>\n"
ADD = "  %y = arith.addf %x, %x : tensor<4xf32>\n"
EXPORT = f"""  %d = hal.tensor.barrier join(%y : tensor<4xf32>) => %signal : !hal.fence
  %v = hal.tensor.export %d : tensor<4xf32> -> {VIEW}
"""
TWO = f"""util.func public @main$async(%a: {VIEW}, {FENCES}) -> ({VIEW}, {VIEW}) {STUB} {{
{IMPORT}{ADD}  %n = arith.mulf %y, %x : tensor<4xf32>
  %d:2 = hal.tensor.barrier join(%y, %n : tensor<4xf32>, tensor<4xf32>) => %signal : !hal.fence
  %v = hal.tensor.export %d#0 : tensor<4xf32> -> {VIEW}
  %u = hal.tensor.export %d#1 : tensor<4xf32> -> {VIEW}
  util.return %v, %u : {VIEW}, {VIEW}
}}"""
ONE = f"""util.func public @main$async(%a: {VIEW}, {FENCES}) -> {VIEW} {STUB} {{
{IMPORT}{ADD}{EXPORT}  util.return %v : {VIEW}
}}
"""
TWINS = f"""{ONE}
util.func public @main(%a: {VIEW}) -> {VIEW} attributes {{iree.abi.stub}} {{
  %null = util.null : !hal.fence
  %zero = arith.constant 0 : index
  %forever = arith.constant -1 : i32
  %device = hal.devices.get %zero : !hal.device
  %fence = hal.fence.create device(%device : !hal.device) flags("None") : !hal.fence
  %r = util.call @main$async(%a, %null, %fence) : ({VIEW}, !hal.fence, !hal.fence) -> {VIEW}
  %status = hal.fence.await until([%fence]) timeout_millis(%forever) flags("None") : i32
  util.return %r : {VIEW}
}}"""
IN_PLACE = f"""util.func public @main$async(%a: {VIEW}, {FENCES}) -> {VIEW} {STUB} {{
{IMPORT}{ADD}  %n = arith.mulf %y, %x : tensor<4xf32>
  %m = hal.tensor.alias wait(%wait) => %n : tensor<4xf32> to %a : {VIEW}
  %d:2 = hal.tensor.barrier join(%y, %m : tensor<4xf32>, tensor<4xf32>) => %signal : !hal.fence
  %v = hal.tensor.export %d#0 : tensor<4xf32> -> {VIEW}
  util.return %v : {VIEW}
}}"""
TORCH = """func.func @main(
    %a: !torch.tensor<[4],f32>, %b: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %one = torch.constant.int 1
  %x = torch.copy.to_vtensor %a : !torch.vtensor<[4],f32>
  %y = torch.aten.add.Tensor %x, %b, %one
      : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4],f32>
  torch.overwrite.tensor.contents %y overwrites %a : !torch.vtensor<[4],f32>, !torch.tensor<[4],f32>
  return %y : !torch.vtensor<[4],f32>
}"""
QUOTED = f"""func.func @"$async"(%x: tensor<4xf32>) -> tensor<4xf32> {{
{ADD}  return %y : tensor<4xf32>
}}
func.func @"f.<locals> ü/\\0A"(%x: tensor<4xf32>) -> tensor<4xf32> {{
{ADD}  return %y : tensor<4xf32>
}}"""


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        (TWO, ["main"], lambda a: [a + a, 2 * a * a]),
        (TWINS, ["main"], lambda a: [a + a]),
        (IN_PLACE, ["main"], lambda a: [a + a, 2 * a * a]),
        (QUOTED, ["$async", "f.<locals> ü/\n"], lambda a: [a + a, None]),
        (TORCH, ["main"], lambda _: [None, None]),
    ],
    ids=["results", "twins", "in place", "quoted", "torch"],
)
def test_functions_of_any_form_run(text, names, expected, tmp_path):
    program = load_program(text)
    assert [entry.name for entry in entries_of(program)] == names
    path = tmp_path / "program.vmfb"
    path.write_bytes(run_phases(program.data, program.name, HOST, stop=None, output="vmfb").data)
    a = np.arange(1, 5, dtype=np.float32)
    np.save(tmp_path / "a.npy", a)
    run = request(program, inputs=[str(tmp_path / "a.npy")])
    loaded = LoadedProgram(str(path), "local-task", run)
    for _ in range(2):  # an input that is overwritten is new each time
        found = loaded.results_of(0)
        for result, wanted in zip(found, expected(a), strict=True):
            if wanted is not None:
                np.testing.assert_allclose(result, wanted)


@pytest.mark.parametrize(
    ("signature", "reason"),
    [
        ("%a: !util.list<?>", "input 0 has the type !util.list<?>, of which no values can be generated"),
        ("%x: tensor<4xf32>, %a: !hal.buffer", "input 1 has the type !hal.buffer, of which no values"),
        ("%a: !hal.device", "input 0 has the type !hal.device, of which no values"),
        ("%a: !vm.ref<?>", "input 0 has the type !vm.ref<?>, of which no values"),
        ("%a: !hal.fence", "it has fences as inputs 0, not as its last two"),
        ("%a: !hal.fence, %b: !hal.fence, %c: f32", "it has fences as inputs 0, 1, not as its last two"),
    ],
)
def test_functions_that_cannot_be_called_are_named(signature, reason):
    program = load_program(f"func.func @odd({signature}) {{\n  return\n}}\n{ONE}")
    (note,) = request(program).left_out
    assert note.startswith(f"@odd is not run: {reason}")


def test_results_that_cannot_be_read():
    odd = """func.func @odd() -> !util.list<?> {
  %one = arith.constant 1 : index
  %list = util.list.create %one : !util.list<?>
  return %list : !util.list<?>
}"""
    (note,) = request(load_program(f"{odd}\n{ONE}")).left_out
    assert note == "@odd is not run: its result 0 has the type !util.list<?>, which cannot be read"
