func.func @main(%a: tensor<32x48xf32>, %b: tensor<48x64xf32>, %c: tensor<64x16xi32>) -> (tensor<32x64xf32>, tensor<32x16xi32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x64xf32>) -> tensor<32x64xf32>
  %r = linalg.matmul ins(%a, %b : tensor<32x48xf32>, tensor<48x64xf32>) outs(%init : tensor<32x64xf32>) -> tensor<32x64xf32>
  %whole = arith.fptosi %r : tensor<32x64xf32> to tensor<32x64xi32>
  %none = arith.constant 0 : i32
  %e = tensor.empty() : tensor<32x16xi32>
  %i = linalg.fill ins(%none : i32) outs(%e : tensor<32x16xi32>) -> tensor<32x16xi32>
  %s = linalg.matmul ins(%whole, %c : tensor<32x64xi32>, tensor<64x16xi32>) outs(%i : tensor<32x16xi32>) -> tensor<32x16xi32>
  return %r, %s : tensor<32x64xf32>, tensor<32x16xi32>
}
