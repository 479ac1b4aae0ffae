func.func @main(%x: tensor<2x3xf32>, %place: tensor<i32>) -> tensor<5x3xf32> {
  %c = stablehlo.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0], [9.0, 1.0, 2.0],
                                 [3.0, 4.0, 5.0]]> : tensor<5x3xf32>
  %held = stablehlo.optimization_barrier %c : tensor<5x3xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %held, %x, %place, %zero
    : (tensor<5x3xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<5x3xf32>
  return %0 : tensor<5x3xf32>
}
