"""Programs run to find out how far right versions may be from their results."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from iree_tuner.device.program_loaded import LoadedProgram
from iree_tuner.device.program_request import request
from iree_tuner.device.slack import ErrorDepth, Spread, agreement_of
from iree_tuner.program.phases import compile_widened, run_phases
from iree_tuner.program.source import load_program

PRODUCT = """
func.func @main(%x: tensor<16x512xbf16>, %w: tensor<512x64xbf16>) -> tensor<16x64xRESULT> {
  %y = stablehlo.dot %x, %w : (tensor<16x512xbf16>, tensor<512x64xbf16>) -> tensor<16x64xbf16>
  %r = stablehlo.convert %y : (tensor<16x64xbf16>) -> tensor<16x64xRESULT>
  return %r : tensor<16x64xRESULT>
}"""

LOSS = """
func.func @main(%x: tensor<16x512xbf16>, %w: tensor<512x64xbf16>) -> tensor<bf16> {
  %y = stablehlo.dot %x, %w : (tensor<16x512xbf16>, tensor<512x64xbf16>) -> tensor<16x64xbf16>
  %z = stablehlo.constant dense<0.0> : tensor<bf16>
  %r = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [0, 1]
      : (tensor<16x64xbf16>, tensor<bf16>) -> tensor<bf16>
  return %r : tensor<bf16>
}"""


@pytest.fixture(scope="module")
def compiled(cpu):
    """A program and its widened form; each once."""

    @cache
    def compile_both(data):
        return run_phases(data, "t", cpu, stop=None, output="vmfb").data, compile_widened(data, "t", cpu)

    return compile_both


@pytest.fixture
def program_of(compiled, tmp_path):
    """A program, and its widened form: results are replaced by what a function makes of them."""

    def load(text, change=None):
        program = load_program(text)
        run = request(program)
        paths = []
        for number, data in enumerate(compiled(program.data)):
            paths.append(tmp_path / f"{number}.vmfb")
            paths[-1].write_bytes(data)
        own = LoadedProgram(str(paths[0]), "local-task", run)
        wide = LoadedProgram(str(paths[1]), "local-task", run, like=own)
        if change is not None:
            made = wide._outputs
            wide._outputs = lambda byte: [change(each) for each in made(byte)]
        return own, wide

    return load


@pytest.mark.parametrize("result", ["bf16", "f32"])
def test_a_product_is_as_exact_as_its_code(result, program_of):
    own, wide = program_of(PRODUCT.replace("RESULT", result))
    spreads = own.spreads(ErrorDepth(512, 1), wide)
    for values, (spread,) in zip(own.results(), spreads, strict=True):
        unit = np.sqrt(np.mean(np.square(values[0].astype(np.float64)))) * 2**-8
        assert 0.1 * unit < spread.typical < 20 * unit
    assert not agreement_of(own.results(), own.results(), spreads).loose


@pytest.mark.parametrize("result", ["bf16", "f32"])
def test_moves_that_were_measured_count_beside_the_widened_program(result, program_of):
    own, wide = program_of(PRODUCT.replace("RESULT", result))
    seen = own.spreads(ErrorDepth(512, 1), wide)
    moves = tuple((spread.times(2),) for (spread,) in seen)
    found = own.spreads(ErrorDepth(512, 1, moves), wide)
    for (spread,), (moved,) in [*zip(found, moves, strict=True)][1:]:  # of positive values the mean is large
        assert moved.typical < spread.typical < 1.25 * moved.typical


@pytest.mark.parametrize("result", ["bf16", "f32"])
def test_moves_do_not_make_a_comparison_say_little(result, program_of):
    own, wide = program_of(PRODUCT.replace("RESULT", result))
    spreads = own.spreads(ErrorDepth(512, 1, ((Spread(1e3, 1e4),),) * 3), wide)
    assert not agreement_of(own.results(), own.results(), spreads).note
    seen = own.spreads(ErrorDepth(512, 1), wide)
    further = max(after.typical / before.typical for (after,), (before,) in zip(spreads, seen, strict=True))
    assert further <= 2.5 or result == "f32"


def test_a_number_is_compared_on_several_inputs(program_of, monkeypatch):
    own, wide = program_of(LOSS)
    seeds = []
    results_of = own.results_of
    monkeypatch.setattr(own, "results_of", lambda *given: seeds.append(given) or results_of(*given))
    own.results()
    seeds.clear()
    own.spreads(ErrorDepth(512, 2), wide)
    assert len(set(seeds)) >= 3


@pytest.mark.parametrize(
    "change",
    [lambda value: np.full_like(value, np.nan), lambda value: value * 3],
    ids=["no numbers", "wrong"],
)
def test_a_widened_program_that_is_wrong_is_bounded_by_nudges(change, program_of):
    own, wide = program_of(PRODUCT.replace("RESULT", "bf16"), change)
    spreads = own.spreads(ErrorDepth(512, 1), wide)
    own.known.spreads.clear()
    assert spreads == own.spreads(ErrorDepth(512, 1))


def test_moves_are_not_taken_for_a_widened_program_without_numbers(program_of):
    """They have no narrow rounding then."""
    own, wide = program_of(PRODUCT.replace("RESULT", "bf16"), lambda value: np.full_like(value, np.nan))
    moves = ((replace(Spread(), typical=1e-9),),) * 3
    assert all(spread.typical > 1e-6 for (spread,) in own.spreads(ErrorDepth(512, 1, moves), wide))
