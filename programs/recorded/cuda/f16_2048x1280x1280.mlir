func.func @main(%a: tensor<2048x1280xf16>, %b: tensor<1280x1280xf16>) -> tensor<2048x1280xf16> {
  %zero = arith.constant 0.0 : f16
  %empty = tensor.empty() : tensor<2048x1280xf16>
  %init = linalg.fill ins(%zero : f16) outs(%empty : tensor<2048x1280xf16>) -> tensor<2048x1280xf16>
  %r = linalg.matmul ins(%a, %b : tensor<2048x1280xf16>, tensor<1280x1280xf16>) outs(%init : tensor<2048x1280xf16>) -> tensor<2048x1280xf16>
  return %r : tensor<2048x1280xf16>
}
