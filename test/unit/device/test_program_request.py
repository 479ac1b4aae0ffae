"""What programs are run with: archives, files and numbers, and what is said of those that do not fit."""

import json
import pickle
from dataclasses import replace

import iree.runtime as rt
import numpy as np
import pytest
from whole_programs import WITH_PARAMETERS

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.session import parse_module
from iree_tuner.device.program_loaded import LoadedProgram
from iree_tuner.device.program_parameters import generate, stored_bytes
from iree_tuner.device.program_request import request, sized_as_given
from iree_tuner.device.program_run import Filled
from iree_tuner.errors import TunerError
from iree_tuner.program.dynamic import sized, sizes_of
from iree_tuner.program.entries import entries_of
from iree_tuner.program.parameters import Parameter, parameters_in
from iree_tuner.program.phases import compile_program
from iree_tuner.program.source import load_program

PROGRAM = load_program(WITH_PARAMETERS)
W = np.arange(128, dtype=np.float32).reshape(16, 8)
B = np.linspace(-1, 1, 8, dtype=np.float32)


def results_here(path, run):
    """Of the first invocation."""
    return LoadedProgram(path, "local-task", run).results()[0]


def archive(path, **values):
    index = rt.ParameterIndex()
    for key, value in values.items():
        index.add_buffer(key, value)
    index.create_archive_file(str(path))
    return str(path)


@pytest.fixture(scope="module")
def vmfb(cpu, compilers, tmp_path_factory):
    path = tmp_path_factory.mktemp("programs") / "program.vmfb"
    path.write_bytes(compile_program(PROGRAM, cpu, compilers).data)
    return str(path)


def test_a_program_tells_its_parameters_and_entries():
    module = parse_module(PROGRAM.data, new_context(), PROGRAM.name)
    assert parameters_in(module) == (
        Parameter("model", "w", (16, 8), "f32"),
        Parameter("model", "b", (8,), "f32"),
    )
    told = {entry.name: list(map(str, entry.inputs)) for entry in entries_of(PROGRAM)}
    assert told == {"main": ["4x16xf32"], "accumulate": ["4x8xf32", "f32"], "open": ["?x8xf32"]}


def test_a_run_is_plain_data():
    run = request(PROGRAM, ["main"], [Filled((4, 16), "f32", 0.5)])
    assert pickle.loads(pickle.dumps(run)) == run
    assert len({run, pickle.loads(pickle.dumps(run))}) == 1


