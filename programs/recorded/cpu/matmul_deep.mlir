func.func @main(%a: tensor<96x4096xf32>, %b: tensor<4096x128xf32>) -> tensor<96x128xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<96x128xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<96x128xf32>) -> tensor<96x128xf32>
  %r = linalg.matmul ins(%a, %b : tensor<96x4096xf32>, tensor<4096x128xf32>) outs(%init : tensor<96x128xf32>) -> tensor<96x128xf32>
  return %r : tensor<96x128xf32>
}
