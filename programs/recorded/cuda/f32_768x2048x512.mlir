func.func @main(%a: tensor<768x512xf32>, %b: tensor<512x2048xf32>) -> tensor<768x2048xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<768x2048xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<768x2048xf32>) -> tensor<768x2048xf32>
  %r = linalg.matmul ins(%a, %b : tensor<768x512xf32>, tensor<512x2048xf32>) outs(%init : tensor<768x2048xf32>) -> tensor<768x2048xf32>
  return %r : tensor<768x2048xf32>
}
