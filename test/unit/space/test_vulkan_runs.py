"""Members of Vulkan's spaces run, and compute what numpy does. Any Vulkan device will do: llvmpipe does.

Debian: `apt-get install mesa-vulkan-drivers libvulkan1`. Matrix instructions need a GPU that has them: their
pipeline is left out.
"""

from __future__ import annotations

import numpy as np
import pytest
from amounts import ALL, some
from iree.compiler import ir
from light_members import light
from vulkan_programs import PROGRAMS, check_here, device_name, llvmpipe, read_here

from iree_tuner.compiler.worker import WorkerError, Workers
from iree_tuner.measure.candidate import build_here
from iree_tuner.program.extract import extract_here
from iree_tuner.space.build import build_spaces
from iree_tuner.targets import Target, parse_target

pytestmark = pytest.mark.hardware

SAMPLES = 1
"""Of each space; llvmpipe takes up to a second to make code of one."""
BASELINE = parse_target("vulkan:vp_android_baseline_2022")
CASES = [
    *((name, llvmpipe()) for name in PROGRAMS),
    *((name, BASELINE) for name in ("matmul_f32", "conv_nhwc", "softmax")),
]


@pytest.fixture(scope="module")
def driver():
    """A worker that has a Vulkan device."""
    with pytest.MonkeyPatch.context() as patch, Workers(1) as pool:
        patch.setenv("LP_NATIVE_VECTOR_WIDTH", "256")  # subgroups of eight, whatever the CPU has
        if not ALL:
            patch.setenv("GALLIVM_PERF", "nopt")  # the driver's own compiler optimizes for long
        try:
            pool.call(device_name, timeout_s=60)
        except (WorkerError, RuntimeError, ValueError) as error:
            pytest.skip(f"no Vulkan device: {str(error).splitlines()[0]}")
        yield pool


@pytest.mark.parametrize(("name", "target"), some(CASES, 12), ids=lambda value: str(value))
def test_samples_compute_what_numpy_does(
    name: str, target: Target, driver: Workers, compilers: Workers, context: ir.Context
) -> None:
    (dispatch,) = compilers.call(extract_here, PROGRAMS[name].text.encode(), name, target).dispatches
    assert dispatch.workload is not None
    assert dispatch.harness is not None
    wrong: list[str] = []
    for space in build_spaces(dispatch.workload, dispatch.limits, context):
        for member in light(space.sample(16, seed=1))[:SAMPLES]:
            configuration = space.configuration(member)
            built = compilers.call(build_here, dispatch.harness.module, target.flags, configuration)
            assert built.outcome == "ok", f"{configuration}: {built.message}"
            workload = dispatch.workload
            found = driver.call(
                check_here,
                built.vmfb,
                dispatch.harness,
                name,
                tuple(map(str, workload.types)),
                workload.reduction_length,
            )
            if not found.ok:
                wrong.append(f"{space.pipeline} {dict(member)}: {found.message}")
    assert wrong == []


def test_results_are_read_back_where_the_runtime_cannot(driver: Workers) -> None:
    values, ours, theirs = driver.call(read_here, timeout_s=60)
    assert np.array_equal(ours, values)
    assert "minImportedHostPointerAlignment" in theirs, "docs/upstream/vulkan_to_host.md can go"
