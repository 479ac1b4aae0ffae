"""Executables are loaded ahead, in workers of their own."""

import time

import pytest

from iree_tuner.compiler.worker import Workers
from iree_tuner.measure import builder as loader_module
from iree_tuner.measure.builder import Builder, Loader, loader_for


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


def test_a_driver_that_takes_too_long(loader, monkeypatch):
    monkeypatch.setattr(loader_module, "load_here", hang)
    assert not loader.result(loader.submit(b"", 0.2))


def test_only_where_loading_compiles():
    assert loader_for("local-task", 8) is None
    assert loader_for("vulkan", 8) is None
    made = loader_for("cuda://0", 8)
    assert made is not None
    made.close()
