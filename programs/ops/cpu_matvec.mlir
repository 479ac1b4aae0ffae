func.func @main(%a: tensor<1024x4096xf32>, %b: tensor<4096xf32>) -> tensor<1024xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1024xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<1024xf32>) -> tensor<1024xf32>
  %r = linalg.matvec ins(%a, %b : tensor<1024x4096xf32>, tensor<4096xf32>) outs(%f : tensor<1024xf32>) -> tensor<1024xf32>
  return %r : tensor<1024xf32>
}
