func.func @main(%a: tensor<4096x640xbf16>, %b: tensor<640x640xbf16>) -> tensor<4096x640xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4096x640xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4096x640xf32>) -> tensor<4096x640xf32>
  %r = linalg.matmul ins(%a, %b : tensor<4096x640xbf16>, tensor<640x640xbf16>) outs(%init : tensor<4096x640xf32>) -> tensor<4096x640xf32>
  return %r : tensor<4096x640xf32>
}
