func.func @main(%a: tensor<32x512x512xf16>, %b: tensor<32x512x128xf16>) -> tensor<32x512x128xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x512x128xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x512x128xf32>) -> tensor<32x512x128xf32>
  %r = linalg.batch_matmul ins(%a, %b : tensor<32x512x512xf16>, tensor<32x512x128xf16>) outs(%init : tensor<32x512x128xf32>) -> tensor<32x512x128xf32>
  return %r : tensor<32x512x128xf32>
}
