"""Programs past the phase `flow`, with devices, executables, modules and specs of their own."""

import iree.compiler.ir as ir
import numpy as np
import pytest
from amounts import some

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.session import CompileError, CompilerSession
from iree_tuner.device.program_loaded import LoadedProgram
from iree_tuner.device.program_request import request
from iree_tuner.errors import UsageError
from iree_tuner.program.entries import entries_of, phase_after_flow
from iree_tuner.program.extract import extract_here
from iree_tuner.program.phases import own_target_name, run_phases, take_devices
from iree_tuner.program.source import Program, load_program
from iree_tuner.targets import parse_target, target_for_device

HOST = parse_target("llvm-cpu:host")
FUNCTION = """func.func @main(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x8xf32>) -> tensor<4x8xf32>
  %r = linalg.matmul ins(%a, %b : tensor<4x16xf32>, tensor<16x8xf32>)
      outs(%init : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}"""
AFTER = ("stream", "executable-sources", "executable-configurations", "executable-targets", "hal", "vm")
LOCAL = '#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu = "znver3"}>'


@pytest.fixture(scope="module")
def session():
    return CompilerSession(HOST.flags)


def at(session, phase):
    module = session.parse(FUNCTION)
    session.run(module, stop=phase)
    return Program("late.mlir", str(module).encode())


@pytest.mark.parametrize("phase", ["flow", *some(AFTER, 3)])
def test_a_program_at_a_phase(session, phase, tmp_path):
    late = load_program(at(session, phase))
    after = phase_after_flow(session.parse(late.data))
    assert after == (None if phase == "flow" else phase)
    vmfb = tmp_path / "late.vmfb"
    vmfb.write_bytes(run_phases(late.data, late.name, HOST, stop=None, output="vmfb").data)
    a, b = np.arange(64, dtype=np.float32).reshape(4, 16), np.arange(128, dtype=np.float32).reshape(16, 8)
    for name, values in (("a", a), ("b", b)):
        np.save(tmp_path / f"{name}.npy", values)
    run = request(late, (), [str(tmp_path / "a.npy"), str(tmp_path / "b.npy")])
    (result,) = LoadedProgram(str(vmfb), "local-task", run).results_of(0)
    np.testing.assert_allclose(result, a @ b)
    if after is not None:
        with pytest.raises(UsageError, match=f"at phase {phase}; .* at phase flow or before"):
            extract_here(late.data, late.name, HOST)


@pytest.mark.parametrize(
    ("attribute", "name", "refused"),
    [
        (f'[#hal.device.target<"local", [{LOCAL}]> : !hal.device]', "llvm-cpu:znver3", ""),
        (f'{{one = #hal.device.target<"local", [{LOCAL}]> : !hal.device}}', "llvm-cpu:znver3", ""),
        (f"[{LOCAL}]", "llvm-cpu:znver3", ""),
        ('[#hal.device.alias<"local"> : !hal.device]', "", ""),
        ('[#hal.device.target<"cuda"> : !hal.device]', "", "hal.device.targets of the program is for cuda"),
        ('[#hal.device.alias<"hip"> : !hal.device]', "", "hal.device.targets of the program is for hip"),
        ('[#hal.device.target<"toaster"> : !hal.device]', "", "is for toaster, not for llvm-cpu:host"),
        ('[#hal.device.target<"local">, #hal.device.target<"local">]', "", "is for 2 devices, not for one"),
    ],
)  # fmt: skip
def test_devices_of_a_program(attribute, name, refused):
    text = f"module attributes {{hal.device.targets = {attribute}}} {{\n{FUNCTION}\n}}"
    module = ir.Module.parse(text, new_context())
    assert own_target_name(module) == name
    if refused:
        with pytest.raises(UsageError, match=refused):
            take_devices(module, HOST)
    else:
        take_devices(module, HOST)
        assert "hal.device" not in str(module)


def test_a_device_in_a_global():
    text = f"""module attributes {{stream.affinity.default = #hal.device.affinity<@dev>}} {{
  util.global private @dev = #hal.device.target<"local", [{LOCAL}]> : !hal.device
{FUNCTION}
}}"""
    module = ir.Module.parse(text, new_context())
    with pytest.raises(UsageError, match="@dev of the program is for llvm-cpu:znver3, not for cuda:sm_80"):
        take_devices(module, parse_target("cuda:sm_80"))
    take_devices(module, HOST)
    assert "@dev" not in str(module)


def test_code_of_another_target():
    text = """func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hal.dispatch.extern "k"(%a) : (tensor<4xf32>) -> tensor<4xf32>
    count(%device: !hal.device) -> (index, index, index) {
      %c1 = arith.constant 1 : index
      hal.return %c1, %c1, %c1 : index, index, index
    }
    layout(#hal.pipeline.layout<bindings = [
      #hal.pipeline.binding<storage_buffer, ReadOnly>, #hal.pipeline.binding<storage_buffer>]>)
    objects({#hal.executable.target<"cuda", "cuda-nvptx-fb"> ordinal(0) = [
      #hal.executable.object<{path = "k.ptx", data = dense<1> : tensor<2xi8>}>]})
  return %0 : tensor<4xf32>
}"""
    with pytest.raises(UsageError, match=r"hal\.dispatch\.extern of the program is for cuda"):
        take_devices(ir.Module.parse(text, new_context()), HOST)
    (dispatch,) = extract_here(text.encode(), "k.mlir", parse_target("cuda:sm_80")).dispatches
    assert "as an object" in dispatch.reason


def test_a_module_in_a_module():
    program = load_program(f'module @"<outer>" {{\n module @inner {{\n{FUNCTION}\n}}\n}}')
    assert [entry.name for entry in entries_of(program)] == ["main"]
    assert load_program(FUNCTION).data == FUNCTION.encode()
    with pytest.raises(UsageError, match='2 modules: "a", without a name'):
        load_program(f"module @a {{\n{FUNCTION}\n}}\nmodule {{\n{FUNCTION}\n}}")


@pytest.mark.parametrize("data", [b"PK\x03\x04rest", b"\x00\x00\x00\x00IREErest"])
def test_a_compiled_module(data):
    with pytest.raises(UsageError, match="a compiled module"):
        load_program(data)


def test_errors_name_the_file():
    text = b"""func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "tosa.custom"(%a) {operator_name = "x", domain_name = "d", implementation_attrs = ""}
      : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}"""
    with pytest.raises(CompileError, match=r"^a b\.mlir:2:8: compiling to a VM module failed: "):
        run_phases(text, "a b.mlir", HOST, stop=None, output="vmfb")


@pytest.mark.parametrize(
    ("chip", "machine"),
    some([("aarch64-cortex-x3", 183), ("aarch64", 183), ("riscv64", 243), ("riscv64-sifive-x280", 243)], 4),
)
def test_other_processors(chip, machine):
    data = run_phases(
        FUNCTION.encode(), "p.mlir", parse_target(f"llvm-cpu:{chip}"), stop=None, output="vmfb"
    ).data
    start = data.index(b"\x7fELF\x02")
    assert int.from_bytes(data[start + 18 : start + 20], "little") == machine
    with pytest.raises(UsageError, match=f"not {chip.partition('-')[0]} code"):
        target_for_device("local-task", chip)
