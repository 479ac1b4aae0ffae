import hand_made
import pytest
from op_samples import MAC, generic, matmul, named, only, sample

from iree_tuner.ops.check import check_op_family
from iree_tuner.ops.contraction import Contraction

NT = generic(
    "m, n, k",
    ["m, k", "n, k", "m, n"],
    "ppr",
    ["tensor<6x14xf32>", "tensor<10x14xf32>", "tensor<6x10xf32>"],
    MAC,
)
MULTI = generic(
    "h, w, n, c, d",
    ["h, w, c, d", "n, c, d", "h, n, w"],
    "ppprr",
    ["tensor<3x5x7x9xf32>", "tensor<11x7x9xf32>", "tensor<3x11x5xf32>"],
    MAC,
)
BATCH = named("batch_matmul", ["tensor<2x6x14xf32>", "tensor<2x14x10xf32>", "tensor<2x6x10xf32>"])
VECMAT = named("vecmat", ["tensor<14xf16>", "tensor<14x10xf16>", "tensor<10xf32>"])
MATVEC = named("matvec", ["tensor<6x14xf32>", "tensor<14xf32>", "tensor<6xf32>"])
DOT = named("dot", ["tensor<14xf32>", "tensor<14xf32>", "tensor<f32>"])
KINDS = {
    "matmul": (matmul(), "matmul", {"m": (6,), "n": (10,), "k": (14,)}),
    "mixed": (matmul(lhs="f16", rhs="f16"), "matmul", {"m": (6,), "n": (10,), "k": (14,)}),
    "i8": (matmul(lhs="i8", rhs="i8", out="i32"), "matmul", {"m": (6,), "n": (10,), "k": (14,)}),
    "transposed": (NT, "matmul", {"m": (6,), "n": (10,), "k": (14,)}),
    "several loops a role": (MULTI, "matmul", {"m": (3, 5), "n": (11,), "k": (7, 9)}),
    "batch": (BATCH, "batch_matmul", {"batch": (2,), "m": (6,), "n": (10,), "k": (14,)}),
    "vecmat": (VECMAT, "vecmat", {"n": (10,), "k": (14,)}),
    "matvec": (MATVEC, "matvec", {"m": (6,), "k": (14,)}),
    "dot": (DOT, "dot", {"k": (14,)}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_describe(kind):
    payload, name, sizes = KINDS[kind]
    workload = only(payload)
    assert (workload.family, workload.op) == ("contraction", name)
    for role in ("batch", "m", "n", "k"):
        assert workload.sizes(role) == sizes.get(role, ())


def test_types_are_those_of_the_operands():
    assert only(matmul(lhs="i8", rhs="i8", out="i32")).types == hand_made.named("i8", "i8", "i32")


def test_a_generic_and_the_named_op_that_it_spells_are_one_workload():
    maps = ["m, k", "k, n", "m, n"]
    types = ["tensor<6x14xf32>", "tensor<14x10xf32>", "tensor<6x10xf32>"]
    assert only(generic("m, n, k", maps, "ppr", types, MAC)) == only(matmul())


def test_ssa_names_and_attributes_play_no_part():
    renamed = matmul().replace("%a", "%left").replace("linalg.matmul", "linalg.matmul {mine = 3 : i64}")
    assert only(renamed) == only(matmul())


@pytest.mark.parametrize("loop", ["n", "k"])
def test_a_dynamic_n_or_k_is_left_to_generic_ops(loop):
    assert only(matmul(**{loop: "?"})).family == "generic"


def test_a_body_that_does_more_than_accumulate_is_no_contraction():
    body = MAC.replace("linalg.yield %s", "%t = arith.addf %s, %x : f32 linalg.yield %t")
    maps = ["m, k", "k, n", "m, n"]
    types = ["tensor<6x14xf32>", "tensor<14x10xf32>", "tensor<6x10xf32>"]
    assert only(generic("m, n, k", maps, "ppr", types, body)).family == "generic"


def test_contract():
    near = (
        matmul(m=7),
        matmul(lhs="f16", rhs="f16", out="f64"),
        NT.replace("(n, k)", "(k, n)")
        .replace("tensor<10x14xf32>", "tensor<14x10xf32>")
        .replace("tensor<6x14xf32>", "tensor<6x14xf32>"),
    )
    problems = check_op_family(
        Contraction(), [sample(payload) for payload, _, _ in KINDS.values()] + [sample(NT, *near)]
    )
    assert problems == []
