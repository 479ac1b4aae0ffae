func.func @main(%a: tensor<250x333xf32>, %b: tensor<333x391xf32>) -> tensor<250x391xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<250x391xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<250x391xf32>) -> tensor<250x391xf32>
  %r = linalg.matmul ins(%a, %b : tensor<250x333xf32>, tensor<333x391xf32>) outs(%init : tensor<250x391xf32>) -> tensor<250x391xf32>
  return %r : tensor<250x391xf32>
}
