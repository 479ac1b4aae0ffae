"""What is handed to a GPU, and waited for, with a PyTorch that only writes it down."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

torch_running = pytest.importorskip(
    "iree_tuner.suite.backends.torch_running", reason="torch is not installed", exc_type=ImportError
)


class Gpu:
    """Counts calls, and stands for `torch`, its streams and its graphs."""

    def __init__(self, can_capture=True):
        self.can_capture = can_capture
        self.done, self.waited, self.log = [], 0, []
        self.capturing = None
        gpu = self

        class Graph:
            def __init__(self):
                self.calls = []

            def replay(self):
                gpu.log.append("replay")
                gpu.done += self.calls

        class Stream:
            def __init__(self, device):
                self.device = device

            def synchronize(self):
                gpu.waited += 1
                gpu.log.append("wait")

        @contextmanager
        def graph(target, stream, capture_error_mode):
            assert capture_error_mode == "thread_local"
            if not gpu.can_capture:
                raise RuntimeError("operation not permitted when stream is capturing\nmore")
            gpu.capturing = target.calls
            yield
            gpu.capturing = None

        @contextmanager
        def entered(*args):
            yield

        self.cuda = SimpleNamespace(
            CUDAGraph=Graph, Stream=Stream, graph=graph, stream=entered, synchronize=lambda device: None
        )
        self.inference_mode = entered

    def call(self, copy):
        if self.capturing is not None:
            self.capturing.append(copy)
        else:
            self.log.append("call")
            self.done.append(copy)
        return copy


@pytest.fixture
def calls(monkeypatch):
    def make(copies, graph, **more):
        gpu = Gpu(**more)
        monkeypatch.setattr(torch_running, "torch", gpu)
        monkeypatch.setattr(torch_running, "array_of", lambda result, kind: (result, kind))
        found = torch_running.GpuCalls("cuda:0", gpu.call, range(copies), "f32", graph=graph)
        gpu.done.clear()
        gpu.log.clear()
        return gpu, found

    return make


def test_each_call_is_waited_for(calls):
    gpu, found = calls(3, graph=False)
    found.run(5)
    assert gpu.done == [0, 1, 2, 0, 1]
    assert gpu.log == ["wait"] + ["call", "wait"] * 5
    assert found.note == ""


@pytest.mark.parametrize("copies", [1, 3, 64, 100])
@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 1000])
def test_calls_are_handed_over_as_graphs_and_waited_for_at_the_end(calls, copies, count):
    gpu, found = calls(copies, graph=True)
    found.run(count)
    assert len(gpu.done) == count
    in_graph = copies * -(-64 // copies)
    assert gpu.log.count("replay") == count // in_graph
    assert gpu.log[-1] == "wait"
    assert gpu.waited - 1 >= 2
    assert gpu.log.count("wait") == 2  # before and after
    assert all(gpu.done.count(copy) in (count // copies, count // copies + 1) for copy in range(copies))


def test_few_calls_go_on_with_the_next_copy(calls):
    """Else those of a long operation would always find the same copies, in the caches."""
    gpu, found = calls(100, graph=True)
    for _ in range(3):
        found.run(2)
    assert gpu.done == [0, 1, 2, 3, 4, 5]


def test_without_a_graph_calls_are_handed_over_one_by_one(calls):
    gpu, found = calls(2, graph=True, can_capture=False)
    assert "no CUDA graph" in found.note
    assert "\n" not in found.note
    found.run(5)
    assert gpu.log == ["wait", *["call"] * 5, "wait"]


def test_the_result_is_that_of_the_first_copy(calls):
    _, found = calls(3, graph=True)
    found.run(7)
    assert found.result() == (0, "f32")
