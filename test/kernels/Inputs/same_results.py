"""Run programs on the same image and filters; how their results differ from those of the first one."""

import sys

import iree.runtime as rt
import numpy as np


def run(path: str, *arrays: np.ndarray) -> np.ndarray:
    """The result of @main."""
    config = rt.Config("local-sync")
    module = rt.VmModule.mmap(config.vm_instance, path)
    context = rt.SystemContext(vm_modules=[module], config=config)
    return context.modules.module["main"](*arrays).to_host()


rng = np.random.default_rng(0)
image = rng.standard_normal((1, 10, 10, 16)).astype(np.float32)
filters = rng.standard_normal((3, 3, 16, 32)).astype(np.float32)
first, *others = sys.argv[1:]
expected = run(first, image, filters)
print(f"{expected.size} values, of which {np.count_nonzero(expected > 0)} are above 0")
for path in others:
    largest = np.abs(run(path, image, filters) - expected).max()
    print(f"{path.rpartition('/')[2]}: largest difference {largest:.3g} of {expected.max():.3g}")
