func.func @main(%a: tensor<2048x1280xbf16>, %b: tensor<1280x1280xbf16>) -> tensor<2048x1280xbf16> {
  %zero = arith.constant 0.0 : bf16
  %empty = tensor.empty() : tensor<2048x1280xbf16>
  %init = linalg.fill ins(%zero : bf16) outs(%empty : tensor<2048x1280xbf16>) -> tensor<2048x1280xbf16>
  %r = linalg.matmul ins(%a, %b : tensor<2048x1280xbf16>, tensor<1280x1280xbf16>) outs(%init : tensor<2048x1280xbf16>) -> tensor<2048x1280xbf16>
  return %r : tensor<2048x1280xbf16>
}