def test_given_parameters_and_inputs_are_those_that_are_used(vmfb, compilers, tmp_path):
    x = np.random.default_rng(0).standard_normal((4, 16)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    parameters = [("model", archive(tmp_path / "w.irpa", w=W)), (None, archive(tmp_path / "b.irpa", b=B))]
    run = request(PROGRAM, ["main"], [str(tmp_path / "x.npy")], parameters)
    (result,) = compilers.call(results_here, vmfb, run)
    np.testing.assert_allclose(result, x @ W + B, rtol=1e-5, atol=1e-3)


def test_safetensors_are_archives_too(vmfb, compilers, tmp_path):
    header = json.dumps({
        "w": {"dtype": "F32", "shape": [16, 8], "data_offsets": [0, 512]},
        "b": {"dtype": "F32", "shape": [8], "data_offsets": [512, 544]},
    }).encode()  # fmt: skip
    path = tmp_path / "weights.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + W.tobytes() + B.tobytes())
    run = request(PROGRAM, ["main"], [1.0], [("model", str(path))])
    (result,) = compilers.call(results_here, vmfb, run)
    np.testing.assert_allclose(result, np.ones((4, 16), np.float32) @ W + B, rtol=1e-5)


def test_what_an_archive_lacks_is_generated(vmfb, compilers, tmp_path):
    run = request(PROGRAM, ["main"], [1.0], [(None, archive(tmp_path / "b.irpa", b=B))])
    (result,) = compilers.call(results_here, vmfb, run)
    weights = generate(Parameter("model", "w", (16, 8), "f32"))
    np.testing.assert_allclose(result, np.ones((4, 16), np.float32) @ weights + B, rtol=1e-5, atol=1e-5)


def test_numbers_and_sizes_make_inputs(vmfb, compilers):
    run = request(PROGRAM, ["accumulate", "open"], [Filled((4, 8), "f32", 2.0), 3])
    with pytest.raises(TunerError, match="dynamic sizes: set them with --dim 128"):
        compilers.call(results_here, vmfb, run)
    run = request(sized(PROGRAM, ["5"]), ["accumulate", "open"], [Filled((4, 8), "f32", 2.0), 3])
    summed, roots = compilers.call(results_here, vmfb, run)
    assert np.array_equal(summed, np.full((4, 8), 6.0, np.float32))
    assert roots.shape == (5, 8)


TORCH = """
func.func @main(%a: !torch.vtensor<[3,4],f32>, %b: !torch.vtensor<[4],si64>) -> !torch.vtensor<[3,4],f32> {
  %one = torch.constant.int 1
  %r = torch.aten.add.Tensor %a, %b, %one
      : !torch.vtensor<[3,4],f32>, !torch.vtensor<[4],si64>, !torch.int -> !torch.vtensor<[3,4],f32>
  return %r : !torch.vtensor<[3,4],f32>
}
"""


def test_programs_from_torch_are_run(cpu, every_dialect, tmp_path):
    """What is compiled of them says nothing of its inputs."""
    program = load_program(TORCH)
    path = tmp_path / "torch.vmfb"
    path.write_bytes(compile_program(program, cpu, every_dialect).data)
    (result,) = every_dialect.call(results_here, str(path), request(program, inputs=[0.5, 3]))
    assert np.array_equal(result, np.full((3, 4), 3.5, np.float32))


def test_every_function_that_can_be_run_is(vmfb, compilers):
    assert len(compilers.call(results_here, vmfb, request(PROGRAM))) == 2
    assert len(compilers.call(results_here, vmfb, request(sized(PROGRAM, ["5"])))) == 3


@pytest.mark.parametrize(
    ("functions", "inputs", "says"),
    [
        (["mian"], [], "no entry function 'mian' (did you mean main?)"),
        (["zzz"], [], "no entry function 'zzz' (one of: main, accumulate, open)"),
        ([], [1, 2], "wrong number of inputs for @main: 2 instead of 1 (--function selects the function)"),
        ([], ["missing.npy"], "missing.npy: no such file"),
        ([], ["{folder}/f64.npy"], "f64.npy: input 0 must have the type 4x16xf32, but has 4x16xf64"),
        ([], ["{folder}/short.npy"], "short.npy: input 0 must have the type 4x16xf32, but has 4xf32"),
        ([], ["{folder}/text.npy"], "text.npy: not a .npy file that can be read"),
        ([], [Filled((4, 4), "f32", 0)], "input 0 must have the type 4x16xf32, but has 4x4xf32"),
        ([], [Filled((4, 16), "g32", 0)], "type g32 is not supported"),
    ],
)
def test_inputs_that_do_not_fit_are_told(functions, inputs, says, tmp_path):
    np.save(tmp_path / "f64.npy", np.zeros((4, 16)))
    np.save(tmp_path / "short.npy", np.zeros(4, np.float32))
    (tmp_path / "text.npy").write_text("1 2 3")
    given = [each.format(folder=tmp_path) if isinstance(each, str) else each for each in inputs]
    with pytest.raises(TunerError) as caught:
        request(PROGRAM, functions, given)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("scope", "name", "says"),
    [
        (None, "missing.irpa", "missing.irpa: no such file"),
        ("modle", "good.irpa", "no parameter of the program has the scope 'modle' (did you mean 'model'?)"),
        ("model", "text.irpa", "text.irpa: cannot read the parameters: "),
        (
            "model",
            "other.irpa",
            "other.irpa: the archive has none of the program's parameters, such as model::w",
        ),
        ("model", "short.irpa", "short.irpa: parameter model::w has 256 bytes, but the program needs 512"),
    ],
)
def test_archives_that_do_not_fit_are_told(scope, name, says, tmp_path):
    archive(tmp_path / "good.irpa", w=W)
    archive(tmp_path / "other.irpa", v=W)
    archive(tmp_path / "short.irpa", w=W[:8])
    (tmp_path / "text.irpa").write_text("weights")
    with pytest.raises(TunerError) as caught:
        request(PROGRAM, parameters=[(scope, str(tmp_path / name))])
    assert says in str(caught.value)


def test_a_program_without_parameters_takes_no_archive(tmp_path):
    path = archive(tmp_path / "w.irpa", w=W)
    with pytest.raises(TunerError, match="the program takes no parameters"):
        request(load_program("func.func @f(%x: f32) -> f32 { return %x : f32 }"), parameters=[(None, path)])


