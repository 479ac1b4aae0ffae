"""Back ends are found in installed packages, and none of their libraries is imported for it."""

import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from iree_tuner import installed
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.suite.backends import backend

HERE = ("hipblaslt", "jax", "numpy", "onnxruntime", "rocblas", "torch", "torch-compiled")


@pytest.fixture
def entries(monkeypatch):
    """Puts entry points in the place of those that are installed."""

    def put(*pairs):
        found = [EntryPoint(name, value, backend.GROUP) for name, value in pairs]
        monkeypatch.setattr(installed, "entry_points", lambda group: found)
        backend.backends.cache_clear()

    yield put
    backend.backends.cache_clear()


def test_what_is_installed_is_found():
    found = backend.backends()
    assert set(HERE) <= set(found)
    assert list(found) == sorted(found)
    assert all(each.name == name for name, each in found.items())
    assert backend.backend("numpy") is found["numpy"]


@pytest.mark.parametrize(
    ("name", "hint"), [("tourch", "did you mean torch"), ("magic", "one of: .*numpy.*torch")]
)
def test_an_unknown_name_is_told_with_those_that_are_meant_perhaps(name, hint):
    with pytest.raises(UsageError, match=rf"unknown back end '{name}' \({hint}"):
        backend.backend(name)


def test_two_owners_of_a_name_are_an_error_that_names_both(entries):
    entries(("blas", "one.blas:Blas"), ("blas", "two.blas:Blas"))
    with pytest.raises(TunerError, match=r"'blas'.*one\.blas:Blas.*two\.blas:Blas"):
        backend.backends()


def test_one_package_that_is_found_twice_is_none(entries):
    entries(*[("numpy", "iree_tuner.suite.backends.in_numpy:Numpy")] * 2)
    assert list(backend.backends()) == ["numpy"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("no.such.package:Blas", "cannot be used: No module named 'no'"),
        ("iree_tuner.suite.backends.in_numpy:NoSuch", "cannot be used: .*NoSuch"),
        ("iree_tuner.suite.backends.in_numpy:Numpy", "calls itself 'numpy'"),
    ],
)
def test_what_cannot_be_used_is_an_error_of_one_line(value, reason, entries):
    entries(("blas", value))
    with pytest.raises(TunerError, match=reason) as caught:
        backend.backends()
    assert "\n" not in str(caught.value)


def test_the_coordinator_imports_no_library():
    script = (
        "import sys; from iree_tuner.suite.backends.backend import backends;"
        "found = backends().values();"
        "[(each.missing(uri), each.version()) for each in found for uri in ('local-task', 'cuda://0')];"
        "print(*sorted({'torch', 'jax', 'onnx', 'onnxruntime', 'triton', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_what_is_not_installed_is_told_with_what_to_install(monkeypatch):
    monkeypatch.setattr(backend, "find_spec", lambda name: None)
    found = backend.backends()
    for name, modules in (
        ("torch", "torch"), ("onnxruntime", "onnx, onnxruntime"), ("jax", "jax, jaxlib"),
    ):  # fmt: skip
        why = found[name].missing("local-task")
        assert f"is not installed ({modules}): pip install 'iree-tuner[compare]'" in why


@pytest.mark.parametrize("name", HERE)
def test_devices_that_a_library_does_not_know(name):
    assert backend.backend(name).missing("vulkan://0")


def test_who_computes_where():
    host = {name for name in HERE if not backend.backend(name).missing("local-task")}
    assert "numpy" in host
    assert not host & {"rocblas", "hipblaslt"}
    assert backend.backend("rocblas").missing("local-task") == "rocBLAS runs only on AMD GPUs"
    assert backend.backend("numpy").missing("cuda://0") == "NumPy runs only on CPUs"


def test_compiling_needs_a_compiler(monkeypatch):
    pytest.importorskip("torch", reason="torch is not installed")
    compiled = backend.backend("torch-compiled")
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert "requires a C++ compiler, but no-such-compiler is missing" in compiled.missing("local-task")
    monkeypatch.setenv("CXX", sys.executable)
    assert compiled.missing("local-task") == ""
