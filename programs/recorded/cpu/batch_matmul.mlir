func.func @main(%a: tensor<12x256x128xf32>, %b: tensor<12x128x64xf32>) -> tensor<12x256x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<12x256x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<12x256x64xf32>) -> tensor<12x256x64xf32>
  %r = linalg.batch_matmul ins(%a, %b : tensor<12x256x128xf32>, tensor<12x128x64xf32>) outs(%init : tensor<12x256x64xf32>) -> tensor<12x256x64xf32>
  return %r : tensor<12x256x64xf32>
}
