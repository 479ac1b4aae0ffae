// Complex numbers are an input of a dispatch.
func.func @main(%c: tensor<1x64xcomplex<f32>>, %w: tensor<64x256xf32>) -> tensor<1x256xf32> {
  %x = stablehlo.real %c : (tensor<1x64xcomplex<f32>>) -> tensor<1x64xf32>
  %y = stablehlo.dot %x, %w : (tensor<1x64xf32>, tensor<64x256xf32>) -> tensor<1x256xf32>
  return %y : tensor<1x256xf32>
}
