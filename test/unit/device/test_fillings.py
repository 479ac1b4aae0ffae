"""Memory that nobody wrote, how far results may be apart, and inputs that nothing overflows on."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from whole_programs import ADDING

from iree_tuner.check.parts import LoadedParts, Pieces
from iree_tuner.compiler.worker import Workers
from iree_tuner.device.memory import Recent
from iree_tuner.device.numerics import FILLINGS, Held, left_alone
from iree_tuner.device.program_loaded import LoadedProgram
from iree_tuner.device.program_request import request
from iree_tuner.device.program_run import Filled, ProgramRun
from iree_tuner.device.slack import ErrorDepth, nudged
from iree_tuner.measure.program import compare_programs
from iree_tuner.program.parts import take_apart
from iree_tuner.program.phases import run_phases
from iree_tuner.program.source import load_program
from iree_tuner.targets import target_for_device

DEVICE = "local-task"


def from_torch(text):
    """The same as torch writes it: the compiler makes a function with fences of it, and one that waits."""
    own = "!torch.vtensor<[512],f32>"
    text = text.replace(
        "%a: tensor<512xf32>, %b: tensor<512xf32>) -> tensor<512xf32> {", f"%x: {own}, %y: {own}) -> {own} {{"
    )
    taken = "".join(
        f"  %{a} = torch_c.to_builtin_tensor %{x} : {own} -> tensor<512xf32>\n" for a, x in ("ax", "by")
    )
    text = text.replace("  %zero = ", f"{taken}  %zero = ")
    given = f"  %given = torch_c.from_builtin_tensor %again : tensor<512xf32> -> {own}\n"
    return text.replace("  return %again : tensor<512xf32>", f"{given}  return %given : {own}")


@pytest.fixture(scope="module")
def built():
    @cache
    def build(size, flags=(), form=str):
        target = target_for_device(DEVICE, "host")
        target = replace(target, flags=(*target.flags, *flags))
        text = form(ADDING.format(size=size)).encode()
        return run_phases(text, "adding.mlir", target, stop=None, output="vmfb", filled=True).data

    return build


def loaded(vmfb, folder):
    path = folder / "program.vmfb"
    path.write_bytes(vmfb)
    return LoadedProgram(str(path), DEVICE, request(load_program(ADDING.format(size=512))))


@pytest.mark.parametrize("form", [str, from_torch])
def test_what_reads_memory_that_nobody_wrote_is_found(form, built, tmp_path):
    found = loaded(built(400, form=form), tmp_path)
    results = found.results()
    assert found.known.unwritten.startswith("result 0 depends on uninitialized memory: at [400]: ")
    assert found.known.unwritten.endswith("112 of 512 differ")
    assert np.isnan(results[0][0][400:]).all()


def test_what_reads_none_is_not(built, tmp_path):
    found = loaded(built(512), tmp_path)
    assert np.isfinite(found.results()[0][0]).all()
    assert not found.known.unwritten


@pytest.mark.parametrize(("given", "seconds", "once"), [(2, 0.0, True), (2, 60.0, False), (1, 0.0, False)])
def test_a_program_that_takes_long_runs_once_on_inputs_that_stay(
    built, tmp_path, monkeypatch, given: int, seconds: float, once: bool
) -> None:
    monkeypatch.setattr("iree_tuner.device.program_loaded._VERY_LONG_S", seconds)
    path = tmp_path / "program.vmfb"
    path.write_bytes(built(512))
    inputs = [Filled((512,), "f32", 0.3)] * given
    found = LoadedProgram(str(path), DEVICE, request(load_program(ADDING.format(size=512)), inputs=inputs))
    first, second, third = found.results()
    assert (first is second, first is third) == (once, once)
    assert len(found.spreads(ErrorDepth())) == 3
    assert found.known.once == once


def test_a_version_that_reads_it_is_wrong_and_a_default_that_does_is_told(built):
    right, wrong = built(512), built(400)
    run = request(load_program(ADDING.format(size=512)))
    with Workers(1) as measuring:
        (version,) = compare_programs(
            [[right, wrong]], DEVICE, measuring, 4, ErrorDepth(), run, batch_s=0.001
        )
        (other,) = compare_programs([[wrong, wrong]], DEVICE, measuring, 4, ErrorDepth(), run, batch_s=0.001)
    assert version.error.startswith("wrong results: result 0 depends on uninitialized memory")
    assert other.ok
    assert other.agreement.note.startswith("by default, result 0 depends on uninitialized memory")


def test_twins_change_no_code(built, tmp_path):
    """What is timed is what is compiled without them."""
    made = []
    for name, filled in (("with", True), ("without", False)):
        target = target_for_device(DEVICE, "host")
        dump = f"--iree-hal-dump-executable-binaries-to={tmp_path / name}"
        target = replace(target, flags=(*target.flags, dump))
        text = ADDING.format(size=400).encode()
        run_phases(text, "adding.mlir", target, stop=None, output="vmfb", filled=filled)
        made.append({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()})
    assert made[0]
    assert made[0] == made[1]


def test_nudges_are_within_a_unit_in_the_last_place():
    values = np.linspace(-3, 3, 1001).astype(np.float16)
    moved = nudged(values, np.random.default_rng(0))
    assert (moved != values).mean() > 0.2
    assert (
        np.max(np.abs(moved.astype(float) - values) / np.maximum(np.abs(values.astype(float)), 1e-3)) <= 2e-3
    )
    assert nudged(np.arange(4), np.random.default_rng(0)).tolist() == [0, 1, 2, 3]


def test_weights_keep_f16_in_range_through_many_layers(tmp_path):
    """Twenty products of 1024: without scaling, the fourth overflows."""
    layers = "".join(
        f"  %m{n} = linalg.matmul ins(%m{n - 1}, %w : tensor<4x1024xf16>, tensor<1024x1024xf16>) "
        f"outs(%i : tensor<4x1024xf16>) -> tensor<4x1024xf16>\n"
        for n in range(1, 21)
    )
    text = (
        "func.func @main(%m0: tensor<4x1024xf16>, %w: tensor<1024x1024xf16>) -> tensor<4x1024xf16> {\n"
        "  %z = arith.constant 0.0 : f16\n  %e = tensor.empty() : tensor<4x1024xf16>\n"
        "  %i = linalg.fill ins(%z : f16) outs(%e : tensor<4x1024xf16>) -> tensor<4x1024xf16>\n"
        f"{layers}  return %m20 : tensor<4x1024xf16>\n}}\n"
    )
    target = target_for_device(DEVICE, "host")
    path = tmp_path / "deep.vmfb"
    path.write_bytes(run_phases(text.encode(), "deep.mlir", target, stop=None, output="vmfb").data)
    of_seeds = LoadedProgram(str(path), DEVICE, request(load_program(text))).results()
    assert len(of_seeds) == 3
    for (found,) in of_seeds:
        assert np.isfinite(found).all()
        assert 1e-3 < np.abs(found.astype(np.float32)).mean() < 1e3


def test_a_program_with_fences_is_taken_apart_as_a_whole():
    parts = take_apart(from_torch(ADDING.format(size=400)).encode(), "t", target_for_device(DEVICE, "host"))
    assert parts.functions == ("main$async",)
    assert len(parts.parts) == 2
    assert parts.whole


def test_what_a_dispatch_leaves_alone_is_seen_by_two_fillings():
    """Those that no version changes are not run with the third."""
    made = [np.full(6, byte, np.uint8).view(np.float16) for byte in FILLINGS[:2]]
    for each in made:
        each[1] = 4.0
    assert left_alone(made[0], made[1:]).tolist() == [True, False, True]
    assert left_alone(made[0], made[:1]) is None


def test_booleans_that_a_dispatch_leaves_alone_hold_any_byte():
    made = [np.full(3, byte, np.uint8).view(np.bool_) for byte in FILLINGS]
    for each in made:
        each[1] = True
    assert left_alone(made[0], made[1:]).tolist() == [True, False, True]


def test_an_argument_that_a_program_returns_is_a_result_of_its_parts():
    text = """
    func.func @main(%a: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
      %y = stablehlo.tanh %a : tensor<4x8xf32>
      return %a, %y : tensor<4x8xf32>, tensor<4x8xf32>
    }"""
    parts = take_apart(text.encode(), "t", target_for_device(DEVICE, "host"))
    assert parts.whole
    assert parts.results.reads == (0, 1)


def test_dispatches_that_write_to_their_inputs_spoil_them_for_nobody(tmp_path):
    text = """
    func.func @main(%a: tensor<64x32xf32>, %b: tensor<32x16xf32>, %c: tensor<64x16xf32>)
        -> tensor<64x16xf32> {
      %r = linalg.matmul ins(%a, %b : tensor<64x32xf32>, tensor<32x16xf32>) outs(%c : tensor<64x16xf32>)
          -> tensor<64x16xf32>
      return %r : tensor<64x16xf32>
    }"""
    parts = take_apart(text.encode(), "t", target_for_device(DEVICE, "host"))
    path = tmp_path / "parts.vmfb"
    path.write_bytes(parts.vmfb)
    pieces = Pieces(str(path), replace(parts, vmfb=b""))
    loaded = [LoadedParts(pieces, DEVICE, ProgramRun()) for _ in range(2)]
    uploads = Recent()
    for each in loaded:
        each._uploads = uploads  # as on a device with memory of its own
    read = [Held(value) for value in loaded[0].inputs(1).values()]
    (part,) = parts.parts
    made = [each.call(part, read, 0)[0] for _ in range(3) for each in loaded]
    assert all(np.array_equal(each, made[0]) for each in made)
