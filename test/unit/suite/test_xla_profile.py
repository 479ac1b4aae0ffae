"""Kinds of layers in XLA's profiles."""

import pytest

from iree_tuner.errors import TunerError
from iree_tuner.profiling.layer_kinds import (
    CONVOLUTION,
    COPY,
    DEPTHWISE,
    ELEMENTWISE,
    POINTWISE,
    PRODUCT,
    REDUCTION,
)
from iree_tuner.suite.profilers.xla import TraceSpan, kinds_in, kinds_of_operations, profile_xla

HLO = """HloModule jit_f, is_scheduled=true, entry_computation_layout={(f32[1,8,8,4]{3,2,1,0})->f32[4,4]{1,0}}

%adding (x.1: f32[], y.1: f32[]) -> f32[] {
  %x.1 = f32[] parameter(0)
  %y.1 = f32[] parameter(1)
  ROOT %sum.1 = f32[] add(%x.1, %y.1)
}

%fused.1 (p.1: f32[1,8,8,4], w.1: f32[3,3,1,4]) -> f32[1,8,8,4] {
  %p.1 = f32[1,8,8,4]{3,2,1,0} parameter(0)
  %w.1 = f32[3,3,1,4]{3,2,1,0} parameter(1)
  %c.1 = f32[1,8,8,4]{3,2,1,0} convolution(%p.1, %w.1), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=4
  ROOT %r.1 = f32[1,8,8,4]{3,2,1,0} negate(%c.1)
}

%fused.2 (p.2: f32[8,4]) -> f32[4,8] {
  %p.2 = f32[8,4]{1,0} parameter(0)
  ROOT %t.2 = f32[4,8]{1,0} transpose(%p.2), dimensions={1,0}
}

%fused.3 (p.3: f32[8,4]) -> (f32[8], f32[8,4]) {
  %p.3 = f32[8,4]{1,0} parameter(0)
  %zero.3 = f32[] constant(0)
  %m.3 = f32[8]{0} reduce(%p.3, %zero.3), dimensions={1}, to_apply=%adding
  %e.3 = f32[8,4]{1,0} exponential(%p.3)
  ROOT %both.3 = (f32[8]{0}, f32[8,4]{1,0}) tuple(%m.3, %e.3)
}

ENTRY %main.9 (x: f32[1,8,8,4]) -> f32[4,4] {
  %x = f32[1,8,8,4]{3,2,1,0} parameter(0)
  %deep_fusion = f32[1,8,8,4]{3,2,1,0} fusion(%x, %x), kind=kCustom, calls=%fused.1, metadata={op_name="jit(f)/jit(main)/conv_general_dilated"}
  %turned = f32[4,8]{1,0} fusion(%x), kind=kLoop, calls=%fused.2
  %sums = (f32[8]{0}, f32[8,4]{1,0}) fusion(%x), kind=kLoop, calls=%fused.3
  %wide = f32[1,8,8,4]{3,2,1,0} convolution(%x, %x), window={size=5x5 pad=2_2x2_2}, dim_labels=b01f_01io->b01f
  %narrow = f32[1,8,8,4]{3,2,1,0} convolution(%x, %x), window={size=1x1}, dim_labels=b01f_01io->b01f
  %dot.5 = f32[64,4]{1,0} dot(%x, %x), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(f)/conv_general_dilated"}
  %called = f32[4,4]{1,0} custom-call(%x, %x), custom_call_target="__onednn$matmul"
  %gelu = f32[4,4]{1,0} tanh(%called)
  ROOT %dot.6 = f32[4,4]{1,0} dot(%gelu, %gelu), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""  # noqa: E501 (as XLA writes it)


def test_kinds_of_operations():
    found = kinds_of_operations(HLO)
    names = ("deep_fusion", "turned", "sums", "wide", "narrow", "dot.5", "called", "gelu", "dot.6")
    assert [found[name] for name in names] == [
        DEPTHWISE, COPY, REDUCTION, CONVOLUTION, POINTWISE, POINTWISE, PRODUCT, ELEMENTWISE, PRODUCT,
    ]  # fmt: skip


def test_moments_are_shared_by_the_threads_that_work():
    """One thread has a product for 4 us, of which the other helps for 1 us inside another operation."""
    threads = [
        [TraceSpan(1000, 5000, "dot.6")],
        [TraceSpan(3000, 7000, "gelu"), TraceSpan(4000, 5000, "dot.6"), TraceSpan(6000, 6000, "wide")],
        [],
    ]
    found = kinds_in(HLO, threads, runs=2)
    product_us, elementwise_us = 2.0 + 0.5 + 1.0, 0.5 + 2.0
    assert found == pytest.approx({PRODUCT: product_us / 2, ELEMENTWISE: elementwise_us / 2})


def test_a_program_in_xla(tmp_path):
    jax = pytest.importorskip("jax")
    export = pytest.importorskip("jax.export")

    def layer(weights, x):
        return jax.nn.softmax(x @ weights["w"])

    shapes = {"w": jax.ShapeDtypeStruct((256, 512), "float32")}, jax.ShapeDtypeStruct((128, 256), "float32")
    path = tmp_path / "layer.jax"
    path.write_bytes(bytes(export.export(jax.jit(layer), platforms=["cpu"])(*shapes).serialize()))
    found = profile_xla(path)
    assert found.whole_us > 0
    assert found.kinds_us[PRODUCT] > 0
    path.write_bytes(b"no program")
    with pytest.raises(TunerError, match="XLA: "):
        profile_xla(path)
    with pytest.raises(TunerError, match="cannot read: No such file"):
        profile_xla(tmp_path / "absent.jax")
