"""Attention and scaled contractions: one form each."""

from op_samples import SCALED, matmul, online_attention, only, sample, workloads

from iree_tuner.ops.attention import Attention
from iree_tuner.ops.check import check_op_family
from iree_tuner.ops.scaled_contraction import ScaledContraction


def attention():
    (workload,) = [each for each in workloads(online_attention()) if each.family == "attention"]
    return workload


def test_describe_attention():
    workload = attention()
    assert {role: workload.sizes(role) for role in ("batch", "m", "n", "k1", "k2")} == {
        "batch": (2,), "m": (6,), "n": (18,), "k1": (10,), "k2": (14,),
    }  # fmt: skip
    assert list(map(str, workload.types)) == ["f16"] * 4 + ["f32"] * 3


def test_attention_holds_to_its_contract():
    assert check_op_family(Attention(), [sample(online_attention(), matmul())]) == []


def test_describe_scaled_contraction():
    workload = only(SCALED)
    assert (workload.family, workload.op) == ("scaled_contraction", "scaled_matmul")
    assert {role: workload.sizes(role) for role in ("batch", "m", "n", "k", "kB")} == {
        "batch": (), "m": (16,), "n": (8,), "k": (4,), "kB": (32,),
    }  # fmt: skip


def test_scaled_contraction_holds_to_its_contract():
    near = SCALED.replace("16x", "17x"), SCALED.replace("f4E2M1FN", "f8E4M3FN")
    assert check_op_family(ScaledContraction(), [sample(SCALED, *near)], ignores_attributes=False) == []
