"""Findings about release 3.13 that are reported in docs/upstream: that they are still there.

Each is shown with the stock `iree-compile`, as the report has it. When one of these tests fails, the compiler
has improved: see the report for what can then be taken out of this project.
"""

from __future__ import annotations

import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import iree.compiler
import pytest
from amounts import some

ROOT = Path(__file__).resolve().parents[3]
REPRODUCERS = ROOT / "test" / "upstream"
REPORTS = ROOT / "docs" / "upstream"
RELEASE = "3.13."
CDNA3 = ("--iree-hal-target-device=hip", "--iree-rocm-target=gfx942")

on_this_release = pytest.mark.skipif(
    not version("iree-base-compiler").startswith(RELEASE),
    reason=f"the reports are about iree-base-compiler {RELEASE}x",
)


TOOLS = Path(iree.compiler.__path__[0], "_mlir_libs")
"""What the scripts of these names start, after they have imported the compiler for nothing."""


def compile_(source: Path, *flags: str, output: str | Path = "/dev/null") -> subprocess.CompletedProcess[str]:
    command = [str(TOOLS / "iree-compile"), str(source), *flags, "-o", str(output)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def crashed(ended: subprocess.CompletedProcess[str]) -> bool:
    return ended.returncode < 0 and "Stack dump" in ended.stderr


def edited(tmp_path: Path, name: str, old: str, new: str) -> Path:
    text = (REPRODUCERS / name).read_text()
    assert old in text
    copy = tmp_path / name
    copy.write_text(text.replace(old, new))
    return copy


@on_this_release
def test_cuda_f8() -> None:
    """'cuda_f8'"""
    source = REPRODUCERS / "cuda_f8.mlir"
    ended = compile_(source, "--iree-hal-target-device=cuda", "--iree-cuda-target=sm_89")
    assert ended.returncode == 1
    assert "for op: arith.truncf" in ended.stderr


@on_this_release
@pytest.mark.parametrize("chip", some(["gfx90a", "gfx942", "gfx950"], 3))
def test_narrow_result(chip: str) -> None:
    """supplement 'result type'"""
    source = REPRODUCERS / "narrow_result.mlir"
    ended = compile_(source, "--iree-hal-target-device=hip", f"--iree-rocm-target={chip}")
    assert ended.returncode == 1
    assert "'func.func' op failed to distribute" in ended.stderr


@pytest.mark.exhaustive
def test_narrow_result_where_an_instruction_has_it() -> None:
    source = REPRODUCERS / "narrow_result.mlir"
    ended = compile_(source, "--iree-hal-target-device=hip", "--iree-rocm-target=gfx1100")
    assert ended.returncode == 0, ended.stderr


@on_this_release
def test_parts_of_inputs_are_copied() -> None:
    elide, source = "--iree-stream-elide-async-copies", str(REPRODUCERS / "input_parts.mlir")
    command = [str(TOOLS / "iree-opt"), elide, source]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    of_an_input, of_another_value = ended.stdout.split("util.func")[1:]
    assert "stream.async.slice" in of_an_input
    assert "stream.async.slice" not in of_another_value


@pytest.mark.exhaustive
@on_this_release
def test_cuda_padded_reduction_reads_on() -> None:
    """`gpu.spaces._reads_on`: the mask of rows is gone after canonicalization, and so is it in the kernel."""
    command = [str(TOOLS / "iree-opt"), "--canonicalize", str(REPRODUCERS / "mask_of_unit_dims.mlir")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "dense<true> : vector<4xi1>" in ended.stdout
    assert "vector.create_mask" not in ended.stdout
    dump = "--mlir-print-ir-after=iree-llvmgpu-vector-lowering"
    source = REPRODUCERS / "cuda_padded_reduction.mlir"
    ended = compile_(source, "--iree-hal-target-device=cuda", "--iree-cuda-target=sm_89", dump)
    loads = [line for line in ended.stderr.splitlines() if "#gpu.address_space<global>" in line]
    (left,) = [line for line in loads if "memref<4x64x77xf16" in line and "maskedload" in line]
    assert "vector<8xi1>" in left
    right = [
        line for line in loads if "memref<5x77x64xf16" in line and ("vector.load" in line or "masked" in line)
    ]
    assert right
    assert all("vector.load" in line for line in right), "nothing masks what is read behind row 77"


@pytest.mark.exhaustive
@on_this_release
def test_prefetch_uneven_copy(tmp_path: Path) -> None:
    """supplement 'even copies'"""
    name = "prefetch_uneven_copy.mlir"
    assert crashed(compile_(REPRODUCERS / name, *CDNA3))
    two_stages = edited(tmp_path, name, "prefetch_num_stages = 3", "prefetch_num_stages = 2")
    assert compile_(two_stages, *CDNA3).returncode == 0
    even = edited(tmp_path, name, "reduction = [0, 0, 1]", "reduction = [0, 0, 2]")
    assert compile_(even, *CDNA3).returncode == 0


@on_this_release
@pytest.mark.parametrize("chip", some(["ampere", "rdna3", "vp_android_baseline_2022"], 3))
def test_vulkan_attention(chip: str) -> None:
    """there is no Vulkan space for attention"""
    source = REPRODUCERS / "vulkan_attention.mlir"
    ended = compile_(source, "--iree-hal-target-device=vulkan", f"--iree-vulkan-target={chip}")
    assert ended.returncode == 1
    assert "'iree_linalg_ext.online_attention' op result #0 must be variadic of ranked tensor" in ended.stderr


@pytest.mark.exhaustive  # test_refused and test_repaired (test_gpu_convolution.py) meet the errors, too
@on_this_release
@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("nvptx_umul_lohi", "Cannot select"),  # what supplement 'instruction roles' keeps away from
        ("convert_acc_conv", "failed to bufferize op"),  # 'accumulator of a direct convolution'
    ],
)
def test_cuda_convolutions(name: str, error: str) -> None:
    flags = ("--iree-hal-target-device=cuda", "--iree-cuda-target=sm_80")
    ended = compile_(REPRODUCERS / f"{name}.mlir", *flags)
    assert ended.returncode != 0
    assert error in ended.stderr


