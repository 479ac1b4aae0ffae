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


def run(vmfb, arrays):
    config = rt.Config("local-sync")
    module = rt.VmModule.copy_buffer(config.vm_instance, vmfb)
    context = rt.SystemContext(vm_modules=[module], config=config)
    return context.modules.module["main"](*arrays).to_host()


def check(name, sizes, knobs, cpu, compilers):
    program = load_program(PROGRAMS[name](*sizes))
    built = compile_with_script(program, cpu, SCRIPTS[name].chosen(knobs), compilers)
    assert len(built.lowered) == 1
    assert built.others == ()
    arrays = inputs(*sizes, bias=name.endswith("elementwise"))
    np.testing.assert_array_equal(run(built.vmfb, arrays), expected(arrays))


def test_every_script_that_ships_is_tested():
    assert {path.stem for path in shipped()} == set(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(
    "sizes", some([(64, 64, 32), (2, 1, 1), (1, 300, 7), (256, 16, 3), (65, 33, 129)], 2), ids=str
)
def test_their_own_choice(name, sizes, cpu, compilers):
    check(name, sizes, {}, cpu, compilers)


@pytest.mark.parametrize("name", PROGRAMS)
@settings(
    max_examples=amount(3, 60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_any_sizes_and_knobs(name, data, cpu, compilers):
    sizes = [data.draw(st.integers(2, 140), label) for label in "mnk"]
    knobs = {each.name: data.draw(st.sampled_from(each.values), each.name) for each in SCRIPTS[name].knobs}
    check(name, sizes, knobs, cpu, compilers)
