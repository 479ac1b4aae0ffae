"""Functions whose caller provides the memory compute the same, and allocate nothing."""

from __future__ import annotations

import re

import numpy as np
import pytest
from amounts import some

from iree_tuner.compiler.session import CompilerSession
from iree_tuner.compiler.worker import Workers
from iree_tuner.device.program_loaded import LoadedProgram
from iree_tuner.device.program_request import request
from iree_tuner.errors import TunerError
from iree_tuner.program.phases import compile_program
from iree_tuner.program.provided_memory import fix_sizes, takes_memory, with_provided_memory
from iree_tuner.program.source import load_program
from iree_tuner.targets import with_flags
from iree_tuner.tuning.versions import FENCES

PROGRAM = """
    func.func @main(%a: tensor<5x7xf32>, %b: tensor<7x9xf32>, %c: tensor<9x3xf32>)
        -> (tensor<5x3xf32>, tensor<5x9xf32>) {
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
        : (tensor<5x7xf32>, tensor<7x9xf32>) -> tensor<5x9xf32>
      %1 = stablehlo.dot_general %0, %c, contracting_dims = [1] x [0]
        : (tensor<5x9xf32>, tensor<9x3xf32>) -> tensor<5x3xf32>
      %2 = stablehlo.exponential %0 : tensor<5x9xf32>
      return %1, %2 : tensor<5x3xf32>, tensor<5x9xf32>
    }
    func.func private @unused(%a: tensor<?xf32>) -> tensor<?xf32> {
      return %a : tensor<?xf32>
    }
"""


@pytest.fixture(scope="module")
def compilers():
    with Workers(1) as found:
        yield found


@pytest.mark.parametrize("flags", some([(FENCES,), ()], 2), ids=some(["fences", "waits"], 2))
def test_the_results_are_the_same(flags, cpu, compilers, tmp_path) -> None:
    program, found = load_program(PROGRAM), []
    for number, each in enumerate((program, with_provided_memory(program))):
        path = tmp_path / f"{number}.vmfb"
        path.write_bytes(compile_program(each, with_flags(cpu, flags), compilers).data)
        loaded = LoadedProgram(str(path), "local-task", request(program))
        found.append(loaded.results())
        assert loaded.batch(3, in_flight=True) > 0.0
    for own, other in zip(*found, strict=True):
        assert [each.shape for each in own] == [(5, 3), (5, 9)]
        for one, same in zip(own, other, strict=True):
            np.testing.assert_array_equal(one, same)


def test_nothing_is_allocated_in_a_call(cpu, compilers) -> None:
    made = compile_program(
        with_provided_memory(load_program(PROGRAM)), cpu, compilers, stop="stream", output="text"
    )
    main = made.data.decode().split("util.func public @main(")[1].split("util.func")[0]
    assert "stream.cmd.dispatch" in main
    assert "alloca" not in main


def test_commands_are_recorded_when_it_is_loaded(cpu) -> None:
    """Which needs a constant size of the memory; less than that is refused."""
    session = CompilerSession(cpu.flags)
    texts = list[str]()
    with session.context:
        for fixed in (False, True):
            module = session.parse(with_provided_memory(load_program(PROGRAM)).data)
            assert takes_memory(module)
            session.run(module, stop="executable-sources")
            if fixed:
                fix_sizes(module)
            session.run(module, start="executable-sources", stop="hal")
            texts.append(str(module).split("util.func public @main(")[1].split("util.func")[0])
        assert not takes_memory(session.parse(PROGRAM))
    once, recorded = texts
    assert 'mode("OneShot' in once
    assert "execute.indirect" not in once
    assert "command_buffer.create" not in recorded
    assert "hal.device.queue.execute.indirect" in recorded
    asserted = re.search(r"hal.buffer.assert<%arg5 .*?minimum_length\(%c(\d+)\)", recorded)
    assert asserted is not None
    assert int(asserted[1]) >= 5 * 9 * 4


@pytest.mark.parametrize("result", ["tensor<?xf32>", "!hal.buffer_view"])
def test_results_of_other_kinds_are_refused(result: str) -> None:
    text = f"func.func @main(%a: {result}) -> {result} {{ return %a : {result} }}"
    with pytest.raises(TunerError, match="memory cannot be provided for result 0 of @main"):
        with_provided_memory(load_program(text))
