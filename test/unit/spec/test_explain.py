from __future__ import annotations

from dataclasses import replace

from iree_tuner.ops.workload import DynamicLoop
from iree_tuner.spec.build import build_spec
from iree_tuner.spec.explain import AttributeSetting, explain


def test_rows(context, entry):
    rows = explain(
        build_spec([entry("conv"), entry("attention"), entry("softmax"), entry("matmul")], context)
    )
    conv, attention, softmax, matmul = rows
    assert dict(conv.sizes) | {"output_image": (56, 56), "filter": (3, 3), "strides": (1, 1)} == dict(
        conv.sizes
    )
    assert conv.pipeline == "ConvTileAndDecomposeExpert"
    assert dict(attention.sizes) == {"batch": (4,), "m": (64,), "n": (64,), "k1": (64,), "k2": (128,)}
    assert attention.types == ("f32",) * 7
    assert softmax.op == "softmax"
    assert [setting.op for setting in softmax.settings] == [0, 1, 2]
    assert matmul.provenance == entry("matmul").provenance
    tiles = "distribution = [64, 64, 0], vector_common_parallel = [8, 16, 0], vector_reduction = [0, 0, 16]"
    assert matmul.settings == (AttributeSetting(0, "compilation_info", tiles),)


def test_no_entries(context):
    assert explain(build_spec([], context)) == []


def test_dynamic_sizes(context, entry):
    static = entry("matmul")
    for bounds in ((), (16, 4096)):
        workload = replace(static.workload, dynamic=(DynamicLoop(0, *bounds),))
        (row,) = explain(build_spec([replace(static, workload=workload)], context))
        assert dict(row.sizes) == {"m": (-1,), "n": (512,), "k": (128,)}
        assert (row.matcher, row.workload) == ("match_matmul_Dx512x128_f32_f32_f32", workload.key)
