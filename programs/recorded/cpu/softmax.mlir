func.func @main(%x: tensor<768x1024xf32>) -> tensor<768x1024xf32> {
  %empty = tensor.empty() : tensor<768x1024xf32>
  %r = linalg.softmax dimension(1) ins(%x : tensor<768x1024xf32>) outs(%empty : tensor<768x1024xf32>) -> tensor<768x1024xf32>
  return %r : tensor<768x1024xf32>
}
