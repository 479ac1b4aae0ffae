func.func @main(%a: tensor<1x8x128x128xf32>) -> tensor<1x8x128x128xf32> {
  %e = tensor.empty() : tensor<1x8x128x128xf32>
  %r = linalg.softmax dimension(3) ins(%a : tensor<1x8x128x128xf32>) outs(%e : tensor<1x8x128x128xf32>) -> tensor<1x8x128x128xf32>
  return %r : tensor<1x8x128x128xf32>
}
