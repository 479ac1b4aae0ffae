// Four steps of a decoder: each multiplies by the same weights.
func.func @main(%a: tensor<1x64xf32>, %w: tensor<64x256xf32>) -> tensor<1x64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %z = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%x = %a) -> tensor<1x64xf32> {
    %e = tensor.empty() : tensor<1x256xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<1x256xf32>) -> tensor<1x256xf32>
    %y = linalg.matmul ins(%x, %w : tensor<1x64xf32>, tensor<64x256xf32>) outs(%f : tensor<1x256xf32>) -> tensor<1x256xf32>
    %s = tensor.extract_slice %y[0, 0] [1, 64] [1, 1] : tensor<1x256xf32> to tensor<1x64xf32>
    scf.yield %s : tensor<1x64xf32>
  }
  return %r : tensor<1x64xf32>
}
