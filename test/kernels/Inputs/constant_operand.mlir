// Twice the same product: its right operand is a constant, and then an argument.
func.func @main(%a: tensor<32x48xf32>, %b: tensor<48x70xf32>) -> (tensor<32x70xf32>, tensor<32x70xf32>) {
  %constant = arith.constant dense<2.0> : tensor<48x70xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x70xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x70xf32>) -> tensor<32x70xf32>
  %0 = linalg.matmul ins(%a, %constant : tensor<32x48xf32>, tensor<48x70xf32>) outs(%init : tensor<32x70xf32>) -> tensor<32x70xf32>
  %1 = linalg.matmul ins(%a, %b : tensor<32x48xf32>, tensor<48x70xf32>) outs(%init : tensor<32x70xf32>) -> tensor<32x70xf32>
  return %0, %1 : tensor<32x70xf32>, tensor<32x70xf32>
}
