"""On an NVIDIA GPU: kernels with their epilogues have the numbers of the compiler's own code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from kernels.after_abi import results
from kernels.convs import Conv, program
from kernels.epilogues import with_epilogue
from kernels.group_norms import Norm, expected
from kernels.group_norms import program as norm_program
from kernels.problems import einsum, form_of, matmul, parts_with_bias, site_in

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Workers
from iree_tuner.device.bench import Bench
from iree_tuner.kernels.executable import build_kernel_here, with_scratch
from iree_tuner.kernels.find import find_places
from iree_tuner.kernels.kernel import Kernel, Knobs
from iree_tuner.kernels.ptx_gemm import PtxGemm
from iree_tuner.kernels.source import outlook_of
from iree_tuner.kernels.spec import save_kernel_spec
from iree_tuner.kernels.triton_conv import TritonConv
from iree_tuner.kernels.triton_gemm import TritonGemm
from iree_tuner.kernels.triton_norms import TritonNorms
from iree_tuner.kernels.variants import tolerance_for
from iree_tuner.measure.candidate import Builder
from iree_tuner.measure.measurer import Measurer
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.spec.external import SPEC_FLAG
from iree_tuner.targets import target_for_device
from iree_tuner.targets.cuda import cuda_devices

pytestmark = [
    pytest.mark.hardware,
    pytest.mark.skipif(not cuda_devices(), reason="needs an NVIDIA GPU and its driver"),
]

DEVICE = "cuda://0"
needs_triton = pytest.mark.skipif(bool(TritonGemm().missing()), reason=TritonGemm().missing())
STEPS = [
    (),
    ("bias",),
    ("residual",),
    ("relu",),
    ("gelu",),
    ("gelu_tanh",),
    ("truncf",),
    ("bias", "gelu", "truncf", "residual"),
    ("residual", "bias", "gelu_tanh", "truncf"),
    ("truncf", "bias", "residual", "relu"),
    ("truncf", "bias", "gelu"),
]


@pytest.fixture(scope="module")
def measurer() -> Iterator[Measurer]:
    with Workers(1, memory_bytes=None) as pool:
        yield Measurer(DEVICE, pool)


def check(text: str, kernel: Kernel, knobs: Knobs, measurer: Measurer, compilers: Workers) -> None:
    """A kernel on a problem against the compiler's own code, as contests check it."""
    target, site = target_for_device(DEVICE), site_in(text)
    problem = site.problem
    assert kernel.refuses(problem) == ""
    code = kernel.make(problem, target, knobs)
    (dispatch,) = extract(load_program(site.alone.decode()), target, compilers).dispatches
    assert dispatch.harness is not None
    harness = with_scratch(dispatch.harness, max(code.scratch_bytes, 4096), target.flags)
    default = Builder(target, compilers).build(harness, None)
    bench = Bench(harness, DEVICE, default.vmfb, tolerance_for(problem))
    built = build_kernel_here(harness, target.flags, problem, code)
    assert built.outcome == "ok", built.message
    timed = measurer.time(built.vmfb, bench)
    assert timed.outcome == "ok", timed.message
    found = measurer.agrees(built.vmfb, bench)
    assert found.ok, found.message
    # Where only the compiler's code is wrong, the kernel has the processor's numbers. Where both differ from
    # these, a few sums of f16 values may be rounded in another way.
    if found.note.startswith("candidate and default agree"):
        differ, of = re.search(r"(\d+) of (\d+) differ", found.note).groups()
        assert int(differ) <= 1e-4 * int(of), found.note


@needs_triton
@pytest.mark.parametrize("steps", STEPS, ids=lambda each: "_".join(each) or "none")
@pytest.mark.parametrize("persistent", [0, 1])
def test_epilogues_of_triton(steps, persistent: int, measurer: Measurer, compilers: Workers) -> None:
    text = with_epilogue(256, 256, 256, steps, element="f16", together=True)
    kernel, target = TritonGemm(), target_for_device(DEVICE)
    variants = kernel.variants(site_in(text).problem, target)
    knobs = next(each for each in variants if each["persistent"] == persistent)
    check(text, kernel, knobs, measurer, compilers)


SIZES = {"b": 3, "h": 5, "s": 77, "d": 1024, "e": 64, "m": 154, "n": 1000, "k": 77, "t": 320}
PRODUCTS = {
    "one row": (
        matmul(1, 1000, 1504, element="f16", transposed=True), ("one_row", "plain", "persistent", "split"),
    ),
    "few rows": (matmul(7, 4096, 4096, element="bf16"), ("plain", "persistent", "split")),
    "odd rows": (matmul(257, 1000, 1504, element="f16"), ("plain", "persistent", "split")),
    "odd strides": (einsum("mk,kn->mn", SIZES), ("plain",)),
    "batch": (einsum("bsd,btd->bst", SIZES), ("plain", "persistent", "split")),
    "heads apart": (einsum("bsd,dhe->bhse", SIZES, "bf16"), ("plain", "persistent", "split")),
    "heads together": (einsum("bhse,het->bst", SIZES), ("plain",)),
    "exchanged": (einsum("md,dt->tm", SIZES), ("plain", "persistent")),
    "parts with a bias": (parts_with_bias(154, 1024, 5, 64), ("plain", "persistent", "split")),
}  # fmt: skip


