"""Executables are loaded ahead, in workers of their own."""

import time
from concurrent.futures import Future

import pytest
from once import each_once  # noqa: F401 (a fixture)
from whole_programs import WITH_PARAMETERS

from iree_tuner.compiler.worker import Workers
from iree_tuner.measure import candidate as loader_module
from iree_tuner.measure.candidate import Builder, Loader, load_here, loader_for
from iree_tuner.program.phases import compile_program
from iree_tuner.program.source import load_program
from iree_tuner.targets import parse_target


def hang(vmfb, device):
    time.sleep(60)


@pytest.fixture
def loader():
    with Workers(1, memory_bytes=None) as workers:
        yield Loader("local-task", workers)


def test_what_loads_and_what_does_not(loader, only_dispatch, cpu, compilers):
    dispatch = only_dispatch(
        "func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> "
        "{ %r = arith.addf %a, %a : tensor<4xf32> return %r : tensor<4xf32> }"
    )
    built = Builder(cpu, compilers).build(dispatch.harness, None)
    assert built.outcome == "ok"
    assert loader.result(loader.submit(built.vmfb, 30.0))
    assert loader.result(loader.submit(b"no module", 30.0)), "the measuring worker tells of it"


def test_of_a_program_with_parameters_the_code_alone_is_loaded(cpu, compilers, monkeypatch):
    made = compile_program(load_program(WITH_PARAMETERS), cpu, compilers).data
    load_here(made, "local-task")
    monkeypatch.setattr(loader_module, "RUNTIME_ERRORS", ())
    with pytest.raises(RuntimeError, match="parameters are withheld"):
        load_here(made, "local-task")


def test_code_comes_before_parameters(compilers):
    """What `withheld_parameters` relies on."""
    program, target = load_program(WITH_PARAMETERS), parse_target("cuda:sm_80")
    text = compile_program(program, target, compilers, stop="vm", output="text").data.decode()
    begin = text.index("vm.func private @__init")
    assert text.index("@hal.executable.create", begin) < text.index("@io_parameters.load", begin)


def test_ahead_of_its_use():
    compiling, calls = Future(), Calls()
    loading = Loader("cuda://0", calls).load_ahead(compiling, bytes.upper)
    assert not calls.made
    compiling.set_result(b"made")
    assert calls.made == [(loader_module.load_here, b"MADE", "cuda://0")]
    assert not loading.done()
    calls.future.set_result(None)
    assert loading.done()


@pytest.mark.parametrize("end", ["cancelled", "failed", "nothing", "large"])
def test_what_is_not_loaded_ahead_is_not_waited_for(end, monkeypatch):
    monkeypatch.setattr(loader_module, "_MOST_SENT", 8)
    compiling, calls = Future(), Calls()
    loading = Loader("cuda://0", calls).load_ahead(compiling, bytes.upper)
    match end:
        case "cancelled":
            compiling.cancel()
            compiling.set_running_or_notify_cancel()
        case "failed":
            compiling.set_exception(ValueError())
        case _:
            compiling.set_result(b"" if end == "nothing" else b"larger than that")
    assert loading.done()
    assert not calls.made


def test_nor_what_comes_after_the_end():
    with Workers(1, memory_bytes=None) as workers:
        loader = Loader("cuda://0", workers)
    compiling = Future()
    loading = loader.load_ahead(compiling, bytes.upper)
    compiling.set_result(b"made")
    assert loading.done()


class Calls:
    """Notes what is submitted."""

    def __init__(self):
        self.made = []
        self.future = Future()

    def submit(self, *call, timeout_s):
        self.made.append(call)
        return self.future


def test_a_driver_that_takes_too_long(loader, monkeypatch):
    monkeypatch.setattr(loader_module, "load_here", hang)
    assert not loader.result(loader.submit(b"", 0.2))


def test_only_where_loading_compiles():
    assert loader_for("local-task", 8) is None
    assert loader_for("vulkan", 8) is None
    made = loader_for("cuda://0", 8)
    assert made is not None
    made.close()
