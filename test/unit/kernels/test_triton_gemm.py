"""Triton's kernels are made without a GPU, and fit the bindings that an executable gives them."""

import re

import pytest
from epilogues import with_epilogue
from problems import matmul, site_in

from iree_tuner.kernels.alone import build_kernel_here, with_scratch
from iree_tuner.kernels.kernel import Code
from iree_tuner.kernels.problem import KernelError, Problem
from iree_tuner.kernels.triton_gemm import TritonGemm
from iree_tuner.targets import parse_target

KERNEL = TritonGemm()
TARGET = parse_target("cuda:sm_89")

needs_triton = pytest.mark.skipif(bool(KERNEL.missing()), reason=KERNEL.missing())


def problem(text: str = matmul(256, 256, 256, element="f16")) -> Problem:
    return site_in(text).problem


def variant(persistent: int) -> dict[str, int]:
    return dict(next(each for each in KERNEL.variants(problem(), TARGET) if each["persistent"] == persistent))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (matmul(256, 256, 256), "its types are f32, f32, f32"),
        (matmul(100, 256, 256, element="f16"), "no tile size divides its sizes"),
        (matmul(1, 4096, 4096, element="f16"), "no tile size divides its sizes"),
    ],
)
def test_refused(text: str, why: str) -> None:
    assert why in KERNEL.refuses(problem(text))


def test_variants_fit_into_shared_memory() -> None:
    assert KERNEL.refuses(problem()) == ""
    found = KERNEL.variants(problem(), TARGET)
    assert len(found) == len({tuple(sorted(each.items())) for each in found}) > 50
    assert all((each["bm"] + each["bn"]) * each["bk"] * 2 * each["stages"] <= 227 * 1024 for each in found)


def test_other_targets() -> None:
    with pytest.raises(KernelError, match="does not compute"):
        KERNEL.make(problem(), parse_target("hip:gfx942"), variant(0))


def parameters(code: Code) -> list[str]:
    listed = re.search(r"\.entry \w+\(([^)]*)\)", code.data.decode())
    assert listed is not None
    return [each.split()[-1].rpartition("_")[2] for each in listed[1].split(",")]


@needs_triton
@pytest.mark.parametrize(("persistent", "expected"), [(0, ["0", "1", "4"]), (1, ["0", "1", "4", "5"])])
def test_made_and_built(only_dispatch, persistent: int, expected: list[str]) -> None:
    """Two operands and the result, and scratch memory for tensor descriptors; the executable takes them."""
    code = KERNEL.make(problem(), TARGET, variant(persistent))
    assert parameters(code) == expected
    assert bool(code.scratch_bytes) == bool(persistent)
    assert 0 < code.launch.shared_bytes <= 227 * 1024
    harness = only_dispatch(matmul(256, 256, 256, element="f16"), TARGET).harness
    if persistent:
        with pytest.raises(KernelError, match="no room"):
            build_kernel_here(harness, TARGET.flags, problem(), code)
        roomy = with_scratch(harness, code.scratch_bytes, TARGET.flags)
        assert roomy.buffer_bytes >= harness.buffer_bytes + code.scratch_bytes
        harness = roomy
    built = build_kernel_here(harness, TARGET.flags, problem(), code)
    assert (built.outcome, built.message) == ("ok", "")
    assert code.entry.encode() in built.vmfb


STEPS = [
    ("bias", "gelu", "truncf"),
    ("truncf", "bias", "gelu", "residual"),
    ("residual", "bias", "relu"),
    ("gelu_tanh", "truncf", "residual"),
    ("residual",),
]


@needs_triton
@pytest.mark.parametrize("steps", STEPS, ids="_".join)
@pytest.mark.parametrize("persistent", [0, 1])
def test_epilogues_take_their_operands_in_order(steps, persistent: int) -> None:
    """The parameters that are left are the bindings: operands, those of the epilogue, result, scratch."""
    text = with_epilogue(256, 256, 256, steps, element="f16", narrow="f16")
    found = problem(text)
    assert KERNEL.refuses(found) == ""
    knobs = next(each for each in KERNEL.variants(found, TARGET) if each["persistent"] == persistent)
    code = KERNEL.make(found, TARGET, knobs)
    extras = len(found.inputs)
    assert parameters(code) == [str(each) for each in (*range(extras), 4, 5)[: extras + 1 + persistent]]
    assert bool(code.scratch_bytes) == bool(persistent)
