"""The scripts that ship compute what they should, whatever the sizes and the knobs."""

import iree.runtime as rt
import numpy as np
import pytest
from amounts import amount, some
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from products import expected, inputs, matmul, matmul_bias_relu

from iree_tuner.program.source import load_program
from iree_tuner.script.build import compile_with_script
from iree_tuner.script.script import load_script, shipped

PROGRAMS = {"cpu_matmul": matmul, "cpu_matmul_elementwise": matmul_bias_relu}
SCRIPTS = {name: load_script(name) for name in PROGRAMS}


def loaded(vmfb):
    config = rt.Config("local-sync")
    module = rt.VmModule.copy_buffer(config.vm_instance, vmfb)
    context = rt.SystemContext(vm_modules=[module], config=config)
    return context.modules.module


def check(name, every, knobs, cpu, compilers):
    """That products of these sizes, each a function of one program, are lowered and right."""
    functions = [PROGRAMS[name](*sizes).replace("@main", f"@f{number}") for number, sizes in enumerate(every)]
    aliases = [line for line in functions[0].splitlines() if line.startswith("#")]
    rest = [line for text in functions for line in text.splitlines() if not line.startswith("#")]
    program = load_program("\n".join([*aliases, *rest]))
    built = compile_with_script(program, cpu, SCRIPTS[name].chosen(knobs), compilers)
    assert len(built.lowered) == len(every)
    assert built.others == ()
    call = loaded(built.vmfb)
    for number, sizes in enumerate(every):
        arrays = inputs(*sizes, bias=name.endswith("elementwise"))
        np.testing.assert_array_equal(call[f"f{number}"](*arrays).to_host(), expected(arrays))


def test_every_script_that_ships_is_tested():
    assert {path.stem for path in shipped()} == set(PROGRAMS)


SIZES = [(64, 64, 32), (2, 1, 1), (1, 300, 7), (256, 16, 3), (65, 33, 129)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_their_own_choice(name, cpu, compilers):
    check(name, some(SIZES, 2), {}, cpu, compilers)


@pytest.mark.parametrize("name", PROGRAMS)
@settings(
    max_examples=amount(2, 60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_any_sizes_and_knobs(name, data, cpu, compilers):
    sizes = [data.draw(st.integers(2, 140), label) for label in "mnk"]
    knobs = {each.name: data.draw(st.sampled_from(each.values), each.name) for each in SCRIPTS[name].knobs}
    check(name, [sizes], knobs, cpu, compilers)
