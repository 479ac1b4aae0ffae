"""Programs for scripts: a matrix multiplication, and what may come behind it."""

import numpy as np

_MATMUL = """
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
func.func @main(%a: tensor<{m}x{k}xf32>, %b: tensor<{k}x{n}xf32>{more}) -> tensor<{m}x{n}xf32> {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<{m}x{n}xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  %sums = linalg.matmul ins(%a, %b : tensor<{m}x{k}xf32>, tensor<{k}x{n}xf32>)
      outs(%zeros : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  {epilogue}
}}
"""
_RETURN = "return %sums : tensor<{m}x{n}xf32>"
_BIAS_RELU = """
  %result = linalg.generic {{indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}}
      ins(%sums, %bias : tensor<{m}x{n}xf32>, tensor<{n}xf32>) outs(%empty : tensor<{m}x{n}xf32>) {{
  ^bb0(%sum: f32, %offset: f32, %old: f32):
    %added = arith.addf %sum, %offset : f32
    %positive = arith.maximumf %added, %zero : f32
    linalg.yield %positive : f32
  }} -> tensor<{m}x{n}xf32>
  return %result : tensor<{m}x{n}xf32>
"""


def matmul(m, n, k):
    return _MATMUL.format(m=m, n=n, k=k, more="", epilogue=_RETURN.format(m=m, n=n))


def matmul_bias_relu(m, n, k):
    more = f", %bias: tensor<{n}xf32>"
    return _MATMUL.format(m=m, n=n, k=k, more=more, epilogue=_BIAS_RELU.format(m=m, n=n))


def inputs(m, n, k, bias):
    """Small integers: sums are exact in whatever order."""
    rng = np.random.default_rng(m * n + k)
    shapes = [(m, k), (k, n), *([(n,)] if bias else [])]
    return [rng.integers(-4, 5, shape).astype(np.float32) for shape in shapes]


def expected(arrays):
    a, b, *bias = arrays
    sums = a.astype(np.float64) @ b
    return np.maximum(sums + bias[0], 0) if bias else sums
