func.func @main(%a: tensor<24x40xf32>, %b: tensor<40x64xf32>) -> tensor<24x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<24x64xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<24x64xf32>) -> tensor<24x64xf32>
  %product = linalg.matmul ins(%a, %b : tensor<24x40xf32>, tensor<40x64xf32>)
      outs(%filled : tensor<24x64xf32>) -> tensor<24x64xf32>
  return %product : tensor<24x64xf32>
}
