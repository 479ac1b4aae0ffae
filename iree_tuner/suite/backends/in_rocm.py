"""AMD's libraries for products of matrices, each by the option of PyTorch for ROCm that selects it.

They were not run on hardware here: tests check that PyTorch's option is set, and when they are missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from iree_tuner.suite.backends.backend import Job, Running, is_gpu
from iree_tuner.suite.operation import Operation

_INSTALL = "pip install torch --index-url https://download.pytorch.org/whl/rocm6.4"


@dataclass(frozen=True)
class _RocmProducts:
    """Products of matrices only; their epilogues, and products that the library lacks, are PyTorch's."""

    name: str
    title: str
    library: str  # as `torch.backends.cuda.preferred_blas_library` calls it

    def missing(self, device: str) -> str:
        if not is_gpu(device):
            return f"{self.title} runs only on AMD GPUs"
        return "" if rocm_of_torch() else f"{self.title} requires PyTorch for ROCm: {_INSTALL}"

    def version(self) -> str:
        return rocm_of_torch()

    def refuses(self, operation: Operation, device: str) -> str:
        """The reason why an operation is not supported: it is no product of matrices."""
        return "" if "matmul" in operation.kind else f"{self.title} supports only matrix products"

    def load(self, job: Job) -> Running:
        """As PyTorch does, with this library."""
        from iree_tuner.suite.backends import torch_running

        torch_running.torch.backends.cuda.preferred_blas_library(self.library)
        return torch_running.load(job)


RocBlas = partial(_RocmProducts, "rocblas", "rocBLAS", "cublas")
HipBlasLt = partial(_RocmProducts, "hipblaslt", "hipBLASLt", "cublaslt")
"""rocBLAS, which hipBLAS calls, and hipBLASLt: PyTorch keeps CUDA's names for both."""


def rocm_of_torch() -> str:
    """The release of ROCm that the installed PyTorch is built with; empty for none. Imports nothing."""
    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        return ""
    try:
        text = (Path(spec.origin).parent / "version.py").read_text(encoding="utf-8")
    except OSError:
        return ""
    lines = (line.partition("=") for line in text.splitlines() if line.startswith("hip"))
    value = next((value.strip() for _, _, value in lines), "None")
    return "" if value == "None" else value.strip("'\"")
