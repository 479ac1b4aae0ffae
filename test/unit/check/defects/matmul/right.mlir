func.func @matmul(%a: tensor<45x128xf32>, %b: tensor<128x37xf32>) -> tensor<45x37xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<45x37xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<45x37xf32>) -> tensor<45x37xf32>
  %r = linalg.matmul ins(%a, %b : tensor<45x128xf32>, tensor<128x37xf32>)
       outs(%fill : tensor<45x37xf32>) -> tensor<45x37xf32>
  return %r : tensor<45x37xf32>
}
