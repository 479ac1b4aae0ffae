"""Triton: products, attention, softmax, reductions and chains of functions, by kernels next to this file."""

from __future__ import annotations

from dataclasses import dataclass

from iree_tuner.suite.backends.backend import Job, Running
from iree_tuner.suite.backends.library import is_gpu, lacks, versions
from iree_tuner.suite.operation import Operation


@dataclass(frozen=True)
class Triton:
    """Kernels in Triton, each tuned by itself over a handful of configurations, on PyTorch's tensors."""

    name: str = "triton"
    title: str = "Triton"

    def missing(self, device: str) -> str:
        """A GPU, Triton, and PyTorch for its tensors."""
        if not is_gpu(device):
            return "Triton requires an NVIDIA or AMD GPU"
        return lacks("Triton", ("triton", "torch"), "pip install 'iree-tuner[triton,compare]'")

    def version(self) -> str:
        """Triton's."""
        return versions("triton", "pytorch-triton")

    def refuses(self, operation: Operation, device: str) -> str:
        """Convolutions."""
        del device
        return "iree-tuner has no Triton kernel for convolutions" if "convolution" in operation.kind else ""

    def load(self, job: Job) -> Running:
        """Kernels bound to the copies of the inputs; the first launch tries their configurations."""
        from iree_tuner.suite.backends.recorded import record
        from iree_tuner.suite.backends.torch_running import GpuCalls, copies_on, torch_device
        from iree_tuner.suite.backends.triton_plan import Plan, plans_of

        device = torch_device(job.device)
        plans = plans_of(record(job.operation), copies_on(device, job))
        graph = job.conditions.timing == "device"
        result = job.operation.result.element_type
        return GpuCalls[Plan](device, Plan.run, plans, result, graph=graph)
