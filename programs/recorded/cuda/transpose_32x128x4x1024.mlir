func.func @main(%a: tensor<32x128x4x1024xf16>) -> tensor<32x4x1024x128xf16> {
  %0 = stablehlo.transpose %a, dims = [0, 2, 3, 1] : (tensor<32x128x4x1024xf16>) -> tensor<32x4x1024x128xf16>
  return %0 : tensor<32x4x1024x128xf16>
}
