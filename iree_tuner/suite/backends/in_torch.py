"""PyTorch, as it is and compiled: oneDNN and MKL on processors, cuBLAS and cuDNN on NVIDIA's GPUs."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass

from iree_tuner.suite.backends.backend import Job, Running, TriedBackend, is_gpu, lacks, versions
from iree_tuner.targets import on_host


@dataclass(frozen=True)
class Torch(TriedBackend):
    """PyTorch, a call for each primitive.

    Its settings are the default ones, except that f32 is not rounded to TF32 in convolutions, and that cuDNN
    chooses its algorithms by trying them.
    """

    name: str = "torch"
    title: str = "PyTorch"

    def missing(self, device: str) -> str:
        if not on_host(device) and not is_gpu(device):
            return f"iree-tuner runs {self.title} only on CPUs, CUDA and ROCm"
        return lacks("PyTorch", ("torch",))

    def version(self) -> str:
        return versions("torch")

    def load(self, job: Job) -> Running:
        from iree_tuner.suite.backends import torch_running

        return torch_running.load(job)


@dataclass(frozen=True)
class TorchCompiled(Torch):
    """The whole operation through `torch.compile`, in its default mode."""

    name: str = "torch-compiled"
    title: str = "PyTorch, compiled"

    def missing(self, device: str) -> str:
        found = super().missing(device)
        compiler = os.environ.get("CXX", "g++")  # as PyTorch itself looks for it
        if not found and on_host(device) and shutil.which(compiler) is None:
            return (
                f"torch.compile requires a C++ compiler, but {compiler} is missing: install g++, or set CXX"
            )
        return found or (lacks("Triton", ("triton",)) if is_gpu(device) else "")

    def load(self, job: Job) -> Running:
        """Compiled for its sizes."""
        from iree_tuner.suite.backends import torch_running

        return torch_running.load(job, compiled=True)
