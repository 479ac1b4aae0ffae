func.func @main(%cache: tensor<16x64xf32>, %x: tensor<1x64xf32>, %w: tensor<64x64xf32>, %pos: tensor<i32>) -> (tensor<16x64xf32>) {
  %k = stablehlo.dot %x, %w : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %u = stablehlo.dynamic_update_slice %cache, %k, %pos, %z : (tensor<16x64xf32>, tensor<1x64xf32>, tensor<i32>, tensor<i32>) -> tensor<16x64xf32>
  return %u : tensor<16x64xf32>
}
