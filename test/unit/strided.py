"""A convolution of size 1 with a stride, as JAX lowers it: what IREE 3.13 computes wrongly on CUDA.

Of an argument of the program the compiler would slice the rows out, and multiply plainly.
"""


def strided(rows=4, columns=8, channels=32):
    """Two dispatches: absolute values, and the product of every other row and column with a matrix."""
    image, result = f"{2 * rows}x{2 * rows}x{channels}", f"{rows}x{rows}x{columns}"
    return f"""
func.func @main(%x: tensor<{image}xf32>, %w: tensor<{channels}x{columns}xf32>) -> tensor<{result}xf32> {{
  %y = math.absf %x : tensor<{image}xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<{result}xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<{result}xf32>) -> tensor<{result}xf32>
  %r = linalg.generic {{indexing_maps = [
      affine_map<(a, b, n, k) -> (a * 2, b * 2, k)>, affine_map<(a, b, n, k) -> (k, n)>,
      affine_map<(a, b, n, k) -> (a, b, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}}
      ins(%y, %w : tensor<{image}xf32>, tensor<{channels}x{columns}xf32>)
      outs(%init : tensor<{result}xf32>) {{
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }} -> tensor<{result}xf32>
  return %r : tensor<{result}xf32>
}}
"""
