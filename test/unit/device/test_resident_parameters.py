"""Parameters that programs share in a device's memory. The CPU stands for a device with its own."""

import gc
import weakref
from dataclasses import replace

import iree.runtime as rt
import numpy as np
import pytest

from iree_tuner.device import program_parameters
from iree_tuner.device.memory import hal_type, read_back, uploaded
from iree_tuner.device.program_parameters import ResidentParameters, with_parameters
from iree_tuner.device.program_request import request
from iree_tuner.program.phases import compile_program
from iree_tuner.program.source import load_program
from iree_tuner.targets.runtime import device_for

WEIGHTS = """
module @program {
util.global private @w = #flow.parameter.named<"model"::"w"> : tensor<24x40xf32>
util.global private @b = #flow.parameter.named<"model"::"b"> : tensor<40xf32>
util.global private @s = #flow.parameter.named<"other"::"s"> : tensor<40xf32>
func.func @main(%x: tensor<3x24xf32>) -> tensor<3x40xf32> {
  %w = util.global.load @w : tensor<24x40xf32>
  %b = util.global.load @b : tensor<40xf32>
  %s = util.global.load @s : tensor<40xf32>
  %sum = arith.addf %b, %s : tensor<40xf32>
  %empty = tensor.empty() : tensor<3x40xf32>
  %init = linalg.broadcast ins(%sum : tensor<40xf32>) outs(%empty : tensor<3x40xf32>) dimensions = [0]
  %r = linalg.matmul ins(%x, %w : tensor<3x24xf32>, tensor<24x40xf32>)
       outs(%init : tensor<3x40xf32>) -> tensor<3x40xf32>
  return %r : tensor<3x40xf32>
}
}
"""
COUNTER = """
module @program {
util.global private mutable @w = #flow.parameter.named<"model"::"w"> : tensor<40xf32>
func.func @main(%x: tensor<40xf32>) -> tensor<40xf32> {
  %w = util.global.load @w : tensor<40xf32>
  %r = arith.addf %w, %x : tensor<40xf32>
  util.global.store %r, @w : tensor<40xf32>
  return %r : tensor<40xf32>
}
}
"""
DISCRETE = """module @program attributes {stream.resources = #stream.resource_config<{
  max_allocation_size = 1073741824, min_buffer_offset_alignment = 64, max_buffer_range = 1073741824,
  min_buffer_range_alignment = 64, memory_model = Discrete
}>}"""
"""The compiler then packs parameters, and has them gathered."""


@pytest.fixture
def archives(tmp_path):
    """A file for each scope: values, and one number again and again."""
    rng = np.random.default_rng(1)
    w, b = rng.standard_normal((24, 40), np.float32), rng.standard_normal(40, np.float32)
    for name, index in (("model", rt.ParameterIndex()), ("other", rt.ParameterIndex())):
        if name == "model":
            index.add_buffer("b", b.view(np.uint8))
            index.add_buffer("w", w.reshape(-1).view(np.uint8))
        else:
            index.add_splat("s", np.float32(2.5).tobytes(), 160)
        index.create_archive_file(str(tmp_path / f"{name}.irpa"))
    paths = tuple((name, str(tmp_path / f"{name}.irpa")) for name in ("model", "other"))
    return paths, w, b


@pytest.fixture
def sent(monkeypatch):
    """The sizes of what is copied to the device."""
    sizes = []

    def noted(device, values):
        sizes.append(values.nbytes)
        return uploaded(device, values)

    monkeypatch.setattr(program_parameters, "uploaded", noted)
    program_parameters.forget_parameters()
    return sizes


def function_of(text, run, cpu, compilers):
    """The program's function, loaded beside a device's parameters."""
    program = load_program(text)
    vmfb = compile_program(program, cpu, compilers).data
    config, hal = device_for("local-task")
    module = rt.VmModule.copy_buffer(config.vm_instance, vmfb)
    _, context = with_parameters(run, config.vm_instance, config.device, [hal, module])
    return rt.FunctionInvoker(context, config.device, module.lookup_function("main"))


@pytest.mark.parametrize("module", ["module @program", DISCRETE], ids=["loaded", "gathered"])
def test_programs_share_parameters(module, archives, sent, cpu, compilers):
    text, (paths, w, b) = WEIGHTS.replace("module @program", module), archives
    run = request(load_program(WEIGHTS), parameters=paths)
    x = np.random.default_rng(2).standard_normal((3, 24), np.float32)
    for _ in range(3):
        found = function_of(text, run, cpu, compilers)(x).to_host()
        np.testing.assert_allclose(found, x @ w + b + np.float32(2.5), rtol=1e-5, atol=1e-5)
    assert sorted(sent) == [160, 160, 3840]


