func.func @main(%a: tensor<8x512xf16>, %b: tensor<512x256xf16>) -> tensor<8x256xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x256xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x256xf32>) -> tensor<8x256xf32>
  %r = linalg.matmul ins(%a, %b : tensor<8x512xf16>, tensor<512x256xf16>) outs(%f : tensor<8x256xf32>) -> tensor<8x256xf32>
  return %r : tensor<8x256xf32>
}
