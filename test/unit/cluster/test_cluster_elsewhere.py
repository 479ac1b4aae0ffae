"""Devices of another architecture: their worker says what they are, and their code is compiled here."""

import os
import platform
import shutil
import subprocess
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("distributed", reason="pip install 'iree-tuner[cluster]'")

from cluster_processes import Processes

from iree_tuner.cli import main
from iree_tuner.cluster.cluster import Cluster
from iree_tuner.compiler.context import new_context
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.space.configuration import Configuration, OpConfiguration
from iree_tuner.spec.build import build_spec
from iree_tuner.spec.entry import SpecEntry
from iree_tuner.targets import parse_target
from iree_tuner.targets.find import chip_on
from iree_tuner.targets.machine import architecture, processor_name

OTHER = "aarch64" if architecture() == "x86_64" else "x86_64"
CPU = {"aarch64": "cortex-a72", "x86_64": "znver4"}[OTHER]
ROOT = "IREE_TUNER_TEST_AARCH64"
"""Environment variable with the root folder of an aarch64 system (CONTRIBUTING.md)."""

EMULATOR = ("proot", "qemu-aarch64-static")
REPOSITORY = Path(__file__).parents[3]
PROGRAM = """
func.func @main(%x: tensor<24x32xi8>, %w: tensor<32x48xi8>) -> tensor<24x48xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<24x48xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<24x48xi32>) -> tensor<24x48xi32>
  %r = linalg.matmul ins(%x, %w : tensor<24x32xi8>, tensor<32x48xi8>)
    outs(%f : tensor<24x48xi32>) -> tensor<24x48xi32>
  return %r : tensor<24x48xi32>
}
"""


@pytest.mark.parametrize(
    ("chip", "machine", "there"),
    [
        (CPU, OTHER, f"{OTHER}-{CPU}"), ("host", OTHER, "host"),
        (f"llvm-cpu:{CPU}+data-tiling", OTHER, f"llvm-cpu:{OTHER}-{CPU}+data-tiling"),
        (f"{OTHER}+{CPU}", OTHER, f"{OTHER}+{CPU}"), ("riscv64", OTHER, "riscv64"),
        ("znver4", architecture(), "znver4"), ("sm_90", OTHER, "sm_90"),
    ],
)  # fmt: skip
def test_a_chip_is_called_by_its_architecture_where_the_compiler_has_another(chip, machine, there):
    assert chip_on("cuda://0" if chip == "sm_90" else "local-task", chip, machine) == there


def test_processors_that_have_no_name_of_their_own_are_told_apart(tmp_path):
    (tmp_path / "proc").mkdir()
    for part, told in [("0xd0c", "implementer 0x41, part 0xd0c"), ("0xd40", "implementer 0x41, part 0xd40")]:
        text = f"processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: {part}\nCPU revision\t: 1\n"
        (tmp_path / "proc/cpuinfo").write_text(text)
        assert processor_name(tmp_path) == f"{platform.machine()} ({told})"
    (tmp_path / "proc/cpuinfo").write_text("processor\t: 0\nisa\t: rv64imafdc\nuarch\t: sifive,u74-mc\n")
    assert processor_name(tmp_path) == "sifive,u74-mc"


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """A cluster with a device whose host says that it has another architecture, and a compile slot here."""
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / "sitecustomize.py").write_text(f"import platform\nplatform.machine = lambda: {OTHER!r}\n")
    found = Processes(folder)
    try:
        found.start_scheduler()
        path = os.pathsep.join([str(folder), found.env["PYTHONPATH"]])
        found.start_worker("board", "--device", "local-sync", PYTHONPATH=path)
        found.start_worker("slots", "--compile-slots", "1")
        found.wait_for("board", "slots")
        yield found
    finally:
        found.close()


@pytest.fixture
def tuned(elsewhere, tmp_path, capfd):
    """The status and the last line of `tune` on that cluster."""
    program = tmp_path / "p.mlir"
    program.write_text(PROGRAM)

    def run(*options):
        how = ("--scheduler", elsewhere.address, "--device", "local-sync", "--effort", "smoke", "--no-db")
        status = main.run(["tune", str(program), *how, "-o", str(tmp_path / "p.spec.mlir"), *options])
        return status, capfd.readouterr().err.splitlines()[-1]

    return run


def test_the_target_of_a_device_elsewhere_names_its_architecture(elsewhere):
    with Cluster(elsewhere.address) as cluster:
        assert cluster.architecture("board") == OTHER
        assert cluster.architecture("slots") == architecture()
        target = cluster.target(cluster.find(["local-sync"]), CPU)
    assert str(target) == f"llvm-cpu:{OTHER}-{CPU}"
    assert f"--iree-llvmcpu-target-triple={OTHER}-linux-gnu" in target.flags
    assert not target.native


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ([], f"({OTHER}), but this machine, which compiles, has "),
        (["--chip", "riscv64"], f"local-sync runs {OTHER} code, not riscv64 code"),
        (["--chip", f"{architecture()}"], f"local-sync runs {OTHER} code, not {architecture()} code"),
        (["--chip", f"{OTHER}-host"], f"the host is {architecture()}, not {OTHER} (name a CPU"),
        (
            ["--chip", CPU, "--compiler-flag=--iree-llvmcpu-target-triple=riscv64-linux-gnu"],
            f"is for riscv64, but local-sync runs {OTHER} code",
        ),
    ],
)
def test_what_a_device_elsewhere_cannot_run_is_the_caller_s_mistake(tuned, options, told):
    status, line = tuned(*options)
    assert status == 2
    assert line.startswith("error: ")
    assert told in line


