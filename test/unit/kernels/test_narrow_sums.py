"""Programs as people write them in f16, without a word about sums: these are f16, too.

`plain_programs` are what JAX exports of a block whose softmax is f16; of Llama's block, whose softmax is f32
and whose mask is the lowest number; of a block whose queries, keys and values are one product; and of a
residual block.
"""

import re
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from after_abi import placed, results
from amounts import some

from iree_tuner.compiler.context import new_context
from iree_tuner.kernels.c_attention import CAttention
from iree_tuner.kernels.c_code import floats
from iree_tuner.kernels.c_gemm import CGemm
from iree_tuner.kernels.find import find_here
from iree_tuner.kernels.source import outlook_of
from iree_tuner.kernels.spec import save_kernel_spec
from iree_tuner.kernels.triton_attention import TritonAttention
from iree_tuner.kernels.triton_conv import TritonConv
from iree_tuner.kernels.triton_gemm import TritonGemm
from iree_tuner.spec.external import SPEC_FLAG
from iree_tuner.targets import parse_target

FOLDER = Path(__file__).parent / "plain_programs"
ON_GPUS = {
    "llama": {"attention": 1, "matmul": 7},
    "block": {"attention": 1, "matmul": 6},
    "vit": {"attention": 1, "matmul": 4},
    "residual": {"conv": 2},
}
"""Kernels of each program: all of its products and convolutions."""
LLAMA = {"causal", "moved", "residual", "silu", "factor"}


@cache
def found_in(name: str, target: str, kernels):
    """Each site that one of the kernels computes, the kernel, and how often it occurs; and the target."""
    path = FOLDER / f"{name}.mlir"
    found = find_here(path.read_bytes(), path.name, parse_target(target))
    outlook = outlook_of(found, [each() for each in kernels])
    return [(site, kernel, len(place.functions)) for place, site, kernel in outlook.pairs], found.target


def inputs_of(text: str):
    """For a program, numbers whose sums are not too large for f16."""
    signature = text.partition("@main(")[2].partition("->")[0]
    shapes = [map(int, each.split("x")) for each in re.findall(r"tensor<([\dx]+)xf16>", signature)]
    rng = np.random.default_rng(1)
    return [(rng.standard_normal([*each]) / 4).astype(np.float16) for each in shapes]


@pytest.mark.parametrize("name", ON_GPUS)
def test_kernels_compute_all_products(name: str) -> None:
    sites, _ = found_in(name, "cuda:sm_90", (TritonGemm, TritonAttention, TritonConv))
    kernels = Counter[str]()
    for site, _, times in sites:
        kernels[site.problem.workload.op] += times
    assert kernels == ON_GPUS[name]
    steps = [site.problem.steps for site, *_ in sites if site.problem.workload.op != "attention"]
    assert all(each[0] == "truncf" for each in steps), "sums are rounded before what follows"
    if name == "llama":
        assert {step for site, *_ in sites for step in site.problem.name.split("_")} >= LLAMA


@pytest.mark.skipif(bool(CGemm().missing()), reason=CGemm().missing())
@pytest.mark.skipif("f16" not in floats(), reason="no F16C")
@pytest.mark.parametrize("name", some(ON_GPUS, 4))  # what `vit` has besides: test_c_attention
def test_the_host_computes_the_same_with_kernels(name: str, tmp_path) -> None:
    """All of them are in the program, and its results are as near to those of f64 as by default."""
    target = parse_target("llvm-cpu:host")
    sites, executables = found_in(name, "llvm-cpu:host", (CGemm, CAttention))
    made = [(site, kernel.make(site.problem, target, kernel.variants(site.problem, target)[0]))
            for site, kernel, _ in sites]  # fmt: skip
    save_kernel_spec(made, executables, new_context(), tmp_path / "k.mlir")
    text = (FOLDER / f"{name}.mlir").read_text()
    flags = (f"{SPEC_FLAG}={tmp_path / 'k.mlir'}",)
    assert placed(text, flags) == sum(times for *_, times in sites)
    inputs = inputs_of(text)
    (exact,) = results(in_f32(text), [each.astype(np.float32) for each in inputs])
    (own,) = results(text, inputs, flags)
    off, allowed = np.abs(own - exact).max(), 2e-3 * np.abs(exact).max()
    if not off <= allowed:  # only then is the default compiled
        (default,) = results(text, inputs)
        assert off <= np.abs(default - exact).max()


def in_f32(text: str) -> str:
    return text.replace("f16", "f32").replace("0xFC00", "0xFF800000")
