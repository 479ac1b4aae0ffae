"""Programs that check their values: versions are compared by these values, and by whether the checks pass."""

from __future__ import annotations

import pytest

from iree_tuner.device.program_request import request
from iree_tuner.device.slack import ErrorDepth
from iree_tuner.measure.program import compare_programs
from iree_tuner.program.phases import compile_program
from iree_tuner.program.source import load_program


def program(factor: float, wanted: float = 6.0) -> str:
    """A product with a factor, which is checked, and which nothing else shows."""
    return f"""
      func.func @main() {{
        %x = util.unfoldable_constant dense<3.0> : tensor<8xf32>
        %f = util.unfoldable_constant dense<{factor}> : tensor<8xf32>
        %y = arith.mulf %x, %f : tensor<8xf32>
        check.expect_almost_eq_const(%y, dense<{wanted}> : tensor<8xf32>, atol 1.0, rtol 0.0) : tensor<8xf32>
        return
      }}
    """


@pytest.mark.parametrize(
    ("other", "says"),
    [(program(2.0), ""), (program(2.1), "result 0"), (program(4.0), "a check of the program fails in @main")],
    ids=["right", "another value", "a check fails"],
)
def test_versions_are_compared(other, says, cpu, compilers) -> None:
    source = load_program(program(2.0))
    built = [compile_program(load_program(text), cpu, compilers).data for text in (program(2.0), other)]
    (found,) = compare_programs(
        [built], "local-task", compilers, 4, ErrorDepth(), request(source), batch_s=1e-4
    )
    assert found.ok == (not says), found.error
    assert says in found.error


def test_a_check_that_fails_by_default_is_a_note(cpu, compilers) -> None:
    source = load_program(program(2.0, wanted=9.0))
    vmfb = compile_program(source, cpu, compilers).data
    (found,) = compare_programs(
        [[vmfb, vmfb]], "local-task", compilers, 4, ErrorDepth(), request(source), batch_s=1e-4
    )
    assert found.ok
    assert "by default, a check of the program fails in @main: expected 9.0, got 6.0" in found.agreement.note
