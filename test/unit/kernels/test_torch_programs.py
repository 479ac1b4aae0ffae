"""Blocks as iree-turbine exports them from PyTorch: its norms, its softmax, its masks, its constants.

`eager` is Llama's block with `matmul`, `softmax` and a mask that `triu` makes; `causal` the same with
`scaled_dot_product_attention`; `bias` is T5's, with relative positions; `vit` cuts queries, keys and values
out of one product. Weights are arguments.
"""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from after_abi import placed, results
from amounts import some

from iree_tuner.compiler.context import new_context
from iree_tuner.kernels.c_attention import CAttention
from iree_tuner.kernels.c_code import floats
from iree_tuner.kernels.c_gemm import CGemm
from iree_tuner.kernels.find import find_here, find_joint_here
from iree_tuner.kernels.source import outlook_of
from iree_tuner.kernels.spec import save_kernel_spec
from iree_tuner.kernels.triton_attention import TritonAttention
from iree_tuner.kernels.triton_gemm import TritonGemm
from iree_tuner.kernels.triton_norms import TritonNorms
from iree_tuner.spec.external import SPEC_FLAG
from iree_tuner.targets import parse_target

FOLDER = Path(__file__).parent / "torch_programs"
CUDA, HOST = parse_target("cuda:sm_90"), parse_target("llvm-cpu:host")
ON_GPUS = {
    "eager": {"attention": 1, "matmul": 7},
    "causal": {"attention": 1, "matmul": 7},
    "bias": {"attention": 1, "matmul": 7},
    "vit": {"attention": 1, "matmul": 4},
}
"""Kernels of each program: all of its products, and one attention."""


def pairs_in(name: str, target, kernels, **wanted):
    """The program's sites with kernels, how often each occurs, and the target of executables."""
    path = FOLDER / f"{name}.mlir"
    found = find_here(path.read_bytes(), path.name, target, **wanted)
    outlook = outlook_of(found, [each() for each in kernels])
    return [(site, kernel, len(place.functions)) for place, site, kernel in outlook.pairs], found.target


@pytest.mark.parametrize("name", ON_GPUS)
def test_kernels_compute_all_products_and_masks(name: str) -> None:
    sites, _ = pairs_in(name, CUDA, (TritonGemm, TritonAttention))
    kernels = Counter[str]()
    for site, _, times in sites:
        kernels[site.problem.workload.op.removeprefix("batch_")] += times
    assert kernels == ON_GPUS[name]
    (attention,) = [site.problem for site, *_ in sites if site.problem.workload.op == "attention"]
    assert attention.after == (0 if name in ("eager", "causal") else None)
    assert (attention.added is not None) == (name == "bias")
    assert len(attention.inputs) == 3 + (name == "bias"), "a mask of positions is no array"
    assert attention.scale == pytest.approx(1.0 if name == "bias" else 0.25, rel=1e-3)
    path = FOLDER / f"{name}.mlir"
    *_, failed = find_joint_here(path.read_bytes(), path.name, CUDA)  # an op without inputs is no product
    assert not failed


def test_norms_are_one_kernel() -> None:
    """Their sums keep the dimension, with size 1."""
    found, _ = pairs_in("vit", CUDA, (TritonNorms,), norms=True)
    norms = [site.problem for site, *_ in found if site.problem.nest and site.problem.nest.row is not None]
    assert {str(each.result) for each in norms} == {"2x17x64xf16"}


@pytest.mark.skipif(bool(CGemm().missing()), reason=CGemm().missing())
@pytest.mark.parametrize("name", some(ON_GPUS, 4))
def test_the_host_computes_the_same_with_kernels(name: str, tmp_path) -> None:
    text = (FOLDER / f"{name}.mlir").read_text()
    narrow = ",f16>" in text
    if narrow and "f16" not in floats():
        pytest.skip("no F16C")
    sites, executables = pairs_in(name, HOST, (CGemm, CAttention))
    made = [(site, kernel.make(site.problem, HOST, kernel.variants(site.problem, HOST)[0]))
            for site, kernel, _ in sites]  # fmt: skip
    save_kernel_spec(made, executables, new_context(), tmp_path / "k.mlir")
    flags = (f"{SPEC_FLAG}={tmp_path / 'k.mlir'}",)
    assert placed(text, flags) == sum(times for *_, times in sites)
    signature = text.partition("@main(")[2].partition("->")[0]
    shapes = [[*map(int, each.split(","))] for each in re.findall(r"vtensor<\[([\d,]+)\]", signature)]
    rng = np.random.default_rng(2)
    kind = np.float16 if narrow else np.float32
    inputs = [(rng.standard_normal(each) / 4).astype(kind) for each in shapes]
    (default,), (own,) = results(text, inputs), results(text, inputs, flags)
    near = 2e-2 if narrow else 1e-4
    assert np.abs(own.astype(float) - default).max() <= near * np.abs(default.astype(float)).max()
