"""Kinds of layers in our profiles and in ONNX Runtime's."""

import numpy as np
import pytest

from iree_tuner.errors import TunerError
from iree_tuner.profiling.layer_kinds import (
    ATTENTION,
    BETWEEN,
    CONVOLUTION,
    COPY,
    DEPTHWISE,
    ELEMENTWISE,
    KERNEL,
    POINTWISE,
    PRODUCT,
    REDUCTION,
    OtherProfile,
    by_kind,
    kind_of,
)
from iree_tuner.profiling.profile import Profile, ProfileRow
from iree_tuner.suite.profilers.onnx import kinds_in, profile_onnx


def row(name="", workload="", note="", kind="dispatch", **facts):
    return ProfileRow(name, kind, 2.0, 100.0, 0.5, workload_name=workload, note=note, **facts)


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        (row(workload="matmul_5x192x768_f32_f32_f32"), PRODUCT),
        (row(workload="vecmat_1024x784_f32_f32_f32"), PRODUCT),
        (row(workload="conv_1x56x56x64x1x1x256_f32_f32_f32"), POINTWISE),
        (row(workload="conv_1x112x112x64x7x7x3_f32_f32_f32"), CONVOLUTION),
        (row(workload="conv_2x64x56x56x256x1x1_f32_f32_f32"), POINTWISE),  # channels first
        (row(workload="conv_2x64x56x56x128x3x3_f32_f32_f32"), CONVOLUTION),
        (row(note=f"{KERNEL}depthwise_conv_1x56x56x96x3x3_f32_f32_f32_padded_bias"), DEPTHWISE),
        (row(note=f"{KERNEL}conv_1x7x7x160x1x1x960_f32_f32_f32_bias_packed"), POINTWISE),
        (row(workload="attention_12x128x64x64x128"), ATTENTION),
        (row("main$async_dispatch_4_reduction_128x768_f32"), REDUCTION),
        (row("main$async_dispatch_9_softmax_12x128x128xf32"), REDUCTION),
        (row("main$async_dispatch_7_elementwise_100352_f32"), ELEMENTWISE),
        (row("main$async_dispatch_7_elementwise_transpose_12x128_f32"), COPY),
        (row("main$async_dispatch_3_slow_memcpy"), COPY),
        (row("(copy)", kind="transfer"), COPY),
        (row("(between dispatches)", kind="overhead"), BETWEEN),
    ],
)  # fmt: skip
def test_the_kind_of_a_row(found, kind):
    assert kind_of(found) == kind


def node(op, dur, *shapes):
    shown = [{"float": list(shape)} for shape in shapes]
    arguments = {"op_name": op, "input_type_shape": shown}
    return {"cat": "Node", "name": f"{op}_kernel_time", "dur": dur, "args": arguments}


def test_kinds_of_onnx_nodes_in_a_mean_run():
    one = [
        node("Conv", 100, (1, 3, 224, 224), (32, 3, 3, 3), (32,)),
        node("FusedConv", 50, (1, 32, 112, 112), (32, 1, 3, 3), (32,)),
        node("Conv", 40, (1, 32, 112, 112), (16, 32, 1, 1), (16,)),
        node("FusedMatMul", 30, (128, 64), (64, 32)),
        node("LayerNormalization", 20, (128, 64)),
        node("ReorderInput", 10, (1, 32, 8, 8)),
        node("Gelu", 5, (128, 64)),
        {"cat": "Node", "name": "Conv_fence_before", "dur": 1000, "args": {"op_name": "Conv"}},
        {"cat": "Session", "name": "model_run", "dur": 300},
    ]
    assert kinds_in([*one, *one]) == {
        CONVOLUTION: 100, DEPTHWISE: 50, POINTWISE: 40, PRODUCT: 30, REDUCTION: 20, COPY: 10, ELEMENTWISE: 5,
        BETWEEN: 45,
    }  # fmt: skip


def test_both_by_kind():
    """Operations of a kernel are those of its problem's loops, for each call."""
    rows = (
        row(note=f"{KERNEL}conv_1x7x7x160x1x1x960_f32_f32_f32_bias"),
        row(workload="matmul_5x192x768_f32_f32_f32", flops=7.0),
        row("(between dispatches)", kind="overhead"),
    )
    profile = Profile("m.mlir", "", "local-task", ("main",), "hal", 300.0, (300.0, 300.0), rows)
    other = OtherProfile("other", "1.0", 200.0, {POINTWISE: 80.0, REDUCTION: 20.0})
    found = {
        each.kind: (each.time_us, each.flops, each.others_us["other"]) for each in by_kind(profile, [other])
    }
    assert found == {
        PRODUCT: (100.0, 7.0, 0.0), POINTWISE: (100.0, 2 * 2 * 7 * 7 * 160 * 960, 80.0),
        REDUCTION: (0.0, 0.0, 20.0), BETWEEN: (100.0, 0.0, 0.0),
    }  # fmt: skip


def test_a_model_in_onnx_runtime(tmp_path):
    pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    make, kind = onnx.helper, onnx.TensorProto.FLOAT
    weights = onnx.numpy_helper.from_array(np.ones((64, 32), np.float32), "w")
    nodes = [make.make_node("MatMul", ["x", "w"], ["y"]), make.make_node("Softmax", ["y"], ["z"])]
    x, z = (make.make_tensor_value_info(name, kind, ["n", size]) for name, size in (("x", 64), ("z", 32)))
    graph = make.make_graph(nodes, "g", [x], [z], [weights])
    path = tmp_path / "m.onnx"
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8), path)
    found = profile_onnx(path, 1)
    assert found.whole_us > 0
    assert {PRODUCT, REDUCTION} <= set(found.kinds_us)
    path.write_bytes(b"no model")
    with pytest.raises(TunerError, match="ONNX Runtime: "):
        profile_onnx(path, 1)
