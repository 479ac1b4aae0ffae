"""rocBLAS and hipBLASLt: found in PyTorch's own word for its build, and asked for by PyTorch's names."""

import sys
from types import SimpleNamespace

import pytest

from iree_tuner.suite import backends
from iree_tuner.suite.backends import in_rocm
from iree_tuner.suite.backends.backend import Conditions, Job
from iree_tuner.suite.backends.in_rocm import HipBlasLt, RocBlas
from iree_tuner.suite.kinds.product import BatchMatmul, Matmul
from iree_tuner.suite.kinds.reduction import Softmax

CPU = "cuda: Optional[str] = None\nhip: Optional[str] = None\n"
CUDA = "cuda: Optional[str] = '12.8'\nhip: Optional[str] = None\n"
ROCM = "cuda: Optional[str] = None\nhip: Optional[str] = '6.4.43484-123eb5128'\n"


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """A PyTorch that is built so; none for None."""

    def put(text):
        spec = None
        if text is not None:
            (tmp_path / "version.py").write_text(f"__version__ = '2.9.0'\n{text}")
            spec = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
        monkeypatch.setattr(in_rocm, "find_spec", lambda name: spec)

    return put


@pytest.mark.parametrize("library", [RocBlas(), HipBlasLt()], ids=lambda each: each.name)
@pytest.mark.parametrize("text", [None, CPU, CUDA])
def test_it_needs_pytorch_for_rocm(library, text, installed):
    installed(text)
    assert library.missing("hip://0").startswith(
        f"{library.title} requires PyTorch for ROCm: pip install torch"
    )
    assert library.missing("local-task") == f"{library.title} runs only on AMD GPUs"
    assert library.version() == ""


def test_the_release_is_that_of_rocm(installed):
    installed(ROCM)
    assert RocBlas().missing("hip://0") == ""
    assert HipBlasLt().version() == "6.4.43484-123eb5128"


def test_it_multiplies_matrices_only():
    assert RocBlas().refuses(Matmul(), "hip://0") == RocBlas().refuses(BatchMatmul(), "hip://0") == ""
    assert HipBlasLt().refuses(Softmax(), "hip://0") == "hipBLASLt supports only matrix products"


@pytest.mark.parametrize(("library", "name"), [(RocBlas(), "cublas"), (HipBlasLt(), "cublaslt")])
def test_pytorch_is_told_which_before_it_loads(library, name, monkeypatch):
    told = []
    cuda = SimpleNamespace(preferred_blas_library=lambda chosen: told.append(chosen))
    fake = SimpleNamespace(
        torch=SimpleNamespace(backends=SimpleNamespace(cuda=cuda)),
        load=lambda job: told.append(job) or "running",
    )
    monkeypatch.setattr(backends, "torch_running", fake, raising=False)
    monkeypatch.setitem(sys.modules, "iree_tuner.suite.backends.torch_running", fake)
    job = Job(Matmul(), (), "hip://0", Conditions())
    assert library.load(job) == "running"
    assert told == [name, job]


def test_pytorch_knows_these_names():
    cuda = pytest.importorskip("torch.backends.cuda", reason="torch is not installed")
    known = cuda._BlasBackends
    assert known["cublas"] == known["hipblas"]
    assert known["cublaslt"] == known["hipblaslt"]
