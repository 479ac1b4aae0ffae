func.func @main(%a: tensor<1536x512xf16>, %b: tensor<512x2048xf16>) -> tensor<1536x2048xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1536x2048xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1536x2048xf32>) -> tensor<1536x2048xf32>
  %r = linalg.matmul ins(%a, %b : tensor<1536x512xf16>, tensor<512x2048xf16>) outs(%init : tensor<1536x2048xf32>) -> tensor<1536x2048xf32>
  return %r : tensor<1536x2048xf32>
}
