"""Executables are loaded ahead, in workers of their own."""

import time
from concurrent.futures import Future

import pytest
from whole_programs import WITH_PARAMETERS

from iree_tuner.compiler.worker import Workers
from iree_tuner.device.program_request import request
from iree_tuner.measure import builder as loader_module
from iree_tuner.measure.builder import Builder, Loader, load_here, loader_for
from iree_tuner.program.phases import compile_program
from iree_tuner.program.source import load_program


def hang(vmfb, device, wanted=()):
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


def test_a_program_with_parameters_loads_ahead(cpu, compilers, monkeypatch):
    """They are zero: archives are not read for it."""
    program = load_program(WITH_PARAMETERS)
    wanted = request(program).wanted
    assert wanted
    made = compile_program(program, cpu, compilers).data
    monkeypatch.setattr(loader_module, "RUNTIME_ERRORS", ())
    load_here(made, "local-task", wanted)
    with pytest.raises(ValueError, match="io_parameters"):
        load_here(made, "local-task")
    monkeypatch.setattr(loader_module, "_MOST_BLANK", 16)
    load_here(b"too large to be looked at", "local-task", wanted)
    compiling, calls = Future(), Calls()
    Loader("cuda://0", calls).load_ahead(compiling, bytes.upper, wanted)
    assert not calls.made
    compiling.set_result(b"made")
    assert calls.made == [(loader_module.load_here, b"MADE", "cuda://0", wanted)]


class Calls:
    """Notes what is submitted."""

    def __init__(self):
        self.made = []

    def submit(self, *call, timeout_s):
        self.made.append(call)


def test_a_driver_that_takes_too_long(loader, monkeypatch):
    monkeypatch.setattr(loader_module, "load_here", hang)
    assert not loader.result(loader.submit(b"", 0.2))


def test_only_where_loading_compiles():
    assert loader_for("local-task", 8) is None
    assert loader_for("vulkan", 8) is None
    made = loader_for("cuda://0", 8)
    assert made is not None
    made.close()
