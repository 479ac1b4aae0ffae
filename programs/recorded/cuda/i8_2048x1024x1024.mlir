func.func @main(%a: tensor<2048x1024xi8>, %b: tensor<1024x1024xi8>) -> tensor<2048x1024xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<2048x1024xi32>
  %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<2048x1024xi32>) -> tensor<2048x1024xi32>
  %r = linalg.matmul ins(%a, %b : tensor<2048x1024xi8>, tensor<1024x1024xi8>) outs(%init : tensor<2048x1024xi32>) -> tensor<2048x1024xi32>
  return %r : tensor<2048x1024xi32>
}
