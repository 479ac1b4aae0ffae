func.func @main(%a: tensor<8x128x128xf32>, %b: tensor<8x128x64xf32>) -> tensor<8x128x64xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x128x64xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<8x128x64xf32>) -> tensor<8x128x64xf32>
  %r = linalg.batch_matmul ins(%a, %b : tensor<8x128x128xf32>, tensor<8x128x64xf32>) outs(%f : tensor<8x128x64xf32>) -> tensor<8x128x64xf32>
  return %r : tensor<8x128x64xf32>
}
