"""The compiler's constraints are taken in a worker; whatever goes wrong there is a note."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from contractions import Matmul
from gpu_workloads import grouped_channels_first
from iree.compiler import ir

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Workers, session_for
from iree_tuner.program.bindings import Harness
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.space import emitted
from iree_tuner.space.emitted import emit
from iree_tuner.space.families import ContractionSpaces
from iree_tuner.targets import Target, parse_target

GFX942 = parse_target("hip:gfx942")
CONSTRAINTS = "iree_codegen.smt.constraints"


@pytest.fixture(scope="module")
def workers():
    """One process, so that each call sees what the last one left behind."""
    with Workers(1) as pool:
        yield pool


@pytest.fixture(scope="module")
def dispatch(workers) -> Callable[..., Dispatch]:
    def find(program: Matmul, target: Target = GFX942) -> Dispatch:
        (found,) = extract(load_program(program.text), target, workers).dispatches
        return found

    return find


class Unused(Workers):
    """Workers that nothing may be asked of."""

    def __init__(self) -> None:
        pass

    def call(self, *args: object, **kwargs: object):
        pytest.fail("a worker was asked")


def configured(harness: bytes, flags: tuple[str, ...]) -> str:
    """A harness at `executable-configurations`, where the emitter's flag would have left its ops."""
    session = session_for(flags)
    with session.context, ir.Location.unknown():
        module = session.parse(harness)
        session.run(module, start="executable-sources", stop="executable-configurations")
        return str(module)


def hang(harness: bytes, flags: tuple[str, ...]) -> tuple[bytes, ...]:
    time.sleep(60)
    raise AssertionError(f"nothing stopped it: {len(harness)} bytes, {flags}")


def test_a_module_for_each_pipeline(workers, dispatch) -> None:
    found = dispatch(Matmul())
    result = emit(found.harness, found.workload, GFX942, workers)
    assert result.note == ""
    with new_context():
        texts = [str(ir.Module.parse(module)) for module in result.modules]
    assert [text.count(CONSTRAINTS) for text in texts] == [1, 1]
    pipelines = [
        name for text in texts for name in ("TileAndFuse", "VectorDistribute") if f"<{name}>" in text
    ]
    assert pipelines == ["TileAndFuse", "VectorDistribute"]


def test_the_emitters_flag_is_not_used(workers, dispatch) -> None:
    """It is global to the process, and the next program of the same worker would have constraints in it."""
    found, other = dispatch(Matmul()), dispatch(Matmul(256, 256, 256))
    assert emit(found.harness, found.workload, GFX942, workers).modules
    text = workers.call(configured, other.harness.module, GFX942.flags)
    assert "lowering_config" in text
    assert CONSTRAINTS not in text


def test_batches_are_known_to_crash_it(dispatch) -> None:
    batched = dispatch(Matmul(64, 64, 64, batch=4))
    result = emit(batched.harness, batched.workload, GFX942, Unused())
    assert result.modules == ()
    assert result.note == "the compiler's emitter crashes on batched contractions"


def test_groups_are_known_to_crash_it() -> None:
    nothing = Harness(b"", "", 0, ())
    result = emit(nothing, grouped_channels_first(), GFX942, Unused())
    assert result.modules == ()
    assert result.note == "the compiler's emitter crashes on grouped convolutions"


def test_a_crash_is_a_note(workers, dispatch, monkeypatch) -> None:
    monkeypatch.setattr(ContractionSpaces, "emitter_crash", lambda *_: "")
    batched = dispatch(Matmul(64, 64, 64, batch=4))
    result = emit(batched.harness, batched.workload, GFX942, workers)
    assert result.modules == ()
    assert result.note.startswith(
        "the compiler crashed while emitting constraints: the worker exited with -11"
    )
    plain = dispatch(Matmul(64, 64, 64))
    assert emit(plain.harness, plain.workload, GFX942, workers).modules


def test_a_time_limit_is_a_note(workers, dispatch, monkeypatch) -> None:
    monkeypatch.setattr(emitted, "_TIMEOUT_S", 1.0)
    monkeypatch.setattr(emitted, "emit_here", hang)
    found = dispatch(Matmul(64, 64, 64))
    result = emit(found.harness, found.workload, GFX942, workers)
    assert (result.modules, result.note) == ((), "the compiler emitted no constraints within 1 s")


@pytest.mark.parametrize("target", ["llvm-cpu:znver4", "vulkan:ampere"])
def test_other_backends_have_none(dispatch, target: str) -> None:
    found = dispatch(Matmul(64, 64, 64))
    backend = parse_target(target)
    result = emit(found.harness, found.workload, backend, Unused())
    assert (result.modules, result.note) == ((), f"the compiler has no constraints for {backend.backend}")


def test_an_op_without_an_instruction(workers, dispatch) -> None:
    sm_80 = parse_target("cuda:sm_80")
    found = dispatch(Matmul(64, 64, 64, element="f32"), sm_80)
    result = emit(found.harness, found.workload, sm_80, workers)
    assert (result.modules, result.note) == ((), "the compiler emits no constraints for this op")
