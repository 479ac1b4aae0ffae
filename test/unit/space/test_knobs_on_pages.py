"""The tables of knobs in docs/targets: they have the knobs of these spaces, and no others."""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path

import pytest

from iree_tuner.cli.main import run

ROOT = Path(__file__).resolve().parents[3]
RECORDED = ROOT / "programs" / "recorded"
PAGES = {
    "gpu-spaces.md": (
        ("cuda/attention_bert_12x384x64.mlir", "cuda:sm_80"),
        ("cuda/conv_resnet_14x14x256.mlir", "cuda:sm_80"),
        ("cuda/f32_1024x1024x1024.mlir", "cuda:sm_80"),
        ("cuda/softmax_16x512x512.mlir", "cuda:sm_80"),
        ("cuda/square_4096.mlir", "hip:gfx950"),
        ("../ops/cpu_attention.mlir", "cuda:sm_80"),
        ("../../test/upstream/scaled_contraction.mlir", "hip:gfx950"),
    ),
    "llvm-cpu.md": (
        ("cpu/matmul_512x768x1024.mlir", "llvm-cpu:znver4"),
        ("cpu/matmul_512x768x1024.mlir", "llvm-cpu:znver4+data-tiling"),
        ("cuda/softmax_16x512x512.mlir", "llvm-cpu:znver4"),
    ),
    "vulkan.md": (
        ("cuda/batch_32x512x128x512.mlir", "vulkan:rdna3"),
        ("cuda/f16_2048x1280x1280.mlir", "vulkan:ampere"),
        ("cuda/square_4096.mlir", "vulkan:rdna3"),
        ("cuda/softmax_16x512x512.mlir", "vulkan:rdna3"),
    ),
}


def general(knob: str) -> str:
    """A knob's name with N instead of numbers of loops and companions."""
    return re.sub(r"_(?:\d+|K|L)(?=_|$)", "_N", knob)


def knobs(program: Path, target: str) -> set[str]:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert run(["space", str(program), "--target", target, "--json", "--jobs", "1"]) == 0
    spaces = map(json.loads, printed.getvalue().splitlines())
    return {general(knob) for space in spaces for knob in space["knobs"]}


def listed(page: str) -> set[str]:
    """The names in the first column of the tables of knobs."""
    tables = re.findall(r"^\| knob \|.*\n\|[-|]+\n((?:\|.*\n)+)", page, re.MULTILINE)
    cells = (row.split("|")[1] for table in tables for row in table.splitlines())
    return {general(knob) for cell in cells for knob in re.findall(r"`(\w+)`", cell)}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_the_knobs_of_its_spaces(page: str) -> None:
    found = set[str]().union(*(knobs(RECORDED / program, target) for program, target in PAGES[page]))
    assert listed((ROOT / "docs" / "targets" / page).read_text()) == found
