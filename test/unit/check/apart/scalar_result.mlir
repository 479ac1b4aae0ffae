// A sum as the only result, as a loss is.
func.func @main(%a: tensor<1x64xf32>, %w: tensor<64x256xf32>) -> tensor<f32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.dot %a, %w : (tensor<1x64xf32>, tensor<64x256xf32>) -> tensor<1x256xf32>
  %s = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x256xf32>, tensor<f32>) -> tensor<f32>
  return %s : tensor<f32>
}
