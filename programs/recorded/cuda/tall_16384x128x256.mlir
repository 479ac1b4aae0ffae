func.func @main(%a: tensor<16384x256xf16>, %b: tensor<256x128xf16>) -> tensor<16384x128xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16384x128xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16384x128xf32>) -> tensor<16384x128xf32>
  %r = linalg.matmul ins(%a, %b : tensor<16384x256xf16>, tensor<256x128xf16>) outs(%init : tensor<16384x128xf32>) -> tensor<16384x128xf32>
  return %r : tensor<16384x128xf32>
}
