func.func @main(%a: tensor<90x32xf16>, %b: tensor<32x18xf16>, %sum: tensor<90x18xf32>) -> tensor<90x18xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<90x32xf16>, tensor<32x18xf16>) outs(%sum : tensor<90x18xf32>) -> tensor<90x18xf32>
  return %r : tensor<90x18xf32>
}