@on_this_release
def test_depthwise_integers() -> None:
    """layers_jax.depthwise_int8"""
    ended = compile_(REPRODUCERS / "depthwise_integers.mlir", "--compile-to=input")
    assert ended.returncode != 0
    assert "expected collapsed type to be 'tensor<3x3x48xi8>'" in ended.stderr


@pytest.mark.exhaustive
@on_this_release
def test_attention_rows(tmp_path: Path) -> None:
    """1000 rows on CDNA; 1008 compile"""
    name = "attention_vdmfma_rows.mlir"
    assert compile_(REPRODUCERS / name, *CDNA3).returncode == 1
    assert compile_(edited(tmp_path, name, "x1000x", "x1008x"), *CDNA3).returncode == 0


@on_this_release
def test_reduction_tile_position() -> None:
    """supplement 'reduction loop'"""
    flags = ("--iree-codegen-emit-pipeline-constraints", "--compile-to=executable-configurations", "-o", "-")
    command = [str(TOOLS / "iree-compile"), str(REPRODUCERS / "reduction_tile_position.mlir"), *CDNA3, *flags]
    printed = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    knob = '#iree_codegen.smt.int_knob<"red_4">'
    assert f"reduction = [0, 0, 0, 0, 1, 1, {knob}]" in printed  # direct TileAndFuse: the window's last loop
    assert f"reduction = [0, 0, 0, 0, {knob}, 1, 1]" in printed  # VectorDistribute: the channels


@pytest.mark.exhaustive  # what is made of it: test_a_gathered_convolution_... (test_gpu_matrix.py)
@on_this_release
def test_igemm_reduction_loops() -> None:
    """spaces._counts_gathered_loops"""
    command = [str(TOOLS / "iree-compile"), str(REPRODUCERS / "igemm_reduction_loops.mlir"), *CDNA3]
    until = ("--compile-to=executable-configurations", "-o", "-")

    def printed(*flags: str) -> str:
        return subprocess.run(
            [*command, *flags, *until], capture_output=True, text=True, timeout=120, check=True
        ).stdout

    assert "reduction = [0, 0, 0, 0, 1, 4]" in printed()
    emitted = printed("--iree-codegen-emit-pipeline-constraints")
    assert 'reduction = [0, 0, 0, 0, #iree_codegen.smt.int_knob<"red_4">]' in emitted


@on_this_release
@pytest.mark.parametrize("name", some(["apple", "m1", "no-such-gpu"], 3))
def test_unknown_vulkan_target(name: str) -> None:
    """iree_tuner.targets.vulkan lists the names that are known"""
    source = REPRODUCERS / "vulkan_apple_target.mlir"
    ended = compile_(source, "--iree-hal-target-device=vulkan", f"--iree-vulkan-target={name}")
    assert f"Unknown Vulkan target '{name}'" in ended.stderr
    assert crashed(ended)


@pytest.mark.exhaustive  # as test_samples_compile (test_spirv_compiles.py)
def test_a_known_vulkan_target() -> None:
    source = REPRODUCERS / "vulkan_apple_target.mlir"
    ended = compile_(source, "--iree-hal-target-device=vulkan", "--iree-vulkan-target=ampere")
    assert ended.returncode == 0, ended.stderr


def test_every_report_is_listed() -> None:
    listed = (REPORTS / "README.md").read_text()
    pages = sorted(page.name for page in REPORTS.glob("*.md") if page.name != "README.md")
    assert [page for page in pages if f"({page})" not in listed] == []


def test_every_reproducer_belongs_to_a_report() -> None:
    reports = "\n".join(page.read_text() for page in REPORTS.glob("*.md"))
    assert [file.name for file in sorted(REPRODUCERS.glob("*.mlir")) if file.name not in reports] == []


