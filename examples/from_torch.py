"""From PyTorch: export a module with iree-turbine, tune it, run the result with IREE's runtime.

    pip install 'iree-tuner[torch]'
    python examples/from_torch.py --output FOLDER

The module's weights become constants of the program; those of a large model are better kept in a file of
their own (docs/frameworks.md). Deploying needs `iree-base-runtime` only.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import iree.runtime as rt
import numpy as np
import torch
from iree.turbine import aot

import iree_tuner


class Small(torch.nn.Module):
    """A convolution and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(16, 32, 3, padding=1)
        self.classes = torch.nn.Linear(32, 10)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """Scores of the classes."""
        return self.classes(torch.relu(self.conv(image)).mean(dim=(2, 3)))


def main() -> None:
    """Export, tune, deploy."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=Path(), help="folder for the files")
    parser.add_argument("--effort", default="quick")
    parser.add_argument("--budget", type=float, help="seconds for the search")
    options = parser.parse_args()
    torch.manual_seed(0)
    module = Small().eval()
    image = torch.randn(1, 16, 16, 16)

    # Export: whatever torch.export takes; the program is in the dialect `torch`.
    path = options.output / "torch.mlir"
    aot.export(module, args=(image,), function_name="main").save_mlir(str(path))

    # Tune: the spec is for iree-compile, the .vmfb is the program compiled with it.
    result = iree_tuner.tune_module(path, device="local-task", effort=options.effort, budget_s=options.budget)
    result.save(options.output / "torch.spec.mlir")
    (options.output / "torch.vmfb").write_bytes(result.vmfb())
    program = f"speedup {result.speedup:.2f}" if result.speedup else result.why_not_compared
    print(f"{len(result.wins)} of {len(result.results)} workloads won; {program}")

    # Deploy: what a program needs that has never heard of PyTorch.
    deployed = rt.load_vm_flatbuffer_file(str(options.output / "torch.vmfb"), driver="local-task")
    found = deployed.main(image.numpy()).to_host()
    with torch.inference_mode():
        np.testing.assert_allclose(found, module(image).numpy(), rtol=1e-3, atol=1e-4)
    print("the deployed program agrees with PyTorch")


if __name__ == "__main__":
    main()
