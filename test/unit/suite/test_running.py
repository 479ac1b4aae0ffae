"""How libraries run what they have loaded: copies in turn, what they wait for, devices that are not there."""

from dataclasses import replace

import numpy as np
import pytest
from made_operations import Made, arrays
from test_primitives import agrees, saved

from iree_tuner.suite.backends.backend import Conditions, Job, LoadedCalls, backend, device_number
from iree_tuner.suite.operation import CannotError


@pytest.mark.parametrize(
    ("waits", "each", "expected"),
    [
        (False, True, ["call 0", "call 1", "call 0"]),
        (True, True, ["call 0", "wait 0", "call 1", "wait 1", "call 0", "wait 0"]),
        (True, False, ["call 0", "call 1", "call 0", "wait 0"]),
    ],
)
def test_calls_go_round_the_copies(waits, each, expected):
    log = []

    def call(copy):
        log.append(f"call {copy}")
        return copy

    def wait(result):
        log.append(f"wait {result}")

    calls = LoadedCalls(call, [0, 1], wait=wait if waits else None, read=np.asarray, each=each)
    assert calls.run(0) >= 0
    assert log == []
    calls.run(3)
    assert log == expected
    calls.run(1)
    assert "call 1" in log[-2:]
    assert calls.result() == 0


@pytest.mark.parametrize("name", ["torch", "onnxruntime", "jax"])
@pytest.mark.parametrize("timing", ["call", "device"])
def test_both_ways_of_timing_give_the_result(name, timing, tmp_path):
    if why := backend(name).missing("local-task"):
        pytest.skip(why)
    operation = Made(case="matmul f32")
    conditions = Conditions(threads=1, timing=timing)
    running = backend(name).load(Job(operation, saved(operation, tmp_path), "local-task", conditions, 3))
    assert running.run(7) > running.run(0) >= 0
    agrees(operation, running.result(), arrays(operation))


def test_pytorch_compiles_an_operation_as_a_whole(tmp_path):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    compiled = backend("torch-compiled")
    if why := compiled.missing("local-task"):
        pytest.skip(why)
    operation = Made(case="attention mask causal")
    job = Job(operation, saved(operation, tmp_path), "local-task", Conditions(threads=1), 2)
    running = compiled.load(job)
    agrees(operation, running.result(), arrays(operation))
    running.run(4)
    graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    assert graphs == 1
    refused = Made(case="convolution i8")
    with pytest.raises(CannotError, match="PyTorch has no convolution"):
        compiled.load(replace(job, operation=refused, inputs=saved(refused, tmp_path)))


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (NotImplementedError("no rule for it\nmore"), CannotError),
        (RuntimeError("UNIMPLEMENTED: no such product\nmore"), CannotError),
        (RuntimeError("INTERNAL: a bug"), RuntimeError),
    ],
)
def test_what_xla_has_not_is_no_failure(error, state, tmp_path, monkeypatch):
    pytest.importorskip("jax", reason="jax is not installed")
    from iree_tuner.suite.backends.jax_primitives import JaxPrimitives

    def matmul(self, a, b, element_type):
        raise error

    monkeypatch.setattr(JaxPrimitives, "matmul", matmul)
    operation = Made(case="matmul f32")
    with pytest.raises(state) as caught:
        backend("jax").load(Job(operation, saved(operation, tmp_path), "local-task", Conditions()))
    assert state is RuntimeError or "more" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("torch", "finds no GPU: it may be built without CUDA or ROCm"),
        ("onnxruntime", "no kernels for CUDA: pip install onnxruntime-gpu"),
        ("jax", "finds no device cuda://0"),
    ],
)
def test_a_device_that_a_library_is_not_built_for(name, why, tmp_path):
    module = pytest.importorskip(name, reason=f"{name} is not installed")
    if name == "torch" and module.cuda.is_available():
        pytest.skip("there is a GPU")
    if name == "onnxruntime" and "CUDAExecutionProvider" in module.get_available_providers():
        pytest.skip("it has kernels for CUDA")
    if name == "jax" and any(each.platform == "gpu" for each in module.devices()):
        pytest.skip("there is a GPU")
    operation = Made(case="matmul f32")
    job = Job(operation, saved(operation, tmp_path), "cuda://0", Conditions())
    with pytest.raises(CannotError, match=why) as caught:
        backend(name).load(job)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("uri", "number"), [("cuda", 0), ("cuda://", 0), ("cuda://0", 0), ("hip://3", 3)])
def test_devices_by_number(uri, number):
    assert device_number(uri) == number


def test_devices_by_another_name():
    with pytest.raises(CannotError, match="by number only, not by cuda://GPU-1"):
        device_number("cuda://GPU-1")
