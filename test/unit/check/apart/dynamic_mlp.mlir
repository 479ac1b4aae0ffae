// Two layers and a softmax over a dynamic batch, in f16.
func.func @main(%a: tensor<?x32xf16>, %w: tensor<32x64xf16>, %v: tensor<64x8xf16>) -> tensor<?x8xf16> {
  %y = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<?x32xf16>, tensor<32x64xf16>) -> tensor<?x64xf16>
  %t = stablehlo.tanh %y : tensor<?x64xf16>
  %o = stablehlo.dot_general %t, %v, contracting_dims = [1] x [0] : (tensor<?x64xf16>, tensor<64x8xf16>) -> tensor<?x8xf16>
  return %o : tensor<?x8xf16>
}
