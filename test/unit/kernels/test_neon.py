"""The C kernels' own tests, compiled for NEON (AArch64) and run by qemu-user."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from c_objects import CROSS_COMPILER, EMULATED, EMULATOR, MACHINE

HERE = Path(__file__).parent
MISSING = [each for each in (CROSS_COMPILER, EMULATOR) if shutil.which(each) is None]


@pytest.mark.hardware
@pytest.mark.skipif(EMULATED, reason="starts the tests that run now")
@pytest.mark.skipif(
    bool(MISSING), reason=f"no {' and no '.join(MISSING)} (Debian: gcc-aarch64-linux-gnu, qemu-user)"
)
@pytest.mark.parametrize("kernel", ["gemm", "integers", "depthwise", "attention", "epilogues"])
def test_the_same_tests_pass(kernel):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"test_c_{kernel}.py"]
    environment = os.environ | {MACHINE: "aarch64"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=HERE, env=environment)
    assert done.returncode == 0, done.stdout[-4000:]
    assert " passed" in done.stdout
