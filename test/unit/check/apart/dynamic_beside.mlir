// A product of known sizes beside values of a size that is not.
func.func @main(%a: tensor<1x64xf32>, %w: tensor<64x256xf32>, %c: tensor<?xf32>) -> (tensor<1x256xf32>, tensor<?xf32>) {
  %y = stablehlo.dot %a, %w : (tensor<1x64xf32>, tensor<64x256xf32>) -> tensor<1x256xf32>
  %d = stablehlo.add %c, %c : tensor<?xf32>
  return %y, %d : tensor<1x256xf32>, tensor<?xf32>
}