# A real one, emulated.


class Emulated:
    """An aarch64 system that QEMU runs, with this checkout and the metadata of the installed package."""

    def __init__(self, root, folder, cpu):
        meta = Path(str(distribution("iree-tuner")._path))
        shutil.copytree(meta, folder / "meta" / meta.name)
        binds = [part for each in ("/proc", "/dev", REPOSITORY, folder) for part in ("-b", str(each))]
        self.command = [EMULATOR[0], "-q", EMULATOR[1], "-r", root, *binds, "-w", str(folder)]
        path = f"{REPOSITORY}:{folder / 'meta'}"
        self.env = {"QEMU_CPU": cpu, "PYTHONPATH": path, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}

    def python(self, *arguments, **more):
        return subprocess.Popen([*self.command, "/usr/bin/python3", *arguments], env=self.env, **more)


@pytest.fixture
def arm(tmp_path):
    if not os.environ.get(ROOT):
        pytest.skip(f"{ROOT} names no root folder of an aarch64 system (CONTRIBUTING.md)")
    if missing := [each for each in EMULATOR if shutil.which(each) is None]:
        pytest.skip(f"no {' and no '.join(missing)} (Debian: proot, qemu-user-static)")
    return Emulated(os.environ[ROOT], tmp_path, "cortex-a57")


RUN = """
import sys, numpy, iree.runtime as rt
module = rt.load_vm_flatbuffer(open(sys.argv[1], "rb").read(), driver="local-sync")
given = numpy.load("inputs.npz")
numpy.save("result.npy", numpy.asarray(module.main(given["x"], given["w"]).to_host()))
"""


@pytest.mark.hardware
@pytest.mark.timeout(1200)
def test_an_emulated_device_is_tuned_on_and_runs_what_a_spec_makes(arm, tmp_path, capfd, compilers):
    found, program = Processes(tmp_path), tmp_path / "p.mlir"
    program.write_text(PROGRAM)
    how = ["tune", str(program), "--scheduler", found.address, "--device", "local-sync", "--effort", "smoke"]
    try:
        found.start_scheduler()
        found.start_worker("slots", "--compile-slots", "1")
        serving = ("-m", "iree_tuner", "worker", "--scheduler", found.address, "--device", "local-sync")
        log = (tmp_path / "board.log").open("w")
        board = arm.python(*serving, "--name", "board", stdout=log, stderr=log, start_new_session=True)
        found.workers["board"] = board
        found.wait_for("board", "slots", within_s=600)

        def tuned(*options):
            return main.run([*how, "--no-db", "-o", str(tmp_path / "p.spec.mlir"), *options])

        assert tuned("--chip", "cortex-a57") == 0, capfd.readouterr().err
        assert "4 tried" in capfd.readouterr().err
        assert (tmp_path / "p.spec.mlir").exists()
        assert tuned("--chip", "riscv64") == 2
        assert tuned("--chip", "x86_64") == 2
        program.write_text(PROGRAM.replace("i8", "f16").replace("i32", "f16").replace("0 :", "0.0 :"))
        capfd.readouterr()
        assert tuned("--chip", "neoverse-v1") == 1  # it has instructions for f16
        assert "SIGILL), because the processor lacks an instruction" in capfd.readouterr().err
    finally:
        found.close()

    program.write_text(PROGRAM)
    target = parse_target("llvm-cpu:aarch64-cortex-a57")
    (dispatch,) = extract(load_program(program), target, compilers).dispatches
    tiles = "distribution = [12, 16, 0], vector_common_parallel = [4, 16, 0], vector_reduction = [0, 0, 4]"
    config = f"#iree_cpu.lowering_config<{tiles}>"
    config = f"lowering_config = {config}, translation_info = {dispatch.pipeline}"
    config = OpConfiguration("root", "compilation_info", f"#iree_codegen.compilation_info<{config}>")
    spec = build_spec([SpecEntry(dispatch.workload, Configuration((config,)))], new_context())
    (tmp_path / "tiles.spec.mlir").write_text(str(spec))
    made = {}
    for name, more in (("default", []), ("tuned", ["--spec", str(tmp_path / "tiles.spec.mlir")])):
        path = tmp_path / f"{name}.vmfb"
        assert main.run(["compile", str(program), "--target", str(target), "-o", str(path), *more]) == 0
        made[name] = path.read_bytes()
        random = np.random.default_rng(1)
        x, w = (random.integers(-128, 128, size, np.int8) for size in ((24, 32), (32, 48)))
        np.savez(tmp_path / "inputs.npz", x=x, w=w)
        assert arm.python("-c", RUN, str(path), cwd=tmp_path).wait(300) == 0
        assert (np.load(tmp_path / "result.npy") == x.astype(np.int32) @ w.astype(np.int32)).all()
    assert made["default"] != made["tuned"]
