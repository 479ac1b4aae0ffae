func.func @main(%a: tensor<1024x1280xbf16>, %b: tensor<1280x2560xbf16>) -> tensor<1024x2560xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1024x2560xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1024x2560xf32>) -> tensor<1024x2560xf32>
  %r = linalg.matmul ins(%a, %b : tensor<1024x1280xbf16>, tensor<1280x2560xbf16>) outs(%init : tensor<1024x2560xf32>) -> tensor<1024x2560xf32>
  return %r : tensor<1024x2560xf32>
}
