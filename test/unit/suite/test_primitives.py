"""Every primitive of every library against double precision; what a library cannot do, it says."""

from fnmatch import fnmatch
from importlib.util import find_spec

import numpy as np
import pytest
from made_operations import CASES, Made, arrays, expected, magnitudes

from iree_tuner.device.numerics import compare
from iree_tuner.suite.backends.backend import Conditions, Job, backend
from iree_tuner.suite.operation import CannotError
from iree_tuner.suite.tensors import read_inputs

CANNOT = {
    "numpy": (
        "matmul *f16*", "matmul *bf16*", "matmul *f8*", "matmul *i8*", "matmul epilogue", "convolution *f16*",
        "convolution *i8*", "layer *f16", "attention f16", "attention f8", "* bf16",
        "cast *bf16", "cast *f8*",
    ),
    "torch": ("matmul batch i8", "convolution i8", "attention f8"),
    "onnxruntime": (
        "matmul bf16", "convolution i8", "layer data*", "layer weights*", "attention f8", "max bf16",
    ),
    "jax": (),
}  # fmt: skip
"""Patterns of the cases that a library refuses."""

if find_spec("scipy") is None:
    CANNOT["numpy"] += ("gelu", "gelu f16")


def saved(operation, folder):
    """Inputs as files; types that files do not name lie there by their bits."""
    paths = []
    for number, each in enumerate(arrays(operation)):
        path = folder / f"{operation.name}.{number}.npy"
        np.save(path, each)
        paths.append(str(path))
    return tuple(paths)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", CANNOT)
def test_it_computes_what_it_must(name, case, tmp_path):
    library = backend(name)
    if why := library.missing("local-task"):
        pytest.skip(why)
    operation = Made(case=case)
    job = Job(operation, saved(operation, tmp_path), "local-task", Conditions(threads=1), copies=2)
    refused = any(fnmatch(case, pattern) for pattern in CANNOT[name])
    if refused:
        why = library.refuses(operation, job.device)
        if not why:
            with pytest.raises(CannotError) as caught:
                library.load(job).result()
            why = str(caught.value)
        assert why
        assert "\n" not in why
        return
    assert library.refuses(operation, job.device) == ""
    running = library.load(job)
    assert running.run(0) >= 0
    assert running.run(3) > 0
    agrees(operation, running.result(), read_inputs(operation, job.inputs))


def agrees(operation, got, inputs):
    want = expected(operation, inputs)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    scale = magnitudes(operation, inputs)
    got, want = np.atleast_1d(got), np.atleast_1d(want)
    scale = None if scale is None else np.atleast_1d(scale)
    found = compare(got, want, operation.result.element_type, operation.tolerance, scale)
    assert found.ok, found.message
