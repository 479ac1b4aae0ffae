"""Objects of the C kernel, called without an executable."""

import ctypes
import itertools
import subprocess

import numpy as np

from iree_tuner.kernels.c_code import compiler

CALLER = """
void {entry}({types}long, long, long);
void call({named}long x, long y, long z) {{ {entry}({names}x, y, z); }}
"""  # the entry is hidden, as an executable has no use for it outside


def run(code, inputs, shape, folder, kind=np.float32):
    """Link the object, and call it for every workgroup on a result full of NaN, or of ones' bits."""
    path = folder / f"{abs(hash(code.data))}"
    path.with_suffix(".o").write_bytes(code.data)
    nothing = np.nan if kind == np.float32 else -1
    arrays = [*inputs, np.full(shape, nothing, kind)]
    if code.scratch_bytes:
        arrays.append(np.full(-(-code.scratch_bytes // 4), np.nan, np.float32))
    path.with_suffix(".c").write_text(_caller(code.entry, len(arrays)))
    files = [path.with_suffix(".o"), path.with_suffix(".c")]
    subprocess.run([compiler(), "-shared", "-fPIC", *files, "-o", path.with_suffix(".so")], check=True)
    call = ctypes.CDLL(path.with_suffix(".so")).call
    pointers = [each.ctypes.data_as(ctypes.c_void_p) for each in arrays]
    for place in itertools.product(*map(range, code.launch.workgroups)):
        call(*pointers, *map(ctypes.c_long, place))
    return arrays[len(inputs)]


def _caller(entry, bindings):
    names = [f"p{number}, " for number in range(bindings)]
    named = "".join(f"const void *{each}" for each in names)
    return CALLER.format(entry=entry, types="const void *, " * bindings, named=named, names="".join(names))


def arrays(problem):
    rng = np.random.default_rng(0)
    return [rng.standard_normal(each.shape).astype(np.float32) for each in problem.inputs]
