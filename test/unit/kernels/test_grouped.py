"""Epilogues: operands with a row for each of equal groups of rows, as parts of larger arrays, and gates."""

from pathlib import Path

import numpy as np
import pytest
from amounts import some
from kernels.test_attention_sites import HOST, needs_triton, results

from iree_tuner.kernels.find import find_here
from iree_tuner.kernels.kernel import RowGroups
from iree_tuner.kernels.product_shape import product_shape
from iree_tuner.kernels.triton_gemm import TritonGemm
from iree_tuner.targets import parse_target

PROGRAMS = Path(__file__).parent / "grouped"
"""What JAX 0.10 lowers: products of 3 images of 12 rows (or 36 rows) by 48 columns, in half precision."""
KERNEL, CUDA = TritonGemm(), parse_target("cuda:sm_90")


def product(x, w, columns=48):
    return (x.reshape(-1, 64) @ w).reshape(3, 12, columns)


REFERENCES = {
    "gated_residual": lambda x, w, row, r: r + row.reshape(3, 3, 48)[:, 1, None] * product(x, w),
    "part_of_rows": lambda x, w, table: product(x, w) + table[2][:, None],
    "scaled_and_shifted": lambda x, w, s, t: product(x, w) * s[:, None] - t,
    "layer_scale": lambda x, w, g, r: r + g * product(x, w).reshape(36, 48),
    "gated_linear_unit": lambda x, w: (x @ w)[:, :24] / (1 + np.exp(-(x @ w)[:, 24:])),
    "quick_gelu": lambda x, w, b: (x @ w + b) / (1 + np.exp(-1.702 * (x @ w + b))),
}
STEPS = {
    "gated_residual": ("truncf", "group_gain", "residual"),
    "part_of_rows": ("truncf", "group_bias"),
    "scaled_and_shifted": ("truncf", "group_gain", "minus"),
    "layer_scale": ("truncf", "gain", "residual"),
    "gated_linear_unit": ("truncf", "exchanged_halves", "sigmoid", "gated"),
    "quick_gelu": ("bias", "truncf", "quick_gelu"),
}


def site_of(name):
    ((*_, site),) = (
        place.sites for place in find_here((PROGRAMS / f"{name}.mlir").read_bytes(), name, HOST).places
    )
    return site


def arrays(problem):
    rng = np.random.default_rng(0)
    return [rng.standard_normal(each.shape).astype(np.float16) for each in problem.inputs]


@pytest.mark.parametrize("name", some(STEPS, 5))
def test_the_op_alone_computes_the_same(name: str) -> None:
    site = site_of(name)
    assert site.problem.epilogue == STEPS[name]
    assert KERNEL.refuses(site.problem) == ""
    given = arrays(site.problem)
    wanted = REFERENCES[name](*(each.astype(np.float64) for each in given))
    for program in {site.case, site.alone}:
        found = results(program, given).reshape(wanted.shape)
        assert np.abs(found - wanted).max() < 4e-3 * np.abs(wanted).max()


def test_rows_are_read_where_they_are() -> None:
    gated, part = site_of("gated_residual").problem, site_of("part_of_rows").problem
    assert gated.groups == (RowGroups(3, 48, 144),)
    assert gated.inputs[2].shape == (3, 1, 144)
    assert part.groups == (RowGroups(3, 2 * 3 * 48, 48),)
    shape = product_shape(gated)
    assert (shape.sizes["m"], shape.steps["EXTRA0"]["m"]) == ((3, 12), (144, 0))
    assert shape.steps["LEFT"]["m"] == (12 * 64, 64)


@needs_triton
@pytest.mark.parametrize("name", some(STEPS, 2))
def test_it_compiles(name: str) -> None:
    problem = site_of(name).problem
    code = KERNEL.make(problem, CUDA, KERNEL.variants(problem, CUDA)[0])
    assert code.data.count(b".param .u64 .ptr .global") >= len(problem.inputs) + 1
