func.func @main(%x: tensor<600x1500xf32>) -> tensor<600x1500xf32> {
  %empty = tensor.empty() : tensor<600x1500xf32>
  %r = linalg.softmax dimension(1) ins(%x : tensor<600x1500xf32>) outs(%empty : tensor<600x1500xf32>) -> tensor<600x1500xf32>
  return %r : tensor<600x1500xf32>
}