@needs_triton
@pytest.mark.parametrize(("text", "forms"), PRODUCTS.values(), ids=PRODUCTS)
def test_products_of_triton(text: str, forms, measurer: Measurer, compilers: Workers) -> None:
    """Each form; of those with parts of sums each number of parts."""
    kernel, target = TritonGemm(), target_for_device(DEVICE)
    first: dict[tuple[str, int], Knobs] = {}
    for knobs in kernel.variants(site_in(text).problem, target):
        first.setdefault((form_of(knobs), knobs.get("split", 1)), knobs)
    assert {form for form, _ in first} >= set(forms)
    for knobs in first.values():
        check(text, kernel, knobs, measurer, compilers)


@pytest.mark.parametrize(
    "sizes", [(256, 256, 256), (384, 96, 448)], ids=lambda each: "x".join(map(str, each))
)
@pytest.mark.parametrize("steps", [(), ("truncf",)], ids=["f32", "f16"])
def test_the_plain_example_in_ptx(sizes, steps, measurer: Measurer, compilers: Workers) -> None:
    """With every knob that divides the sizes."""
    text = with_epilogue(*sizes, steps, element="f16")
    variants = PtxGemm().variants(site_in(text).problem, target_for_device(DEVICE))
    assert len(variants) == 9
    for knobs in variants:
        check(text, PtxGemm(), knobs, measurer, compilers)


PAD = {"low": (1, 1), "more": (1, 1)}
CONVS = [
    Conv(16, 28, 28, 64, 128, **PAD, steps=("bias", "truncf", "relu")),
    Conv(2, 15, 13, 64, 96, **PAD, steps=("truncf", "gain", "bias", "residual", "relu")),
    Conv(4, 28, 28, 64, 64, stride=2, more=(1, 1), steps=("truncf", "image_bias")),
    Conv(16, 28, 28, 128, 64, (1, 1), steps=("bias", "truncf", "residual", "relu")),
    Conv(16, 28, 28, 64, 128, (1, 1), stride=2, sums="f16", steps=("bias",)),
    Conv(2, 56, 56, 3, 64, (7, 7), stride=2, low=(3, 3), more=(3, 3), steps=("bias", "truncf", "relu")),
    Conv(2, 15, 13, 32, 40, first=True, **PAD, steps=("channel_bias", "truncf", "residual")),
    Conv(2, 15, 13, 8, 16, groups=4, steps=("truncf",)),
    Conv(2, 14, 14, 64, 64, dilation=2, low=(2, 2), more=(2, 2), element="bf16", steps=("truncf", "bias")),
]


@needs_triton
@pytest.mark.parametrize("conv", CONVS, ids=lambda each: "_".join(map(str, (each.result, *each.steps))))
def test_convolutions_of_triton(conv: Conv, measurer: Measurer, compilers: Workers) -> None:
    """In each of the kernel's ways."""
    text, kernel = program(conv), TritonConv()
    ways: dict[tuple[int, ...], Knobs] = {}
    for knobs in kernel.variants(site_in(text).problem, target_for_device(DEVICE)):
        ways.setdefault(tuple(knobs.get(each, 0) for each in ("boxed", "persistent", "flat")), knobs)
    for knobs in ways.values():
        check(text, kernel, knobs, measurer, compilers)


NORMS = [
    Norm(2, 64, 64, 32, 20),
    Norm(1, 17, 19, 7, 33, then="relu"),
    Norm(3, 27, 25, 5, 9, then="none"),
    Norm(3, 31, 33, 32, 10, first=True),
    Norm(2, 96, 40, 8, 24, element="f32"),
]


@needs_triton
@pytest.mark.parametrize("norm", NORMS, ids=lambda each: "_".join(map(str, (*each.grouped, each.then))))
def test_norms_of_triton(norm: Norm, tmp_path: Path, compilers: Workers) -> None:
    """The whole norm, with sums and results by the kernel, beside numpy."""
    kernel, target, text = TritonNorms(), target_for_device(DEVICE), norm_program(norm)
    outlook = outlook_of(find_places(load_program(text), target, compilers, [kernel]), [kernel])
    sites = [site for _, site, _ in outlook.pairs]
    assert len(sites) == 3
    made = [
        (each, kernel.make(each.problem, target, kernel.variants(each.problem, target)[0])) for each in sites
    ]
    path = tmp_path / "norms.mlir"
    save_kernel_spec(made, outlook.target, new_context(), path)
    rng, element = np.random.default_rng(0), {"f16": np.float16, "f32": np.float32}[norm.element]
    shapes = (norm.shape, norm.channels, norm.channels)
    arrays = [(rng.standard_normal(shape) + 3).astype(element) for shape in shapes]
    (found,) = results(text, arrays, (f"{SPEC_FLAG}={path}",), target)
    near = 2.0**-9 if norm.element == "f16" else 1e-5
    np.testing.assert_allclose(found.astype(float), expected(norm, *arrays), rtol=near, atol=near)
