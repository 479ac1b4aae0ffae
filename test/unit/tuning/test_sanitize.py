"""Who reads or writes beyond what is his is named, and does not hide others."""

import sys

import pytest

from iree_tuner.check.parts import Pieces
from iree_tuner.cli.main import run
from iree_tuner.device.program_request import request
from iree_tuner.errors import TunerError
from iree_tuner.kernels.c_gemm import CGemm
from iree_tuner.measure.sanitize import Watched
from iree_tuner.program.parts import Parts, ProgramPart
from iree_tuner.program.source import load_program
from iree_tuner.targets import target_for_device
from iree_tuner.tuning import sanitize as sanitizing
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.sanitize import MemoryFault, find_checker, hits_in, sanitize

PRODUCTS = """
func.func @main(%a: tensor<32x64xf32>, %b: tensor<64x48xf32>, %c: tensor<48x16xf32>) -> tensor<32x16xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x48xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<32x48xf32>) -> tensor<32x48xf32>
  %x = linalg.matmul ins(%a, %b : tensor<32x64xf32>, tensor<64x48xf32>)
      outs(%i : tensor<32x48xf32>) -> tensor<32x48xf32>
  %f = tensor.empty() : tensor<32x16xf32>
  %j = linalg.fill ins(%z : f32) outs(%f : tensor<32x16xf32>) -> tensor<32x16xf32>
  %y = linalg.matmul ins(%x, %c : tensor<32x48xf32>, tensor<48x16xf32>)
      outs(%j : tensor<32x16xf32>) -> tensor<32x16xf32>
  return %y : tensor<32x16xf32>
}
"""
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
    program = load_program(PRODUCTS)
    found = sanitize(program, request(program), lab)
    assert (found.hits, found.dispatches, found.tools) == ((), 2, ("guard pages",))


@pytest.mark.skipif(bool(CGemm().missing()), reason=CGemm().missing())
def test_a_kernel_that_goes_on_behind_its_input_is_named(lab, tmp_path, capsys):
    from iree_tuner.kernels.in_program import look_at
    from iree_tuner.kernels.spec import save_kernel_spec

    program, wider = (
        load_program(PRODUCTS),
        load_program(PRODUCTS.replace("64x48", "96x48").replace("32x64", "32x96")),
    )
    made = []
    for each in (program, wider):
        outlook = look_at(each, lab.target, [CGemm()], lab)
        (_, site, kernel), *_ = outlook.pairs
        knobs = kernel.variants(site.problem, lab.target)[0]
        made.append((site, kernel.make(site.problem, lab.target, knobs)))
    (site, _), (_, code) = made  # it adds 96 products where there are 64
    path = tmp_path / "kernels.mlir"
    save_kernel_spec([(site, code)], outlook.target, lab.context, path)
    (tmp_path / "program.mlir").write_text(PRODUCTS)
    assert run(["sanitize", str(tmp_path / "program.mlir"), "--kernels", str(path)]) == 1
    assert "kernel_matmul_32x48x64_f32_f32_f32" in capsys.readouterr().out


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
    return Watched(pieces, "cuda://0", request(load_program(PRODUCTS)), str(tmp_path / "marker"))


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