def test_their_memory_is_released_with_the_last_program(sent, cpu, compilers):
    run = request(load_program(WEIGHTS))
    function = function_of(WEIGHTS, run, cpu, compilers)
    device = device_for("local-task")[0].device
    held = weakref.ref(program_parameters._resident(device, run.parameters, run.wanted))
    program_parameters.forget_parameters()
    gc.collect()
    assert held() is not None
    del function
    gc.collect()
    assert held() is None
    assert sent


def test_a_program_begins_with_what_others_have_not_changed(archives, sent, cpu, compilers):
    paths, w, b = archives
    run = request(load_program(WEIGHTS), parameters=paths)
    x = np.random.default_rng(3).standard_normal((3, 24), np.float32)
    before = function_of(WEIGHTS, run, cpu, compilers)
    own = program_parameters._resident(device_for("local-task")[0].device, run.parameters, run.wanted)
    own.changed = True  # as `_scatter` says
    for function in (before, function_of(WEIGHTS, run, cpu, compilers)):
        np.testing.assert_allclose(function(x).to_host(), x @ w + b + np.float32(2.5), rtol=1e-5, atol=1e-5)
    assert sorted(sent) == [160, 160, 160, 160, 3840, 3840]


def test_a_device_that_does_not_take_them_gets_copies(archives, sent, monkeypatch, cpu, compilers):
    def fail(*_):
        raise RuntimeError("planted")

    paths, w, b = archives
    run = request(load_program(WEIGHTS), parameters=paths)
    monkeypatch.setattr(ResidentParameters, "_load", fail)
    x = np.ones((3, 24), np.float32)
    found = function_of(WEIGHTS, run, cpu, compilers)(x).to_host()
    np.testing.assert_allclose(found, x @ w + b + np.float32(2.5), rtol=1e-5, atol=1e-5)
    assert not sent


def test_what_a_program_changes_is_its_own(archives, sent, cpu, compilers):
    del sent
    paths, _, b = archives
    run = replace(request(load_program(COUNTER)), parameters=paths[:1])
    key = run.wanted[0]
    run = replace(run, wanted=(replace(key, key="b"),))
    text, one = COUNTER.replace('"w"', '"b"'), np.ones(40, np.float32)
    first, second = (function_of(text, run, cpu, compilers) for _ in range(2))
    np.testing.assert_array_equal(first(one).to_host(), b + 1)
    np.testing.assert_array_equal(first(one).to_host(), b + 1 + 1)
    np.testing.assert_array_equal(second(one).to_host(), b + 1)


def test_generated_parameters_are_those_of_the_host(sent, cpu, compilers):
    run = request(load_program(WEIGHTS))
    x = np.ones((3, 24), np.float32)
    found = function_of(WEIGHTS, run, cpu, compilers)(x).to_host()
    named = {each.key: program_parameters.generate(each) for each in run.wanted}
    w, b, s = (np.frombuffer(named[key].tobytes(), np.float32) for key in "wbs")
    np.testing.assert_allclose(found, x @ w.reshape(24, 40) + b + s, rtol=1e-5, atol=1e-5)
    assert len(sent) == 3


def test_a_parameter_that_is_in_no_archive(archives, sent, cpu, compilers):
    paths, _, _ = archives
    run = replace(request(load_program(WEIGHTS), parameters=paths[:1]), wanted=())
    with pytest.raises(ValueError, match=r"NOT_FOUND; no provider .* scopes like 'other'"):
        function_of(WEIGHTS, run, cpu, compilers)
    assert 3840 in sent


def buffer_of(values):
    """A buffer of the VM."""
    data = np.asarray(values).tobytes()
    found = rt.VmBuffer(len(data))
    memoryview(found)[:] = data
    return found.ref


def test_parameters_that_a_program_writes(archives):
    paths, _, b = archives
    device = device_for("local-task")[0].device
    index = program_parameters.load_index([paths[0][1]])
    held = ResidentParameters(device, [("model", index)])
    source = uploaded(device, np.arange(40, dtype=np.float32))
    nothing = buffer_of(np.zeros(1, np.uint8))
    spans = buffer_of(
        np.array([[8, 16, 12]], np.uint64)
    )  # bytes 16 to 28 of the source, behind 8 of the parameter
    table, keys, scope = buffer_of(np.array([[0, 1]], np.uint32)), buffer_of([b"b"]), buffer_of([b"model"])
    held._scatter(nothing, 0, nothing, nothing, source.ref, scope, table, keys, spans)
    view = rt.HalBufferView(held._whole(("model", "b")), [40], hal_type("f32"))
    expected = b.copy()
    expected[2:5] = [4, 5, 6]
    np.testing.assert_array_equal(read_back(device, view), expected)
    assert held.changed
