func.func @main(%a: tensor<2048x1024xf32>, %x: tensor<1024xf32>) -> tensor<2048xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2048xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2048xf32>) -> tensor<2048xf32>
  %r = linalg.matvec ins(%a, %x : tensor<2048x1024xf32>, tensor<1024xf32>) outs(%init : tensor<2048xf32>) -> tensor<2048xf32>
  return %r : tensor<2048xf32>
}
