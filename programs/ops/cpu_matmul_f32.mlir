func.func @main(%a: tensor<512x1024xf32>, %b: tensor<1024x768xf32>) -> tensor<512x768xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x768xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<512x768xf32>) -> tensor<512x768xf32>
  %r = linalg.matmul ins(%a, %b : tensor<512x1024xf32>, tensor<1024x768xf32>) outs(%f : tensor<512x768xf32>) -> tensor<512x768xf32>
  return %r : tensor<512x768xf32>
}