@pytest.mark.exhaustive
@on_this_release
def test_cuda_use_ptxas(tmp_path: Path) -> None:
    """measure/candidate.py loads executables ahead of measuring"""
    flags = ("--iree-hal-target-device=cuda", "--iree-cuda-target=sm_80")
    ptxas = ("--iree-cuda-use-ptxas", "--iree-cuda-use-ptxas-from=/does/not/exist")
    made: list[bytes] = []
    for more in ((), ptxas):
        output = tmp_path / "out.vmfb"
        ended = compile_(REPRODUCERS / "cuda_use_ptxas.mlir", *flags, *more, output=output)
        assert (ended.returncode, ended.stderr) == (0, "")
        made.append(output.read_bytes())
    assert made[0] == made[1]


@on_this_release
def test_cuda_strided_reduction(tmp_path: Path) -> None:
    """docs/targets/cuda.md: ResNet-50 is computed wrongly"""
    output = tmp_path / "kernel.mlir"
    ended = compile_(
        REPRODUCERS / "cuda_strided_reduction.mlir", "--compile-from=executable-sources",
        "--compile-to=executable-targets", "--iree-hal-target-device=cuda", "--iree-cuda-target=sm_89",
        output=output,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")
    kernel = output.read_text()
    assert "nvvm.read.ptx.sreg.tid.x" in kernel
    assert not any(op in kernel for op in ("nvvm.shfl", "nvvm.barrier", "addr_space = 3"))


@pytest.mark.exhaustive  # test_what_adds_in_place_... (test_gpu_own_choices.py) compiles them, too
@on_this_release
@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("padded_conv_adds", "'vector.transfer_write' op write affecting operations on global resources"),
        ("padded_sum_in_place", "'linalg.fill' op write affecting operations on shared resources"),
    ],
)
def test_padded_sums_that_begin_in_memory(name: str, error: str) -> None:
    """`gpu.convolution_padding._pad_before`, supplement 'padded sums in place'"""
    ended = compile_(REPRODUCERS / f"{name}.mlir", *CDNA3)
    assert ended.returncode == 1
    assert error in ended.stderr


@on_this_release
def test_transients_size(tmp_path: Path) -> None:
    """Each call records its commands, because it does not know how much of the memory it will use."""
    path = tmp_path / "hal.mlir"
    flags = ("--iree-hal-target-device=cuda", "--iree-cuda-target=sm_89", "--compile-to=hal")
    ended = compile_(REPRODUCERS / "transients_size.mlir", *flags, output=path)
    assert ended.returncode == 0, ended.stderr
    main, size = (
        path.read_text().split("util.func public @main(")[1].split("util.func public @main_transients")
    )
    assert "hal.buffer.length<%arg3" in main
    assert "hal.command_buffer.create" in main
    assert "constant 16384 : index" in size


HOST = "--iree-llvmcpu-target-cpu=host"


def ran_on_the_host(name: str, folder: Path, *flags: str) -> str:
    made = folder / "made.vmfb"
    local = ("--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu")
    assert compile_(REPRODUCERS / name, *local, *flags, output=made).returncode == 0
    command = [str(Path(sys.executable).parent / "iree-run-module"), f"--module={made}", "--function=main"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


@on_this_release
def test_load_leaves_loop(tmp_path: Path) -> None:
    assert "i32=3" in ran_on_the_host("load_leaves_loop.mlir", tmp_path, HOST), "it should be 6"


@pytest.mark.exhaustive
@on_this_release
def test_equal_variables(tmp_path: Path) -> None:
    found = ran_on_the_host("equal_variables.mlir", tmp_path, HOST)
    assert found.count("4xf32=0 2 0 0") == 2, "the first should be 0 1 0 0"


@pytest.mark.exhaustive
@pytest.mark.skipif(platform.machine() != "x86_64", reason="x86-64 only")
@on_this_release
def test_f16_subnormals(tmp_path: Path) -> None:
    sse = ("--iree-llvmcpu-target-cpu=x86-64", "--iree-llvmcpu-target-cpu-features=")
    assert "2xf16=0 0" in ran_on_the_host("f16_subnormals.mlir", tmp_path, *sse), "neither should be zero"


@pytest.mark.exhaustive
@on_this_release
def test_f64_views(tmp_path: Path) -> None:
    """`has_f64_views`, and the error that it is for"""
    source, path = REPRODUCERS / "f64_views.mlir", tmp_path / "f64.vmfb"
    local = ("--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu")
    for flags, results in (((), "0 1.875 0 2"), (("--iree-input-demote-f64-to-f32=false",), "1 2 3 4")):
        ended = compile_(source, *local, "--iree-llvmcpu-target-cpu=host", *flags, output=path)
        assert ended.returncode == 0, ended.stderr
        tool = Path(sys.executable).parent / "iree-run-module"
        command = [str(tool), f"--module={path}", "--device=local-task", "--input=4xf64=1,2,3,4"]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        assert f"4xf32={results}" in ran.stdout


@on_this_release
def test_tf32_buffer() -> None:
    """no workaround: the compiler runs in a worker"""
    local = ("--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu")
    assert crashed(compile_(REPRODUCERS / "tf32_buffer.mlir", *local))
