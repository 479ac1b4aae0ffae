func.func @main(%a: tensor<384x3072xf16>, %b: tensor<3072x768xf16>) -> tensor<384x768xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<384x768xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<384x768xf32>) -> tensor<384x768xf32>
  %r = linalg.matmul ins(%a, %b : tensor<384x3072xf16>, tensor<3072x768xf16>) outs(%init : tensor<384x768xf32>) -> tensor<384x768xf32>
  return %r : tensor<384x768xf32>
}
