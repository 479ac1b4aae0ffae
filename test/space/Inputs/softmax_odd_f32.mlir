func.func @main(%a: tensor<8x64x77xf32>) -> tensor<8x64x77xf32> {
  %e = tensor.empty() : tensor<8x64x77xf32>
  %r = linalg.softmax dimension(2) ins(%a : tensor<8x64x77xf32>) outs(%e : tensor<8x64x77xf32>) -> tensor<8x64x77xf32>
  return %r : tensor<8x64x77xf32>
}
