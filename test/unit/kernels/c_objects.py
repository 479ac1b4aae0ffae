"""Objects of the C kernels, called without an executable: in this process, or under an emulator.

With IREE_TUNER_TEST_MACHINE=aarch64 the tests of these kernels compile for NEON, and qemu-user runs the code
(`test_neon.py`).
"""

import ctypes
import itertools
import math
import os
import shutil
import subprocess

import ml_dtypes
import numpy as np
from amounts import ALL
from hypothesis import HealthCheck, Phase, settings

from iree_tuner.kernels import c_code
from iree_tuner.kernels.kernel import Code

CROSS_COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"
MACHINE = "IREE_TUNER_TEST_MACHINE"
EMULATED = os.environ.get(MACHINE) == "aarch64"
if EMULATED:  # before a test module asks how long vectors are
    c_code.MACHINE = ("-march=armv8.2-a", "-mno-outline-atomics")
    c_code.compiler = lambda: shutil.which(CROSS_COMPILER)


def examples(most):
    """Settings: the examples that a test names, and with `--all` so many more."""
    return settings(
        max_examples=most, deadline=None, phases=tuple(Phase) if ALL else (Phase.explicit,),
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )  # fmt: skip


CALLER = """
long {entry}({types}long, long, long, unsigned);
void call({named}long x, long y, long z, unsigned worker) {{ {entry}({names}x, y, z, worker); }}
"""  # the entry is hidden, as an executable has no use for it outside


ALONE = """
#include <stdio.h>
#include <stdlib.h>
{caller}
int main(int count, char **names) {{
  const long sizes[] = {{{sizes}}};
  char *p[{bindings}];
  FILE *file = fopen(names[1], "rb");
  for (int i = 0; i < {bindings}; i++) {{
    p[i] = aligned_alloc(64, (sizes[i] + 63) / 64 * 64);
    if (fread(p[i], 1, sizes[i], file) != sizes[i]) return 1;
  }}
  for (long x = 0; x < {workgroups[0]}; x++)
    for (long y = 0; y < {workgroups[1]}; y++)
      for (long z = 0; z < {workgroups[2]}; z++) call({pointers}, x, y, z, (x * 7 + y * 5 + z * 3) / 4 % 3);
  return fwrite(p[{result}], 1, sizes[{result}], stdout) != sizes[{result}];
}}
"""


TYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}


def run(code, inputs, shape, folder, kind=np.float32):
    """Link the object, and call it for every workgroup on a result full of NaN, or of ones' bits."""
    path = folder / f"{abs(hash(code.data))}"
    path.with_suffix(".o").write_bytes(code.data)
    nothing = np.nan if kind in TYPES.values() else -1
    arrays = [*inputs, np.full(shape, nothing, kind)]
    if code.scratch_bytes:
        arrays.append(np.full(-(-code.scratch_bytes // 4), np.nan, np.float32))
    if EMULATED:
        return _run_alone(code, arrays, len(inputs), path)
    path.with_suffix(".c").write_text(_caller(code.entry, len(arrays)))
    files = [path.with_suffix(".o"), path.with_suffix(".c")]
    subprocess.run([c_code.compiler(), "-shared", "-fPIC", *files, "-o", path.with_suffix(".so")], check=True)
    call = ctypes.CDLL(path.with_suffix(".so")).call
    pointers = [each.ctypes.data_as(ctypes.c_void_p) for each in arrays]
    workers = np.random.default_rng(0).integers(3, size=math.prod(code.launch.workgroups))
    for place, worker in zip(itertools.product(*map(range, code.launch.workgroups)), workers, strict=True):
        call(*pointers, *map(ctypes.c_long, place), ctypes.c_uint(worker))
    return arrays[len(inputs)]


def _run_alone(code, arrays, result, path):
    """As a program of another machine, which reads the operands from a file."""
    path.with_suffix(".c").write_text(
        ALONE.format(
            caller=_caller(code.entry, len(arrays)), bindings=len(arrays), result=result,
            sizes=", ".join(str(each.nbytes) for each in arrays), workgroups=code.launch.workgroups,
            pointers=", ".join(f"p[{number}]" for number in range(len(arrays))),
        )
    )  # fmt: skip
    path.with_suffix(".bin").write_bytes(b"".join(each.tobytes() for each in arrays))
    files = [path.with_suffix(".o"), path.with_suffix(".c")]
    subprocess.run([c_code.compiler(), "-static", "-w", *files, "-o", path], check=True)
    done = subprocess.run([EMULATOR, path, path.with_suffix(".bin")], capture_output=True, check=True)
    return np.frombuffer(done.stdout, arrays[result].dtype).reshape(arrays[result].shape)


def _caller(entry, bindings):
    names = [f"p{number}, " for number in range(bindings)]
    named = "".join(f"const void *{each}" for each in names)
    return CALLER.format(entry=entry, types="const void *, " * bindings, named=named, names="".join(names))


def not_compiled(monkeypatch, kernel):
    """Leave a kernel's code out of what it makes, for tests of its launch and its memory."""

    def compiled(source, name, macros, target, launch, knobs, *flags):
        return Code("object", name, b"", launch, knobs=dict(knobs), takes_worker=True)

    monkeypatch.setattr(f"iree_tuner.kernels.{kernel}.compiled", compiled)


def arrays(problem):
    rng = np.random.default_rng(0)
    return [rng.standard_normal(each.shape).astype(TYPES[each.element_type]) for each in problem.inputs]
