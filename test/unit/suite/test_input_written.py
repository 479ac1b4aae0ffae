"""docs/upstream/input_written.md: a defect of IREE 3.13, and that results of the suite do not suffer."""

from __future__ import annotations

from pathlib import Path

import iree.runtime as rt
import numpy as np

from iree_tuner.compiler.worker import Workers
from iree_tuner.program.phases import compile_program
from iree_tuner.suite.backends.backend import Conditions, Job
from iree_tuner.suite.backends.iree import Iree
from iree_tuner.suite.kinds.product import Matmul
from iree_tuner.suite.plan import Item
from iree_tuner.suite.programs import load_programs, save_programs
from iree_tuner.suite.tensors import read_inputs, write_inputs
from iree_tuner.targets import target_for_device

OPERATION = Matmul(m=64, n=64, k=64, accumulate=True)


def test_calls_write_to_an_argument_and_results_are_right_all_the_same(tmp_path: Path) -> None:
    with Workers(1) as workers:
        vmfb = compile_program(Item(OPERATION).program(), target_for_device("local-sync"), workers).data
    inputs = write_inputs(OPERATION, tmp_path)
    a, b, c = read_inputs(OPERATION, inputs)
    save_programs(tmp_path, f"{OPERATION.name}.iree", vmfb)

    config = rt.Config(device=rt.get_device("local-sync"))
    context = rt.SystemContext(config=config)
    programs = load_programs(tmp_path, f"{OPERATION.name}.iree")
    context.add_vm_module(rt.VmModule.mmap(context.instance, programs.program))
    held = [rt.asdevicearray(config.device, np.array(each)) for each in (a, b, c)]
    context.modules.module["main"](*held)
    assert not np.allclose(held[2].to_host(), c), "mended: the workaround can go"

    job = Job(OPERATION, inputs, "local-sync", Conditions())
    running = Iree(programs=programs).load(job)
    running.run(3)
    np.testing.assert_allclose(running.result(), a @ b + c, rtol=1e-4, atol=1e-4)
