func.func @main(%a: tensor<2048x3072xbf16>, %b: tensor<3072x768xbf16>) -> tensor<2048x768xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2048x768xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2048x768xf32>) -> tensor<2048x768xf32>
  %r = linalg.matmul ins(%a, %b : tensor<2048x3072xbf16>, tensor<3072x768xbf16>) outs(%init : tensor<2048x768xf32>) -> tensor<2048x768xf32>
  return %r : tensor<2048x768xf32>
}
