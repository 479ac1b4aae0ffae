// One layer over a dynamic batch.
func.func @main(%a: tensor<?x64xf32>, %w: tensor<64x256xf32>) -> tensor<?x256xf32> {
  %y = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<?x64xf32>, tensor<64x256xf32>) -> tensor<?x256xf32>
  return %y : tensor<?x256xf32>
}
