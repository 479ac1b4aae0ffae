// Integers of 4 bits are an input: two of them share a byte.
func.func @main(%x: tensor<4x32xf32>, %q: tensor<32x16xi4>) -> tensor<4x16xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x16xf32>
  %w = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%q : tensor<32x16xi4>) outs(%e : tensor<32x16xf32>) {
  ^bb0(%in: i4, %out: f32):
    %0 = arith.sitofp %in : i4 to f32
    linalg.yield %0 : f32
  } -> tensor<32x16xf32>
  %o = tensor.empty() : tensor<4x16xf32>
  %f = linalg.fill ins(%z : f32) outs(%o : tensor<4x16xf32>) -> tensor<4x16xf32>
  %r = linalg.matmul ins(%x, %w : tensor<4x32xf32>, tensor<32x16xf32>) outs(%f : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}
