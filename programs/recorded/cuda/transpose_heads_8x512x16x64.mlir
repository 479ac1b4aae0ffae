func.func @main(%a: tensor<8x512x16x64xf16>) -> tensor<8x16x512x64xf16> {
  %0 = stablehlo.transpose %a, dims = [0, 2, 1, 3] : (tensor<8x512x16x64xf16>) -> tensor<8x16x512x64xf16>
  return %0 : tensor<8x16x512x64xf16>
}
