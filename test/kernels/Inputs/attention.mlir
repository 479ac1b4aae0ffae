// As exporters write it: two products with a softmax in between.
func.func @main(%q: tensor<3x20x16xf32>, %k: tensor<3x16x40xf32>, %v: tensor<3x40x24xf32>) -> tensor<3x20x24xf32> {
  %zero = arith.constant 0.0 : f32
  %scores = tensor.empty() : tensor<3x20x40xf32>
  %first = linalg.fill ins(%zero : f32) outs(%scores : tensor<3x20x40xf32>) -> tensor<3x20x40xf32>
  %products = linalg.batch_matmul ins(%q, %k : tensor<3x20x16xf32>, tensor<3x16x40xf32>) outs(%first : tensor<3x20x40xf32>) -> tensor<3x20x40xf32>
  %weights = linalg.softmax dimension(2) ins(%products : tensor<3x20x40xf32>) outs(%scores : tensor<3x20x40xf32>) -> tensor<3x20x40xf32>
  %empty = tensor.empty() : tensor<3x20x24xf32>
  %second = linalg.fill ins(%zero : f32) outs(%empty : tensor<3x20x24xf32>) -> tensor<3x20x24xf32>
  %r = linalg.batch_matmul ins(%weights, %v : tensor<3x20x40xf32>, tensor<3x40x24xf32>) outs(%second : tensor<3x20x24xf32>) -> tensor<3x20x24xf32>
  return %r : tensor<3x20x24xf32>
}
