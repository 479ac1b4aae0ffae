// A factor without dimensions is an input.
func.func @main(%a: tensor<1x64xf32>, %w: tensor<64x256xf32>, %c: tensor<f32>) -> (tensor<1x256xf32>) {
  %b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<1x64xf32>
  %r = stablehlo.multiply %a, %b : tensor<1x64xf32>
  %y = stablehlo.dot %r, %w : (tensor<1x64xf32>, tensor<64x256xf32>) -> tensor<1x256xf32>
  return %y : tensor<1x256xf32>
}
