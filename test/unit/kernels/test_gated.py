"""Gated products are found with all that they are made of, and computed by one kernel."""

import numpy as np
import pytest
from kernels.after_abi import HOST, results_of_all, session
from kernels.gated_programs import GEGLU, SWIGLU, WIDE, gated, gated_reference
from problems import site_in, sites_in

from iree_tuner.kernels.c_gemm import CGemm
from iree_tuner.kernels.find import dispatches_of, find_joint_here
from iree_tuner.kernels.product_shape import product_shape
from iree_tuner.kernels.triton_gemm import TritonGemm
from iree_tuner.targets import parse_target

CUDA = parse_target("cuda:sm_90")
TRITON = TritonGemm()
FORMS = [(37, SWIGLU, False), (1, WIDE, False), (37, GEGLU, False), (5, SWIGLU, True)]


def arrays_of(site):
    rng = np.random.default_rng(0)
    kinds = {"f16": np.float16, "f32": np.float32}
    return [rng.standard_normal(each.shape).astype(kinds[each.element_type]) for each in site.problem.inputs]


def test_a_gated_product_is_one_problem() -> None:
    """Whether as the program has it or as one dispatch, all of which are compiled as one program."""
    sites = [site_in(gated(rows, 24, 64, steps, apart=apart)) for rows, steps, apart in FORMS]
    for site, (_, steps, _) in zip(sites, FORMS, strict=True):
        assert site.problem.epilogue == steps
        assert (TRITON.refuses(site.problem), CGemm().refuses(site.problem) != "") == ("", True)
    read = [arrays_of(site) for site in sites]
    programs = [program for site in sites for program in (site.case, site.one_op)]
    given = [each for each in read for _ in range(2)]
    for at, (got,) in enumerate(results_of_all(programs, given)):
        want = gated_reference(FORMS[at // 2][1], *(each.astype(np.float64) for each in read[at // 2]))
        assert np.abs(got.reshape(want.shape) - want).max() < 4e-3 * np.abs(want).max(), FORMS[at // 2]
    with session().context:
        assert dispatches_of([site.one_op for site in sites], session(), HOST) == [1] * len(sites)


def test_the_result_has_half_of_the_columns() -> None:
    shape = product_shape(site_in(gated(37, 24, 64, GEGLU)).problem)
    assert shape is not None
    assert (shape.sizes["n"], shape.written.sizes["n"]) == ((2, 24), (24,))
    assert (shape.steps["RIGHT"]["n"], shape.steps["EXTRA0"]["n"]) == ((24, 1), (24, 1))
    assert (shape.written.m, shape.written.n, shape.steps["RESULT"]["m"]) == (37, 24, (24,))


@pytest.mark.parametrize("what", ["added", "another part", "used twice", "thirds"])
def test_what_is_no_gated_product(what: str) -> None:
    text = gated(37, 24, 64, SWIGLU)
    changed = {
        "added": text.replace("arith.mulf %x0, %x1", "arith.addf %x0, %x1"),
        "another part": text.replace("[0, 24] [37, 24]", "[0, 20] [37, 24]"),
        "used twice": text.replace("ins(%silu, %two :", "ins(%silu, %silu :"),
        "thirds": text.replace("tensor<37x48x", "tensor<37x72x").replace("tensor<64x48x", "tensor<64x72x"),
    }[what]
    assert changed != text
    (sites,) = sites_in(changed)
    assert all("gated" not in site.problem.epilogue for site in sites)


def two_products(rows: int, columns: int, last: str) -> str:
    x, w, sums = f"tensor<{rows}x64xf16>", f"tensor<64x{columns}xf16>", f"tensor<{rows}x{columns}xf32>"
    half, lines, head = sums.replace("f32", "f16"), list[str](), list[str]()
    for name in ("gate", "up"):
        head.append(f'util.global private @{name} = #flow.parameter.named<"model"::"{name}"> : {w}')
        lines += [
            f"%w_{name} = util.global.load @{name} : {w}",
            f"%sums_{name} = stablehlo.dot_general %x, %w_{name}, contracting_dims = [1] x [0]"
            f" : ({x}, {w}) -> {sums}",
            f"%{name} = stablehlo.convert %sums_{name} : ({sums}) -> {half}",
        ]
    lines += [
        f"%turned = stablehlo.logistic %gate : {half}",
        f"%active = stablehlo.multiply %gate, %turned : {half}",
        f"%r = stablehlo.{last} %active, %up : {half}", f"return %r : {half}",
    ]  # fmt: skip
    return "\n".join((*head, f"func.func @main(%x: {x}) -> {half} {{", *lines, "}"))


def test_two_products_of_constants_are_joined_however_large() -> None:
    """As models have gate and up projections; without a gate, products of this size are not joined."""
    joint, places, _ = find_joint_here(two_products(2048, 4096, "multiply").encode(), "p.mlir", CUDA)
    assert len(joint) == 2
    assert [place.sites[-1].problem.epilogue for place in places] == [SWIGLU]
    assert find_joint_here(two_products(2048, 4096, "add").encode(), "p.mlir", CUDA) == ((), (), ())
    assert find_joint_here(two_products(2048, 4096, "multiply").encode(), "p.mlir", HOST) == ((), (), ())
