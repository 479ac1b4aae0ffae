"""Donated inputs are inputs, although a result is written to their memory."""

from __future__ import annotations

import numpy as np
import pytest
from amounts import some

from iree_tuner.device.program_loaded import LoadedProgram
from iree_tuner.device.program_request import request
from iree_tuner.program.phases import compile_program
from iree_tuner.program.provided_memory import with_provided_memory
from iree_tuner.program.source import load_program
from iree_tuner.targets import with_flags
from iree_tuner.tuning.versions import FENCES


def program(donated: int, kind: str = "f32") -> str:
    """Two inputs, their sum, and twice the donated one, which is written to its memory."""
    held = [" {tf.aliasing_output = 1 : i32}" if place == donated else "" for place in range(2)]
    shape = f"tensor<4x8x{kind}>"
    return f"""
      func.func @main(%a: {shape}{held[0]}, %b: {shape}{held[1]}) -> ({shape}, {shape}) {{
        %0 = stablehlo.add %a, %b : {shape}
        %1 = stablehlo.add %{"ab"[donated]}, %{"ab"[donated]} : {shape}
        return %0, %1 : {shape}, {shape}
      }}
    """


CASES = [
    pytest.param(0, "f32", (), False, id="first"),
    pytest.param(1, "f32", (), False, id="last"),
    pytest.param(1, "f16", (FENCES,), False, id="with fences"),
    pytest.param(0, "i32", (), True, id="with memory provided"),
]


@pytest.mark.parametrize(("donated", "kind", "flags", "provided"), some(CASES, 2))
def test_a_donated_input_is_an_input(donated, kind, flags, provided, cpu, compilers, tmp_path) -> None:
    source, path = load_program(program(donated, kind)), tmp_path / "module.vmfb"
    built = with_provided_memory(source) if provided else source
    path.write_bytes(compile_program(built, with_flags(cpu, flags), compilers).data)
    given = (2, 3) if kind == "i32" else (2.0, 3.0)
    loaded = LoadedProgram(str(path), "local-task", request(source, inputs=given))
    for _ in range(2):  # in memory of its own each time
        total, twice = loaded.results_of(0)
        np.testing.assert_array_equal(total, np.full((4, 8), 5, total.dtype))
        np.testing.assert_array_equal(twice, np.full((4, 8), 2 * given[donated], twice.dtype))
    assert loaded.batch(2) > 0.0