@pytest.mark.parametrize("kind", ["f32", "f16", "bf16", "f8E4M3FN", "i8", "i4", "i1", "i64", "f64"])
def test_generated_parameters_have_the_bytes_that_are_wanted(kind):
    parameter = Parameter("", "w", (33, 3), kind)
    values = generate(parameter)
    assert values.nbytes == stored_bytes(parameter)
    assert np.array_equal(values.view(np.uint8), generate(parameter).view(np.uint8))


def test_weights_keep_values_of_one_size():
    """Thirty layers of them: neither overflow nor zeros, which would hide wrong results."""
    x = np.ones((1, 256), np.float32)
    for layer in range(30):
        x = x @ generate(Parameter("", f"layer{layer}", (256, 256), "f32"))
    assert 1e-3 < np.abs(x).mean() < 1e3


def three_at_once(path, run):
    """What `accumulate` gives after three invocations, of which only the last was waited for."""
    program = LoadedProgram(path, "local-task", replace(run, keeps_state=False))  # results do not begin anew
    assert program.batch(3, in_flight=True) > 0
    return program.results()[0]


def begun_anew(path, run):
    """What it gives after three invocations, as results begin from the state after loading."""
    program = LoadedProgram(path, "local-task", run)
    assert program.batch(3, in_flight=True) > 0
    return program.results()[0]


def test_functions_with_fences_run_one_after_the_other(vmfb, cpu, compilers, tmp_path):
    """A program that keeps a sum: what is in flight may not overtake what is before it."""
    fenced = replace(cpu, flags=(*cpu.flags, "--iree-execution-model=async-external"))
    path = tmp_path / "fenced.vmfb"
    path.write_bytes(compile_program(PROGRAM, fenced, compilers).data)
    run = request(PROGRAM, ["accumulate"], [Filled((4, 8), "f32", 0.5), 2.0])
    expected = compilers.call(three_at_once, vmfb, run)
    found = compilers.call(three_at_once, str(path), run)
    np.testing.assert_array_equal(found[0], expected[0])
    once = compilers.call(results_here, str(path), run)
    assert not np.array_equal(once[0], found[0]), "each invocation adds to the sum"
    assert run.keeps_state
    np.testing.assert_array_equal(compilers.call(begun_anew, vmfb, run)[0], once[0])


def test_weights_of_functions_that_are_called_are_weights():
    text = """
    func.func @main(%x: tensor<4x64xf16>, %w: tensor<64x32xf16>, %v: tensor<32x8xf16>) -> tensor<4x8xf16> {
      %y = call @first(%x, %w) : (tensor<4x64xf16>, tensor<64x32xf16>) -> tensor<4x32xf16>
      %z = call @second(%y, %v) : (tensor<4x32xf16>, tensor<32x8xf16>) -> tensor<4x8xf16>
      return %z : tensor<4x8xf16>
    }
    func.func private @first(%x: tensor<4x64xf16>, %w: tensor<64x32xf16>) -> tensor<4x32xf16> {
      %y = stablehlo.dot %x, %w : (tensor<4x64xf16>, tensor<64x32xf16>) -> tensor<4x32xf16>
      return %y : tensor<4x32xf16>
    }
    func.func private @second(%x: tensor<4x32xf16>, %w: tensor<32x8xf16>) -> tensor<4x8xf16> {
      %y = stablehlo.dot %x, %w : (tensor<4x32xf16>, tensor<32x8xf16>) -> tensor<4x8xf16>
      return %y : tensor<4x8xf16>
    }"""
    (entry,) = entries_of(load_program(text))
    assert [feed.summed for feed in entry.feeds] == [0, 64, 32]


def test_sizes_of_given_inputs_are_sizes_of_the_program():
    program = load_program("func.func @main(%a: tensor<?x4xf32>, %b: tensor<4x?xf32>) { return }")
    inputs = (Filled((6, 4), "f32", 1.0), None)
    found, run = sized_as_given(program, request(program, inputs=inputs))
    assert {each.dimension: each.size for each in sizes_of(found)} == {(0, 0): 6}
    assert run.sizes == sizes_of(found)
    own = sized(program, ("1.1=3",))
    both, _ = sized_as_given(own, request(own, inputs=inputs))
    assert {each.dimension: each.size for each in sizes_of(both)} == {(0, 0): 6, (1, 1): 3}
    assert sized_as_given(program, request(program)) == (program, request(program))
