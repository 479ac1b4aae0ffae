// Two positions of i64 without dimensions, read by the host: a piece of a table is multiplied.
func.func @main(%t: tensor<16x40xf32>, %p: tensor<i64>, %q: tensor<i64>, %w: tensor<8x12xf32>) -> tensor<4x12xf32> {
  %s = stablehlo.dynamic_slice %t, %p, %q, sizes = [4, 8] : (tensor<16x40xf32>, tensor<i64>, tensor<i64>) -> tensor<4x8xf32>
  %y = stablehlo.dot %s, %w : (tensor<4x8xf32>, tensor<8x12xf32>) -> tensor<4x12xf32>
  return %y : tensor<4x12xf32>
}
