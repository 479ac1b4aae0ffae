"""Programs of one dispatch each, for `space_compile_rate.py`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """A program, and its dispatch's root op as a place among the compute ops, fills left out."""

    name: str
    source: str
    root: int = 0


def _program(name: str, kind: str, shape: str, op: str, lhs: str, rhs: str) -> Case:
    out, lhs, rhs = (f"tensor<{dims}x{kind}>" for dims in (shape, lhs, rhs))
    return Case(
        name,
        f"""func.func @main(%a: {lhs}, %b: {rhs}) -> {out} {{
  %c = arith.constant 0.0 : {kind}
  %e = tensor.empty() : {out}
  %f = linalg.fill ins(%c : {kind}) outs(%e : {out}) -> {out}
  %r = {op} ins(%a, %b : {lhs}, {rhs}) outs(%f : {out}) -> {out}
  return %r : {out}
}}""",
    )


def _conv(name: str, op: str, shape: str, image: str, kernel: str, stride: int = 1) -> Case:
    attributes = f"{{dilations = dense<1> : tensor<2xi64>, strides = dense<{stride}> : tensor<2xi64>}}"
    return _program(name, "f32", shape, f"linalg.{op} {attributes}", image, kernel)


def _softmax() -> Case:
    kind = "tensor<1x8x128x128xf32>"
    source = f"""func.func @main(%a: {kind}) -> {kind} {{
  %e = tensor.empty() : {kind}
  %r = linalg.softmax dimension(3) ins(%a : {kind}) outs(%e : {kind}) -> {kind}
  return %r : {kind}
}}"""
    return Case("softmax", source, root=1)


def _row_sum() -> Case:
    maps = ("affine_map<(d0, d1) -> (d0, d1)>", "affine_map<(d0, d1) -> (d0)>")
    source = f"""func.func @main(%a: tensor<512x1024xf32>) -> tensor<512xf32> {{
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<512xf32>) -> tensor<512xf32>
  %r = linalg.generic {{indexing_maps = [{", ".join(maps)}], iterator_types = ["parallel", "reduction"]}}
      ins(%a : tensor<512x1024xf32>) outs(%f : tensor<512xf32>) {{
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  }} -> tensor<512xf32>
  return %r : tensor<512xf32>
}}"""
    return Case("row_reduction", source)


def _attention() -> Case:
    query, key = "tensor<4x128x64xf32>", "tensor<4x256x64xf32>"
    loops = "(b, m, n, k1, k2)"
    results = ("(b, m, k1)", "(b, k2, k1)", "(b, k2, n)", "()", "(b, m, n)")
    maps = ", ".join(f"affine_map<{loops} -> {result}>" for result in results)
    source = f"""func.func @main(%q: {query}, %k: {key}, %v: {key}) -> {query} {{
  %s = arith.constant 0.125 : f32
  %e = tensor.empty() : {query}
  %r = iree_linalg_ext.attention <indexing_maps = [{maps}]>
      ins(%q, %k, %v, %s : {query}, {key}, {key}, f32) outs(%e : {query}) {{
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  }} -> {query}
  return %r : {query}
}}"""
    return Case("attention", source)


CASES = (
    _program("matmul_f32", "f32", "512x768", "linalg.matmul", "512x1024", "1024x768"),
    _program("matmul_f16", "f16", "512x768", "linalg.matmul", "512x1024", "1024x768"),
    _program("batch_matmul", "f32", "8x128x64", "linalg.batch_matmul", "8x128x128", "8x128x64"),
    _program("matmul_one_row", "f32", "1x1024", "linalg.matmul", "1x4096", "4096x1024"),
    _program("matvec", "f32", "1024", "linalg.matvec", "1024x4096", "4096"),
    _conv("conv_stride_1", "conv_2d_nhwc_hwcf", "1x56x56x64", "1x58x58x64", "3x3x64x64"),
    _conv("conv_stride_2", "conv_2d_nhwc_hwcf", "1x28x28x64", "1x57x57x64", "3x3x64x64", 2),
    _conv("conv_channels_first", "conv_2d_nchw_fchw", "1x64x56x56", "1x64x58x58", "64x64x3x3"),
    _conv("depthwise_conv", "depthwise_conv_2d_nhwc_hwc", "1x56x56x64", "1x58x58x64", "3x3x64"),
    _conv("grouped_conv", "conv_2d_ngchw_gfchw", "1x4x16x56x56", "1x4x16x58x58", "4x16x16x3x3"),
    _softmax(),
    _row_sum(),
    _attention(),
)
