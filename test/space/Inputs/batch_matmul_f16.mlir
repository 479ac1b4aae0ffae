func.func @main(%a: tensor<4x128x256xf16>, %b: tensor<4x256x128xf16>) -> tensor<4x128x128xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x128x128xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<4x128x128xf32>) -> tensor<4x128x128xf32>
  %r = linalg.batch_matmul ins(%a, %b : tensor<4x128x256xf16>, tensor<4x256x128xf16>)
      outs(%f : tensor<4x128x128xf32>) -> tensor<4x128x128xf32>
  return %r : tensor<4x128x128xf32>
}
