func.func @main(%a: tensor<2x64x64x320xf16>) -> tensor<2x320x64x64xf16> {
  %0 = stablehlo.transpose %a, dims = [0, 3, 1, 2] : (tensor<2x64x64x320xf16>) -> tensor<2x320x64x64xf16>
  return %0 : tensor<2x320x64x64xf16>
}
