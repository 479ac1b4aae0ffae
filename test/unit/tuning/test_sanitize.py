"""Who reads or writes beyond what is his is named, and does not hide others."""

import sys

import pytest
from programs import TWO_PRODUCTS

from iree_tuner.check.parts import Pieces
from iree_tuner.device.program_request import request
from iree_tuner.errors import TunerError
from iree_tuner.measure.sanitize import Watched
from iree_tuner.program.parts import Parts, ProgramPart
from iree_tuner.program.source import load_program
from iree_tuner.targets import target_for_device
from iree_tuner.tuning import sanitize as sanitizing
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.sanitize import MemoryFault, find_checker, hits_in, sanitize

REPORT = """========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 2 bytes
=========     at main_dispatch_23_batch_matmul+0x1b0
=========     by thread (3,0,0) in block (0,0,0)
=========     Address 0x7f45de000000 is out of bounds
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame:cuLaunchKernel [0x333e12] in libcuda.so.1
=========
========= Invalid __global__ read of size 2 bytes
=========     at 0x1b0 in main_dispatch_23_batch_matmul
=========     by thread (4,0,0) in block (0,0,0)
========= Error: Race reported between Write access at other_kernel+0x150
=========     and Read access at other_kernel+0x160 [96 hazards]
========= ERROR SUMMARY: 3 errors
"""


@pytest.fixture(scope="module")
def lab():
    with Lab(target_for_device("local-task", "host"), 1) as found:
        yield found


def test_what_stays_within_its_inputs_passes(lab):
    program = load_program(TWO_PRODUCTS)
    found = sanitize(program, request(program), lab)
    assert (found.hits, found.dispatches, found.tools) == ((), 2, ("guard pages",))


def test_a_report_is_read_by_dispatch():
    assert hits_in(REPORT, "memcheck") == [
        MemoryFault(
            "main_dispatch_23_batch_matmul", "memcheck", "Invalid __global__ read of size 2 bytes", 2
        ),
        MemoryFault("other_kernel", "memcheck", "Race reported between Write access"),
    ]


CHECKER = """#!{python}
import sys, time
log = sys.argv[sys.argv.index("--log-file") + 1]
asked = sys.argv[sys.argv.index("-c") + 2]
skipped = sys.argv[sys.argv.index("-c") + 3 :]
marker = {marker!r}
def say(text):
    with open(log, "a") as file:
        file.write("========= " + text + "\\n")
for place in range(3):
    open(marker, "wb").write(place.to_bytes(4, "little"))
    if place == 1 and str(place) not in skipped:
        say("Invalid __global__ read of size 4 bytes")
        say("    at second+0x10")
        time.sleep(600)
say("ERROR SUMMARY: 0 errors")
"""


@pytest.fixture
def watched(tmp_path):
    parts = tuple(
        ProgramPart(f"part{n}", name, (), (n,)) for n, name in enumerate(("first", "second", "third"))
    )
    pieces = Pieces("nowhere", Parts(b"", ("main",), (), (), parts, None, ()))
    return Watched(pieces, "cuda://0", request(load_program(TWO_PRODUCTS)), str(tmp_path / "marker"))


def test_a_process_that_hangs_after_an_error_is_begun_again_without_it(watched, tmp_path, monkeypatch):
    monkeypatch.setattr(sanitizing, "_HANGS_S", 0.5)
    checker = tmp_path / "checker"
    checker.write_text(CHECKER.format(python=sys.executable, marker=watched.marker))
    checker.chmod(0o755)
    found = sanitizing._watched_by(str(checker), "memcheck", watched, tmp_path)
    assert found == [MemoryFault("second", "memcheck", "Invalid __global__ read of size 4 bytes")]


def test_a_checker_that_fails_says_how(watched, tmp_path):
    checker = tmp_path / "checker"
    checker.write_text("#!/bin/sh\necho no such tool >&2\nexit 3\n")
    checker.chmod(0o755)
    with pytest.raises(TunerError, match="compute-sanitizer --tool memcheck failed: no such tool"):
        sanitizing._watched_by(str(checker), "memcheck", watched, tmp_path)


def test_devices_without_a_checker_are_refused():
    with pytest.raises(TunerError, match="no memory checker for vulkan"):
        find_checker("vulkan://0")
