"""Triton's kernels: interpreted against double precision, and compiled for a GPU that need not be there."""

import re
from dataclasses import replace
from fnmatch import fnmatch

import numpy as np
import pytest
from interpreted import LARGER, compute, made
from made_operations import CASES, Made, arrays
from test_primitives import agrees

from iree_tuner.compiler.worker import Workers
from iree_tuner.execute.numerics import compare
from iree_tuner.suite.exact import reference
from iree_tuner.suite.kinds.matmul import Matmul

pytest.importorskip("triton", reason="triton is not installed")
pytest.importorskip("torch", reason="torch is not installed")

CANNOT = (
    "convolution *", "*f64*", "softmax first", "cast f32>i8", "attention f8", "subtract broadcast",
)  # fmt: skip
"""Patterns of the cases for which there are no kernels here."""


@pytest.fixture(scope="module")
def interpreted():
    """The result of each operation by its name, or why there is none."""
    with pytest.MonkeyPatch.context() as patch, Workers(1, memory_bytes=None) as workers:
        patch.setenv("TRITON_INTERPRET", "1")
        found = workers.call(compute, made(), timeout_s=240)
    return dict(zip([each.name for each in made()], found, strict=True))


@pytest.mark.parametrize("case", CASES)
def test_it_computes_what_it_must(case, interpreted):
    if fnmatch(case, "matmul bf16*"):
        pytest.skip("Triton's interpreter multiplies the bits of bf16 as integers")
    operation = Made(case=case)
    found = interpreted[operation.name]
    if any(fnmatch(case, pattern) for pattern in CANNOT):
        assert isinstance(found, str)
        assert found.startswith("iree-tuner has no Triton kernel")
        return
    assert not isinstance(found, str), found
    agrees(operation, found, arrays(operation))


@pytest.mark.parametrize("operation", LARGER, ids=lambda each: each.name)
def test_it_computes_larger_ones(operation, interpreted):
    inputs = arrays(operation)
    tolerance = operation.tolerance
    if getattr(operation, "epilogue", ""):
        tolerance = replace(tolerance, factor_type=operation.result.element_type)
    found = compare(
        np.atleast_1d(interpreted[operation.name]), np.atleast_1d(reference(operation, inputs)),
        operation.result.element_type, tolerance.accumulator_type, tolerance.reduction_length,
        factors=(tolerance.factor_type, tolerance.factors),
    )  # fmt: skip
    assert found.ok, found.message


class TestCompiled:
    """For Hopper, to its instructions: what the interpreter does not see."""

    def compiled(self, kernel, pointers, constants, warps, stages):
        from triton import compile as compile_
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource

        names = list(kernel.arg_names)
        kinds = {**pointers, **dict.fromkeys(constants, "constexpr")}
        signature = {name: kinds[name] for name in names}
        aligned = {(names.index(name),): [["tt.divisibility", 16]] for name in pointers}
        source = ASTSource(kernel, signature, constants, aligned)
        options = {"num_warps": warps, "num_stages": stages}
        return compile_(source, target=GPUTarget("cuda", 90, 32), options=options)

    @pytest.mark.parametrize(
        ("kind", "out", "depth", "instruction"),
        [
            ("fp16", "fp16", 64, "k16.f32.f16.f16"),
            ("bf16", "bf16", 64, "k16.f32.bf16.bf16"),
            ("i8", "i32", 128, "k32.s32.s8.s8"),
            ("fp8e4nv", "fp32", 128, "k32.f32.e4m3.e4m3"),
        ],
    )
    def test_products_are_tensor_cores_work(self, kind, out, depth, instruction):
        from iree_tuner.suite.backends import triton_kernels

        pointers = dict.fromkeys(("a", "b"), f"*{kind}") | dict.fromkeys(("e0", "e1", "e2", "out"), f"*{out}")
        constants = {
            "M": 512, "N": 512, "K": 512, "A": (0, 512, 1), "B": (0, 1, 512), "PRECISION": "ieee",
            "NARROW": kind == "fp8e4nv", "STEPS": ("add", "relu"), "SLOTS": (0, -1), "STRIDES": (0, 0, 1),
            "BM": 128, "BN": 256, "BK": depth, "GROUP": 8,
        }  # fmt: skip
        ptx = self.compiled(triton_kernels.gemm, pointers, constants, 8, 3).asm["ptx"]
        assert re.search(rf"wgmma\.mma_async\.sync\.aligned\.m64n\d+{re.escape(instruction)}", ptx)

    def test_attention_is_too(self):
        from iree_tuner.suite.backends import triton_kernels

        pointers = dict.fromkeys(("q", "k", "v", "mask", "out"), "*fp16")
        constants = {
            "QUERIES": 512, "KEYS": 1024, "HEADS": 32, "SHARED": 4, "Q": (2097152, 65536, 128, 1),
            "K": (1048576, 131072, 128, 1), "V": (1048576, 131072, 128, 1), "MASK": (0, 0, 0, 0), "SIZE": 128,
            "VALUES": 128, "SIZE_2": 128, "VALUES_2": 128, "SCALE": 0.125, "CAUSAL": True, "MASKED": False,
            "PRECISION": "ieee", "BM": 128, "BN": 64,
        }  # fmt: skip
        code = self.compiled(triton_kernels.flash, pointers, constants, 8, 3)
        assert code.asm["ptx"].count("wgmma.mma_async") > 2
        assert code.metadata.shared <= 227 << 10


def test_what_follows_a_product_is_in_its_kernel():
    import torch

    from iree_tuner.suite.backends.recorded import record
    from iree_tuner.suite.backends.triton_plan import plans_of

    operation = Matmul(m=16, n=16, k=16, epilogue="bias+gelu+residual", accumulate=True)
    inputs = [torch.zeros(each.shape) for each in operation.inputs]
    first, second = plans_of(record(operation), [inputs, inputs])
    assert len(first.launches) == len(second.launches) == 1
    assert first.result is second.result
