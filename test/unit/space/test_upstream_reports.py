"""Findings about release 3.13 that are reported in docs/upstream: that they are still there.

Each is shown with the stock `iree-compile`, as the report has it. When one of these tests fails, the compiler
has improved: see the report for what can then be taken out of this project.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import iree.compiler
import pytest
from amounts import some

sys.path.append(str(Path(__file__).parents[2] / "upstream"))
import rerun

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


@pytest.mark.exhaustive  # as test_samples_compile (test_spirv_compiles.py)
def test_a_known_vulkan_target() -> None:
    source = REPRODUCERS / "vulkan_apple_target.mlir"
    ended = compile_(source, "--iree-hal-target-device=vulkan", "--iree-vulkan-target=ampere")
    assert ended.returncode == 0, ended.stderr


RUN = [name for name in rerun.names() if not (rerun.read(name).cannot or rerun.read(name).hangs)]


@on_this_release
@pytest.mark.parametrize("name", some(RUN, 4))
def test_what_a_page_says_is_seen(name: str) -> None:
    found = rerun.rerun(rerun.read(name))
    assert found.state == "still there", found.note


def test_what_is_seen_is_found_on_the_page() -> None:
    page = rerun.read("depthwise_integers")
    assert page.command.startswith("iree-compile test/upstream/depthwise_integers.mlir")
    assert page.shows(1, f"x.mlir:1:1: {page.seen}\n  note")
    assert not page.shows(0, "")
    crash = rerun.read("emitter_batch_crash")
    assert crash.shows(139, "")
    assert not crash.shows(1, "error: not supported")
    assert rerun.read("verify_deadlock").shows(None, "")


def test_every_report_is_listed() -> None:
    listed = (REPORTS / "README.md").read_text()
    pages = sorted(page.name for page in REPORTS.glob("*.md") if page.name != "README.md")
    assert [page for page in pages if f"({page})" not in listed] == []


def test_every_reproducer_belongs_to_a_report() -> None:
    reports = "\n".join(page.read_text() for page in REPORTS.glob("*.md"))
    assert [file.name for file in sorted(REPRODUCERS.glob("*.mlir")) if file.name not in reports] == []


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
